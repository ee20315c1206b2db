// Loops and conditions on the device: the values of the CPU, or those of a loop written in JavaScript here. Loops with a known
// number of rounds and conditions are one submission; one that tests what the device computes is told by a few.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { asked, assertWithin, onBoth, start } from './device.mjs';

let sn;
before(async () => {
  sn = await start();
});

const on = { device: 'webgpu' };
const normal = (seed, shape) => sn.random.normal(sn.random.key(seed), shape);
const check = async (f, args, units = 64) => {
  const [want, got] = await onBoth(f, args);
  want.forEach((values, i) => assertWithin(`result ${i}`, got[i], values, units, 1));
};

/** What a second call asks for. */
const second = async (f, ...args) => {
  await f(...args).data();
  const { submissions } = asked;
  const y = f(...args);
  const own = asked.submissions - submissions;
  return [own, await y.data()];
};

test('a scan with carries, stacks and constants is one submission', async () => {
  const w = sn.tensor([[0.5, -0.25], [0.125, 0.75]]);
  const f = sn.jit((xs, m) => sn.scan((h, x) => [sn.matmul(h, m).add(x).tanh(), h.sum()], sn.zeros([1, 2]), xs)[0], on);
  const xs = Array.from({ length: 7 }, (_, i) => [[i / 7, -i / 5]]);
  const [submissions, got] = await second((x) => f(x, w), sn.tensor(xs));
  assert.equal(submissions, 1);
  let h = [0, 0];
  for (const [[a, b]] of xs)
    h = [Math.tanh(h[0] * 0.5 + h[1] * 0.125 + a), Math.tanh(h[0] * -0.25 + h[1] * 0.75 + b)];
  assertWithin('carry', got, h.map(Math.fround), 32, 0.1);
});

for (const length of [0, 1, 2, 5, 300])
  for (const reverse of [false, true])
    test(`${length} rounds${reverse ? ' in reverse' : ''}, slices of 3 elements`, () =>
      check((x, c) => {
        const [[a, b], ys] = sn.scan(([p, q], row) => [[p.add(row), q.mul(0.5).add(p.sum())], p.mul(row)], [c, c.sum()], x, { reverse, length });
        return [a, b, ys];
      }, [normal(1, [length, 3]), normal(2, [3])], 512));

test('slices of small dtypes, and of what the body does not use', () =>
  check((x, y) => {
    const [last, [bits, halves]] = sn.scan(
      (carry, [row, h]) => [sn.logicalXor(carry, row.greater(0)), [carry, h.mul(2)]],
      sn.zeros([5], { dtype: 'bool' }), [x, y.astype('float16')]);
    return [last.astype('int32'), bits.astype('int32'), halves.astype('float32')];
  }, [normal(3, [9, 5]), normal(4, [9, 3])]));

test('loops in loops', () =>
  check((x) => sn.scan((carry, row) => {
    const [inner, each] = sn.scan((h, v) => [h.mul(0.5).add(v), h.add(carry)], row.sum(), row);
    return [carry.add(inner), [each, inner]];
  }, sn.tensor(0), x).flat(2), [normal(5, [4, 6])], 512));

test('carries that change places, and one that begins as another', () =>
  check((x) => sn.foriLoop(0, 5, (i, [a, b, c]) => [b, a.add(c), c.mul(0.5)], [x, x, x.add(1)]), [normal(6, [4])]));

test('a condition takes one branch, in one submission', async () => {
  const f = sn.jit((p, x) => sn.cond(p.greater(0), (y) => y.mul(2), (y) => y.sub(1).exp(), x), on);
  const x = sn.tensor([1, 2, 3]);
  for (const p of [1, -1]) {
    const [submissions, got] = await second(f, sn.tensor(p), x);
    assert.equal(submissions, 1);
    assertWithin('branch', got, [1, 2, 3].map((v) => Math.fround(p > 0 ? 2 * v : Math.exp(v - 1))), 8, 0.1);
  }
});

test('conditions in loops, and loops in conditions', () =>
  check((x) => sn.scan((carry, row) => [
    sn.cond(carry.sum().less(1), (c) => c.add(row.abs()),
      (c) => sn.foriLoop(0, 3, (i, d) => sn.cond(d.max().greater(2), (e) => e.mul(0.5), (e) => e.sub(0.1), d), c), carry),
    carry.sum()], sn.zeros([3]), x), [normal(7, [12, 3])], 512));

for (const limit of [-1, 0, 3, 40, 1000])
  test(`a loop that tests: until ${limit}`, async () => {
    const f = (x, n) => sn.whileLoop(([i]) => i.less(n), ([i, y]) => [i.add(1), y.mul(0.5).add(i)], [sn.tensor(0), x]);
    await check(f, [normal(8, [5]), sn.tensor(limit)], 512);
  });

test('a loop that tests in a scan and in a branch', () =>
  check((x) => sn.scan((carry, v) => [
    carry.add(sn.cond(v.greater(0), (u) => sn.whileLoop((w) => w.less(10), (w) => w.mul(2).add(1), u), (u) => u, v)), carry,
  ], sn.tensor(0), x), [normal(9, [8])], 512));

test('what is asked for behind a loop that tests waits for it', async () => {
  const f = sn.jit((x) => sn.whileLoop((y) => y.less(1e6), (y) => y.mul(1.5), x), on);
  const y = f(sn.tensor(1));
  const z = y.add(sn.tensor(1).to('webgpu'));
  const copy = y.to('webgpu');
  y.dispose();
  let want = 1;
  while (want < 1e6) want = Math.fround(want * 1.5);
  assert.deepEqual([...await z.data(), ...await copy.data()], [Math.fround(want + 1), want]);
});

test('gradients of loops and conditions', () => {
  const loss = (w, xs) => sn.scan((h, x) => [sn.cond(h.sum().less(2), (g) => sn.matmul(g, w).add(x).tanh(), (g) => g.mul(0.5), h), null], xs.mean({ axis: 0 }), xs)[0].square().sum();
  return check((w, xs) => sn.grad(loss, { argnums: [0, 1] })(w, xs), [normal(10, [4, 4]), normal(11, [6, 1, 4])], 4096);
});

test('inspect shows rounds, gates and shaders', () => {
  const f = (x) => sn.scan((h, row) => [sn.cond(h.sum().less(0), (g) => g.add(row), (g) => g.sub(row), h), null], sn.zeros([4]), x)[0];
  const { kernels, memory } = sn.inspect(f, on)(normal(1, [6, 4]));
  const loop = kernels.find(({ kind }) => kind === 'control');
  assert.ok(kernels.every(({ engine }) => engine === 'wgsl'));
  assert.ok(loop.dispatches > 6 && loop.dispatches % 1 === 0);
  assert.match(loop.wgsl(), /6 rounds of \{[^]*if their gate is open[^]*@compute[^]*\/\/ \}/);
  assert.match(loop.wat(), /graphics processor/);
  assert.ok(memory.arenaBytes > 0);
});

test('inspect of a kernel', () => {
  const [kernel] = sn.inspect((x) => sn.matmul(x, x).relu(), on)(normal(1, [32, 32])).kernels;
  assert.equal(kernel.dispatches, 1);
  assert.equal(kernel.flops, 2 * 32 ** 3 + 32 ** 2);
  assert.match(kernel.wgsl(), /workgroups[^]*fn main/);
  const [here] = sn.inspect((x) => sn.matmul(x, x).relu())(normal(1, [32, 32])).kernels;
  assert.match(here.wgsl(), /CPU/);
  assert.equal(here.dispatches, 0);
});

test('a reduction of many terms has two levels', async () => {
  const total = (x) => x.sum();
  const x = sn.ones([300000]);
  const [kernel] = sn.inspect(total, on)(x).kernels;
  assert.equal(kernel.dispatches, 2);
  assert.match(kernel.wgsl(), /partial totals/);
  assert.deepEqual([...await sn.jit(total, on)(x).data()], [300000]);
  await check((a) => [a.sum(), a.max(), a.min(), a.prod({ axis: 0 }).sum(), a.astype('int32').sum(), a.mean({ axis: 1 }), a.square().sum({ axis: 1 }).sqrt()],
    [normal(12, [3, 40001])], 256);
});
