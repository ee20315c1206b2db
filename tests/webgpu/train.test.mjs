// Training steps on the device: the losses of the CPU, one submission a step, no more dispatches than the CPU has kernels and a
// fifth, no buffer made once the state goes round.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { asked, assertWithin, start } from './device.mjs';

let sn;
before(async () => {
  sn = await start();
});

const STEPS = 6;

/** Losses of a few steps, what the last of them asked for, and the buffers made behind the third. */
const train = async (device, module, loss, optimizer, batch, options) => {
  const made = module.init(sn.random.key(3));
  const { params = made, state } = made;
  const step = sn.trainStep(loss, optimizer, { ...options, device });
  let s = step.init(params, { ...(state && { state }), key: sn.random.key(5) });
  const losses = [];
  let [before, buffers] = [null, 0];
  for (let i = 0; i < STEPS; i += 1) {
    if (i === STEPS - 1) before = { ...asked };
    if (i === 3) ({ buffers } = asked);
    const result = step(s, ...batch);
    s = result.state;
    if (i === STEPS - 1) before.dispatches = asked.dispatches - before.dispatches;
    if (i === STEPS - 1) before.submissions = asked.submissions - before.submissions;
    losses.push((await result.loss.data())[0]);
    result.loss.dispose();
  }
  before.buffers = asked.buffers - buffers;
  return { losses, last: before, params: step.params(s) };
};

/** Of the same step on the CPU. */
const kernelsOf = (module, loss, optimizer, batch, options) => {
  const made = module.init(sn.random.key(3));
  const { params = made, state } = made;
  const step = sn.trainStep(loss, optimizer, options);
  const first = step.init(params, { ...(state && { state }), key: sn.random.key(5) });
  return sn.inspect((s, ...given) => step(s, ...given))(first, ...batch).kernels.length;
};

/** hasFewDispatches: whether those are at most the kernels of the CPU and a fifth. */
const check = async (module, loss, optimizer, batch, options = {}, hasFewDispatches = false) => {
  const cpu = await train('cpu', module, loss, optimizer, batch, options);
  const device = await train('webgpu', module, loss, optimizer, batch, options);
  assertWithin('losses', device.losses, cpu.losses, 512, 1);
  assert.ok(cpu.losses.at(-1) < cpu.losses[0]);
  assert.equal(device.last.submissions, 1);
  assert.equal(device.last.buffers, 0);
  if (!hasFewDispatches) return;
  const kernels = kernelsOf(module, loss, optimizer, batch, options);
  assert.ok(device.last.dispatches <= 1.2 * kernels, `${device.last.dispatches} dispatches, ${kernels} kernels`);
};

const classes = (n, count) => sn.tensor(Int32Array.from({ length: n }, (_, i) => (i * 7) % count));
const crossEntropy = (module) => (p, x, y, { state, key }) => {
  const made = module.apply(p, x, { state, key, train: true });
  const [logits, next] = Array.isArray(made) ? made : [made, undefined];
  const loss = sn.losses.softmaxCrossEntropy(logits, y);
  return next === undefined ? loss : [loss, { state: next }];
};

test('a multi-layer perceptron with AdamW', async () => {
  const { nn, optim } = sn;
  const net = nn.sequential(nn.linear(60, 40), nn.relu(), nn.linear(40, 33), nn.gelu(), nn.linear(33, 10));
  const batch = [sn.random.normal(sn.random.key(9), [48, 60]), classes(48, 10)];
  await check(net, crossEntropy(net), optim.adamw({ lr: 3e-3 }), batch, {}, true);
});

test('a convolutional network with batch norm and dropout', async () => {
  const { nn, optim } = sn;
  const net = nn.sequential(
    nn.conv2d(1, 8, 3, { padding: 'same' }), nn.batchNorm(8), nn.relu(), nn.maxPool2d(2),
    nn.conv2d(8, 12, 3, { padding: 'same' }), nn.relu(), nn.maxPool2d(2), nn.flatten(), nn.dropout(0.2), nn.linear(3 * 3 * 12, 10),
  );
  const batch = [sn.random.normal(sn.random.key(9), [6, 12, 12, 1]), classes(6, 10)];
  await check(net, crossEntropy(net), optim.sgd({ lr: 0.02, momentum: 0.9 }), batch, { clipNorm: 1 }, true);
});

test('a transformer', async () => {
  const { nn, optim } = sn;
  const [width, context, letters] = [32, 16, 20];
  const block = () => nn.sequential(
    nn.residual(nn.layerNorm(width), nn.selfAttention(width, 4, { causal: true })),
    nn.residual(nn.layerNorm(width), nn.linear(width, 2 * width), nn.gelu(), nn.linear(2 * width, width)),
  );
  const net = nn.sequential(nn.embedding(letters, width), block(), block(), nn.layerNorm(width), nn.linear(width, letters));
  const text = (seed) => sn.random.uniform(sn.random.key(seed), [4, context], { maxval: letters }).astype('int32');
  await check(net, crossEntropy(net), optim.adamw({ lr: 1e-3 }), [text(1), text(2)], {}, true);
});

for (const kind of ['lstm', 'gru'])
  test(`a recurrent network: ${kind}`, async () => {
    const { nn, optim } = sn;
    const net = nn.sequential(nn[kind](5, 8), nn.linear(8, 3));
    const loss = (p, x, y) => sn.losses.mse(net.apply(p, x), y);
    const batch = [sn.random.normal(sn.random.key(1), [4, 12, 5]), sn.random.normal(sn.random.key(2), [4, 12, 3])];
    await check(net, loss, optim.adamw({ lr: 1e-2 }), batch);
  });

test('connectionist temporal classification', async () => {
  const { nn, optim } = sn;
  const net = nn.linear(6, 5);
  const labels = sn.tensor([[1, 2, 3], [4, 4, 1]], { dtype: 'int32' });
  const loss = (p, x) => sn.losses.ctc(net.apply(p, x), labels);
  await check(net, loss, optim.adamw({ lr: 1e-2 }), [sn.random.normal(sn.random.key(3), [2, 10, 6])]);
});

test('parts of a batch', async () => {
  const { nn, optim } = sn;
  const net = nn.sequential(nn.linear(6, 8), nn.tanh(), nn.linear(8, 3));
  const batch = [sn.random.normal(sn.random.key(4), [12, 6]), classes(12, 3)];
  await check(net, crossEntropy(net), optim.adamw({ lr: 1e-2 }), batch, { accumulate: 3 });
});

for (const [precision, units] of [['float16', 2 ** 13], ['bfloat16', 2 ** 16]])
  test(`parameters of ${precision}`, async () => {
    const { nn, optim } = sn;
    const net = nn.sequential(nn.linear(6, 8), nn.tanh(), nn.linear(8, 3));
    const given = [net, crossEntropy(net), optim.adamw({ lr: 1e-2 }), [sn.random.normal(sn.random.key(4), [12, 6]), classes(12, 3)], { precision, accumulate: 2 }];
    const [cpu, device] = [await train('cpu', ...given), await train('webgpu', ...given)];
    assertWithin('losses', device.losses, cpu.losses, units, 1);
    assert.ok(device.losses.at(-1) < device.losses[0]);
  });
