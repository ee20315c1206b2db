// Values and gradients on the device against PyTorch's (js/test/torch.test.mjs): what differs is rounding, and the order of sums.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { OPS, cases, doubles, input } from '../../js/test/torchcases.mjs';
import { start } from './device.mjs';

let sn;
before(async () => {
  sn = await start();
});

/** A sum of K products, in whatever order, is off by at most K u sum|terms|; blocks make it far less. */
const compare = async (what, got, { at, terms, size }, shape) => {
  const want = doubles(at, shape);
  const bound = (32 + 4 * Math.log2(Math.max(1, terms))) * 2 ** -24 * size;
  (await got.data()).forEach((x, i) => assert.ok(Math.abs(x - want[i]) <= bound,
    `${what}, element ${i}: ${x}, PyTorch ${want[i]}, bound ${bound}`));
};

const check = async ({ op, options, inputs, labels, r, shape, values }) => {
  const x = inputs.map(({ at, shape: dims }) => input(at, dims, 'float32'));
  const whole = labels && sn.tensor(labels.values, { shape: labels.shape, dtype: 'int32' });
  const cotangent = input(r, shape, 'float32');
  const f = (...given) => OPS[op](options, whole, ...given);
  const what = `${op} ${JSON.stringify(options)} of ${inputs.map((i) => `(${i.shape})`).join(' ')}`;
  const loss = (...given) => f(...given).mul(cotangent).sum();
  const slopes = sn.grad(loss, { argnums: x.map((_, i) => i) });
  const run = sn.jit((...given) => [f(...given), ...slopes(...given)], { device: 'webgpu' });
  const results = run(...x);
  for (const [i, result] of results.entries())
    await compare(`${what}: ${i ? `gradient ${i - 1}` : 'value'}`, result, values[i], i ? inputs[i - 1].shape : shape);
  run.dispose();
};

for (const op of Object.keys(OPS))
  test(`${op}: values and gradients are PyTorch's`, async () => {
    for (const one of cases.filter((each) => each.op === op)) await check(one);
  });
