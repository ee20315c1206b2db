// device: 'auto': the side that the clock says is faster. The clock is a test's own, by what was asked of the device.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { onClock } from './clock.mjs';
import { asked, start } from './device.mjs';

let sn;
before(async () => {
  sn = await start();
});

const auto = { device: 'auto' };

/** Runs f on a clock by which a run takes so long on a side. */
const withClock = ({ cpu, webgpu }, f) => {
  let before = asked.dispatches;
  return onClock(() => {
    const ms = asked.dispatches > before ? webgpu : cpu;
    before = asked.dispatches;
    return ms;
  }, f);
};
const last = () => sn.info().device.choices.at(-1);

for (const [name, clock] of Object.entries({ cpu: { cpu: 5, webgpu: 8 }, webgpu: { cpu: 8, webgpu: 5 } }))
  test(`the ${name} where that is faster`, () => withClock(clock, async () => {
    const f = sn.jit((x) => sn.matmul(x, x).tanh(), auto);
    const x = sn.random.normal(sn.random.key(1), [16, 16]);
    const first = f(x);
    assert.equal(first.device, 'cpu');
    const values = await first.data();
    const { device, reason, op, cpuMs, deviceMs } = last();
    assert.deepEqual([device, reason, op], [name, 'measured', 'jit']);
    assert.equal(cpuMs < deviceMs, name === 'cpu');
    const second = f(x);
    assert.equal(second.device, name);
    (await second.data()).forEach((y, i) => assert.ok(Math.abs(y - values[i]) < 1e-5));
    f.dispose();
  }));

test('the state of a training step goes over, once', () => withClock({ cpu: 8, webgpu: 5 }, async () => {
  const { nn, optim, random } = sn;
  const net = nn.sequential(nn.linear(3, 8), nn.tanh(), nn.linear(8, 1));
  const [x, y] = [random.normal(random.key(1), [16, 3]), random.normal(random.key(2), [16, 1])];
  const run = async (device) => {
    const step = sn.trainStep((p, a, b) => net.apply(p, a).sub(b).square().mean(), optim.adamw({ lr: 1e-2 }), { device });
    let state = step.init(net.init(random.key(3)));
    const losses = [];
    const devices = [];
    for (let i = 0; i < 6; i += 1) {
      const made = step(state, x, y);
      ({ state } = made);
      losses.push((await made.loss.data())[0]);
      devices.push(made.loss.device);
    }
    step.dispose();
    return { losses, devices, placed: sn.tree.leaves(state).filter((t) => t instanceof sn.Tensor).map((t) => t.device) };
  };
  const want = await run('cpu');
  const got = await run('auto');
  got.losses.forEach((loss, i) => assert.ok(Math.abs(loss - want.losses[i]) < 1e-4 * want.losses[i]));
  assert.deepEqual(got.devices, ['cpu', ...new Array(5).fill('webgpu')]);
  assert.ok(got.placed.length > 4 && got.placed.every((device) => device === 'webgpu'));
}));

test('what the device has not runs on the CPU, and says why', async () => {
  const f = sn.jit((x) => x.mul(2).cumsum(), auto);
  assert.deepEqual([...await f(sn.tensor([1, 2], { dtype: 'float64' })).data()], [2, 6]);
  assert.match(last().reason, /no float64/);
  const long = sn.jit((x) => sn.foriLoop(0, 70000, (i, y) => y.mul(0.5), x), auto);
  assert.deepEqual([...await long(sn.tensor([1])).data()], [0]);
  assert.match(last().reason, /65536 rounds/);
  assert.equal(last().device, 'cpu');
});

test('arguments that lie there keep a program there', async () => {
  const f = sn.jit((x, y) => x.mul(2).add(y), auto);
  const x = sn.tensor([1, 2]).to('webgpu');
  const y = f(x, sn.tensor([1, 1]));
  assert.equal(y.device, 'webgpu');
  assert.deepEqual([...await y.data()], [3, 5]);
});

test('a value is read at once before the first waiting, and nothing is kept', async () => {
  await sn.zeros([1]).data();
  const { tensors } = sn.memory();
  const f = sn.jit((x) => x.mul(3), { ...auto, donate: 0 });
  for (let i = 0; i < 4; i += 1) {
    const y = f(sn.tensor([1, 2]));
    assert.equal(y.device, 'cpu');
    assert.deepEqual(y.toArray(), [3, 6]);
    y.dispose();
  }
  await sn.zeros([1]).data();
  f.dispose();
  sn.tidy(() => sn.zeros([1]).dataSync());
  assert.ok(sn.memory().tensors <= tensors + 2, `${sn.memory().tensors} tensors, ${tensors} before`);
});

test('a result that is read at once before the choice keeps the CPU', () => withClock({ cpu: 8, webgpu: 5 }, async () => {
  const f = sn.jit((x) => x.mul(3).sum(), auto);
  const x = sn.tensor([1, 2]);
  assert.equal(f(x).item(), 9);
  await sn.zeros([1]).data(); // while it would be timed
  assert.deepEqual([last().device, last().reason], ['cpu', 'results are read at once, before the device was chosen']);
  for (let i = 0; i < 3; i += 1) assert.equal(f(x).item(), 9);
  assert.deepEqual(f(sn.tensor([3, 4])).toArray(), 21);
}));

test('what is saved after the device was chosen runs on the CPU', () => withClock({ cpu: 8, webgpu: 5 }, async () => {
  const f = sn.jit((x) => x.mul(3).sum(), auto);
  const x = sn.tensor([1, 2]);
  await f(x).data();
  assert.equal(f(x).device, 'webgpu');
  const g = sn.load(f.save(x));
  assert.equal(g(x).item(), 9);
  assert.equal(sn.load(f.save(x.to('webgpu')))(x).item(), 9);
}));

test('a function that is disposed of while it is timed', async () => {
  const f = sn.jit((x) => x.mul(3), auto);
  const y = f(sn.tensor([1, 2]));
  f.dispose();
  assert.deepEqual([...await y.data()], [3, 6]);
});

test('inspect is of one of them', () => {
  assert.throws(() => sn.inspect((x) => x.mul(2), auto)(sn.tensor([1])), /device.*auto/);
});
