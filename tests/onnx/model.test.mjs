// Models as users have them: a network that PyTorch wrote is run, trained and written again; inputs that do not fit are refused.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as sn from '../../js/dist/index.js';
import * as onnx from '../../js/dist/onnx.js';
import * as file from './write.mjs';

await sn.init({ threads: 1 });

/** A convolution, a pool and a dense layer, written by PyTorch 1.13 with a batch of any size. */
const classifier = () => readFileSync(new URL('classifier.onnx', import.meta.url));
const ramp = (batch) => sn.reshape(sn.arange(0, 64 * batch, 1, { dtype: 'float32' }), [batch, 1, 8, 8]).mod(64).div(64);

const close = (got, want, tolerance = 1e-6) => {
  assert.equal(got.length, want.length);
  got.forEach((value, i) => assert.ok(Math.abs(value - want[i]) <= tolerance * (1 + Math.abs(want[i])), `${i}: ${value}, expected ${want[i]}`));
};

test('a network of PyTorch has its values', () => {
  const model = onnx.load(classifier());
  assert.deepEqual(model.inputs, [{ name: 'x', dtype: 'float', shape: ['batch', 1, 8, 8] }]);
  assert.deepEqual(model.outputs, [{ name: 'logits', dtype: 'float', shape: ['batch', 3] }]);
  const row = [-0.007064463570713997, -0.10929879546165466, 0.06738553196191788];
  close([...model.run({ x: ramp(1) }).logits.dataSync()], row);
  close([...model.run({ x: ramp(2) }).logits.dataSync()], [...row, ...row]);
  model.dispose();
});

test('weights are parameters: gradients are those of differences', () => {
  const model = onnx.load(classifier());
  const loss = (params) => model.apply(params, { x: ramp(2) }).logits.square().sum();
  const grads = sn.grad(loss)(model.params);
  for (const name of Object.keys(model.params)) {
    const ones = sn.onesLike(model.params[name]);
    const at = (h) => loss({ ...model.params, [name]: model.params[name].add(ones.mul(h)) }).item();
    close([(at(1e-3) - at(-1e-3)) / 2e-3], [grads[name].sum().item()], 2e-2);
  }
  model.dispose();
});

test('the 2 of a square is no parameter, whose derivative would be NaN below 0; another exponent is one', () => {
  const bytes = (exponent) => file.model({
    nodes: [file.node('Mul', ['x', 'w'], ['scaled']), file.node('Pow', ['scaled', 'e'], ['y'])],
    initializers: [['w', 1.5], ['e', exponent]].map(([name, value]) => file.message(file.field(2, 1), file.field(8, name), file.field(9, new Uint8Array(Float32Array.of(value).buffer)))),
    inputs: [file.value('x', 1, [3])],
    outputs: [file.value('y', 1, [3])],
  });
  const [square, root] = [onnx.load(bytes(2)), onnx.load(bytes(0.5))];
  assert.deepEqual([Object.keys(square.params), Object.keys(root.params)], [['w'], ['w', 'e']]);
  assert.deepEqual([...square.run({ x: [-2, 0, 3] }).y.dataSync()], [9, 0, 20.25]);
  const slope = sn.grad((params) => square.apply(params, { x: sn.tensor([-2, 0, 3]) }).y.sum())(square.params);
  assert.equal(slope.w.item(), 2 * 1.5 * 13);
  for (const model of [square, root]) model.dispose();
});

test('a model is tuned with part of it frozen, saved and loaded: only its weights have changed', () => {
  const bytes = classifier();
  const model = onnx.load(bytes);
  const names = Object.keys(model.params);
  const frozen = names.filter((name) => !name.startsWith('head'));
  assert.ok(frozen.length > 0 && frozen.length < names.length);
  const [x, labels] = [sn.random.normal(sn.random.key(1), [6, 1, 8, 8]), sn.tensor([0, 1, 2, 0, 1, 2], { dtype: 'int32' })];
  const loss = (params, images, wanted) => sn.softmaxCrossEntropy(model.apply(params, { x: images }).logits, wanted).mean();
  const step = sn.trainStep(loss, sn.optim.groups([
    { match: (path) => path.startsWith('head'), optimizer: sn.optim.adam({ lr: 0.05 }) },
    { match: () => true, optimizer: sn.optim.sgd({ lr: 0 }) },
  ]));
  let state = step.init(model.params);
  const losses = [];
  for (let i = 0; i < 30; i++) {
    const result = step(state, x, labels);
    state = result.state;
    losses.push(result.loss.item());
  }
  assert.ok(losses.at(-1) < 0.2 * losses[0], `${losses[0]} to ${losses.at(-1)}`);

  const params = step.params(state);
  const saved = model.save(params);
  const again = onnx.load(saved);
  assert.deepEqual([...again.run({ x }).logits.dataSync()], [...sn.jit((p) => model.apply(p, { x }).logits)(params).dataSync()]);
  for (const name of names) assert.deepEqual(again.params[name].dataSync(), params[name].dataSync());

  assert.equal(saved.length, bytes.length);
  const changed = [...saved.keys()].filter((i) => saved[i] !== bytes[i]);
  const weights = names.filter((name) => !frozen.includes(name)).map((name) => model.params[name].size * 4);
  assert.ok(changed.length > 0 && changed.length <= weights.reduce((a, b) => a + b));
  const restored = again.save(model.params);
  assert.deepEqual(Buffer.compare(restored, bytes), 0);
  assert.deepEqual(Buffer.compare(model.save(model.params), bytes), 0);
});

test('weights that are written as numbers, not as bytes, are saved in their places', () => {
  const packed = new Uint8Array(Float32Array.of(2, 3).buffer);
  const listed = file.message(file.field(1, 2), file.field(2, 1), file.field(8, 'w'), file.field(4, packed));
  const bytes = file.model({
    nodes: [file.node('Mul', ['x', 'w'], ['y'])],
    initializers: [listed],
    inputs: [file.value('x', 1, ['n', 2])],
    outputs: [file.value('y', 1, ['n', 2])],
  });
  const model = onnx.load(bytes);
  const again = onnx.load(model.save({ w: sn.tensor([5, 7]) }));
  assert.deepEqual(again.run({ x: [[1, 1]] }).y.toArray(), [[5, 7]]);
});

test('apply goes into jit, vmap and jvp', () => {
  const model = onnx.load(classifier());
  const f = (x) => model.apply(model.params, { x }).logits;
  const x = ramp(2);
  const plain = [...f(x).dataSync()];
  close([...sn.jit(f)(x).dataSync()], plain);
  const each = sn.vmap((row) => f(row.expandDims(0)).squeeze(0))(x);
  close([...each.dataSync()], plain, 1e-5);
  const [, slope] = sn.jvp(f, [x], [sn.onesLike(x)]);
  const ahead = [...f(x.add(1e-2)).dataSync()];
  const back = [...f(x.sub(1e-2)).dataSync()];
  close([...slope.dataSync()], ahead.map((value, i) => (value - back[i]) / 2e-2), 1e-2);
  model.dispose();
});

const shaped = () =>
  file.model({
    nodes: [
      file.node('Shape', ['x'], ['s']),
      file.node('Gather', ['s', 'zero'], ['batch']),
      file.node('Concat', ['batch', 'rest'], ['to'], file.attribute('axis', 0)),
      file.node('Reshape', ['x', 'to'], ['y']),
    ],
    initializers: [file.tensor('zero', 7, [1], [0]), file.tensor('rest', 7, [1], [-1])],
    inputs: [file.value('x', 1, ['n', 'a', 'b'])],
    outputs: [file.value('y', 1, ['n', 'c'])],
  });

test('shapes that are computed from shapes are known while a program is compiled', () => {
  const model = onnx.load(shaped());
  const f = sn.jit((x) => model.apply({}, { x }).y);
  assert.deepEqual(f(sn.ones([2, 3, 4])).shape, [2, 12]);
  assert.deepEqual(model.run({ x: sn.ones([5, 1, 2]) }).y.shape, [5, 2]);
});

test('an input that is given as numbers decides shapes while a function is traced', () => {
  const model = onnx.load(file.model({
    nodes: [file.node('Reshape', ['x', 's'], ['y'])],
    inputs: [file.value('x', 1, ['n']), file.value('s', 7, ['r'])],
    outputs: [file.value('y', 1, ['a', 'b'])],
  }));
  assert.deepEqual(sn.jit((x) => model.apply({}, { x, s: [2, 3] }).y)(sn.ones([6])).shape, [2, 3]);
  assert.deepEqual(model.run({ x: sn.ones([6]), s: [3, -1] }).y.shape, [3, 2]);
  assert.throws(() => sn.jit((x, s) => model.apply({}, { x, s }).y)(sn.ones([6]), sn.tensor([2, 3], { dtype: 'int32' })), /depends on elements of "s"/);
});

test('widths of padding as PyTorch computes them are known while a program is compiled', () => {
  const model = onnx.load(file.model({
    nodes: [
      file.node('ConstantOfShape', ['n'], ['zeros'], file.attribute('value', { field: 5, type: 4, bytes: file.tensor('', 7, [1], [0]) })),
      file.node('Concat', ['widths', 'zeros'], ['all'], file.attribute('axis', 0)),
      file.node('Reshape', ['all', 'pairs'], ['rows']),
      file.node('Slice', ['rows', 'last', 'first', 'zero', 'last'], ['turned']),
      file.node('Transpose', ['turned'], ['columns'], file.attribute('perm', [1, 0])),
      file.node('Reshape', ['columns', 'last'], ['flat']),
      file.node('Pad', ['x', 'flat'], ['y']),
    ],
    initializers: [
      file.tensor('n', 7, [1], [2]), file.tensor('widths', 7, [2], [1, 2]), file.tensor('pairs', 7, [2], [-1, 2]),
      file.tensor('last', 7, [1], [-1]), file.tensor('first', 7, [1], [-1000]), file.tensor('zero', 7, [1], [0]),
    ],
    inputs: [file.value('x', 1, ['a', 'b'])],
    outputs: [file.value('y', 1, ['a', 'c'])],
  }));
  assert.deepEqual(sn.jit((x) => model.apply({}, { x }).y)(sn.tensor([[5, 6]])).toArray(), [[0, 5, 6, 0, 0]]);
});

test('the least and the greatest of known numbers, of two or of several, and along an axis', () => {
  const want = { Min: [3, 2], Max: [4, 7], ReduceMin: [3], ReduceMax: [7] };
  for (const [type, sign] of [[7, 1], [7, -1], [1, -0.125]]) {
    const known = (name, values) => file.tensor(name, type, [2], values.map((v) => v * sign));
    const model = onnx.load(file.model({
      nodes: [...['Min', 'Max'].map((op) => file.node(op, ['a', 'b'], [op])), ...['ReduceMin', 'ReduceMax'].map((op) => file.node(op, ['a'], [op]))],
      initializers: [known('a', [3, 7]), known('b', [4, 2])],
      outputs: Object.keys(want).map((op) => file.value(op, type, [want[op].length])),
    }));
    const got = model.run({});
    for (const op of Object.keys(want)) {
      const name = sign > 0 ? op : op.replace(/Min|Max/, (each) => (each === 'Min' ? 'Max' : 'Min'));
      assert.deepEqual([...got[name].dataSync()], want[op].map((v) => v * sign), `${name} of type ${type}`);
    }
    model.dispose();
  }
});

test('the least and the greatest of nothing is an end of the range of its type', () => {
  const ranges = { 1: [-Infinity, Infinity], 2: [0, 255], 3: [-128, 127], 6: [-(2 ** 31), 2 ** 31 - 1], 9: [false, true] };
  for (const [type, [low, high]] of Object.entries(ranges)) {
    const model = onnx.load(file.model({
      nodes: ['ReduceMax', 'ReduceMin'].map((op) => file.node(op, ['x'], [op], file.attribute('axes', [1]))),
      inputs: [file.value('x', Number(type), [2, 0])],
      outputs: ['ReduceMax', 'ReduceMin'].map((op) => file.value(op, Number(type), [2, 1])),
    }));
    const dtype = { 1: 'float32', 2: 'uint8', 3: 'int8', 6: 'int32', 9: 'bool' }[type];
    const { ReduceMax, ReduceMin } = model.run({ x: sn.zeros([2, 0], { dtype }) });
    assert.deepEqual([ReduceMax.toArray(), ReduceMin.toArray()], [[[low], [low]], [[high], [high]]], dtype);
    model.dispose();
  }
});

test('a sum over no axes of known numbers is these, where the file says so', () => {
  const sum = (...more) => file.model({
    nodes: [file.node('ReduceSum', ['a'], ['y'], ...more)], initializers: [file.tensor('a', 7, [3], [1, 2, 4])], outputs: [file.value('y', 7, ['n'])],
  });
  assert.deepEqual(onnx.load(sum(file.attribute('noop_with_empty_axes', 1))).run({}).y.toArray(), [1, 2, 4]);
  assert.deepEqual(onnx.load(sum()).run({}).y.toArray(), [7]);
});

test('the activations of both directions of a recurrent layer have their own parameters', () => {
  const outputs = (activations, alpha, beta) => onnx.load(file.model({
    nodes: [file.node('RNN', ['x', 'w', 'r'], ['y'], file.attribute('hidden_size', 1), file.attribute('direction', 'bidirectional'),
      file.attribute('activations', activations), file.attribute('activation_alpha', Float32Array.from(alpha)), file.attribute('activation_beta', Float32Array.from(beta)))],
    initializers: [file.tensor('w', 1, [2, 1, 1], [1, 1]), file.tensor('r', 1, [2, 1, 1], [0, 0])],
    inputs: [file.value('x', 1, [1, 1, 1])],
    outputs: [file.value('y', 1, [1, 2, 1, 1])],
  })).run({ x: [[[-1]]] }).y.dataSync();
  close([...outputs(['LeakyRelu', 'LeakyRelu'], [0.25, 0.5], [])], [-0.25, -0.5]);
  close([...outputs(['Affine', 'HardSigmoid'], [2, 0.25], [0.5, 0.75])], [-1.5, 0.5]);
  close([...outputs(['ThresholdedRelu', 'ThresholdedRelu'], [-2, 0], [])], [-1, 0]);
  close([...outputs(['Tanh', 'ScaledTanh'], [3], [0.5])], [Math.tanh(-1), 3 * Math.tanh(-0.5)]);
});

test('a transposed convolution with windows smaller than its strides begins with the first element', () => {
  const outputs = (...more) => [...onnx.load(file.model({
    nodes: [file.node('ConvTranspose', ['x', 'w'], ['y'], file.attribute('strides', [3]), ...more)],
    initializers: [file.tensor('w', 1, [1, 1, 1], [1])],
    inputs: [file.value('x', 1, [1, 1, 2])],
    outputs: [file.value('y', 1, [1, 1, 'n'])],
  })).run({ x: [[[1, 2]]] }).y.dataSync()];
  for (const mode of ['SAME_UPPER', 'SAME_LOWER']) assert.deepEqual(outputs(file.attribute('auto_pad', mode)), [1, 0, 0, 2, 0, 0]);
  assert.deepEqual(outputs(file.attribute('output_shape', [6])), [1, 0, 0, 2, 0, 0]);
});

test('what is counted by values is computed op by op, and refused where a function is traced', () => {
  const model = onnx.load(file.model({
    nodes: [file.node('Relu', ['x'], ['r']), file.node('NonZero', ['r'], ['y'])],
    inputs: [file.value('x', 1, ['n'])],
    outputs: [file.value('y', 7, [1, 'm'])],
  }));
  assert.deepEqual(model.run({ x: [1, -1, 0, 2] }).y.toArray(), [[0, 3]]);
  assert.deepEqual(model.run({ x: [1, 1, 1, 2] }).y.toArray(), [[0, 1, 2, 3]]);
  assert.throws(() => sn.jit((x) => model.apply({}, { x }).y)(sn.tensor([1, 2])), /onnx\.apply: the shape of a value depends on elements of "x"/);
});

test('inputs and weights that do not fit are refused by their names', () => {
  const model = onnx.load(classifier());
  const refuses = (f, pattern, code = 'argument') => assert.throws(f, (error) => error instanceof sn.SinterError && error.code === code && pattern.test(error.message), pattern.source);
  refuses(() => model.run({}), /onnx\.run: input "x" is not given/);
  refuses(() => model.run({ x: ramp(1), z: ramp(1) }), /there is no input "z".*the inputs are "x"/);
  refuses(() => model.run({ x: sn.ones([1, 1, 8, 7]) }), /input "x" is \(1, 1, 8, 7\), expected \(batch, 1, 8, 8\)/, 'shape');
  refuses(() => model.run({ x: sn.ones([1, 1, 8, 8], { dtype: 'int32' }) }), /input "x" is int32, expected float32 for float.*astype/, 'dtype');
  refuses(() => model.run(7), /inputs is 7, expected an object/);
  refuses(() => model.apply({}, { x: ramp(1) }), /weight ".*" is undefined, expected a tensor/);
  refuses(() => model.apply({ ...model.params, w: sn.ones([1]) }, { x: ramp(1) }), /there is no weight "w"/);
  const name = Object.keys(model.params)[0];
  refuses(() => model.save({ ...model.params, [name]: sn.ones([1]) }), /is \(1,\), expected/, 'shape');
  refuses(() => model.save({ ...model.params, [name]: model.params[name].astype('float16') }), /is float16, expected float32/, 'dtype');
  refuses(() => onnx.load(classifier(), { externals: {} }), /externals/);
  model.dispose();
});

test('a size with a name is one size', () => {
  const model = onnx.load(file.model({
    nodes: [file.node('Add', ['a', 'b'], ['y'])],
    inputs: [file.value('a', 1, ['n']), file.value('b', 1, ['n'])],
    outputs: [file.value('y', 1, ['n'])],
  }));
  assert.deepEqual(model.run({ a: [1, 2], b: [3, 4] }).y.toArray(), [4, 6]);
  assert.throws(() => model.run({ a: [1, 2], b: [3] }), /input "b" is \(1,\), but "n" is 2 in an input before it/);
});

test('an output is the caller\'s to dispose of, also where it is a weight or an input', () => {
  const model = onnx.load(file.model({
    nodes: [file.node('Relu', ['x'], ['r']), file.node('NonZero', ['r'], ['z']), file.node('Identity', ['w'], ['y']), file.node('Identity', ['x'], ['same'])],
    initializers: [file.tensor('w', 1, [1], [3])],
    inputs: [file.value('x', 1, ['n'])],
    outputs: [file.value('y', 1, [1]), file.value('same', 1, ['n']), file.value('z', 7, [1, 'm'])],
  }));
  const x = sn.tensor([1, 2]);
  for (let i = 0; i < 2; i++) {
    const { y, same } = model.run({ x });
    assert.deepEqual([y.toArray(), same.toArray()], [[3], [1, 2]]);
    y.dispose();
    same.dispose();
  }
});

test('loading, running and disposing leave no memory behind', () => {
  const use = () => sn.tidy(() => {
    const model = onnx.load(classifier());
    model.run({ x: ramp(1) }).logits.dataSync();
    model.dispose();
  });
  use();
  const before = sn.memory().bytesInUse;
  for (let i = 0; i < 5; i++) use();
  assert.equal(sn.memory().bytesInUse, before);
});
