// Circuits as data: simplified without a change of any output, written and read again, refused where they lie; run on
// examples and on grids. The judge is a plain evaluation, gate by gate.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import * as logic from '../dist/logic.js';
import { draw, evaluate, gameOfLife, plainLife, randomCells, randomCircuit, step } from './circuitcases.mjs';
import { assertThrows } from './support.mjs';

await sn.init({ threads: 2 });

const bitsOf = (number, n) => Array.from({ length: n }, (_, i) => (number >> i) & 1);

test('simplified circuits have the same outputs for all inputs, and nothing is left to take away', () => {
  const below = draw(1);
  let [before, after] = [0, 0];
  for (let round = 0; round < 400; round++) {
    const inputs = 1 + below(7);
    const data = randomCircuit(below, { inputs, gates: below(60), outputs: 1 + below(5) });
    const circuit = logic.circuitOf(data);
    for (let number = 0; number < 2 ** inputs; number++)
      assert.deepEqual(evaluate(circuit.data, bitsOf(number, inputs)), evaluate(data, bitsOf(number, inputs)), JSON.stringify(data));
    assert.ok(circuit.gates <= data.gates.length, JSON.stringify(data));
    assert.equal(logic.circuitOf(circuit.data).gates, circuit.gates, JSON.stringify(data));
    before += data.gates.length;
    after += circuit.gates;
  }
  assert.ok(after < before / 2);
});

test('constants, pass-through, inverters, equal gates and dead ones need no gate', () => {
  const size = (gates, outputs, inputs = 2) => logic.circuitOf({ inputs, gates, outputs, automaton: null }).gates;
  assert.equal(size([[3, 0, 1], [12, 2, 2], [12, 3, 3]], [4]), 0); // not not a
  assert.equal(size([[1, 0, 1], [1, 1, 0], [6, 2, 3]], [4, 2]), 2); // one is equal, xor of both is false
  assert.equal(size([[14, 0, 1], [1, 0, 1]], [2, 3]), 2); // one of them and its opposite
  assert.equal(size([[14, 0, 1], [12, 2, 2]], [3]), 1); // not nand
  assert.equal(size([[2, 0, 1], [4, 1, 0]], [2, 3]), 1); // inputs swapped
  assert.equal(size([[8, 0, 1], [7, 1, 0], [6, 2, 3]], [4]), 1); // true
  assert.equal(size([[1, 0, 1], [7, 2, 0]], [3]), 0); // a or (a and b)
  assert.equal(size([[6, 0, 1], [6, 2, 1]], [3]), 0); // (a xor b) xor b
  assert.equal(size([[1, 0, 1], [6, 1, 0], [6, 0, 1]], [0, 1]), 0); // dead
  const circuit = logic.circuitOf({ inputs: 2, gates: [[1, 0, 1], [6, 0, 1], [2, 2, 3]], outputs: [2, 3], automaton: null });
  assert.deepEqual(circuit.counts, { 'a & b': 1, 'a ^ b': 1 });
  assert.deepEqual([circuit.inputs, circuit.outputs, circuit.gates, circuit.depth], [2, 2, 2, 1]);
});

test('channels that the first one never depends on are left out, through any number of steps', () => {
  const automaton = { channels: 4, boundary: 'zero', fire: 1 };
  const gates = [[6, 0, 9], [7, 13, 22], [1, 18, 31], [6, 27, 22]]; // channel 0 reads 1, 1 reads 2, 2 reads 3, 3 reads 2
  const all = { inputs: 36, gates: [...gates, [7, 4, 31]], outputs: [36, 37, 38, 40], automaton };
  assert.equal(logic.circuitOf(all, { dropDeadChannels: true }).gates, 4);
  const two = { ...all, gates: [[6, 0, 9], [6, 13, 4], [1, 18, 31], [6, 27, 22]], outputs: [36, 37, 38, 39] };
  const circuit = logic.circuitOf(two, { dropDeadChannels: true });
  assert.equal(circuit.gates, 2);
  assert.deepEqual(circuit.data.outputs.slice(2), [22, 31]);
  const cells = randomCells(draw(3), 4 * 20 * 20);
  const first = (c) => c.run(cells, { width: 20, height: 20, steps: 5 }).slice(0, 800);
  assert.deepEqual(first(circuit), first(logic.circuitOf(two)));
  assertThrows(() => logic.circuitOf(two, { dropDead: true }), sn.SinterError, { op: 'logic.circuitOf' });
});

test('many examples at once, of any number', () => {
  const below = draw(5);
  for (const [inputs, gates, outputs, count] of [[5, 40, 3, 1], [9, 120, 7, 700], [3, 0, 2, 33], [20, 900, 40, 513], [7, 60, 5, 2049], [6, 30, 4, 0]]) {
    const data = randomCircuit(below, { inputs, gates, outputs });
    const bits = randomCells(below, count * inputs);
    const want = Array.from({ length: count }, (_, i) => evaluate(data, bits.slice(i * inputs, (i + 1) * inputs))).flat();
    assert.deepEqual([...logic.circuitOf(data).evaluate(bits)], want, `${[inputs, gates, outputs, count]}`);
  }
  const circuit = logic.circuitOf(randomCircuit(below, { inputs: 4, gates: 9, outputs: 2 }));
  assertThrows(() => circuit.evaluate(new Uint8Array(5)), sn.ShapeError, { op: 'circuit.evaluate', message: /not one of 5$/ });
  assertThrows(() => circuit.evaluate(Uint8Array.of(0, 1, 2, 0)), sn.SinterError, { op: 'circuit.evaluate', message: /bits\[2\] is 2/ });
  assertThrows(() => circuit.evaluator.run(sn.zeros([1, 4, 2])), sn.ShapeError, { op: 'evaluator.run' });
});

test('automata on grids of any size, with both boundaries', () => {
  const below = draw(7);
  const sizes = [[1, 1], [3, 5], [16, 16], [33, 31], [7, 32], [20, 64], [65, 33], [9, 100], [50, 65], [1, 40], [40, 1]];
  for (const [width, height] of sizes)
    for (const boundary of ['zero', 'wrap']) {
      const channels = 1 + below(3);
      const data = randomCircuit(below, { inputs: 9 * channels, gates: 10 + below(50), outputs: channels, automaton: { channels, boundary, fire: 1 } });
      let want = randomCells(below, channels * width * height);
      const circuit = logic.circuitOf(data);
      const got = circuit.run(want, { width, height, steps: 6 });
      for (let i = 0; i < 6; i++) want = step(data, want, width, height);
      assert.deepEqual(got, want, `${[width, height, channels, boundary]}`);
    }
});

test('the Game of Life is the plain rule for 1,000 steps, on odd sizes', () => {
  for (const [width, height, boundary] of [[37, 61, 'wrap'], [53, 45, 'zero'], [31, 96, 'wrap']]) {
    const circuit = logic.circuitOf(gameOfLife(boundary));
    assert.ok(circuit.gates <= 30);
    let want = randomCells(draw(width), width * height);
    const runner = circuit.runner({ width, height });
    runner.write(want);
    for (let i = 1; i <= 1000; i++) {
      want = plainLife(want, width, height, boundary);
      if (i % 100) continue;
      runner.step(100);
      assert.deepEqual(runner.read(), want, `${[width, height, boundary]} after ${i}`);
    }
    assert.equal(runner.steps, 1000);
    runner.dispose();
  }
});

test('large squares are drawn on a large grid about as quickly as on bytes', () => {
  const [side, size] = [2048, 400];
  const circuit = logic.circuitOf({ inputs: 9, gates: [[7, 1, 3]], outputs: [9], automaton: { channels: 1, boundary: 'wrap', fire: 1 } });
  const runner = circuit.runner({ width: side, height: side });
  const cells = new Uint8Array(side * side);
  const squares = Array.from({ length: 20 }, (_, i) => [(97 * i) % (side - size), (31 * i) % (side - size), i & 1]);
  const drawn = () => squares.forEach(([x, y, value]) => runner.fill(x, y, size, size, value));
  const plain = () => squares.forEach(([x, y, value]) => {
    for (let row = y; row < y + size; row++) for (let column = x; column < x + size; column++) cells[row * side + column] = value;
  });
  const best = (f) => Math.min(...Array.from({ length: 5 }, () => {
    const begin = performance.now();
    f();
    return performance.now() - begin;
  }));
  const [own, other] = [best(drawn), best(plain)];
  assert.ok(own < 10 * other, `${own} ms, on bytes ${other} ms`);
  assert.deepEqual(runner.read(), cells);
  runner.dispose();
});

test('a runner is drawn on, damaged and read by channel', () => {
  const below = draw(11);
  const automaton = { channels: 2, boundary: 'zero', fire: 1 };
  const data = randomCircuit(below, { inputs: 18, gates: 40, outputs: 2, automaton });
  const [width, height] = [21, 45];
  const runner = logic.circuitOf(data).runner({ width, height });
  let want = randomCells(below, 2 * width * height);
  runner.write(want);
  for (let round = 0; round < 8; round++) {
    for (let i = 0; i < 5; i++) {
      const [x, y, w, h, value, channel] = [below(30) - 5, below(50) - 3, below(9), below(40), below(2), below(2)];
      runner.fill(x, y, w, h, value, channel);
      for (let row = Math.max(y, 0); row < Math.min(y + h, height); row++)
        for (let column = Math.max(x, 0); column < Math.min(x + w, width); column++) want[(channel * height + row) * width + column] = value;
    }
    runner.set(3, 4, round & 1, 1);
    want[(height + 4) * width + 3] = round & 1;
    assert.deepEqual(runner.read(), want);
    assert.deepEqual(runner.read(1), want.slice(width * height));
    runner.step();
    want = step(data, want, width, height);
  }
  assert.deepEqual(runner.read(), want);
  assertThrows(() => runner.set(0, 0, 2), sn.SinterError, { op: 'runner.fill', message: /value is 2/ });
  assertThrows(() => runner.read(2), sn.SinterError, { op: 'runner.read' });
  assertThrows(() => runner.write(new Uint8Array(7)), sn.ShapeError, { op: 'runner.write', message: /not one of 7$/ });
  assertThrows(() => runner.write(new Uint16Array(7)), sn.ShapeError, { message: /not a Uint16Array$/ });
  assertThrows(() => runner.write(new Uint8Array(2 * width * height).fill(3)), sn.SinterError, { message: /cells\[0\] is 3/ });
  assertThrows(() => runner.step(-1), sn.SinterError, { op: 'runner.step' });
  runner.dispose();
  runner.dispose();
  assertThrows(() => runner.step(), sn.DisposedError, { op: 'runner.step' });
});

test('nothing is kept of a run', () => {
  const circuit = logic.circuitOf(gameOfLife());
  const cells = randomCells(draw(2), 40 * 40);
  const run = () => circuit.run(cells, { width: 40, height: 40, steps: 3 });
  run();
  const before = sn.memory().tensors;
  for (let i = 0; i < 3; i++) run();
  assert.equal(sn.memory().tensors, before);
});

test('so many cells fire, which ones follows from the key', () => {
  const flip = { inputs: 9, gates: [[12, 4, 4]], outputs: [9], automaton: { channels: 1, boundary: 'zero', fire: 0.6 } };
  const circuit = logic.circuitOf(flip);
  const [width, height] = [300, 200];
  const run = (seed, steps) => circuit.run(new Uint8Array(width * height), { width, height, steps, key: sn.random.key(seed) });
  const one = run(1, 1);
  const share = one.reduce((sum, cell) => sum + cell, 0) / one.length;
  assert.ok(Math.abs(share - 0.6) < 0.01, `${share}`);
  assert.deepEqual(run(1, 1), one);
  assert.notDeepEqual(run(2, 1), one);
  const runner = circuit.runner({ width, height, key: sn.random.key(1) });
  for (let i = 0; i < 3; i++) runner.step();
  assert.deepEqual(runner.read(), run(1, 3)); // a step's cells do not depend on how it was asked for
  const twice = runner.read().reduce((sum, cell) => sum + cell, 0) / one.length;
  assert.ok(Math.abs(twice - (3 * 0.6 * 0.16 + 0.216)) < 0.01, `${twice}`); // an odd number of times
  runner.dispose();
});

test('a circuit is written as JSON and read again', () => {
  const below = draw(13);
  for (const data of [gameOfLife('zero'), randomCircuit(below, { inputs: 5, gates: 30, outputs: 3 })]) {
    const circuit = logic.circuitOf(data);
    for (const json of [circuit.toJSON(), JSON.stringify(circuit), JSON.parse(JSON.stringify(circuit))])
      assert.deepEqual(logic.circuit(json).data, circuit.data);
  }
  assertThrows(() => logic.circuitOf(gameOfLife()).evaluate('x'), sn.ShapeError, { op: 'circuit.evaluate' });
  assertThrows(() => logic.circuitOf(randomCircuit(below, { inputs: 5, gates: 30, outputs: 3 })).runner({ width: 3, height: 3 }), sn.SinterError, { message: /no automaton/ });
});

test('a circuit that lies is refused', () => {
  const json = logic.circuitOf(gameOfLife()).toJSON();
  const n = json.gates.length;
  const changed = (change) => {
    const copy = JSON.parse(JSON.stringify(json));
    change(copy);
    return copy;
  };
  for (const [lie, message] of [
    [(c) => (c.gates[3][1] = 9 + 3), /gates\[3\] is signal 12 and reads 12/], // itself
    [(c) => (c.gates[0] = [1, 9 + n - 1, 0]), /reads/], // a cycle
    [(c) => (c.gates[2][0] = 16), /the function of gates\[2\] is 16/],
    [(c) => (c.gates[2][2] = -1), /an input of gates\[2\] is -1/],
    [(c) => (c.gates[2] = [1, 0]), /gates\[2\] is/],
    [(c) => (c.gates = 'many'), /gates is "many"/],
    [(c) => c.gates.push([1, 0, 1]), /gateCount is \d+, but there are/],
    [(c) => (c.gateCount = 1), /gateCount is 1/],
    [(c) => (c.outputs = [9 + n]), /outputs\[0\]/],
    [(c) => (c.outputs = [0, 1]), /9 inputs and 2 outputs/],
    [(c) => (c.inputs = 8), /./],
    [(c) => (c.inputs = 0), /inputs is 0/],
    [(c) => (c.inputs = 2 ** 40), /inputs is/],
    [(c) => (c.gates = { length: 2 ** 40 }), /gates is/],
    [(c) => (c.automaton.boundary = 'round'), /no boundary "round"/],
    [(c) => (c.automaton.fire = 0), /fire is 0/],
    [(c) => (c.automaton.channels = 2), /channels/],
    [(c) => (c.automaton = 7), /automaton is 7/],
    [(c) => (c.version = 2), /version is 2/],
    [(c) => delete c.format, /format is undefined/],
  ])
    assertThrows(() => logic.circuit(changed(lie)), sn.SinterError, { op: 'logic.circuit', message });
  for (const json of ['{', '[]', 'null', 7, null, undefined, [], new Map()])
    assertThrows(() => logic.circuit(json), sn.SinterError, { op: 'logic.circuit' });
});

test('texts with anything changed are refused or are another circuit, and never anything else', () => {
  const below = draw(17);
  const text = JSON.stringify(logic.circuitOf(gameOfLife('zero')));
  const pieces = ['-', '0', '9', '99', '1e9', '[', ']', '{', '}', ',', '"', 'null', '0.5', ' ', 'e'];
  let [refused, read] = [0, 0];
  for (let i = 0; i < 3000; i++) {
    let mutant = text;
    for (let k = 1 + below(3); k > 0; k--) {
      const at = below(mutant.length);
      mutant = mutant.slice(0, at) + (below(3) ? pieces[below(pieces.length)] : '') + mutant.slice(at + below(3));
    }
    try {
      const circuit = logic.circuit(mutant);
      evaluate(circuit.data, new Array(circuit.inputs).fill(1));
      read++;
    } catch (error) {
      assert.ok(error instanceof sn.SinterError, `${error.stack}\n${mutant}`);
      refused++;
    }
  }
  assert.ok(refused > 1000 && read > 20, `${refused} ${read}`);
});

test('a circuit that is extracted runs as the hard model does', () => sn.tidy(() => {
  const anyGates = (params, seed) => sn.tree.map((t) => sn.random.normal(sn.random.key(seed + t.size), t.shape), params);
  const net = logic.network({ inputs: 6, layers: [14, 12, 4] });
  const params = anyGates(net.init(sn.random.key(3)), 1);
  const all = Array.from({ length: 64 }, (_, n) => bitsOf(n, 6));
  const circuit = logic.extract(net, params);
  assert.ok(circuit.gates < logic.rawCircuit(net, params).gates.length);
  assert.deepEqual([...circuit.evaluate(Uint8Array.from(all.flat()))], net.apply(params, sn.tensor(all), { hard: true }).toArray().flat());

  const ca = logic.automaton({ channels: 3, perception: { kernels: 2, layers: [8, 4, 2] }, update: [16, 8, 3], grid: [5, 7], boundary: 'wrap', steps: 2 });
  const trained = anyGates(ca.init(sn.random.key(1)).params, 2);
  const raw = logic.rawCircuit(ca, trained);
  const cells = randomCells(draw(4), 3 * 11 * 40);
  const got = logic.extract(ca, trained).run(cells, { width: 11, height: 40, steps: 2 });
  assert.deepEqual(got, step(raw, step(raw, cells, 11, 40), 11, 40));
}));
