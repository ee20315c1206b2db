// Values and gradients against PyTorch's: tests/golden/torch_cases.py wrote them, in float64.
//
// Bounds. Inputs are exact in float32, so what differs is rounding alone. A sum of K products is off by at
// most (8 + log2 K) u sum|terms| here, u = 2^-24 or 2^-53 being half a unit of the dtype: an order of sums in
// lanes and blocks rounds about log2 K times, and 8 stands for the last few additions and the products. Each
// stored tensor comes with its K (terms) and its largest sum|terms| (size), in which softmax and norms, several
// such sums in a row, count each. PyTorch's own float64 results are off too, hence twice that in float64.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import * as sn from 'sinter';

before(() => sn.init({ threads: 2 }));

const golden = (name) => readFileSync(new URL(`../../tests/golden/${name}`, import.meta.url));
const { cases } = JSON.parse(golden('torch.json'));
const bytes = new Uint8Array(golden('torch.bin')).buffer;

const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
const doubles = (at, shape) => new Float64Array(bytes, at, sizeOf(shape));
const input = (at, shape, dtype) =>
  sn.tensor(Float64Array.from(new Int16Array(bytes, at, sizeOf(shape)), (n) => n / 16384), { shape, dtype });

const windowed = (name) => (options, labels, ...x) => sn[name](...x, options);
const along = (name) => (options, labels, x) => sn[name](x, options);
const flip = (x, turn) => (turn ? sn.swapaxes(x, -1, -2) : x);

/** (options, labels or undefined, ...inputs) => y */
const OPS = {
  matmul: ({ turns }, labels, a, b) => sn.matmul(flip(a, turns.includes('a')), flip(b, turns.includes('b'))),
  einsum: ({ spec }, labels, ...x) => sn.einsum(spec, ...x),
  conv1d: windowed('conv1d'),
  conv2d: windowed('conv2d'),
  conv3d: windowed('conv3d'),
  convTranspose2d: windowed('convTranspose2d'),
  maxPool2d: windowed('maxPool2d'),
  avgPool2d: windowed('avgPool2d'),
  batchNorm: ({ given, ...options }, labels, x, ...rest) => {
    const [weight, bias] = rest.slice(-2);
    const [mean, variance] = given ? rest : [];
    return sn.batchNorm(x, { ...options, weight, bias, mean, variance });
  },
  layerNorm: (options, labels, x, weight, bias) => sn.layerNorm(x, { ...options, weight, bias }),
  softmax: along('softmax'),
  logSoftmax: along('logSoftmax'),
  softmaxCrossEntropy: (options, labels, x, p) => sn.softmaxCrossEntropy(x, labels ?? p),
  attention: ({ masked, ...options }, labels, q, k, v, added) => {
    const seen = masked === 'seen' ? sn.equal(labels, 1) : undefined;
    return sn.attention(q, k, v, { ...options, mask: seen ?? added });
  },
};

const compare = (what, got, shape, { at, terms, size }, dtype) => {
  assert.equal(got.dtype, dtype, what);
  assert.deepEqual([...got.shape], shape, what);
  const want = doubles(at, shape);
  const unit = dtype === 'float64' ? 2 ** -52 : 2 ** -24;
  const bound = (8 + Math.log2(Math.max(1, terms))) * unit * size;
  got.dataSync().forEach((x, i) => assert.ok(Math.abs(x - want[i]) <= bound,
    `${what}, element ${i}: ${x}, PyTorch ${want[i]}, bound ${bound}`));
};

const check = ({ op, options, inputs, labels, r, shape, values }, dtype) => sn.tidy(() => {
  const x = inputs.map(({ at, shape: dims }) => input(at, dims, dtype));
  const whole = labels && sn.tensor(labels.values, { shape: labels.shape, dtype: 'int32' });
  const cotangent = input(r, shape, dtype);
  const f = (...given) => OPS[op](options, whole, ...given);
  const what = `${op} ${JSON.stringify(options)} of ${inputs.map((i) => `(${i.shape})`).join(' ')}, ${dtype}`;
  compare(`${what}: value`, f(...x), shape, values[0], dtype);
  const loss = (...given) => f(...given).mul(cotangent).sum();
  const slopes = sn.jit(sn.grad(loss, { argnums: x.map((_, i) => i) }))(...x);
  slopes.forEach((slope, i) => compare(`${what}: gradient ${i}`, slope, inputs[i].shape, values[i + 1], dtype));
});

for (const op of Object.keys(OPS))
  test(`${op}: values and gradients are PyTorch's, in both dtypes`, () => {
    const own = cases.filter((one) => one.op === op);
    assert.ok(own.length > 0);
    for (const one of own) for (const dtype of ['float64', 'float32']) check(one, dtype);
  });
