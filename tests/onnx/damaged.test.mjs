// Files that are damaged or made to harm: each is a typed error that says where, and none takes long or keeps memory.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import * as onnx from '../../js/dist/onnx.js';
import * as file from './write.mjs';

await sn.init({ threads: 1, maxMemory: 1 << 28 });

const classifier = readFileSync(new URL('classifier.onnx', import.meta.url));
const X = file.value('x', 1, ['n']);
const Y = file.value('y', 1, ['n']);

/** A model of these nodes from x to y. */
const modelOf = (nodes, more = {}, options = {}) => file.model({ nodes, inputs: [X], outputs: [Y], ...more }, options);

const refused = (bytes, pattern, code = 'argument') =>
  assert.throws(() => onnx.load(bytes), (error) => {
    assert.ok(error instanceof sn.SinterError, error.stack);
    assert.match(error.message, pattern);
    assert.equal(error.code, code);
    return true;
  });

const refusedAtRun = (bytes, inputs, pattern, code) => {
  const model = onnx.load(bytes);
  assert.throws(() => Object.values(model.run(inputs))[0].dataSync(), (error) => {
    assert.ok(error instanceof sn.SinterError, error.stack);
    assert.match(error.message, pattern);
    if (code) assert.equal(error.code, code);
    return true;
  });
  model.dispose();
};

/** Whether bytes load, or are refused by a typed error; anything else is thrown. */
const loads = (bytes) => {
  try {
    onnx.load(bytes).dispose();
    return true;
  } catch (error) {
    if (error instanceof sn.SinterError) return false;
    throw error;
  }
};

test('a file that ends anywhere', () => {
  for (let size = 0; size < classifier.length; size++) loads(classifier.subarray(0, size));
  refused(new Uint8Array(0), /damaged: there is no graph/);
  refused(classifier.subarray(0, 100), /damaged: model: \d+ bytes where \d+ are left at byte \d+/);
});

test('a length that lies, at every byte', () => {
  for (let at = 0; at < classifier.length; at++) {
    for (const value of [0, 127, 255]) {
      const bytes = Uint8Array.from(classifier);
      bytes[at] = value;
      loads(bytes);
    }
  }
});

test('what is not written as the format has it', () => {
  const inGraph = (bytes) => Uint8Array.from(file.field(7, bytes));
  refused(inGraph([3 * 8 + 3, 3 * 8 + 4]), /model\.graph: field 3 is written in the way 3, expected 2/);
  refused(inGraph([0, 0]), /no field has the number 0/);
  refused(Uint8Array.from([8, ...new Array(11).fill(255)]), /a number of more than 10 bytes/);
  refused(inGraph(file.field(2, [0xff, 0xfe])), /a text that is not UTF-8/);
  refused(Uint8Array.from([...file.field(7, []), ...file.field(7, [])]), /a second graph/);
  refused(new TextEncoder().encode('<html>not found</html>'), /damaged/);
  assert.throws(() => onnx.load('model.onnx'), /onnx\.load: expected bytes, not "model\.onnx"/);
});

test('tensors whose sizes lie', () => {
  const withDims = (dims, values, type = 1) => modelOf([file.node('Add', ['x', 'w'], ['y'])], { initializers: [file.tensor('w', type, dims, values)] });
  refused(withDims([2 ** 40, 2 ** 40], [1]), /tensor "w" has the shape .* more elements than can be counted/);
  refused(withDims([4194305, 4194305, 211106198978564], [1]), /more elements than can be counted/);
  refused(withDims([1e9], [1]), /tensor "w" has 4 bytes, the shape \(1000000000,\) of float has 1000000000 elements/);
  refused(withDims([0, 2 ** 40], [1]), /has 4 bytes/);
  refused(withDims([-1], [1]), /has a size of -1/);
  refused(withDims(new Array(9).fill(1), [1]), /more than 8 axes/, 'unsupported');
  refusedAtRun(withDims([1], [2n ** 40n], 7), { x: [1] }, /element 0 is 1099511627776, more than int32 holds/, 'dtype');
});

test('names that are given twice, or not at all', () => {
  const relu = file.node('Relu', ['x'], ['y']);
  refused(modelOf([relu, relu]), /value "y" is given twice/);
  refused(modelOf([relu], { inputs: [X, X] }), /input "x" is given twice/);
  const w = file.tensor('w', 1, [1], [1]);
  refused(modelOf([relu], { initializers: [w, w] }), /tensor "w" is given twice/);
  refused(modelOf([file.node('Relu', ['z'], ['y'])]), /Relu: nothing before it computes "z"/);
  refused(modelOf([]), /output of graph "graph": nothing before it computes "y"/);
  refused(modelOf([file.node('Relu', ['x'], ['y'], file.attribute('a', 1), file.attribute('a', 2))]), /attribute "a" of Relu is given twice/);
});

test('circles', () => {
  refused(modelOf([file.node('Add', ['x', 'b'], ['a']), file.node('Relu', ['a'], ['b']), file.node('Relu', ['b'], ['y'])]), /Add: nothing before it computes "b"/);
  refused(modelOf([file.node('Add', ['x', 'y'], ['y'])]), /nothing before it computes "y"/);
});

const functionOf = (name, nodes) =>
  file.message(file.field(1, name), file.field(4, 'a'), file.field(5, 'b'), ...nodes.map((each) => [...file.field(7, each.slice(2 + Number(each[1] > 127)))]), file.field(9, file.message(file.field(1, ''), file.field(2, 17))), file.field(10, 'own'));
const call = (name, from, to) => file.node(name, [from], [to], file.field(7, 'own'));

test('functions that call themselves, or each other too often', () => {
  const run = modelOf;
  refused(run([call('f', 'x', 'y')], {}, { functions: [functionOf('f', [call('f', 'a', 'b')])] }), /function "f" calls itself/);
  refused(run([call('f', 'x', 'y')], {}, { functions: [functionOf('f', [call('g', 'a', 'b')]), functionOf('g', [call('f', 'a', 'b')])] }), /calls itself/);
  const chain = Array.from({ length: 40 }, (_, i) => functionOf(`f${i}`, i === 39 ? [file.node('Relu', ['a'], ['b'])] : [call(`f${i + 1}`, 'a', 'c'), call(`f${i + 1}`, 'c', 'b')]));
  const begin = performance.now();
  refused(run([call('f0', 'x', 'y')], {}, { functions: chain }), /more than 200000 nodes/, 'unsupported');
  assert.ok(performance.now() - begin < 10_000);
});

test('graphs in graphs, very deep', () => {
  let inner = file.graph({ nodes: [file.node('Relu', ['x'], ['r'])], outputs: [file.value('r', 1, ['n'])] });
  const nest = () => (inner = file.graph({ nodes: [file.node('If', ['c'], ['r'], file.graphAttribute('then_branch', inner), file.graphAttribute('else_branch', inner.length < 1e4 ? inner : file.graph({})))], outputs: [file.value('r', 1, ['n'])] }));
  for (let i = 0; i < 200; i++) nest();
  const bytes = Uint8Array.from(file.message(file.field(8, file.message(file.field(1, ''), file.field(2, 17))), file.field(7, inner)));
  refused(bytes, /more than 64 deep/, 'unsupported');
});

test('elements outside of the file come from buffers that the caller named alone', () => {
  const entry = (key, value) => file.field(13, file.message(file.field(1, key), file.field(2, value)));
  const away = (...entries) => modelOf([file.node('Add', ['x', 'w'], ['y'])], { initializers: [file.message(file.field(1, 2), file.field(2, 1), file.field(8, 'w'), ...entries, file.field(14, 1))] });
  const buffer = new Uint8Array(Float32Array.of(9, 1, 2).buffer);
  for (const location of ['../../etc/passwd', '/etc/passwd', 'file:///etc/passwd', '__proto__', 'constructor', '']) {
    refused(away(entry('location', location)), /are in ".*", outside of the file \(onnx\.load\(bytes, \{ external/);
  }
  const at = (...entries) => onnx.load(away(entry('location', 'w.bin'), ...entries), { external: { 'w.bin': buffer } });
  assert.deepEqual(at(entry('offset', '4'), entry('length', '8')).run({ x: [1, 1] }).y.toArray(), [2, 3]);
  assert.throws(() => at(entry('offset', '8'), entry('length', '8')), /not within "w.bin"/);
  assert.throws(() => at(entry('offset', '99')), /not within "w.bin"/);
  assert.throws(() => at(entry('offset', '-4'), entry('length', '8')), /offset of its elements is "-4"/);
  assert.throws(() => at(entry('offset', '1e1')), /offset of its elements is "1e1"/);
  assert.throws(() => at(), /has 12 bytes, the shape \(2,\) of float has 2 elements/);
});

test('ops that are not known are named all at once, with their nodes', () => {
  const bytes = modelOf([
    file.node('Nothing', ['x'], ['a'], file.field(3, 'first')),
    file.node('Relu', ['a'], ['b']),
    file.node('Nothing', ['b'], ['c'], file.field(3, 'second')),
    file.node('Other', ['c'], ['y'], file.field(7, 'some.domain')),
  ]);
  refused(bytes, /ops that are not known: Nothing \("first", "second"\); some\.domain\.Other \("y"\)/, 'unsupported');
  refused(modelOf([file.node('toString', ['x'], ['y'])]), /not known: toString/, 'unsupported');
  refused(modelOf([file.node('Relu', ['x'], ['y'])], {}, { opset: 99 }), /opset 99, expected/, 'unsupported');
});

test('inputs and attributes that a node lacks', () => {
  refusedAtRun(modelOf([file.node('Add', ['x'], ['y'])]), { x: [1] }, /Add.*do not fit/);
  refusedAtRun(modelOf([file.node('MaxPool', ['x'], ['y'])]), { x: [1] }, /MaxPool/);
  refusedAtRun(modelOf([file.node('Transpose', ['x'], ['y'], file.attribute('perm', [5]))]), { x: [1] }, /Transpose/);
});

test('values that would take all memory, or all time', () => {
  const shape = (...sizes) => ({ initializers: [file.tensor('s', 7, [sizes.length], sizes)] });
  refusedAtRun(modelOf([file.node('Expand', ['x', 's'], ['y'])], shape(2 ** 20, 2 ** 20)), { x: [1] }, /./);
  refusedAtRun(modelOf([file.node('Tile', ['x', 's'], ['y'])], shape(2 ** 31)), { x: [1] }, /./);
  refusedAtRun(modelOf([file.node('ConstantOfShape', ['s'], ['c']), file.node('Add', ['x', 'c'], ['y'])], shape(2 ** 15, 2 ** 15)), { x: [1] }, /./);
  const body = file.graph({
    nodes: [file.node('Identity', ['c'], ['d']), file.node('Identity', ['v'], ['w'])],
    inputs: [file.value('i', 7, []), file.value('c', 9, []), file.value('v', 1, ['n'])],
    outputs: [file.value('d', 9, []), file.value('w', 1, ['n'])],
  });
  const loop = modelOf([file.node('Loop', ['m', '', 'x'], ['y'], file.graphAttribute('body', body))], { initializers: [file.tensor('m', 7, [], [2n ** 63n - 1n])] });
  refusedAtRun(loop, { x: [1] }, /Loop.*rounds/);
});
