// Cellular automata of sinter/logic: their steps against the extracted gates in plain JavaScript, their tasks, training.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import * as logic from '../dist/logic.js';
import { assertRejects, assertThrows } from './support.mjs';
import { evaluateColumns, step } from './circuitcases.mjs';

await sn.init({ threads: 2 });

const { random, SinterError, ShapeError } = sn;
const small = { channels: 3, perception: { kernels: 2, layers: [8, 4, 1] }, update: [8, 5, 3], grid: [6, 5], steps: 3, batch: 2, seed: 4 };

/** A state whose gates are any of the sixteen. */
const anyGates = (ca) => {
  const state = ca.init(random.key(1));
  const params = sn.tree.map((t) => random.normal(random.foldIn(random.key(2), t.size), t.shape), state.params);
  return { ...state, params };
};

/** A step of cells[channel][y][x]. */
const stepOf = (circuit, cells) => {
  const [height, width] = [cells[0].length, cells[0][0].length];
  const next = step(circuit, Uint8Array.from(cells.flat(2)), width, height);
  return cells.map((rows, c) => rows.map((row, y) => row.map((_, x) => next[(c * height + y) * width + x])));
};

const bits = (key, shape) => random.bernoulli(random.key(key), 0.5, shape).astype('float32');

for (const boundary of ['zero', 'wrap'])
  for (const form of ['softmax', 'table'])
    test(`hard steps are those of the extracted gates: ${boundary}, ${form}`, () => {
      const ca = logic.automaton({ ...small, boundary, form });
      const state = anyGates(ca);
      const circuit = logic.rawCircuit(ca, state);
      assert.deepEqual({ ...circuit, gates: circuit.gates.length, outputs: circuit.outputs.length }, {
        inputs: 27,
        gates: 3 * 2 * 13 + 16,
        outputs: 3,
        automaton: { channels: 3, boundary, fire: 1 },
      });
      for (const [height, width] of [[6, 5], [3, 9], [1, 1]]) {
        const grid = bits(height, [3, height, width]);
        const seen = ca.run(state, grid, { steps: 4, hard: true }).toArray();
        assert.equal(seen.length, 5);
        assert.deepEqual(seen[0], grid.toArray());
        for (let i = 0; i < 4; i++) assert.deepEqual(seen[i + 1], stepOf(circuit, seen[i]));
      }
    });

test('asynchronous: in a step about 60 % of the cells change, by the key', () => {
  const ca = logic.automaton({ ...small, asynchronous: true });
  assert.equal(ca.fire, 0.6);
  const state = anyGates(ca);
  const circuit = logic.rawCircuit(ca, state);
  assert.equal(circuit.automaton.fire, 0.6);
  const run = (key) => ca.run(state, bits(8, [3, 40, 40]), { steps: 2, hard: true, key: random.key(key) }).toArray();
  const seen = run(5);
  assert.deepEqual(run(5), seen);
  assert.notDeepEqual(run(6), seen);
  for (const i of [0, 1]) {
    const made = stepOf(circuit, seen[i]);
    let [would, did] = [0, 0];
    for (let y = 0; y < 40; y++)
      for (let x = 0; x < 40; x++) {
        const at = (cells) => cells.map((plane) => plane[y][x]).join();
        const [now, next, then] = [seen[i], made, seen[i + 1]].map(at);
        assert.ok(then === now || then === next, 'a cell changes in all channels or in none');
        if (now === next) continue;
        would++;
        if (then === next) did++;
      }
    assert.ok(would > 200 && Math.abs(did / would - 0.6) < 0.08, `${did} of ${would}`);
  }
});

test('soft runs are what hard ones are, with sure gates', () => {
  const ca = logic.automaton({ ...small, form: 'table', boundary: 'wrap' });
  const state = anyGates(ca);
  const sure = { ...state, params: sn.tree.map((t) => t.mul(1e5), state.params) };
  const run = (hard) => ca.run(sure, bits(3, [3, 4, 4]), { steps: 3, hard }).toArray();
  assert.deepEqual(run(false), run(true));
});

test('the loss is the mean square error after the steps, and its gradient that of differences', () => {
  const target = (start) => start.slice([0, 0, 0, 0], [1, 2, 6, 5]);
  const ca = logic.automaton({ ...small, form: 'table', target, optimizer: sn.optim.sgd({ lr: 1 }) });
  const state = anyGates(ca);
  const key = random.key(9);
  const { start } = ca.examples(random.splitKeys(key, 4)[0], 2);
  const lossOf = (params) => sn.tidy(() => {
    const ends = [0, 1].map((i) => ca.run({ ...state, params }, start.slice([0, i, 0, 0], [3, 1, 6, 5]).squeeze([1]), { steps: 3 }));
    const wrong = ends.map((grids, i) => grids.slice([3, 0, 0, 0], [1, 1, 6, 5]).sub(start.slice([0, i, 0, 0], [1, 1, 6, 5])));
    return sn.concat(wrong).square().mean().item();
  });
  const before = sn.tree.map((t) => t.add(0), state.params);
  const expected = lossOf(before);
  sn.eval(before);
  const made = ca.step({ ...state, params: sn.tree.map((t) => t.add(0), before) }, key);
  assert.ok(Math.abs(made.loss.item() - expected) < 1e-6);
  assert.equal(made.state.state.loss.item(), made.loss.item());
  // Of plain descent with rate 1 the update is the gradient.
  const [old, next] = [before, made.state.params].map((params) => params.update[1].gates.toArray());
  for (const [i, k] of [[0, 0], [2, 3], [4, 1]]) {
    const shifted = (by) => {
      const values = old.map((row, r) => row.map((v, c) => (r === i && c === k ? v + by : v)));
      const update = before.update.map((layer, l) => (l === 1 ? { gates: sn.tensor(values) } : layer));
      return lossOf({ ...before, update });
    };
    const slope = (shifted(0.03) - shifted(-0.03)) / 0.06;
    assert.ok(Math.abs(old[i][k] - next[i][k] - slope) < 2e-5, `${old[i][k] - next[i][k]}, differences ${slope}`);
  }
});

/** Conway's rule at one cell of rows that wrap around. */
const lives = (rows, y, x) => {
  const [height, width] = [rows.length, rows[0].length];
  let around = 0;
  for (const dy of [-1, 0, 1])
    for (const dx of [-1, 0, 1]) if (dy || dx) around += rows[(y + dy + height) % height][(x + dx + width) % width];
  return Number(around === 3 || (around === 2 && rows[y][x] === 1));
};

test('the Game of Life: the grid has every neighbourhood once, the target is the rule', () => {
  const task = logic.tasks.gameOfLife();
  const start = task.start(random.key(0), [1, 1, 8, 64]);
  const rows = start.toArray()[0][0];
  const windows = rows.flatMap((row, y) => row.map((_, x) =>
    [0, 1, 2].flatMap((dy) => [0, 1, 2].map((dx) => rows[(y + dy) % 8][(x + dx) % 64])).join('')));
  assert.equal(new Set(windows).size, 512);
  assert.deepEqual(task.target(start).toArray()[0][0], rows.map((row, y) => row.map((_, x) => lives(rows, y, x))));
});

test('the gates of the checkerboard learn from the first epochs on, though gradients through 20 steps are tiny', () => {
  const ca = logic.automaton(logic.tasks.checkerboard({ update: 'small' }));
  let state = ca.init(random.key(9));
  const numbers = () => [...state.params.perception, ...state.params.update].flatMap(({ gates }) => Array.from(gates.dataSync()));
  const before = numbers();
  for (let i = 0; i < 10; i++) ({ state } = ca.step(state, random.key(i)));
  const moved = numbers().filter((value, i) => Math.abs(value - before[i]) > 0.1).length;
  // The outermost gates get gradients of 1e-6, half of all below 1e-12.
  assert.ok(moved > 0.3 * before.length, `${moved} of ${before.length}`);
});

test('targets: the checkerboard, pictures from one cell, damage', () => {
  const board = logic.tasks.checkerboard();
  assert.deepEqual(board.update, [...Array(10).fill(256), 128, 64, 32, 16, 8]);
  assert.deepEqual(logic.tasks.checkerboard({ update: 'small', batch: 5 }).update, [256, 256, 256, 256, 128, 64, 32, 16, 8]);
  assert.deepEqual(board.target(sn.ones([8, 1, 4, 6])).toArray()[0][0], [[0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0], [1, 1, 0, 0, 1, 1], [1, 1, 0, 0, 1, 1]]);
  const pixels = [[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 0]];
  const picture = logic.tasks.picture(pixels, { channels: 4, update: [8, 4] });
  const start = picture.start(random.key(0), [4, 2, 4, 3]);
  assert.deepEqual(start.toArray(), Array(4).fill(Array(2).fill([[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]])));
  assert.deepEqual(picture.target(start).toArray(), [[pixels, pixels]]);
  const planes = logic.tasks.picture([pixels, pixels.map((row) => row.map((p) => 1 - p))]);
  assert.deepEqual([...planes.target(start).shape], [2, 2, 4, 3]);
  const { damage } = logic.tasks.healing(Array(8).fill(Array(6).fill(1)));
  const places = new Set();
  for (let k = 0; k < 5; k++) {
    const hit = damage(sn.ones([3, 4, 8, 6]), random.key(k)).toArray();
    assert.deepEqual(hit[0], hit[2]);
    for (const rows of hit[0]) {
      const cleared = rows.flatMap((row, y) => row.flatMap((v, x) => (v ? [] : [[y, x]])));
      assert.equal(cleared.length, 12);
      const [y, x] = cleared[0];
      assert.ok(cleared.every(([v, u]) => v >= y && v < y + 4 && u >= x && u < x + 3));
      places.add(`${y} ${x}`);
    }
  }
  assert.ok(places.size > 5);
});

/** Trains until hard gates are right everywhere; the number of epochs that took. */
const learnt = async (ca, key, most) => {
  let state = ca.init(random.key(key));
  for (let i = 0; i < most; i++) {
    ({ state } = ca.step(state, random.foldIn(random.key(key + 1), i)));
    if (i % 10 === 9 && (await ca.accuracy(state, { hard: true })) === 1) return { state, epochs: i + 1 };
  }
  throw new Error(`not learnt in ${most} epochs`);
};

test('an automaton learns a rule, hard gates are exact, and so is the circuit', async () => {
  /** Alive where the cell to the left is, and the one to the right is not. */
  const target = (start) => start.roll(1, { axis: 3 }).greater(start.roll(-1, { axis: 3 })).astype('float32');
  const rule = { channels: 1, perception: { kernels: 4, layers: [8, 4, 2] }, update: [16, 8, 4, 2, 1], grid: [8, 64], boundary: 'wrap', steps: 1, form: 'table' };
  const ca = logic.automaton({ ...rule, start: logic.tasks.gameOfLife().start, target });
  const { state } = await learnt(ca, 0, 600);
  const circuit = logic.rawCircuit(ca, state);
  const all = Array.from({ length: 9 }, (_, place) => Array.from({ length: 512 }, (_, n) => (n >> place) & 1));
  assert.deepEqual(evaluateColumns(circuit, all)[0], all[3].map((left, n) => Number(left > all[5][n])));
  assert.equal(await ca.accuracy(state, { hard: true, key: random.key(5) }), 1);
  // What is left of it is one gate over the cells to the left and to the right.
  const one = logic.extract(ca, state);
  assert.equal(one.gates, 1);
  assert.deepEqual(logic.prune(ca, logic.extract(ca, state, { prune: false })).data, one.data);
  // What has learnt nothing yet stays as it is.
  const fresh = ca.init(random.key(0));
  assert.deepEqual(logic.extract(ca, fresh).data, logic.extract(ca, fresh, { prune: false }).data);
  assert.deepEqual(evaluateColumns(one.data, all), evaluateColumns(circuit, all));
});

test('pruning keeps what the task asks for, with cells that fire by chance as well', () => {
  const target = (start) => start.slice([0, 0, 0, 0], [1, start.shape[1], 6, 5]);
  const ca = logic.automaton({ ...small, boundary: 'wrap', asynchronous: 0.5, target });
  /** Channel 0 stays by way of a gate that the task does not need. */
  const data = { inputs: 27, gates: [[1, 4, 13], [7, 4, 27], [6, 13, 22], [7, 12, 14]], outputs: [28, 29, 30], automaton: { channels: 3, boundary: 'wrap', fire: 0.5 } };
  const pruned = logic.prune(ca, logic.circuitOf(data), { words: 1 });
  assert.equal(pruned.gates, 0);
  assert.equal(pruned.data.outputs[0], 4);
  // What does not keep channel 0 is not taken for better.
  const inverted = logic.prune(ca, logic.circuitOf({ ...data, gates: [[12, 4, 4]], outputs: [27, 13, 22] }), { words: 1 });
  assert.ok(inverted.gates <= 1);
});

test('bytes in use stay constant while an automaton trains', () => {
  const ca = logic.automaton({ ...small, target: (start) => start.slice([0, 0, 0, 0], [1, 2, 6, 5]) });
  let state = ca.init(random.key(0));
  const key = random.key(3);
  const inUse = [];
  for (let i = 0; i < 20; i++) {
    const made = ca.step(state, key);
    state = made.state;
    made.loss.item();
    made.loss.dispose();
    inUse.push(sn.memory().bytesInUse);
  }
  assert.equal(inUse[19], inUse[9]);
});

test('noise is of training alone: other losses, another for each key, the same accuracy', async () => {
  const losses = async (noise, seed) => {
    const ca = logic.automaton({ ...small, target: (start) => start.slice([0, 0, 0, 0], [1, ...start.shape.slice(1)]), noise });
    const state = ca.init(random.key(1));
    const accuracy = await ca.accuracy(state);
    const made = ca.step(state, random.key(seed));
    return { loss: made.loss.item(), accuracy };
  };
  const [plain, noisy, again] = [await losses(0, 5), await losses(0.1, 5), await losses(0.1, 5)];
  assert.notEqual(plain.loss, noisy.loss);
  assert.equal(noisy.loss, again.loss);
  assert.equal(plain.accuracy, noisy.accuracy);
});

test('what cannot be is said', async () => {
  const make = (options) => () => logic.automaton({ ...small, ...options });
  assertThrows(make({ grid: [4] }), ShapeError, { message: 'logic.automaton: grid has 1 entries, expected 2' });
  assertThrows(make({ grid: [4, 0] }), SinterError, { message: /grid\[1\] is 0, expected a whole number from 1 on/ });
  assertThrows(make({ update: [8, 4] }), ShapeError, { message: 'logic.automaton: update ends with 4 gates, expected one for each of 3 channels' });
  assertThrows(make({ perception: { kernels: 2, layers: [4, 2] } }), SinterError, { message: /perception.layers begins with 4, expected 8/ });
  assertThrows(make({ boundary: 'open' }), SinterError, { message: 'logic.automaton: no boundary "open" (there are zero, wrap)' });
  assertThrows(make({ asynchronous: 2 }), SinterError, { message: /option asynchronous is 2, expected true, false, or a share/ });
  assertThrows(make({ harden: 0 }), SinterError, { message: 'logic.automaton: harden is 0, expected a loss above 0' });
  assertThrows(make({ noise: 0.5 }), SinterError, { message: 'logic.automaton: noise is 0.5, expected 0 or more, below 0.5' });
  assertThrows(make({ stepss: 2 }), SinterError, { message: /there is no option 'stepss', did you mean 'steps'/ });
  assertThrows(make({ steps: 0 }), SinterError, { message: /steps is 0/ });
  const ca = make({})();
  const state = ca.init(random.key(0));
  assertThrows(() => ca.run(state, sn.ones([2, 4, 4]), { steps: 1 }), ShapeError, { message: 'logic.automaton: the grid is (2, 4, 4), expected (3, height, width)' });
  assertThrows(() => ca.run(state, [[1]], { steps: 1 }), ShapeError, { message: /the grid is an array/ });
  assertThrows(() => ca.run(state, sn.ones([3, 4, 4]), { steps: -1 }), SinterError, { message: /steps is -1/ });
  assertThrows(() => ca.step(state, random.key(0)), SinterError, { message: /there is no target to train for/ });
  await assertRejects(ca.accuracy(state), SinterError, { message: /there is no target to train for/ });
  assertThrows(() => logic.rawCircuit(ca, { perception: [], update: [] }), SinterError, { message: /these are not the parameters of 3 layers/ });
  const trained = make({ target: (start) => start })();
  const other = logic.circuitOf({ inputs: 9, gates: [], outputs: [4], automaton: { channels: 1, boundary: 'zero', fire: 1 } });
  assertThrows(() => logic.prune(trained, other), SinterError, { message: /the circuit is not one of this automaton/ });
  assertThrows(() => logic.tasks.checkerboard({ update: 'large' }), SinterError, { message: 'tasks.checkerboard: no update "large" (there are small, full)' });
  assertThrows(() => logic.tasks.picture([[0, 1], [1]]), ShapeError, { message: /pixels are no rows of one length/ });
  assertThrows(() => logic.tasks.picture([[0, 2]]), SinterError, { message: 'tasks.picture: a pixel is 2, expected 0 or 1' });
  const wrong = make({ target: () => sn.ones([4, 2, 6, 5]) })();
  assertThrows(() => wrong.step(wrong.init(random.key(0)), random.key(0)), SinterError);
});
