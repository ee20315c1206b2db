// checkpoint, saveAs and scan's checkpoint: the bits stay, the memory shrinks, later passes do not undo it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const noise = (seed, shape, scale = 1) => sn.random.normal(sn.random.key(seed), shape).mul(scale);
const bits = (tree) => sn.tree.leaves(tree).map((t) => [...t.dataSync()]);
const arena = (f, ...args) => sn.inspect(f)(...args).memory.arenaBytes;

const depth = 16;
const weights = noise(1, [depth, 64, 64], 0.1);
const h = noise(2, [128, 64]);
const block = (t, w) => {
  const z = sn.saveAs(sn.matmul(t, w), 'z');
  return t.add(sn.tanh(sn.sin(z).mul(sn.exp(z.neg()))));
};
const net = (wrap) => (weights, t) => {
  for (let i = 0; i < depth; i++) t = wrap(block)(t, sn.take(weights, i));
  return t.square().mean();
};
const plain = sn.valueAndGrad(net((f) => f));
const policies = { nothing: 'nothing', products: 'products', names: ['z'], others: ['y', 'x'] };

for (const [name, policy] of Object.entries(policies)) {
  test(`policy ${name}: equal bits in every transform`, () => {
    const again = sn.valueAndGrad(net((f) => sn.checkpoint(f, { policy })));
    for (const wrap of [(f) => f, (f) => sn.jit(f), (f) => sn.jit(f, { jit: false })]) assert.deepEqual(bits(wrap(again)(weights, h)), bits(wrap(plain)(weights, h)));
    const push = (f) => sn.jvp((t) => f(weights, t), [h], [sn.onesLike(h)])[1];
    assert.deepEqual(bits(push(net((f) => sn.checkpoint(f, { policy })))), bits(push(net((f) => f))));
    const second = (f) => sn.jvp(sn.grad((t) => f(weights, t)), [h], [sn.onesLike(h)])[1];
    assert.deepEqual(bits(second(net((f) => sn.checkpoint(f, { policy })))), bits(second(net((f) => f))));
    const each = (wrap) => sn.vmap(sn.grad((t) => wrap(block)(t, sn.take(weights, 0)).sum()))(h);
    assert.deepEqual(bits(each((f) => sn.checkpoint(f, { policy }))), bits(each((f) => f)));
    const all = (wrap) => sn.grad((t) => sn.vmap((r) => wrap(block)(r, sn.take(weights, 0)))(t).sum())(h);
    assert.deepEqual(bits(all((f) => sn.checkpoint(f, { policy }))), bits(all((f) => f)));
  });
}

test('less is kept, and in this order', () => {
  const bytes = (policy) => arena(sn.grad(net((f) => (policy ? sn.checkpoint(f, { policy }) : f))), weights, h);
  const [all, nothing, products] = [bytes(null), bytes('nothing'), bytes('products')];
  assert.ok(nothing <= products && products <= all, `${nothing} ${products} ${all}`);
  const several = (count) => (weights, t) => {
    const part = sn.checkpoint((t, w) => {
      for (let i = 0; i < count; i++) t = block(t, sn.take(w, i));
      return t;
    });
    for (let i = 0; i < depth; i += count) t = part(t, weights.slice([i, 0, 0], [count, -1, -1]));
    return t.square().mean();
  };
  const fours = sn.grad(several(4));
  assert.deepEqual(bits(sn.jit(fours)(weights, h)), bits(sn.jit(sn.grad(net((f) => f)))(weights, h)));
  assert.ok(arena(fours, weights, h) < 0.6 * all, `${arena(fours, weights, h)} of ${all}`);
});

test('inspect says what is kept, what is made again, and at what price', () => {
  const seen = (policy) => sn.inspect(sn.grad(net((f) => (policy ? sn.checkpoint(f, { policy }) : f))))(weights, h);
  const without = seen(null);
  assert.equal(without.memory.again, null);
  assert.ok(without.kernels.every(({ flopsAgain }) => flopsAgain === 0));
  const { flops, kernels, memory: { again } } = seen('nothing');
  // What is kept are the operands of the blocks, but for the argument.
  assert.deepEqual([again.keptValues, again.keptBytes], [depth - 1, (depth - 1) * 4 * h.size]);
  assert.equal(again.flops, flops - without.flops);
  assert.ok(again.droppedBytes >= without.memory.arenaBytes - arena(sn.grad(net((f) => sn.checkpoint(f))), weights, h));
  const remade = kernels.filter(({ flopsAgain }) => flopsAgain > 0);
  assert.equal(remade.length, depth);
  for (const kernel of remade) assert.ok(/matmul/.test(kernel.name) && kernel.flopsAgain <= kernel.flops, kernel.name);
  assert.equal(remade.reduce((sum, { flopsAgain }) => sum + flopsAgain, 0), again.flops);
  assert.ok((seen('products').memory.again?.flops ?? 0) < 0.1 * again.flops, 'no product is made again');
});

test('inspect says what a loop makes again, also of nodes and under vmap', () => {
  const w = noise(5, [32, 32], 0.1);
  const xs = noise(6, [100, 8, 32]);
  const cell = (c, x) => [sn.tanh(c.matmul(w).add(x)), null];
  const last = (checkpoint) => (xs) => sn.scan(cell, sn.zeros(xs.shape.slice(1)), xs, { checkpoint })[0].square().sum();
  const [plainly, { stages, flops, memory: { again } }] = [undefined, 'sqrt'].map((checkpoint) => sn.inspect(sn.grad(last(checkpoint)))(xs));
  assert.equal(plainly.memory.again, null);
  const forward = 100 * 8 * 32 * (2 * 32);
  assert.ok(again.flops > forward && again.flops < 1.5 * forward, `${again.flops} of ${forward}`);
  assert.ok(Math.abs(again.flops - (flops - plainly.flops)) < 0.02 * again.flops, `${again.flops}, ${flops - plainly.flops}`);
  // The carries before each part of ten rounds.
  assert.ok(again.keptBytes >= 10 * 4 * 8 * 32 && again.keptBytes < 4 * xs.size + 20 * 4 * 8 * 32, `${again.keptBytes}`);
  assert.ok(again.droppedBytes >= 4 * xs.size, `${again.droppedBytes}`);
  const inside = ({ nodes, regions }) => [...nodes, ...regions.flatMap(inside)];
  for (const name of ['trace', 'groups']) {
    const marked = inside(stages.find((stage) => stage.name === name)).filter((node) => node.again);
    assert.deepEqual(marked.map(({ op }) => op).filter((op) => op === 'scan'), ['scan'], name);
  }
  const each = sn.inspect(sn.vmap(sn.grad((t) => sn.checkpoint(block)(t, sn.take(weights, 0)).sum())))(h);
  assert.ok(each.memory.again.flops > 2 * 128 * 64 * 64);
});

test('captures are differentiated by, and arguments may be trees with numbers', () => {
  const f = (w) => sn.checkpoint(({ t }, k) => ({ y: [t.mul(w).mul(k)] }))({ t: h }, 2).y[0].sum();
  const g = (w) => h.mul(w).mul(2).sum();
  const w = noise(3, [64]);
  assert.deepEqual(bits(sn.grad(f)(w)), bits(sn.grad(g)(w)));
});

test('inside the body of a scan only the carry and what the policy names is stacked', () => {
  const loop = (wrap) => (t, w) => sn.scan((c) => [wrap((c, w) => c.add(sn.sin(sn.saveAs(sn.matmul(c, w), 'z')).mul(0.1)))(c, w), null], t, null, { length: 9 })[0].square().sum();
  const w = noise(4, [64, 64], 0.1);
  const wanted = bits(sn.jit(sn.grad(loop((f) => f), { argnums: [0, 1] }))(h, w));
  for (const policy of Object.values(policies))
    assert.deepEqual(bits(sn.jit(sn.grad(loop((f) => sn.checkpoint(f, { policy })), { argnums: [0, 1] }))(h, w)), wanted);
});

test('scan by parts: equal bits for every length, direction and part', () => {
  const w = noise(5, [8, 8], 0.3);
  const step = (c, x) => {
    const next = sn.tanh(sn.matmul(c, w).add(x));
    return [next, next.sum()];
  };
  const of = (xs, options) =>
    sn.jit(
      sn.valueAndGrad(
        (c, xs) => {
          const [end, ys] = sn.scan(step, c, xs, options);
          return end.square().sum().add(ys.mul(sn.arange(ys.size)).sum());
        },
        { argnums: [0, 1] },
      ),
    )(noise(6, [3, 8]), xs);
  for (const length of [1, 2, 7, 12]) {
    const xs = noise(7, [length, 3, 8]);
    for (const reverse of [false, true]) {
      const wanted = bits(of(xs, { reverse }));
      for (const options of [{ checkpoint: 'sqrt' }, { checkpoint: 1 }, { checkpoint: 3 }, { checkpoint: 5, unroll: 2 }, { checkpoint: 100 }])
        assert.deepEqual(bits(of(xs, { reverse, ...options })), wanted, `${length} ${JSON.stringify(options)}`);
    }
  }
  const counted = sn.grad((c) => sn.scan((c) => [c.sin(), null], c, null, { length: 10, checkpoint: 'sqrt' })[0].sum());
  assert.deepEqual(bits(counted(h)), bits(sn.grad((c) => sn.scan((c) => [c.sin(), null], c, null, { length: 10 })[0].sum())(h)));
  const numbers = (options) => sn.grad((x) => sn.scan((c, t) => [c.mul(t), null], 1, x, options)[0])(sn.tensor([1, 2, 3, 4, 5], { dtype: 'float64' }));
  assert.deepEqual(bits(numbers({ checkpoint: 2 })), bits(numbers({})));
});

test('an LSTM over a thousand times keeps a tenth', () => {
  const cell = (w) => ([a, c], x) => {
    const [i, f, g, o] = sn.split(sn.matmul(x, w.x).add(sn.matmul(a, w.a)), 4, { axis: 1 });
    const next = sn.sigmoid(f).mul(c).add(sn.sigmoid(i).mul(sn.tanh(g)));
    return [[sn.sigmoid(o).mul(sn.tanh(next)), next], null];
  };
  const w = { x: noise(8, [8, 64], 0.2), a: noise(9, [16, 64], 0.2) };
  const xs = noise(10, [1000, 4, 8]);
  const loss = (options) => sn.grad((w, xs) => sn.scan(cell(w), [sn.zeros([4, 16]), sn.zeros([4, 16])], xs, options)[0][0].square().mean());
  const [whole, parts] = [{}, { checkpoint: 'sqrt' }].map((options) => arena(loss(options), w, xs));
  assert.ok(parts * 10 <= whole, `${parts} of ${whole}`);
  const [a, b] = [{}, { checkpoint: 'sqrt' }].map((options) => bits(sn.jit(loss(options))(w, xs)));
  a.flat().forEach((v, i) => assert.ok(Math.abs(v - b.flat()[i]) <= 1e-5 * Math.max(...a.flat().map(Math.abs)), `${v} ${b.flat()[i]}`));
});

test('bad input', () => {
  const refuses = (call, text) => assertThrows(call, sn.SinterError, { message: text });
  refuses(() => sn.checkpoint(3), /checkpoint/);
  refuses(() => sn.checkpoint(block, { policy: 'some' }), /option policy is "some", expected 'nothing', 'products' or names/);
  refuses(() => sn.checkpoint(block, { policy: [1] }), /the name is 1/);
  refuses(() => sn.checkpoint(block, { names: [] }), /there is no option 'names'/);
  refuses(() => sn.saveAs(3, 'x'), /the argument is 3/);
  refuses(() => sn.saveAs(h, 3), /the name is 3/);
  refuses(() => sn.scan((c) => [c, null], h, null, { length: 3, checkpoint: 'root' }), /option checkpoint is "root"/);
  refuses(() => sn.scan((c) => [c, null], h, null, { length: 3, checkpoint: 0 }), /checkpoint/);
  refuses(() => sn.jit(sn.checkpoint(async (t) => t))(h), /synchronous/);
});

test('a function that captures all it needs makes it again, too', () => {
  const captures = (weights, t) => {
    for (let i = 0; i < depth; i++) {
      const [now, w] = [t, sn.take(weights, i)];
      t = sn.checkpoint(() => block(now, w))();
    }
    return t.square().mean();
  };
  const given = net((f) => sn.checkpoint(f));
  assert.deepEqual(bits(sn.jit(sn.valueAndGrad(captures))(weights, h)), bits(plain(weights, h)));
  assert.equal(arena(sn.grad(captures), weights, h), arena(sn.grad(given), weights, h));
});
