// Convolution and pooling against plain loops, their gradients, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();

/** Whole numbers 0 .. n - 1 from a small generator. */
function generator(seed) {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

const product = (dims) => dims.reduce((a, b) => a * b, 1);

/** Multiples of 1/16, whose products float32 sums exactly. */
const noise = (draw, shape) => sn.tensor(Float32Array.from({ length: product(shape) }, () => draw(33) / 16 - 1), { shape });

/** [windows, positions before the first element] along one axis. */
function place(size, window, stride, dilation, padding, axis) {
  const span = (window - 1) * dilation + 1;
  if (padding === 'same') {
    const out = Math.ceil(size / stride);
    return [out, Math.floor(Math.max(0, (out - 1) * stride + span - size) / 2)];
  }
  const [before, after] = padding === 'valid' ? [0, 0] : padding[axis];
  return [Math.floor((size + before + after - span) / stride) + 1, before];
}

/** Calls visit(n, [oy, ox], [ky, kx], [iy, ix]) for every element of every window that lies inside. */
function windows([n, h, w], window, { strides, dilation = [1, 1], padding = 'valid' }, visit) {
  const [[oh, top], [ow, left]] = [h, w].map((size, i) => place(size, window[i], strides[i], dilation[i], padding, i));
  for (let b = 0; b < n; b++)
    for (let oy = 0; oy < oh; oy++)
      for (let ox = 0; ox < ow; ox++)
        for (let ky = 0; ky < window[0]; ky++)
          for (let kx = 0; kx < window[1]; kx++) {
            const [iy, ix] = [oy * strides[0] + ky * dilation[0] - top, ox * strides[1] + kx * dilation[1] - left];
            if (iy >= 0 && iy < h && ix >= 0 && ix < w) visit(b, [oy, ox], [ky, kx], [iy, ix]);
          }
  return [oh, ow];
}

/** Value and gradients of sum(conv2d(x, filter) * r), all as flat arrays. */
function plainConv(x, filter, r, options) {
  const [n, h, w, c] = x.shape;
  const [kh, kw, per, o] = filter.shape;
  const [xs, ws, rs] = [x, filter, r].map((t) => t.dataSync());
  const [oh, ow] = r.shape.slice(1);
  const [y, dx, dw] = [rs, xs, ws].map((a) => new Float64Array(a.length));
  const outputs = o / options.groups;
  windows([n, h, w], [kh, kw], options, (b, [oy, ox], [ky, kx], [iy, ix]) => {
    for (let f = 0; f < o; f++)
      for (let i = 0; i < per; i++) {
        const from = ((b * h + iy) * w + ix) * c + Math.floor(f / outputs) * per + i;
        const tap = ((ky * kw + kx) * per + i) * o + f;
        const to = ((b * oh + oy) * ow + ox) * o + f;
        y[to] += xs[from] * ws[tap];
        dx[from] += rs[to] * ws[tap];
        dw[tap] += rs[to] * xs[from];
      }
  });
  return { y, dx, dw };
}

const PADDINGS = ['same', 'valid', [[1, 0], [0, 1]]];

test('random convolutions and their gradients, in both layouts', () => {
  const draw = generator(5);
  for (let i = 0; i < 60; i++) {
    const [groups, per, outputs] = [1 + draw(3), 1 + draw(4), 1 + draw(4)];
    const window = [2 + draw(2), 2 + draw(2)];
    const shape = [1 + draw(2), 5 + draw(4), 5 + draw(4), groups * per];
    const options = { strides: [1 + draw(2), 1 + draw(2)], dilation: [1 + draw(2), 1 + draw(2)], padding: PADDINGS[draw(3)], groups };
    const [x, filter] = [noise(draw, shape), noise(draw, [...window, per, groups * outputs])];
    const out = windows(shape, window, options, () => {});
    const r = noise(draw, [shape[0], ...out, groups * outputs]);
    const want = plainConv(x, filter, r, options);
    assert.deepEqual(sn.conv2d(x, filter, options).shape, r.shape);
    const loss = sn.jit(
      sn.grad((a, b) => sn.conv2d(a, b, options).mul(r).sum(), { argnums: [0, 1] }),
    );
    const [dx, dw] = loss(x, filter);
    const turned = sn.transpose(x, [0, 3, 1, 2]);
    const first = sn.conv2d(turned, filter, { ...options, layout: 'NCHW' });
    for (const [name, got, expected] of [
      ['y', x.conv2d(filter, options), want.y],
      ['channels first', sn.transpose(first, [0, 2, 3, 1]), want.y],
      ['dx', dx, want.dx],
      ['dw', dw, want.dw],
    ]) {
      assert.deepEqual(Array.from(got.dataSync()), Array.from(expected, Math.fround), `${i}: ${name}`);
    }
  }
});

test('the transposed convolution is the gradient of the convolution', () => {
  const draw = generator(9);
  for (const padding of ['same', 'valid', [[1, 1], [0, 1]]]) {
    const options = { strides: 2, padding };
    const [x, filter] = [noise(draw, [1, 8, 8, 2]), noise(draw, [2, 2, 2, 3])];
    const out = sn.conv2d(x, filter, options);
    const r = noise(draw, out.shape);
    const dx = sn.grad((a) => sn.conv2d(a, filter, options).mul(r).sum())(x);
    const y = sn.convTranspose2d(r, filter, options);
    const [rows, columns] = y.shape.slice(1, 3);
    assert.deepEqual(sn.slice(dx, [0, 0, 0, 0], [1, rows, columns, 2]).toArray(), y.toArray());
  }
  assert.deepEqual(sn.convTranspose2d(sn.ones([2, 3, 4, 3]), sn.ones([3, 3, 5, 3]), { strides: 2, padding: 'same' }).shape, [2, 6, 8, 5]);
});

test('one and three axes', () => {
  const x = sn.tensor([1, 2, 3, 4, 5], { shape: [1, 5, 1] });
  const filter = sn.tensor([1, 0, -1], { shape: [3, 1, 1] });
  assert.deepEqual(sn.conv1d(x, filter).toArray(), [[[-2], [-2], [-2]]]);
  assert.deepEqual(sn.conv1d(x, filter, { padding: 'same', strides: 2 }).toArray(), [[[-2], [-2], [4]]]);
  assert.deepEqual(x.conv1d(filter, { padding: [[2, 0]] }).toArray(), [[[-1], [-2], [-2], [-2], [-2]]]);
  const cube = sn.conv3d(sn.ones([1, 3, 4, 5, 2]), sn.ones([2, 2, 2, 2, 3]));
  assert.deepEqual(cube.shape, [1, 2, 3, 4, 3]);
  assert.ok(cube.dataSync().every((value) => value === 16));
});

test('pools: largest element, mean without padding, gradients', () => {
  const x = sn.tensor([1, 2, 3, 4, 5, 6, 7, 8, 9], { shape: [1, 3, 3, 1] });
  const flat = (t) => Array.from(t.dataSync());
  assert.deepEqual(flat(sn.maxPool2d(x, { window: 2 })), [5]);
  assert.deepEqual(flat(sn.maxPool2d(x, { window: 2, strides: 1 })), [5, 6, 8, 9]);
  assert.deepEqual(flat(x.maxPool2d({ window: [2, 3], padding: 'same' })), [6, 9]);
  assert.deepEqual(flat(sn.avgPool2d(x, { window: 2, padding: 'same' })), [3, 4.5, 7.5, 9]);
  assert.deepEqual(flat(x.avgPool2d({ window: 2, strides: 1, padding: [[1, 0], [1, 0]] })), [1, 1.5, 2.5, 2.5, 3, 4, 5.5, 6, 7]);
  const first = sn.reshape(x, [1, 1, 3, 3]);
  assert.deepEqual(sn.maxPool2d(first, { window: 2, strides: 1, layout: 'NCHW' }).shape, [1, 1, 2, 2]);
  const slope = (f) => flat(sn.grad((a) => f(a).sum())(x));
  assert.deepEqual(slope((a) => sn.maxPool2d(a, { window: 2, strides: 1 })), [0, 0, 0, 0, 1, 1, 0, 1, 1]);
  assert.deepEqual(slope((a) => sn.avgPool2d(a, { window: 2, padding: 'same' })), [0.25, 0.25, 0.5, 0.25, 0.25, 0.5, 0.5, 0.5, 1]);
});

test('a convolution with bias and relu is one kernel, and nothing is copied', () => {
  for (const padding of ['same', 'valid']) {
    const run = sn.inspect((x, w, b) => sn.conv2d(x, w, { padding }).add(b).relu());
    const { kernels, memory } = run(sn.ones([2, 16, 16, 32]), sn.ones([3, 3, 32, 8]), sn.ones([8]));
    assert.deepEqual(kernels.map(({ kind }) => kind), ['contraction']);
    assert.equal(memory.arenaBytes, 0);
  }
});

test('so is one with a normalisation by given statistics, which begins with the factors of its channels', () => {
  const layer = (x, w, b, mean, variance, weight, bias) => sn.batchNorm(sn.conv2d(x, w, { padding: 'same' }).add(b),
    { mean, variance, weight, bias }).relu();
  const channels = () => sn.ones([24]);
  const args = [sn.ones([2, 16, 16, 32]), sn.ones([3, 3, 32, 24]), ...Array.from({ length: 5 }, channels)];
  const { kernels, memory } = sn.inspect(layer)(...args);
  assert.deepEqual(kernels.map(({ kind }) => kind), ['contraction']);
  assert.match(kernels[0].text, /map add\+rsqrt space\(24\)[^]*contraction matmul/);
  assert.ok(memory.arenaBytes <= 128);
});

test('what runs before a product has the same bits as a kernel of its own, also when weights stay packed', () => {
  const f = (x, w, mean, variance) => sn.batchNorm(x.matmul(w), { mean, variance }).relu();
  const numbers = (shape, seed) => sn.random.uniform(sn.random.key(seed), shape);
  const args = [numbers([24, 200], 1), numbers([200, 40], 2), numbers([40], 3), numbers([40], 4)];
  const [one, several] = [sn.jit(f), sn.jit(f, { fusion: false })];
  const expected = several(...args).toArray();
  for (let call = 0; call < 4; call += 1) assert.deepEqual(one(...args).toArray(), expected);
  const other = [args[0], args[1], args[2], args[3].mul(3)];
  assert.deepEqual(one(...other).toArray(), several(...other).toArray());
});

test('a donated argument is not written over before a product has read it', () => {
  const step = (state, x, w) => ({ y: x.matmul(w).mul(sn.rsqrt(state)), state: state.mul(2) });
  const [x, w] = [sn.ones([3, 8]), sn.ones([8, 5])];
  const run = sn.jit(step, { donate: [0] });
  const { y, state } = run(sn.full([5], 4), x, w);
  assert.deepEqual(y.toArray(), Array(3).fill(Array(5).fill(4)));
  assert.deepEqual(state.toArray(), Array(5).fill(8));
});

test('what does not fit is named', () => {
  const [x, filter] = [sn.ones([1, 5, 6, 4]), sn.ones([3, 3, 4, 8])];
  const refused = (f, message) => assertThrows(f, sn.ShapeError, { message });
  const spec = 'x (1, 5, 6, 4), filter (3, 3, 4, 8)';
  const core = (strides, padding, groups) => `${spec}, strides ${strides}, dilation (1, 1), padding ${padding}, groups ${groups}`;
  refused(() => sn.conv2d(x, filter, { strides: 0 }), `conv2d: strides must be 1 or more: ${core('(0, 0)', 'valid', 1)}`);
  refused(() => sn.conv2d(x, filter, { groups: 3 }), `conv2d: groups do not divide the channels: ${core('(1, 1)', 'valid', 3)}`);
  refused(() => sn.conv2d(x, sn.ones([3, 3, 5, 8])), `conv2d: channels differ: ${core('(1, 1)', 'valid', 1).replace('3, 4,', '3, 5,')}`);
  refused(
    () => sn.conv2d(x, filter, { padding: [[-3, 0], [0, 0]] }),
    `conv2d: padding is negative: ${core('(1, 1)', '(-3, 0) and (0, 0)', 1)}`,
  );
  refused(() => sn.conv2d(x, filter, { strides: [1, 2, 3] }), `conv2d: expected strides as 2 whole numbers: ${spec}`);
  refused(() => sn.conv2d(x, filter, { dilation: 1.5 }), `conv2d: expected dilation as 2 whole numbers: ${spec}`);
  refused(() => sn.conv2d(x, filter, { padding: 'full' }), `conv2d: no padding 'full': ${spec}`);
  refused(() => sn.conv2d(x, filter, { layout: 'NHW' }), `conv2d: no layout 'NHW': ${spec}`);
  refused(() => sn.conv2d(x, filter, { groups: 0 }), `conv2d: no 0 groups: ${spec}`);
  refused(() => sn.conv1d(x, filter), `conv1d: ranks do not fit: ${spec}, strides (1,), dilation (1,), padding valid, groups 1`);
  refused(
    () => sn.maxPool2d(x, { window: 6 }),
    'maxPool2d: the window is larger than the input: x (1, 5, 6, 4), window (6, 6), strides (6, 6), dilation (1, 1), padding valid',
  );
  refused(
    () => sn.avgPool2d(x, { window: 0 }),
    'avgPool2d: the window has no elements: x (1, 5, 6, 4), window (0, 0), strides (1, 1), dilation (1, 1), padding valid',
  );
});

test('channels that are filtered by themselves are walks along all of them, however many filters each has', () => {
  for (const many of [1, 3]) {
    const conv = (x, w) => sn.conv2d(x, w, { padding: 'same', groups: 8 });
    const args = [sn.ones([2, 12, 12, 8]), sn.ones([5, 5, 1, 8 * many])];
    const kinds = (f) => new Set(sn.inspect(f)(...args).kernels.map(({ kind }) => kind));
    assert.deepEqual(kinds(conv), new Set(['map']));
    assert.deepEqual(kinds(sn.grad((x, w) => conv(x, w).sum())), new Set(['map']));
    // ones for the elements that a window meets
    const [dx, dw] = sn.grad((x, w) => conv(x, w).sum(), { argnums: [0, 1] })(...args);
    assertClose(dx.at(0).get().at(6).get().at(6).get(), Array.from({ length: 8 }, () => 25 * many), 0);
    assertClose(dw.at(2).get().at(2).get(), [Array.from({ length: 8 * many }, () => 288)], 0);
  }
});

test('winograd: 16 products, errors within the bound for numbers of one size, off unless asked for', () => {
  const normal = (seed, shape) => sn.random.normal(sn.random.key(seed), shape);
  const [x, w, r] = [normal(1, [2, 15, 14, 64]), normal(2, [3, 3, 64, 48]), normal(3, [2, 15, 14, 48])];
  const layer = (a, b) => sn.conv2d(a, b, { padding: 'same' });
  const slope = sn.grad((a, b, c) => layer(a, b).mul(c).sum());
  const products = (options) => sn.inspect(layer, options)(x, w).kernels.filter(({ kind }) => kind === 'contraction').length;
  assert.deepEqual([products({}), products({ winograd: false }), products({ winograd: true })], [1, 1, 16]);
  assert.throws(() => sn.jit(layer, { winograd: 1 })(x, w), { name: 'SinterError', message: /winograd/ });
  /** (8 + log2 K) 2^-24 sum |terms| of each element, K terms. */
  const check = (got, exact, magnitude, terms) => {
    const [have, want, size] = [got, exact, magnitude].map((t) => t.dataSync());
    have.forEach((v, i) => assert.ok(Math.abs(v - want[i]) <= (8 + Math.log2(terms)) * 2 ** -24 * size[i], `${i}: ${v}, exactly ${want[i]}`));
  };
  const wide = [x, w, r].map((t) => t.astype('float64'));
  const sizes = wide.map((t) => t.abs());
  check(sn.jit(layer, { winograd: true })(x, w), layer(...wide.slice(0, 2)), layer(...sizes.slice(0, 2)), 9 * 64);
  check(sn.jit(slope, { winograd: true })(x, w, r), slope(...wide), slope(...sizes), 9 * 48);
  // A batch of none, and one more axis.
  assert.deepEqual(sn.jit(layer, { winograd: true })(sn.zeros([0, 8, 8, 64]), w).shape, [0, 8, 8, 48]);
  const each = sn.vmap((a) => layer(a, w));
  const both = sn.stack([x, x.mul(2)]);
  const mapped = sn.jit(each, { winograd: true })(both);
  check(mapped, each(both).astype('float64'), sn.vmap((a) => layer(a, sizes[1]))(both.abs().astype('float64')).mul(2), 9 * 64);
});
