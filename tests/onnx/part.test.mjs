// A file is looked at without being run, loaded in parts, and run node by node.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import * as onnx from '../../js/dist/onnx.js';
import * as file from './write.mjs';

await sn.init({ threads: 1 });

const classifier = () => readFileSync(new URL('classifier.onnx', import.meta.url));
const image = () => sn.random.normal(sn.random.key(3), [2, 1, 8, 8]);
const numbers = (t) => [...t.dataSync()];

/** y = If(x > 0, x * w, x + v), w and v from outside of the branches. */
const branches = () => {
  const branch = (op, other) => file.graph({ nodes: [file.node(op, ['doubled', other], ['b'])], outputs: [file.value('b', 1, [])] });
  return file.model({
    nodes: [
      file.node('Add', ['x', 'x'], ['doubled']),
      file.node('Greater', ['x', 'zero'], ['test']),
      file.node('If', ['test'], ['y'], file.graphAttribute('then_branch', branch('Mul', 'w')), file.graphAttribute('else_branch', branch('Add', 'v'))),
      file.node('Sqrt', ['unused'], ['root']),
    ],
    initializers: [['w', 3], ['v', 5], ['zero', 0], ['unused', 4]].map(([name, value]) => file.tensor(name, 1, [], [value])),
    inputs: [file.value('x', 1, [])],
    outputs: [file.value('y', 1, []), file.value('root', 1, [])],
  });
};

test('read tells what a file says, also of one with ops that are not known', () => {
  const said = onnx.read(classifier());
  assert.match(said.producer, /^pytorch /);
  assert.deepEqual(said.inputs, [{ name: 'x', dtype: 'float', shape: ['batch', 1, 8, 8] }]);
  assert.deepEqual(said.outputs.map(({ name }) => name), ['logits']);
  assert.ok(said.opsets[''] > 7);
  const model = onnx.load(classifier());
  assert.deepEqual(said.weights.map(({ name, shape }) => [name, shape]).sort(), Object.entries(model.params).map(([name, t]) => [name, [...t.shape]]).sort());
  model.dispose();
  const odd = file.model({ nodes: [file.node('Sing', ['x'], ['y'], file.field(3, 'aria'), file.field(7, 'opera'))], inputs: [file.value('x', 1, [2])], outputs: [file.value('y', 1, [2])] });
  assert.throws(() => onnx.load(odd), { code: 'unsupported' });
  assert.deepEqual(onnx.read(odd).nodes, [{ name: 'aria', op: 'opera.Sing', inputs: ['x'], outputs: ['y'], inside: [] }]);
  assert.deepEqual(onnx.read(branches()).nodes[2].inside.sort(), ['b', 'b', 'doubled', 'doubled', 'v', 'w']);
  assert.throws(() => onnx.read(new Uint8Array(0)), { name: 'SinterError', message: /there is no graph in it/ });
});

test('two parts of a model, one after the other, are the model', () => {
  const bytes = classifier();
  const whole = onnx.load(bytes);
  const { nodes } = onnx.read(bytes);
  const want = numbers(whole.run({ x: image() }).logits);
  for (const { outputs: [cut] } of nodes.slice(0, -1)) {
    const [first, second] = [onnx.load(bytes, { outputs: [cut] }), onnx.load(bytes, { inputs: [cut] })];
    assert.deepEqual(second.inputs.map(({ name }) => name), [cut]);
    const all = [...Object.keys(first.params), ...Object.keys(second.params)];
    assert.deepEqual(all.sort(), Object.keys(whole.params).sort(), 'each weight is in one of them');
    assert.deepEqual(numbers(second.run(first.run({ x: image() })).logits), want);
    first.dispose();
    second.dispose();
  }
  whole.dispose();
});

test('a part saves the whole file, with its own weights new', () => {
  const bytes = classifier();
  const { nodes, weights } = onnx.read(bytes);
  const part = onnx.load(bytes, { inputs: [nodes.at(-1).inputs[0]] });
  const names = Object.keys(part.params);
  assert.ok(names.length > 0 && names.length < weights.length);
  const saved = onnx.load(part.save(Object.fromEntries(names.map((name) => [name, part.params[name].add(1)]))));
  const before = onnx.load(bytes);
  for (const { name } of weights) {
    const by = names.includes(name) ? 1 : 0;
    assert.deepEqual(numbers(saved.params[name]), numbers(before.params[name].add(by)), name);
  }
});

test('a last layer of another size is put into the file, and all else stays', () => {
  const bytes = classifier();
  const [before, { nodes }] = [onnx.load(bytes), onnx.read(bytes)];
  const [, weight, bias] = nodes.at(-1).inputs;
  const [w, b] = [sn.random.normal(sn.random.key(5), [7, before.params[weight].shape[1]]), sn.arange(0, 7, 1, { dtype: 'float32' })];
  const made = onnx.resize(bytes, { weights: { [weight]: w, [bias]: b }, shapes: { logits: ['batch', 7] } });
  const after = onnx.load(made);
  assert.deepEqual(after.outputs, [{ name: 'logits', dtype: 'float', shape: ['batch', 7] }]);
  assert.deepEqual(after.inputs, before.inputs);
  for (const name of Object.keys(before.params)) if (![weight, bias].includes(name)) assert.deepEqual(numbers(after.params[name]), numbers(before.params[name]), name);
  const features = onnx.load(bytes, { outputs: [nodes.at(-1).inputs[0]] }).run({ x: image() });
  const want = numbers(Object.values(features)[0].matmul(w.transpose([1, 0])).add(b));
  numbers(after.run({ x: image() }).logits).forEach((value, i) => assert.ok(Math.abs(value - want[i]) < 1e-5));
  assert.deepEqual(onnx.resize(bytes, { weights: {} }), new Uint8Array(bytes), 'nothing new: the same bytes');
  assert.throws(() => onnx.resize(bytes, { weights: { nothing: w } }), { code: 'argument', message: /there is no weight "nothing"/ });
  assert.throws(() => onnx.resize(bytes, { weights: { [bias]: 3 } }), { code: 'argument', message: /is 3, expected a tensor/ });
});

test('what graphs inside of nodes use is part of it', () => {
  const part = onnx.load(branches(), { inputs: ['doubled', 'test'], outputs: ['y'] });
  assert.deepEqual(part.inputs.map(({ name }) => name), ['doubled', 'test']);
  assert.deepEqual(Object.keys(part.params).sort(), ['v', 'w']);
  const run = (test) => part.run({ doubled: sn.tensor(2), test: sn.tensor(test) }).y.item();
  assert.deepEqual([run(true), run(false)], [6, 7]);
  assert.deepEqual(Object.keys(onnx.load(branches(), { outputs: ['root'] }).params), ['unused']);
});

test('names of values that are not there are refused', () => {
  for (const [options, message] of [
    [{ inputs: ['nothing'] }, /onnx.load: inputs: there is no value "nothing"/],
    [{ outputs: ['w'] }, /outputs: there is no value "w"/],
    [{ outputs: [] }, /outputs is an array, expected names/],
    [{ inputs: 'x' }, /inputs is "x", expected names/],
    [{ inputs: ['x', 'x'] }, /expected names/],
  ]) assert.throws(() => onnx.load(branches(), options), { code: 'argument', message });
});

test('a run node by node has the same values, and tells of each node', () => {
  for (const [bytes, inputs] of [[classifier(), { x: image() }], [branches(), { x: sn.tensor(2) }]]) {
    const model = onnx.load(bytes);
    const { nodes } = onnx.read(bytes);
    const runs = [];
    const got = model.run(inputs, { onNode: (run) => runs.push(run) });
    const want = model.run(inputs);
    for (const { name } of model.outputs) assert.deepEqual(numbers(got[name]), numbers(want[name]));
    assert.deepEqual(runs.map(({ node }) => node), nodes.map((_, i) => i));
    for (const { ms, outputs, node } of runs) {
      assert.ok(ms >= 0);
      assert.equal(outputs.length, nodes[node].outputs.length);
    }
    assert.deepEqual(runs.at(-1).outputs[0], { dtype: 'float', shape: [...got[model.outputs.at(-1).name].shape] });
    model.dispose();
  }
  assert.throws(() => onnx.load(branches()).run({ x: sn.tensor(1) }, { onNode: 3 }), { code: 'argument', message: /onNode/ });
});
