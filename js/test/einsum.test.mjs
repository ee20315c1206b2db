// einsum against plain loops over all letters with a reading of the spec of their own, and its
// gradients against differences, in float64; then what it refuses.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

const f64 = { dtype: 'float64' };

/** Numbers in [0, 1), the same in every run. */
const generator = (seed) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

// ---- plain loops -----------------------------------------------------------------------------------

/** Letters of a term, one per axis; the axes of '...' are the last of '0' to '7'. */
const lettersOf = (term, rank) => {
  const named = term.replace(/[ .]/g, '').length;
  return [...term.replaceAll(' ', '').replace('...', '01234567'.slice(8 - (rank - named)))];
};

/** { shape, data } of a spec with terms, given as arrays of letters, and a result, on flat data; with weights r
 *  of the result also the gradients of sum(y r) by each operand. */
const loops = (terms, result, operands, r) => {
  const size = {};
  terms.forEach((term, k) => term.forEach((l, i) => {
    if (operands[k].shape[i] !== 1 || !(l in size)) size[l] = operands[k].shape[i];
  }));
  const all = [...result, ...Object.keys(size).filter((l) => !result.includes(l))];
  const shape = result.map((l) => size[l]);
  const data = new Float64Array(shape.reduce((a, b) => a * b, 1));
  const slopes = operands.map((x) => new Float64Array(x.data.length));
  const index = {};
  const walk = (depth, at) => {
    if (depth === all.length) {
      const places = operands.map(({ shape: dims }, k) =>
        terms[k].reduce((sum, l, i) => sum * dims[i] + (dims[i] === 1 ? 0 : index[l]), 0));
      const factors = operands.map(({ data: x }, k) => x[places[k]]);
      data[at] += factors.reduce((a, b) => a * b, 1);
      if (r) slopes.forEach((d, k) => (d[places[k]] += factors.reduce((a, b, j) => (j === k ? a : a * b), r[at])));
      return;
    }
    const l = all[depth];
    for (index[l] = 0; index[l] < size[l]; index[l]++)
      walk(depth + 1, depth < result.length ? at * size[l] + index[l] : at);
  };
  walk(0, 0);
  return { shape, data, slopes };
};

const expected = (spec, operands, r) => {
  const [left, right] = spec.split('->');
  const terms = left.split(',').map((term, k) => lettersOf(term, operands[k].shape.length));
  const letters = terms.flat();
  const dims = Math.max(0, ...terms.map((term) => term.filter((l) => l < 'A').length));
  const once = () => [...'01234567'.slice(8 - dims), ...letters.filter((l) => l >= 'A' &&
    letters.indexOf(l) === letters.lastIndexOf(l)).sort()];
  const result = right === undefined ? once()
    : lettersOf(right, right.replace(/[ .]/g, '').length + (right.includes('...') ? dims : 0));
  return loops(terms, result, operands, r);
};

const draw = (random, shape) => ({
  shape,
  data: Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 2 * random() - 1),
});

const tensorOf = ({ shape, data }) => sn.tensor(data, { shape, dtype: 'float64' });

const check = (spec, operands, einsum = (...x) => sn.einsum(spec, ...x)) => sn.tidy(() => {
  const want = expected(spec, operands);
  const got = einsum(...operands.map(tensorOf));
  assert.equal(got.dtype, 'float64', spec);
  assert.deepEqual(got.shape, want.shape, spec);
  assertClose([...got.dataSync()], [...want.data], 1e-12);
});

/** Gradients too, each of as many operands. */
const checkSlopes = (spec, operands, random) => sn.tidy(() => {
  const r = draw(random, expected(spec, operands).shape);
  const want = expected(spec, operands, r.data).slopes;
  const loss = (...x) => sn.einsum(spec, ...x).mul(tensorOf(r)).sum();
  const got = sn.grad(loss, { argnums: operands.map((_, k) => k) })(...operands.map(tensorOf));
  got.forEach((slope, k) => {
    assert.deepEqual(slope.shape, operands[k].shape, spec);
    assertClose([...slope.dataSync()], [...want[k]], 1e-12);
  });
});

// ---- values ----------------------------------------------------------------------------------------

const SPECS = `i->i 5|i-> 5|-> |ij->ji 2,3|ba 2,3|ij->j 2,3|ii->i 4,4|ii 4,4|iii->i 3,3,3|iij->ji 3,3,2|iji->j 3,2,3
  |ijij->ji 2,3,2,3|i,i-> 7;7|i,i->i 7;7|i,j->ji 3;4|ij,jk 3,4;4,5|ji,kj->ki 4,3;5,4|bij,bkj->bik 2,3,4;2,5,4
  |ijb,jkb->bik 3,4,2;4,5,2|bqhd,bkhd->bhqk 2,3,4,5;2,6,4,5|kilj,mlk->jmi 4,2,5,3;6,5,4|ij,ij->i 3,4;3,4|ij,ji-> 3,4;4,3
  |ijx,jky->ik 2,3,2;3,4,3|ii,jj->ij 3,3;2,2|...i->... 2,3,4|...ij,...jk->...ik 2,3,4,5;3,5,2|...ij,...jk 2,1,4,5;3,5,2
  |i...,...j 3,2;2,4|...,... 2,3;3|...ii->...i 2,3,3|ij->...ij 2,3|ij,jk->ik 3,1;4,5|ij,ij->ij 3,1;1,4|ii,i->i 1,1;4
  |ij,jk->ik 3,0;0,5|ij,jk->ik 0,4;4,5|i,i-> 0;1|ii->i 0,0|i-> 0|aB,Bc 2,3;3,4|bi,bo,io->b 4,3;4,5;3,5|ab,bc,ca-> 3,4;4,5;5,3
  |abcdefgh,abcdefgi->abcdefhi 2,2,2,2,2,2,3,2;2,2,2,2,2,2,3,2|abcdefgh,abcdeijk->fghijk 2,2,2,2,2,2,3,2;2,2,2,2,2,2,3,2
  |ZaAz,zm->maZA 2,3,4,5;5,2`.split('|').map((row) => row.trim().split(' '));

const shapesOf = (text = '') =>
  text.split(';').map((shape) => shape.split(',').filter(Boolean).map(Number));

test('values agree with plain loops', () => {
  const random = generator(1);
  for (const [spec, shapes] of SPECS) check(spec, shapesOf(shapes).map((shape) => draw(random, shape)));
});

test('blanks mean nothing', () => {
  const random = generator(2);
  const operands = [draw(random, [2, 3]), draw(random, [3, 4])];
  for (const spec of ['  i j , j k  -> i k ', 'ij,jk ->ik', ' ij,jk']) check(spec, operands);
});

test('random specs and their gradients agree with plain loops', () => {
  const random = generator(3);
  const below = (n) => Math.floor(random() * n);
  for (let done = 0; done < 250; done++) {
    const sizes = Object.fromEntries([...'abCde'].map((l) => [l, below(20) ? 1 + below(4) : 0]));
    const extra = [1 + below(3), 1 + below(3)];
    const used = new Set();
    const terms = [];
    const operands = Array.from({ length: 1 + below(5) }, () => {
      const own = {}; // a diagonal does not broadcast
      const letters = Array.from({ length: below(5) }, () => 'abCde'[below(5)]);
      const shape = letters.map((l) => (own[l] ??= below(8) ? sizes[l] : 1));
      letters.forEach((l) => used.add(l));
      if (below(2)) {
        const dims = below(3);
        const place = below(letters.length + 1);
        shape.splice(place, 0, ...extra.slice(2 - dims).map((n) => (below(5) ? n : 1)));
        letters.splice(place, 0, '...');
      }
      terms.push(letters.join(''));
      return draw(random, shape);
    });
    const kept = [...used].filter(() => below(2)).sort(() => random() - 0.5);
    kept.splice(below(kept.length + 1), 0, '...');
    const spec = `${terms}${below(3) ? `->${kept.join('')}` : ''}`;
    check(spec, operands);
    if (done % 2) checkSlopes(spec, operands, random);
  }
});

test('ten operands, of letters of both cases', () => {
  const random = generator(4);
  const letters = 'aBcDeFgHiJk';
  const terms = Array.from({ length: 10 }, (_, k) => letters.slice(k, k + 2));
  const operands = terms.map((_, k) => draw(random, [1 + ((3 * k) % 4), 1 + ((3 * k + 3) % 4)]));
  const product = operands.map(tensorOf).reduce((x, y) => sn.matmul(x, y));
  assertClose(sn.einsum(`${terms}->ak`, ...operands.map(tensorOf)), product.toArray(), 1e-12);
});

test('more letters than the alphabet has', () => {
  const alphabet = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const operands = alphabet.map((_, k) => sn.full([2], k + 1, f64));
  const expectedLog = alphabet.reduce((sum, _, k) => sum + Math.log(2 * (k + 1)), 0);
  assertClose(sn.einsum(`${alphabet}->`, ...operands).log(), expectedLog, 1e-12);
  const odd = sn.einsum(`${alphabet}->Zm`, ...operands);
  assert.deepEqual(odd.shape, [2, 2]);
  assertClose(odd.at(1).get().at(0).get().log(), expectedLog - 2 * Math.LN2, 1e-12);
});

test('one tensor in several places', () => {
  const x = sn.tensor([[1, 2], [3, 4]]);
  assert.deepEqual(sn.einsum('ij,ij->', x, x).item(), 30);
  assert.deepEqual(sn.einsum('ij,jk,kl->il', x, x, x).toArray(), [[37, 54], [81, 118]]);
  assert.deepEqual(x.toArray(), [[1, 2], [3, 4]]);
});

test('dtypes are those of matmul; arrays and numbers are operands', () => {
  const ints = sn.tensor([[1, 2], [3, 4]], { dtype: 'int32' });
  const bools = sn.tensor([[true, false], [true, true]], { dtype: 'bool' });
  const doubles = sn.tensor([[1, 2], [3, 4]], f64);
  for (const [a, b] of [[ints, ints], [ints, bools], [ints, doubles], [doubles, bools], [sn.ones([2, 2]), ints]]) {
    const product = sn.einsum('ij,jk->ik', a, b);
    assert.equal(product.dtype, sn.matmul(a, b).dtype);
    assert.deepEqual(product.toArray(), sn.matmul(a, b).toArray());
  }
  assert.equal(sn.einsum('ij->ji', ints).dtype, 'int32');
  assert.equal(sn.einsum('ij->ji', bools).dtype, 'int32');
  assert.equal(sn.einsum(',ij->ij', 0.5, doubles).dtype, 'float64');
  assert.deepEqual(sn.einsum('i,,i->i', [1, 2], 10, new Float32Array([3, 4])).toArray(), [30, 80]);
});

test('NaN and infinities pass through', () => {
  const x = sn.einsum('ij,jk->ik', [[Infinity, 1], [NaN, 0]], [[0, 1], [1, 1]]).dataSync();
  assert.deepEqual([...x], [NaN, Infinity, NaN, NaN]);
  assert.deepEqual(sn.einsum('ii->i', [[1, NaN], [Infinity, 2]]).toArray(), [1, 2]);
});

test('what is transposed before is read where it lies', () => {
  const random = generator(5);
  const [a, b] = [draw(random, [3, 4, 5]), draw(random, [5, 4, 2])];
  check('ijk,kjm->mi', [a, b]);
  const turned = sn.einsum('kij,mjk->mi', tensorOf(a).transpose([2, 0, 1]), tensorOf(b).transpose());
  assertClose([...turned.dataSync()], [...expected('ijk,kjm->mi', [a, b]).data], 1e-12);
});

// ---- transforms ------------------------------------------------------------------------------------

const GRADIENTS = `ij,jk->ik 2,3;3,4|ij->j 2,3|ii-> 3,3|iij->ij 2,2,3|iji,j->i 2,3,2;3|bij,bkj->bik 2,2,3;2,4,3
  |ij,ij->i 2,3;2,3|i,j,k->kij 2;3;2|ij,jk,kl,lm->im 2,3;3,2;2,4;4,2|...ij,...jk->...ik 2,2,3;3,2|ij,jk->ik 2,1;3,2
  |ijx,jk->k 2,3,2;3,2|i,ij,j-> 2;2,3;3|iii->i 2,2,2`.split('|').map((row) => row.trim().split(' '));

test('gradients agree with differences', () => {
  const random = generator(6);
  for (const [spec, shapes] of GRADIENTS) {
    const operands = shapesOf(shapes).map((shape) => draw(random, shape));
    const weights = draw(random, expected(spec, operands).shape);
    const w = tensorOf(weights);
    const loss = (...x) => sn.einsum(spec, ...x).mul(w).sum();
    const gradients = sn.grad(loss, { argnums: operands.map((_, k) => k) })(...operands.map(tensorOf));
    const value = () => expected(spec, operands).data.reduce((sum, y, i) => sum + y * weights.data[i], 0);
    operands.forEach(({ data }, k) => {
      const differences = [...data.keys()].map((i) => {
        const was = data[i];
        const [high, low] = [1e-4, -1e-4].map((step) => {
          data[i] = was + step;
          return value();
        });
        data[i] = was;
        return (high - low) / 2e-4;
      });
      assertClose([...gradients[k].dataSync()], differences, 1e-8);
    });
  }
});

test('gradients by a transpose, and by what stands in two places', () => {
  const x = sn.tensor([[1, 2, 3], [4, 5, 6]], f64);
  const twice = sn.grad((v) => sn.einsum('ij,ij->', v, v))(x);
  assertClose(twice, [[2, 4, 6], [8, 10, 12]]);
  const turned = sn.grad((v) => sn.einsum('ij,jk->', v.transpose(), x))(x);
  assertClose(turned, [[6, 6, 6], [15, 15, 15]]);
  const second = sn.grad((v) => sn.grad((u) => sn.einsum('i,i,i->', u, u, u))(v).sum())(sn.tensor([1, 2], f64));
  assertClose(second, [6, 12]);
});

test('inside jit: one kernel for one product, none for a reshape', () => {
  const random = generator(7);
  for (const spec of ['bij,bkj->bik', 'bij,bjk->bki']) {
    const compiled = sn.jit((x, y) => sn.einsum(spec, x, y));
    for (let i = 0; i < 2; i++) check(spec, [draw(random, [2, 3, 3]), draw(random, [2, 3, 3])], compiled);
  }
  const kernels = (spec, ...shapes) => {
    const seen = sn.inspect((...x) => sn.einsum(spec, ...x))(...shapes.map((shape) => sn.ones(shape)));
    seen.dispose();
    return seen.kernels.length;
  };
  assert.equal(kernels('ijkl,klm->ijm', [3, 4, 5, 6], [5, 6, 7]), 1);
  assert.equal(kernels('bqhd,bkhd->bhqk', [2, 6, 4, 5], [2, 7, 4, 5]), 1);
  assert.equal(kernels('ij,j->i', [30, 40], [40]), 1);
  assert.equal(kernels('ii->', [9, 9]), 1);
});

// ---- errors ----------------------------------------------------------------------------------------

const a = sn.zeros([2, 3]);
const b = sn.zeros([4, 5]);

// After any error the library still computes.
afterEach(() => assert.deepEqual(sn.einsum('ij->ji', [[1, 2]]).toArray(), [[1], [2]]));

test('a ShapeError names the op, the spec and the shapes', () => {
  for (const [spec, detail] of [
    ['ij,jk->ik', "sizes 3 and 4 of 'j' differ"],
    ['...,...', "sizes 2 and 4 of '.' differ"],
    ['ij->ij', 'terms: 1, operands: 2'],
    ['ij,jk,kl->il', 'terms: 3, operands: 2'],
    ['', 'terms: 1, operands: 2'],
    [',', 'term 1 does not fit rank 2'],
    ['ij,k->i', 'term 2 does not fit rank 2'],
    ['ijk,kl->i', 'term 1 does not fit rank 2'],
    ['ij,kl->i1', 'unexpected character 9'],
    ['ij,kl->ié', 'unexpected character 9'],
    ['ij,kl\0->i', 'unexpected character 6'],
    ['ij,kl..', 'unexpected character 6'],
    ['ij,kl>', 'unexpected character 6'],
    ['ij,kl->i->j', 'unexpected character 9'],
    ['ij,kl->i,j', 'unexpected character 9'],
    ['ij,kl->iki', "output 'i' is repeated"],
    ['ij,kl->iz', "output 'z' is in no operand"],
    ['i...,kl->ik', "the output lacks '...'"],
    ['ij,kl->ijklABCDE', 'rank 9 of the output is not in 0..8'],
  ]) {
    assertThrows(() => sn.einsum(spec, a, b), sn.ShapeError, {
      message: `einsum: ${detail} in "${spec.replace('\0', '?')}": a (2, 3), b (4, 5)`,
      op: 'einsum',
      code: 'shape',
      shapes: [[2, 3], [4, 5]],
    });
  }
  assertThrows(() => sn.einsum('ii->i', a), sn.ShapeError, { message: /sizes 2 and 3 of 'i' differ.*\(2, 3\)/ });
  assertThrows(() => sn.einsum('ii->i', sn.zeros([1, 3])), sn.ShapeError, { shapes: [[1, 3]] });
  assertThrows(() => sn.einsum('ij,'.repeat(2000), a), sn.ShapeError, { message: /terms: 2001, operands: 1/ });
});

test('no spec, no operands, disposed operands', () => {
  assertThrows(() => sn.einsum('ij->ji'), sn.SinterError, { op: 'einsum', code: 'argument' });
  assertThrows(() => sn.einsum(a, b), sn.SinterError, { op: 'einsum', code: 'argument' });
  assertThrows(() => sn.einsum(), sn.SinterError, { op: 'einsum', code: 'argument' });
  const gone = sn.zeros([2]);
  gone.dispose();
  assertThrows(() => sn.einsum('i->', gone), sn.DisposedError, { op: 'einsum' });
});

test('sizes that overflow are refused before anything is allocated', () => {
  const row = sn.broadcastTo(sn.ones([1]), [2 ** 28]);
  const before = sn.memory();
  const rows = Array.from({ length: 8 }, () => row);
  for (const spec of ['a,b->ab', 'a,b,c->abc', 'a,b,c,d,e,f,g,h->abcdefgh']) {
    const operands = rows.slice(0, spec.split(',').length);
    assertThrows(() => sn.einsum(spec, ...operands), sn.OutOfMemoryError, { op: 'einsum', message: /too large/ });
  }
  assert.equal(sn.memory().tensors, before.tensors);
  assert.equal(sn.memory().bytesInUse, before.bytesInUse);
  assertClose(sn.einsum('a,b->', row.slice([0], [4]), row.slice([0], [3])), 12);
});

test('results of too many dimensions are refused', () => {
  const wide = sn.ones([2, 2, 2, 2, 2, 2, 2, 2]);
  assertThrows(() => sn.einsum('abcdefgh,abijklmn,cdijopqr,efklopst->ghmnqrst', wide, wide, wide, wide),
    sn.UnsupportedError, { op: 'einsum', message: /no order with results of rank 0\.\.8/ });
  assertThrows(() => sn.einsum('abcdefgh,ijklmnop', wide, wide), sn.ShapeError, { message: /rank 16/ });
});
