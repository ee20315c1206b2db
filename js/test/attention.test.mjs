// attention: values against plain loops, gradients against finite differences, memory, shared heads, errors.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as sn from 'sinter';
import { assertClose, assertThrows } from './support.mjs';

before(() => sn.init({ threads: 2 }));

const KEY = 7;
const random = (shape, seed, dtype) => sn.random.normal(sn.random.key(KEY + seed), shape).astype(dtype ?? 'float32');

/** Plain loops over nested arrays: softmax(scale q kᵀ + mask) v of each head. */
const plain = (q, k, v, scale, score = (s) => s) => q.map((heads, b) => heads.map((rows, h) => {
  const shared = Math.floor(h * k[b].length / heads.length);
  return rows.map((row, i) => {
    const s = k[b][shared].map((key, j) => score(scale * key.reduce((sum, x, d) => sum + x * row[d], 0), i, j, b, h));
    const top = Math.max(...s);
    const e = s.map((x) => Math.exp(x - top));
    const total = e.reduce((x, y) => x + y, 0);
    return v[b][shared][0].map((_, d) => e.reduce((sum, x, j) => sum + x * v[b][shared][j][d], 0) / total);
  });
}));

const SHAPES = [[1, 1, 1, 1, 1, 1], [2, 3, 3, 5, 7, 4], [1, 2, 1, 70, 70, 8], [2, 4, 2, 129, 129, 16]];

for (const [batch, heads, shared, tokens, sources, size] of SHAPES)
  test(`values of ${[batch, heads, shared, tokens, sources, size].join(' ')}`, () => sn.tidy(() => {
    const q = random([batch, heads, tokens, size], 0);
    const k = random([batch, shared, sources, size], 1);
    const v = random([batch, shared, sources, size + 1], 2);
    const arrays = [q, k, v].map((x) => x.toArray());
    const scale = 1 / Math.sqrt(size);
    assertClose(sn.attention(q, k, v), plain(...arrays, scale), 2e-6);
    assertClose(sn.jit(sn.attention)(q, k, v), plain(...arrays, scale), 2e-6);
    assertClose(sn.attention(q, k, v, { causal: true }),
      plain(...arrays, scale, (s, i, j) => (j <= i ? s : -Infinity)), 2e-6);
    const bias = random([heads, tokens, sources], 3);
    const added = bias.toArray();
    assertClose(sn.attention(q, k, v, { mask: bias, scale: 0.5 }),
      plain(...arrays, 0.5, (s, i, j, b, h) => s + added[h][i][j]), 2e-6);
    const seen = sn.greater(bias, -0.5).logicalOr(sn.equal(sn.arange(sources), 0));
    const flags = seen.toArray();
    assertClose(sn.attention(q, k, v, { mask: seen }),
      plain(...arrays, scale, (s, i, j, b, h) => (flags[h][i][j] ? s : -Infinity)), 2e-6);
  }));

test('gradients are those of finite differences', () => sn.tidy(() => {
  const [heads, shared, tokens, size] = [4, 2, 5, 3];
  const inputs = [
    random([1, heads, tokens, size], 0, 'float64'),
    random([1, shared, tokens, size], 1, 'float64'),
    random([1, shared, tokens, size], 2, 'float64'),
  ];
  const weight = random([1, heads, tokens, size], 3, 'float64');
  const loss = (q, k, v) => sn.attention(q, k, v, { causal: true }).mul(weight).sum();
  const gradients = sn.grad(loss, { argnums: [0, 1, 2] })(...inputs);
  const step = 1e-6;
  inputs.forEach((x, which) => {
    const values = x.reshape([-1]).toArray();
    const expected = values.map((_, i) => {
      const at = (delta) => {
        const moved = sn.tensor(values.map((y, j) => (i === j ? y + delta : y)), { dtype: 'float64' }).reshape(x.shape);
        return loss(...inputs.map((y, j) => (j === which ? moved : y))).item();
      };
      return (at(step) - at(-step)) / (2 * step);
    });
    assertClose(gradients[which].reshape([-1]), expected, 1e-8);
  });
}));

/** Every step lies in memory: y, dq, dk, dv for the cotangent r, as pairs of values and of the sums of
 *  the absolute values of what was added; and the largest such sum of the scores. */
const composed = (q, k, v, r, causal) => {
  const [T, S] = [q.shape[2], k.shape[2]];
  const scale = 1 / Math.sqrt(q.shape[3]);
  const done = (x) => (sn.eval(x), x);
  const turn = (x) => x.transpose([0, 1, 3, 2]);
  const rows = (x) => sn.sum(x, { axis: -1, keepdims: true });
  const size = (x, y) => sn.matmul(sn.abs(x), sn.abs(y));
  let scores = sn.matmul(q, turn(k)).mul(scale);
  if (causal) scores = sn.where(sn.lessEqual(sn.arange(S), sn.arange(T).reshape([T, 1])), scores, -Infinity);
  const p = done(sn.softmax(done(scores)));
  const [dp, dpSize] = [done(sn.matmul(r, turn(v))), done(size(r, turn(v)))];
  const ds = done(p.mul(dp.sub(rows(p.mul(dp)))).mul(scale));
  const dsSize = done(p.mul(dpSize.add(rows(p.mul(dpSize)))).mul(scale));
  const results = [
    [sn.matmul(p, v), size(p, v)],
    [sn.matmul(ds, k), size(dsSize, k)],
    [sn.matmul(turn(ds), q), size(turn(dsSize), q)],
    [sn.matmul(turn(p), r), size(turn(p), r)],
  ];
  return { results: results.map((pair) => pair.map((x) => x.dataSync())), score: size(q, turn(k)).max().item() * scale };
};

// A score is off by (8 + log2 size) u times its sum|terms|, e^s relatively by as much, and so is the sum it is
// divided by: twice. Sums over tokens add (8 + log2 tokens) u, once in y and three times in gradients. The composed
// form is off as much where it has the same dtype; that of float32 is in float64 but for the largest, to be fast.
for (const [tokens, causal] of
  [[1, true], [2, false], [7, true], [63, true], [65, false], [257, true], [511, true], [600, false], [4096, true]])
  test(`${tokens} tokens: values and gradients of the composed form`, () => sn.tidy(() => {
    const size = 16;
    const shape = [1, tokens > 1000 ? 1 : 2, tokens, size];
    const exact = tokens > 1000 ? 'float32' : 'float64';
    const wide = [0, 1, 2, 3].map((seed) => sn.tensor(random(shape, seed).dataSync(), { shape, dtype: exact }));
    const { results, score } = composed(...wide, causal);
    for (const dtype of new Set(['float32', exact])) {
      const [q, k, v, r] = wide.map((x) => x.astype(dtype));
      const unit = (dtype === exact ? 2 : 1) * (dtype === 'float64' ? 2 ** -53 : 2 ** -24);
      const slopes = sn.jit(sn.grad((...x) => sn.attention(...x, { causal }).mul(r).sum(), { argnums: [0, 1, 2] }));
      [sn.attention(q, k, v, { causal }), ...slopes(q, k, v)].forEach((got, which) => {
        const [want, sizes] = results[which];
        const factor = (2 * (8 + Math.log2(size)) * score + (which ? 3 : 1) * (8 + Math.log2(tokens))) * unit;
        got.dataSync().forEach((x, i) => assert.ok(Math.abs(x - want[i]) <= factor * sizes[i],
          `${dtype}, result ${which}, element ${i}: ${x}, composed ${want[i]}, bound ${factor * sizes[i]}`));
      });
    }
  }));

test('written by hand it is one kernel too', () => sn.tidy(() => {
  const x = [0, 1, 2].map((seed) => random([8, 200, 32], seed));
  const seen = sn.inspect((q, k, v) => q.matmul(k.transpose([0, 2, 1])).div(8).softmax().matmul(v))(...x);
  assert.deepEqual(seen.kernels.map((kernel) => kernel.kind), ['chain']);
  assert.match(seen.kernels[0].text, /^k0 chain .*\nk0 contraction [^]*\nk0 row [^]*\nk0 contraction /);
  assert.equal(seen.memory.arenaBytes, 0);
  assert.ok(seen.memory.naiveBytes >= 8 * 200 * 200 * 4 * 3);
  seen.dispose();
}));

test('what a causal mask hides is not computed, and flops say so', () => sn.tidy(() => {
  const seen = [[8, 512], [1, 1000]].map(([heads, tokens]) => {
    const x = [0, 1, 2].map((seed) => random([1, heads, tokens, 64], seed));
    return [true, false].map((causal) => sn.inspect((...y) => sn.attention(...y, { causal }))(...x).kernels[0]);
  });
  for (const [causal, plain] of seen) {
    assert.match(causal.text, /^k0 chain .* column <= row\n/);
    assert.doesNotMatch(plain.text, /column <= row/);
    assert.ok(causal.flops < 0.7 * plain.flops, `${causal.flops} of ${plain.flops}`);
    assert.ok(causal.flops > 0.5 * plain.flops);
  }
  const slopes = sn.inspect(trained(FORMS.causal))(...[0, 1, 2].map(() => sn.zeros([1, 8, 4096, 64])));
  assert.match(slopes.kernels.map(({ text }) => text).join(''), / column <= row\n[^]* row <= column\n/);
}));

test('4,096 tokens take no matrix of all scores', () => sn.tidy(() => {
  const x = [0, 1, 2].map((seed) => random([1, 4, 4096, 64], seed));
  const seen = sn.inspect((q, k, v) => sn.attention(q, k, v, { causal: true }))(...x);
  assert.equal(seen.kernels.length, 1);
  assert.ok(seen.memory.arenaBytes < 64 * 2 ** 20);
  seen.dispose();
  const y = sn.attention(...x, { causal: true });
  assertClose(y.slice([0, 0, 0, 0], [1, 4, 1, 64]), x[2].slice([0, 0, 0, 0], [1, 4, 1, 64]).toArray(), 1e-6);
}));

/** Loss and all gradients of a formula of q, k, v behind a nonlinearity. */
const trained = (formula) => (...x) => {
  const [loss, slopes] = sn.valueAndGrad((...args) => formula(...args).tanh().square().sum(),
    { argnums: [0, 1, 2] })(...x);
  return [loss, ...slopes];
};
const swapped = (x) => x.transpose([0, 2, 1, 3]);

const FORMS = {
  plain: sn.attention,
  causal: (q, k, v) => sn.attention(q, k, v, { causal: true }),
  masked: (q, k, v) => sn.attention(q, k, v, { mask: sn.greater(v.sum({ axis: [0, 1, 3] }), 0), scale: 0.5 }),
  'by hand': (q, k, v) => sn.softmax(q.matmul(k.transpose([0, 1, 3, 2])).div(8)).matmul(v),
  einsum: (q, k, v) =>
    sn.einsum('bhij,bhjd->bhid', sn.softmax(sn.einsum('bhid,bhjd->bhij', q, k).div(8)), v),
  'of views': (q, k, v) => swapped(sn.attention(swapped(q), swapped(k), swapped(v), { causal: true })),
};

for (const [name, formula] of Object.entries(FORMS))
  test(`8 heads of 4,096 tokens, forward and backward: ${name}`, () => sn.tidy(() => {
    const shape = name === 'of views' ? [1, 4096, 8, 64] : [1, 8, 4096, 64];
    const seen = sn.inspect(trained(formula))(sn.zeros(shape), sn.zeros(shape), sn.zeros(shape));
    assert.ok(seen.memory.arenaBytes < 64 * 2 ** 20, `${seen.memory.arenaBytes}`);
    assert.ok(seen.memory.naiveBytes > 2 ** 32);
    seen.dispose();
  }));

test('a second layer, a projection between, shared heads: still no matrix of all scores', () => sn.tidy(() => {
  const [tokens, heads, shared, size] = [4096, 8, 2, 64];
  const split = (x, n) => swapped(x.reshape([1, tokens, n, size]));
  const layer = (x, { q, k, v }) => {
    const y = sn.layerNorm(x);
    const scores = sn.attention(sn.rope(split(y.matmul(q), heads)), sn.rope(split(y.matmul(k), shared)),
      split(y.matmul(v), shared), { causal: true });
    return x.add(swapped(scores).reshape(x.shape));
  };
  const weights = () => ({ q: sn.zeros([512, 512]), k: sn.zeros([512, 128]), v: sn.zeros([512, 128]) });
  const loss = (layers, x) => layers.reduce(layer, x).square().mean();
  const seen = sn.inspect((layers, x) => sn.grad(loss)(layers, x))([weights(), weights()], sn.zeros([tokens, 512]));
  assert.ok(seen.memory.arenaBytes < 192 * 2 ** 20, `${seen.memory.arenaBytes}`);
  seen.dispose();
}));

test('scores made again have the bits of scores kept', () => sn.tidy(() => {
  const x = [0, 1, 2].map((seed) => random([1, 2, 1500, 8], seed));
  for (const formula of [FORMS.causal, FORMS['by hand']]) {
    const [again, kept] = [true, false].map((rematerialize) =>
      sn.jit(trained(formula), { passes: { rematerialize } })(...x).map((y) => y.dataSync()));
    assert.deepEqual(again, kept);
  }
}));

test('gradients of many tokens are those of differences along a direction', () => sn.tidy(() => {
  const x = [0, 1, 2].map((seed) => random([1, 1, 1500, 2], seed, 'float64'));
  const way = [3, 4, 5].map((seed) => random([1, 1, 1500, 2], seed, 'float64'));
  const gradients = sn.jit(trained(FORMS.causal))(...x).slice(1);
  const loss = sn.jit((...args) => FORMS.causal(...args).tanh().square().sum());
  const at = (step) => loss(...x.map((y, i) => y.add(way[i].mul(step)))).item();
  const slope = gradients.reduce((sum, g, i) => sum + g.mul(way[i]).sum().item(), 0);
  const difference = (at(1e-5) - at(-1e-5)) / 2e-5;
  assert.ok(Math.abs(slope - difference) < 1e-7 * Math.abs(slope), `${slope} ${difference}`);
}));

test('rope turns pairs of elements by the position', () => sn.tidy(() => {
  const [tokens, size] = [5, 6];
  const x = random([2, 3, tokens, size], 0, 'float64');
  const turned = (rows, base, offset) => rows.map((row, position) => row.map((value, i) => {
    const half = size / 2;
    const pair = i % half;
    const angle = (position + offset) * base ** ((-2 * pair) / size);
    const other = i < half ? -row[i + half] : row[pair];
    return value * Math.cos(angle) + other * Math.sin(angle);
  }));
  for (const [base, offset] of [[10_000, 0], [100, 7]]) {
    const expected = x.toArray().map((a) => a.map((rows) => turned(rows, base, offset)));
    assertClose(sn.rope(x, { base, offset }), expected, 1e-13);
    assertClose(sn.rope(x.astype('float32'), { base, offset }), expected, 1e-5);
  }
  assertClose(sn.rope(x), x.toArray().map((a) => a.map((rows) => turned(rows, 10_000, 0))), 1e-13);
}));

test('rope copies nothing, takes its offset as a tensor, and turns gradients back', () => sn.tidy(() => {
  const x = random([4, 8, 16], 0, 'float64');
  const step = sn.jit((y, offset) => sn.rope(y, { offset }));
  const seen = sn.inspect((y) => sn.rope(y))(random([8, 512, 64], 1));
  assert.ok(seen.memory.arenaBytes <= 4 * 512 * 64 * 3); // tables of angles, not x
  seen.dispose();
  for (const offset of [0, 3, 1000])
    assertClose(step(x, sn.tensor(offset)), sn.rope(x, { offset }).toArray(), 1e-12);
  assert.equal(step.cacheSize, 1);
  assertClose(sn.grad((y) => sn.rope(y).square().sum())(x), x.mul(2).toArray(), 1e-12);
  assert.deepEqual(sn.rope(sn.zeros([0, 4])).shape, [0, 4]);
  assertThrows(() => sn.rope(sn.zeros([4, 5])), sn.ShapeError,
    { message: /rope: needs \(\.\.\., tokens, size\) with an even size: a \(4, 5\)/ });
  assertThrows(() => sn.rope(sn.zeros([4])), sn.ShapeError, { message: /a \(4,\)/ });
}));

test('wrong shapes name the op and all shapes', () => sn.tidy(() => {
  const q = sn.zeros([1, 4, 5, 8]);
  assertThrows(() => sn.attention(q, sn.zeros([1, 3, 5, 8]), sn.zeros([1, 3, 5, 8])), sn.ShapeError, {
    message: /attention: heads of k do not divide those of q: q \(1, 4, 5, 8\), k \(1, 3, 5, 8\), v \(1, 3, 5, 8\)/,
  });
  assertThrows(() => sn.attention(q, q, q, { mask: sn.zeros([4, 4]) }), sn.ShapeError, { message: /\(4, 4\)/ });
}));

test('rope takes tables, and pairs that are neighbours', () => sn.tidy(() => {
  const [tokens, size] = [5, 6];
  const x = random([2, tokens, size], 3, 'float64');
  const angles = sn.mul(sn.arange(tokens, undefined, 1, { dtype: 'float64' }).reshape([tokens, 1]),
    sn.exp(sn.arange(size / 2, undefined, 1, { dtype: 'float64' }).mul(-2 * Math.log(10_000) / size)));
  const tables = { cos: sn.cos(angles), sin: sn.sin(angles) };
  assertClose(sn.rope(x, tables), sn.rope(x).toArray(), 1e-12);
  const apart = (t) => t.reshape([2, tokens, 2, size / 2]).transpose([0, 1, 3, 2]).reshape([2, tokens, size]);
  const neighbours = apart(x); // of x the pairs i and i + size / 2
  assertClose(sn.rope(neighbours, { interleaved: true }), apart(sn.rope(x)).toArray(), 1e-12);
  assertClose(sn.rope(neighbours, { ...tables, interleaved: true }), apart(sn.rope(x)).toArray(), 1e-12);
  const later = { cos: tables.cos.slice([2, 0], [3, 3]), sin: tables.sin.slice([2, 0], [3, 3]) };
  assertClose(sn.rope(x.slice([0, 2, 0], [2, 3, size]), later), sn.rope(x).slice([0, 2, 0], [2, 3, size]).toArray(), 1e-12);
  assert.equal(sn.rope(x.astype('float16'), tables).dtype, 'float16');
  const [dx, dc] = sn.grad((x, c) => sn.rope(x, { cos: c, sin: tables.sin, interleaved: true }).square().sum(), { argnums: [0, 1] })(x, tables.cos);
  assertClose(dx, x.mul(2).toArray(), 1e-12); // turning keeps lengths
  assert.deepEqual([...dc.shape], [tokens, size / 2]);
  assertThrows(() => sn.rope(x, { cos: tables.cos }), sn.SinterError, { code: 'argument', op: 'rope' });
  assertThrows(() => sn.rope(x, { ...tables, offset: 1 }), sn.SinterError, { code: 'argument', op: 'rope' });
}));

test('causal attention behind a past is that of all tokens', () => sn.tidy(() => {
  const [heads, shared, tokens, size] = [4, 2, 9, 8];
  const [q, k, v] = [heads, shared, shared].map((n, i) => random([2, n, tokens, size], i, 'float64'));
  const whole = sn.attention(q, k, v, { causal: true });
  const from = (t, begin, count) => t.slice([0, 0, begin, 0], [2, t.shape[1], count, size]);
  const compiled = sn.jit((q, k, v, past) => sn.attention(q, k, v, { causal: true, past }));
  const mask = sn.greater(random([tokens, tokens], 5), -1).logicalOr(sn.equal(sn.iota([tokens, tokens], 1), 0));
  const masked = sn.attention(q, k, v, { causal: true, mask });
  for (const past of [0, 1, 5, 8]) {
    const last = from(q, past, tokens - past), want = from(whole, past, tokens - past).toArray();
    assertClose(sn.attention(last, k, v, { causal: true, past }), want, 1e-12);
    // a cache of one size: what lies behind the last token is not seen
    assertClose(compiled(from(q, past, 1), k, v, sn.tensor(past, { dtype: 'int32' })), from(whole, past, 1).toArray(), 1e-12);
    const rows = mask.slice([past, 0], [tokens - past, tokens]);
    const part = from(masked, past, tokens - past).toArray();
    assertClose(sn.attention(last, k, v, { causal: true, past, mask: rows }), part, 1e-12);
    const added = sn.where(rows, 0, -Infinity);
    assertClose(sn.attention(last, k, v, { causal: true, past, mask: added }), part, 1e-12);
  }
  const each = sn.tensor([3, 8], { dtype: 'int32', shape: [2, 1, 1, 1] });
  const rows = sn.stack([from(q, 3, 1).slice([0, 0, 0, 0], [1, heads, 1, size]), from(q, 8, 1).slice([1, 0, 0, 0], [1, heads, 1, size])]);
  const want = sn.stack([from(whole, 3, 1).slice([0, 0, 0, 0], [1, heads, 1, size]), from(whole, 8, 1).slice([1, 0, 0, 0], [1, heads, 1, size])]);
  assertClose(sn.attention(rows.reshape([2, heads, 1, size]), k, v, { causal: true, past: each }), want.reshape([2, heads, 1, size]).toArray(), 1e-12);
  assertThrows(() => sn.attention(q, k, v, { past: 1 }), sn.SinterError, { code: 'argument', op: 'attention' });
}));
