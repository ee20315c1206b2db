// sinter/logic: gates and networks of them, against the same in plain JavaScript.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import * as logic from '../dist/logic.js';
import { assertClose, assertThrows } from './support.mjs';
import { evaluateColumns } from './circuitcases.mjs';

await sn.init({ threads: 2 });

const { random, SinterError, ShapeError } = sn;
const PAIRS = [[0, 0], [0, 1], [1, 0], [1, 1]];
/** Both inputs in all four ways: (2, 4). */
const allPairs = () => sn.tensor([0, 1].map((side) => PAIRS.map((pair) => pair[side])));
const bit = (f, a, b) => (f >> (3 - 2 * a - b)) & 1;
const sigmoid = (x) => 1 / (1 + Math.exp(-x));
/** How probable it is that a function is true, of independent inputs. */
const probability = (f, a, b) => PAIRS.reduce((sum, [x, y]) => sum + bit(f, x, y) * (x ? a : 1 - a) * (y ? b : 1 - b), 0);
const sixteen = Array.from({ length: 16 }, (_, f) => f);

/** The rows of a tensor as bits. */
const bitsOf = (t) => t.toArray().map((row) => row.map(Number));

const onTwo = (outputs, more) => logic.gates({ inputs: 2, outputs, wires: [new Int32Array(outputs), new Int32Array(outputs).fill(1)], ...more });

test('hard gates are the sixteen functions, in both forms', () => {
  const logits = {
    softmax: sixteen.map((f) => sixteen.map((g) => Number(f === g))),
    table: sixteen.map((f) => PAIRS.map(([a, b]) => 2 * bit(f, a, b) - 1)),
  };
  for (const [form, values] of Object.entries(logits)) {
    const layer = onTwo(16, { form });
    const params = { gates: sn.tensor(values) };
    assert.deepEqual(layer.apply(params, allPairs(), { hard: true }).toArray(), sixteen.map((f) => PAIRS.map(([a, b]) => bit(f, a, b))));
    assert.deepEqual(layer.gatesOf(params), sixteen.map((f) => [f, 0, 1]));
  }
});

test('soft gates are mixtures of probabilities', () => {
  const [a, b] = [[0.2, 0.9, 0.5], [0.7, 0.4, 0]];
  const x = sn.tensor([a, b]);
  const logits = sixteen.map((f) => Math.sin(3 * f));
  const whole = logits.reduce((sum, l) => sum + Math.exp(l), 0);
  const mixed = a.map((_, i) => sixteen.reduce((sum, f) => sum + (Math.exp(logits[f]) / whole) * probability(f, a[i], b[i]), 0));
  assertClose(onTwo(1).apply({ gates: sn.tensor([logits]) }, x), [mixed]);

  const table = [0.3, -2, 1, 0.5];
  const expected = a.map((_, i) => PAIRS.reduce((sum, [p, q], k) => sum + sigmoid(table[k]) * (p ? a[i] : 1 - a[i]) * (q ? b[i] : 1 - b[i]), 0));
  assertClose(onTwo(1, { form: 'table' }).apply({ gates: sn.tensor([table]) }, x), [expected]);
});

test('fresh gates pass their first input on, nearly; any axes may follow the features', () => {
  for (const form of ['softmax', 'table']) {
    const layer = logic.gates({ inputs: 6, outputs: 5, form, seed: 3 });
    const params = layer.init(random.key(0));
    const x = random.bernoulli(random.key(1), 0.5, [6, 2, 3, 4]).astype('float32');
    const passed = x.take(Int32Array.from(layer.gatesOf(params), ([f, a]) => (assert.equal(f, 3), a)));
    assert.deepEqual(layer.apply(params, x, { hard: true }).toArray(), passed.toArray());
    assertClose(layer.apply(params, x), passed.toArray(), 0.1);
  }
});

test('random wires: pairs are unique, inputs are used alike, a seed gives the same ones', () => {
  for (const [inputs, outputs] of [[8, 4], [256, 256], [264, 256], [256, 128], [100, 1000], [7, 21], [9, 8]]) {
    const wiresOf = (seed) => {
      const layer = logic.gates({ inputs, outputs, seed });
      return layer.gatesOf(layer.init(random.key(0))).map(([, a, b]) => [a, b]);
    };
    const wires = wiresOf(5);
    assert.deepEqual(wiresOf(5), wires);
    assert.notDeepEqual(wiresOf(6), wires);
    assert.equal(new Set(wires.map(([a, b]) => `${Math.min(a, b)} ${Math.max(a, b)}`)).size, outputs);
    const uses = new Array(inputs).fill(0);
    for (const [a, b] of wires) {
      assert.notEqual(a, b);
      uses[a]++;
      uses[b]++;
    }
    const mean = (2 * outputs) / inputs;
    assert.ok(uses.every((n) => Math.abs(n - mean) <= Math.max(2, 0.3 * mean)), `${inputs} -> ${outputs}: ${uses}`);
  }
});

test('straight-through: values of hard gates, gradients of soft ones', () => {
  for (const form of ['softmax', 'table']) {
    const soft = onTwo(3, { form });
    const straight = onTwo(3, { form, straightThrough: true });
    const params = { gates: random.normal(random.key(2), [3, form === 'table' ? 4 : 16]) };
    const x = allPairs();
    assert.deepEqual(straight.apply(params, x).toArray(), soft.apply(params, x, { hard: true }).toArray());
    const slope = (layer) => sn.grad((p) => layer.apply(p, x).sum())(params).gates;
    assert.deepEqual(slope(straight).toArray(), slope(soft).toArray());
  }
});

test('the derivative of a layer is that of its formula: gradients, forward mode, second derivatives, under vmap', () => {
  const wires = [[0, 1, 2, 3, 0, 0, 4], [1, 2, 3, 4, 2, 0, 1]]; // input 0 six times, once twice in one gate
  const x = random.uniform(random.key(2), [5, 6]);
  const v = random.normal(random.key(3), [5, 6]);
  const arraysOf = (tree) => sn.tree.map((t) => t.toArray(), tree);
  for (const form of ['softmax', 'table'])
    for (const [straightThrough, hard] of [[false, false], [true, false], [false, true]]) {
      const layer = logic.gates({ inputs: 5, outputs: 7, wires, form, straightThrough });
      const params = { gates: random.normal(random.key(1), [7, form === 'table' ? 4 : 16]) };
      const plain = (p, rows) => {
        const [c0, c1, c2, c3] = layer.coefficients(p, { hard }).gates;
        const [a, b] = wires.map((list) => rows.take(Int32Array.from(list)));
        return c0.add(c1.mul(a)).add(c2.mul(b)).add(c3.mul(a).mul(b));
      };
      const own = (p, rows) => layer.apply(p, rows, { hard });
      const [mine, expected] = [own, plain].map((f) => {
        const loss = (p, rows) => f(p, rows).square().sum();
        const slope = sn.grad(loss, { argnums: [0, 1] });
        const [ofParams, ofRows] = slope(params, x);
        return [
          ofParams.gates, ofRows, sn.jit(slope)(params, x)[1],
          sn.jvp((rows) => f(params, rows), [x], [v])[1],
          sn.jvp((rows) => sn.grad((r) => loss(params, r))(rows), [x], [v])[1],
          sn.hessian((gates) => loss({ gates }, x))(params.gates),
          sn.vmap((column) => sn.grad((r) => loss(params, r))(column.reshape([5, 1])), { inAxes: 1 })(x),
        ].map(arraysOf);
      });
      mine.forEach((part, i) => assertClose(part, expected[i], 1e-4));
    }
});

test('rows of any dtype have gates and gradients', () => {
  const layer = logic.gates({ inputs: 3, outputs: 3, wires: [[0, 1, 2], [1, 2, 0]] });
  const params = layer.init(random.key(0));
  const expected = sn.grad((p) => layer.apply(p, sn.ones([3, 2])).sum())(params).gates.toArray();
  for (const dtype of ['bool', 'uint8', 'int32', 'float16', 'float64'])
    assertClose(sn.grad((p) => layer.apply(p, sn.ones([3, 2]).astype(dtype)).sum())(params).gates, expected, 1e-5);
});

test('learnt wires mix their candidates, and end at one', () => {
  const [inputs, outputs, k] = [5, 3, 4];
  const layer = logic.gates({ inputs, outputs, wires: { candidates: k }, form: 'table', seed: 1 });
  const params = layer.init(random.key(4));
  assert.deepEqual([...params.wires.shape], [2 * outputs, k]);
  const x = random.uniform(random.key(5), [inputs, 6]);
  const hard = layer.apply(params, x.greater(0.5).astype('float32'), { hard: true }).toArray();
  const columns = bitsOf(x.greater(0.5));
  assert.deepEqual(hard.flat(), evaluateColumns({ inputs, gates: layer.gatesOf(params), outputs: [0, 1, 2].map((i) => inputs + i) }, columns).flat());
  // A logit far above the others chooses as argmax does.
  const sure = { gates: params.gates.mul(100), wires: params.wires.mul(1000) };
  const sharp = x.greater(0.5).astype('float32');
  assertClose(layer.apply(sure, sharp), hard, 1e-4);
  const learns = sn.grad((p) => layer.apply(p, x).square().sum())(params);
  assert.ok(learns.wires.abs().sum().item() > 0);
});

test('a network sums its last gates by class', () => {
  const net = logic.network({ inputs: 10, layers: [12, 8], classes: 2, tau: 4, seed: 2 });
  const params = net.init(random.key(0));
  const x = random.bernoulli(random.key(1), 0.5, [7, 10]).astype('float32');
  const plain = logic.network({ inputs: 10, layers: [12, 8], seed: 2 }).apply(params, x, { hard: true }).toArray();
  const scores = plain.map((row) => [0, 1].map((c) => row.slice(4 * c, 4 * c + 4).reduce((sum, v) => sum + v) / 4));
  assert.deepEqual(net.apply(params, x, { hard: true }).toArray(), scores);
});

test('what is extracted of a network computes as its hard gates do', () => {
  const net = logic.network({ inputs: 6, layers: [10, logic.gates({ inputs: 10, outputs: 9, wires: { candidates: 3 }, form: 'table' }), 4] });
  const params = sn.tree.map((t) => random.normal(random.key(t.size), t.shape), net.init(random.key(3)));
  const all = Array.from({ length: 64 }, (_, n) => Array.from({ length: 6 }, (_, i) => (n >> i) & 1));
  const circuit = logic.rawCircuit(net, params);
  assert.equal(circuit.gates.length, 23);
  const columns = Array.from({ length: 6 }, (_, i) => all.map((row) => row[i]));
  const outputs = evaluateColumns(circuit, columns);
  assert.deepEqual(net.apply(params, sn.tensor(all), { hard: true }).toArray(), all.map((_, n) => outputs.map((row) => row[n])));
});

test('a network learns which bits are odd in number, and keeps it as hard gates', () => {
  const net = logic.network({ inputs: 3, layers: [3, 3, 2, 1], form: 'table', seed: 1 });
  const all = sn.tensor(Array.from({ length: 8 }, (_, n) => [0, 1, 2].map((i) => (n >> i) & 1)));
  const odd = all.sum({ axis: 1, keepdims: true }).mod(2);
  const step = sn.trainStep((p) => net.apply(p, all).sub(odd).square().mean(), sn.optim.adam({ lr: 0.1 }));
  let state = step.init(net.init(random.key(0)));
  for (let i = 0; i < 300; i++) ({ state } = step(state));
  assert.deepEqual(net.apply(state.params, all, { hard: true }).toArray(), odd.toArray());
  const circuit = logic.rawCircuit(net, state);
  assert.deepEqual(evaluateColumns(circuit, bitsOf(all.transpose())), bitsOf(odd.transpose()));
});

test('what cannot be is said', () => {
  const two = (options) => () => logic.gates({ inputs: 4, outputs: 2, ...options });
  assertThrows(two({ outputs: 7 }), SinterError, { message: 'logic.gates: 4 inputs have 6 pairs, too few for 7 gates (make fewer gates, or give the wires)' });
  assertThrows(two({ wires: [[0, 4], [1, 1]] }), SinterError, { message: 'logic.gates: wires a[1] is 4, expected a whole number from 0 to 3' });
  assertThrows(two({ wires: [[0, 1], [1]] }), SinterError, { message: 'logic.gates: wires b has 1 entries for 2 gates' });
  assertThrows(two({ wires: { candidates: 5 } }), SinterError, { message: 'logic.gates: candidates is 5, expected a whole number from 1 to 4' });
  assertThrows(two({ wires: 'all' }), SinterError, { message: /option wires is "all"/ });
  assertThrows(two({ form: 'tables' }), SinterError, { message: 'logic.gates: no form "tables" (there are softmax, table)' });
  assertThrows(two({ input: 3 }), SinterError, { message: /there is no option 'input'/ });
  assertThrows(two({ outputs: 0 }), SinterError, { message: /outputs is 0/ });
  const layer = two({})();
  const params = layer.init(random.key(0));
  assertThrows(() => layer.apply(params, sn.ones([3, 2])), ShapeError, { message: 'logic.gates: x is (3, 2), expected 4 rows (features come first: (inputs, ...any))' });
  assertThrows(() => layer.apply({}, sn.ones([4, 2])), SinterError, { message: /these are not the parameters of 2 gates of form softmax/ });
  const net = (options) => () => logic.network({ inputs: 4, layers: [4, 3], ...options });
  assertThrows(net({ classes: 2 }), ShapeError, { message: 'logic.network: 3 outputs of the last layer do not divide into 2 classes' });
  assertThrows(net({ tau: 0 }), SinterError, { message: 'logic.network: tau is 0, expected a number above 0' });
  assertThrows(net({ layers: [] }), SinterError, { message: /option layers is an array, expected the number of gates of each layer/ });
  assertThrows(net({ layers: [3, layer] }), ShapeError, { message: 'logic.network: layer 1 has 4 inputs, the one before it 3 outputs' });
  assertThrows(() => net({})().apply(net({})().init(random.key(0)), sn.ones([2, 3])), ShapeError, { message: 'logic.network: x is (2, 3), expected (n, 4)' });
  assertThrows(() => logic.rawCircuit(net({})(), []), SinterError, { message: /these are not the parameters of 2 layers/ });
});
