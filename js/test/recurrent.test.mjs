// nn.lstm and nn.gru: values and gradients against PyTorch's (tests/golden/recurrent_cases.py wrote them, in float64).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const golden = JSON.parse(readFileSync(new URL('../../tests/golden/recurrent.json', import.meta.url)));
const [inputs, size, batch, time] = [3, 4, 2, 5];
const { nn, random } = sn;

const sines = (seed, shape, dtype = 'float64') => {
  const data = Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => 0.6 * Math.sin(i * 0.7 + seed));
  return sn.tensor(data, { shape, dtype });
};

const paramsOf = (gates) => ({
  input: sines(1, [inputs, gates * size]),
  hidden: sines(2, [size, gates * size]),
  bias: sines(3, [gates * size]),
  ...(gates === 3 && { newBias: sines(4, [size]) }),
});

for (const [kind, gates] of [['lstm', 4], ['gru', 3]]) {
  const layer = nn[kind](inputs, size);
  const params = paramsOf(gates);
  const x = sines(5, [batch, time, inputs]);
  const state = [sines(6, [batch, size]), sines(7, [batch, size])].slice(0, gates - 2);
  const close = (t, values) => assertClose(t.reshape([-1]), values, 1e-12);

  test(`${kind}: values and gradients are PyTorch's`, () => {
    const loss = (params, x, state) => {
      const [y, end] = layer.run(params, x, state);
      return end.reduce((sum, t) => sum.add(t.square().sum()), y.mul(sines(8, [batch, time, size])).sum());
    };
    for (const wrap of [(f) => f, (f) => sn.jit(f), (f) => sn.jit(f, { jit: false })]) {
      const [y, end] = wrap(layer.run)(params, x, state);
      close(y, golden[kind].y);
      end.forEach((t, i) => close(t, golden[kind].end[i]));
      const [p, dx, [h, c]] = wrap(sn.grad(loss, { argnums: [0, 1, 2] }))(params, x, state);
      const grads = { ...p, x: dx, h, ...(c && { c }) };
      assert.deepEqual(Object.keys(grads).sort(), Object.keys(golden[kind].grads).sort());
      for (const [name, t] of Object.entries(grads)) close(t, golden[kind].grads[name]);
    }
  });

  test(`${kind}: reverse is the flipped sequence, last the end of it`, () => {
    const back = nn[kind](inputs, size, { reverse: true }).apply(params, x);
    const flipped = sn.flip(layer.apply(params, sn.flip(x, { axis: 1 })), { axis: 1 });
    assert.deepEqual(back.toArray(), flipped.toArray());
    const last = nn[kind](inputs, size, { last: true }).apply(params, x);
    assert.deepEqual(last.toArray(), layer.run(params, x)[1][0].toArray());
    assert.deepEqual([...last.shape], [batch, size]);
  });

  test(`${kind}: times first is the same, and so is a gradient that computes states again`, () => {
    const turned = (t) => sn.permuteDims(t, [1, 0, 2]);
    const first = nn[kind](inputs, size, { timeFirst: true });
    assert.deepEqual(turned(first.apply(params, turned(x))).toArray(), layer.apply(params, x).toArray());
    assertThrows(() => first.apply(params, sn.zeros([5, 2, 9])), sn.ShapeError, { message: /needs \(time, n, 3\)/ });
    const slopes = (net) => sn.jit(sn.grad((p, x) => net.apply(p, x).square().sum(), { argnums: [0, 1] }))(params, x);
    const wanted = sn.tree.leaves(slopes(layer));
    for (const checkpoint of ['sqrt', 2])
      sn.tree.leaves(slopes(nn[kind](inputs, size, { checkpoint }))).forEach((t, i) => assertClose(t.reshape([-1]), wanted[i].reshape([-1]).toArray(), 1e-12));
  });

  test(`${kind}: learns in a training step, for sequences of any length`, () => {
    const net = nn.sequential(nn[kind](1, 8, { last: true }), nn.linear(8, 1));
    const step = sn.trainStep((p, x, y) => net.apply(p, x).sub(y).square().mean(), sn.optim.adam({ lr: 0.02 }));
    let state = step.init(net.init(random.key(1)));
    const x = random.uniform(random.key(2), [32, 6, 1]);
    const y = x.slice([0, 0, 0], [-1, 1, -1]).reshape([32, 1]); // remember the first
    const losses = [];
    for (let i = 0; i < 400; i++) {
      const result = step(state, x, y);
      ({ state } = result);
      losses.push(result.loss.item());
    }
    assert.ok(losses.at(-1) < 0.1 * losses[0], `${losses[0]} -> ${losses.at(-1)}`);
    assert.deepEqual([...net.apply(step.params(state), sn.zeros([2, 1000, 1])).shape], [2, 1]);
  });

  test(`${kind}: a sequence without times ends as it starts`, () => {
    const none = sn.zeros([batch, 0, inputs], { dtype: 'float64' });
    for (const checkpoint of [undefined, 'sqrt', 2]) {
      const [y, end] = nn[kind](inputs, size, { checkpoint }).run(params, none, state);
      assert.deepEqual([...y.shape], [batch, 0, size]);
      assert.deepEqual(end.map((t) => t.toArray()), state.map((t) => t.toArray()));
    }
    assert.deepEqual(nn[kind](inputs, size, { last: true }).apply(params, none).toArray(), sn.zeros([batch, size]).toArray());
  });

  test(`${kind}: misuse, and nothing leaks`, () => {
    assertThrows(() => nn[kind](0, 4), sn.SinterError, { message: /inputs is 0/ });
    assertThrows(() => nn[kind](3, 4, { backward: true }), sn.SinterError, { message: /no option 'backward'/ });
    assertThrows(() => layer.apply(params, sn.ones([2, 3])), sn.ShapeError, { message: `nn.${kind}: needs (n, time, 3): x (2, 3)` });
    assertThrows(() => layer.apply(null, x), sn.SinterError, { message: /not its parameters/ });
    const before = sn.memory().tensors;
    sn.dispose(layer.apply(params, x));
    sn.dispose(layer.init(random.key(0)));
    assert.equal(sn.memory().tensors, before + 1); // the key
  });
}
