// Values and gradients against PyTorch's: tests/golden/torch_cases.py wrote them, in float64.
//
// Bounds. Inputs are exact in float32, so what differs is rounding alone. A sum of K products is off by at
// most (8 + log2 K) u sum|terms| here, u = 2^-24 or 2^-53 being half a unit of the dtype: an order of sums in
// lanes and blocks rounds about log2 K times, and 8 stands for the last few additions and the products. Each
// stored tensor comes with its K (terms) and its largest sum|terms| (size), in which softmax and norms, several
// such sums in a row, count each. PyTorch's own float64 results are off too, hence twice that in float64.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as sn from 'sinter';
import { OPS, cases, doubles, input } from './torchcases.mjs';

before(() => sn.init({ threads: 2 }));

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
