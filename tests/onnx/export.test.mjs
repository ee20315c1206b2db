// Functions as ONNX files: onnxruntime computes the values that the function has, and so does the package when it reads the file.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as ort from 'onnxruntime-web';
import * as sn from '../../js/dist/index.js';
import * as onnx from '../../js/dist/onnx.js';

await sn.init({ threads: 1 });
ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';

const { random } = sn;
const normal = (shape, seed = 0) => {
  const t = random.normal(random.key(seed), shape);
  sn.eval(t);
  return t;
};

/** The tensors of a tree, keys in order as inputs and outputs are. */
const leaves = (tree) => (tree instanceof sn.Tensor ? [tree] : Array.isArray(tree) ? tree.flatMap(leaves) : Object.keys(tree).sort().flatMap((key) => leaves(tree[key])));

const close = (name, got, want, tolerance) => {
  assert.equal(got.length, want.length, name);
  want.forEach((value, i) => {
    const other = Number(got[i]);
    const same = Object.is(other, value) || other === value || Math.abs(other - value) <= tolerance * (1 + Math.abs(value));
    assert.ok(same, `${name}, element ${i}: ${other}, expected ${value}`);
  });
};

async function judge(f, args, tolerance = 1e-5) {
  const bytes = onnx.export(f, args);
  const wanted = leaves(sn.jit(f)(...args)).map((t) => [...t.dataSync()].map(Number));
  const given = leaves(args);
  const model = onnx.load(bytes);
  assert.equal(model.inputs.length, given.length);
  const own = model.run(Object.fromEntries(model.inputs.map(({ name }, i) => [name, given[i]])));
  model.outputs.forEach(({ name }, i) => close(`own ${name}`, [...own[name].dataSync()], wanted[i], tolerance));

  const session = await ort.InferenceSession.create(bytes);
  const feeds = Object.fromEntries(model.inputs.map(({ name }, i) => [name, new ort.Tensor(given[i].dtype, given[i].dataSync(), [...given[i].shape])]));
  const results = await session.run(feeds);
  model.outputs.forEach(({ name }, i) => {
    assert.deepEqual([...results[name].dims], [...own[name].shape], name);
    close(`onnxruntime ${name}`, results[name].data, wanted[i], tolerance);
  });
  await session.release();
  model.dispose();
  return model;
}

test('a network: its weights are in the file, inputs and outputs have names', async () => {
  const weight = normal([5, 3], 1);
  const model = await judge((x) => ({ logits: x.matmul(weight).add(sn.tensor([1, 2, 3])).relu() }), [normal([2, 5])]);
  assert.deepEqual(model.inputs, [{ name: 'x', dtype: 'float', shape: [2, 5] }]);
  assert.deepEqual(model.outputs, [{ name: 'logits', dtype: 'float', shape: [2, 3] }]);
  assert.equal(Object.values(model.params).filter((t) => t.size === 15).length, 1);
});

test('no node is written that nothing reads', () => {
  const [weight, bias] = [normal([5, 3], 1), normal([3], 2)];
  const bytes = onnx.export((x) => ({ y: x.matmul(weight).add(bias).mul(2).relu(), z: bias.broadcastTo([2, 3]) }), [normal([2, 5])]);
  const { nodes, outputs } = onnx.read(bytes);
  const read = new Set([...nodes.flatMap(({ inputs }) => inputs), ...outputs.map(({ name }) => name)]);
  for (const { op, outputs: made } of nodes) assert.ok(made.some((name) => read.has(name)), op);
  assert.equal(nodes.filter(({ op }) => op === 'Expand').length, 1, 'the one that is a result');
});

test('elementwise functions', () =>
  judge((x) => [
    x.gelu(), x.silu(), x.mish(), x.softplus(), x.erf(), x.expm1(), x.abs().log1p(), x.exp2(), x.mul(3).trunc(), x.mul(3).round(),
    x.greater(0), x.mod(0.7), sn.where(x.greater(0), x, 2), x.astype('int32'), x.isfinite(), x.notEqual(0), x.abs().rsqrt(), x.square(),
    x.mul(100).astype('int8'), x.sigmoid(), x.tanh(), x.atan(), x.sinh(), x.asinh(), x.maximum(0.1), x.clip(-1, 1), x.pow(2), x.abs().log2(),
  ], [normal([3, 7])]));

test('what is small stays: log1p and expm1 to their last digits, and the rests of divisions are exact', async () => {
  const x = sn.tensor([1e-9, -1e-8, 1e-7, -1e-5, 1e-3, -0.25, 0, 0.5, -1, 3e30, Infinity]);
  const relative = (y) => y.div(x.equal(0).logicalOr(x.abs().equal(Infinity)).astype('float32').add(x.abs().minimum(1)));
  await judge((each) => [relative(each.log1p()), relative(each.minimum(80).expm1())], [x], 1e-6);
  const [a, b] = [sn.tensor([5.1, -5.1, 5.1, -5.1, 6, 49.7, 3, -3, 1e8]), sn.tensor([0.3, 0.3, -0.3, -0.3, 0.1, 0.7, Infinity, -Infinity, 0.3])];
  await judge((p, q) => p.mod(q), [a, b], 0);
});

test('bools have an order, are sorted and chosen', async () => {
  const [a, b] = [[0, 0, 1, 1], [0, 1, 0, 1]].map((bits) => sn.tensor(bits, { dtype: 'int32' }));
  const orders = (x, y) => [x.less(y), x.lessEqual(y), x.greater(y), x.greaterEqual(y)].map((t) => t.astype('int32'));
  await judge((p, q) => orders(p.equal(1), q.equal(1)), [a, b]);
  const [some, more] = [[1, 0, 1, 0], [0, 0, 1, 1]].map((bits) => sn.tensor(bits, { dtype: 'bool' }));
  await judge((p, q) => [p.sort().astype('int32'), p.argsort({ descending: true }), sn.where(q, p, q.logicalNot()).astype('int32')], [some, more]);
});

test('what moves, chooses, orders and adds up elements', () =>
  judge((x, i) => [
    x.take(i), x.slice([0, 1], [-1, 2]), x.flip(0), x.pad([[1, 1], [0, 2]], { value: 3 }), x.argmax({ axis: 1 }), x.cumsum(1), x.sort(),
    x.argsort({ descending: true }), x.mean(0), x.transpose(), sn.concat([x, x]), x.scatterAdd(i, sn.ones([2, 5])), x.prod(1), x.min(1),
    x.logsumexp(1), x.expandDims(1), x.tile([2, 1]), x.tril(), x.slice([1, 4], [2, 3], { strides: [-1, -2] }), x.reshape([5, 2]), x.any(1),
  ], [normal([2, 5]), sn.tensor([1, 0], { dtype: 'int32' })]));

test('convolutions, pools and norms', async () => {
  const [w, t, g] = [normal([3, 3, 3, 4], 1), normal([3, 3, 4, 3], 2), normal([3, 3, 2, 6], 3)];
  await judge((x) => x.conv2d(w, { padding: 'same', strides: 2 }).relu(), [normal([2, 9, 8, 3])]);
  await judge((x) => x.conv2d(w, { padding: [[1, 0], [1, 1]], strides: 3, dilation: 2 }), [normal([2, 11, 12, 3])], 1e-4);
  await judge((x) => x.conv2d(w, { layout: 'NCHW' }), [normal([2, 3, 8, 8])], 1e-4);
  await judge((x) => x.conv2d(g, { groups: 2 }), [normal([2, 5, 6, 4])], 1e-4);
  await judge((x) => x.convTranspose2d(t, { strides: 2, padding: [[1, 0], [1, 1]] }), [normal([2, 5, 6, 3])], 1e-4);
  await judge((x) => [x.maxPool2d({ window: 2 }), x.avgPool2d({ window: 3, strides: 2, padding: 'same' }), x.batchNorm(), x.layerNorm().softmax()], [normal([2, 8, 8, 3])]);
  await judge((q) => q.attention(q, q, { causal: true }), [normal([1, 2, 4, 8])]);
});

test('loops and conditions are graphs of nodes', async () => {
  const [x, b] = [normal([4, 3]), normal([3], 1)];
  await judge((xs) => sn.scan((c, each) => [c.add(each), c.mul(2)], sn.zeros([3]), xs), [x]);
  await judge((xs, y) => sn.scan((c, each) => [c.add(each).mul(y), c.mul(2)], sn.zeros([3]), xs, { reverse: true }), [x, b]);
  await judge((y) => sn.scan((c) => [c.mul(1.1).add(b), c.sum()], y, null, { length: 5 }), [b]);
  await judge((y) => sn.scan((c) => [c.mul(1.1).add(y), c.sum()], y, null, { length: 5, reverse: true }), [b]);
  await judge((y) => sn.whileLoop(([i, z]) => i.less(10).logicalAnd(z.sum().less(100)), ([i, z]) => [i.add(1), z.mul(1.5).add(y)], [sn.tensor(0, { dtype: 'int32' }), y]), [b.abs()]);
  await judge((y) => sn.cond(y.sum().greater(0), (z) => z.mul(2).add(y), (z) => z.sub(1), y), [b]);
  await judge((y) => sn.cond(y.sum().greater(0), (z) => z.mul(2).add(y), (z) => z.sub(1), y), [b.neg()]);
});

test('derivatives are functions like any other', async () => {
  const net = sn.nn.sequential(sn.nn.linear(8, 16), sn.nn.tanh(), sn.nn.linear(16, 4));
  const params = net.init(random.key(0));
  sn.eval(...leaves(params));
  const loss = (p, x) => net.apply(p, x).square().mean();
  await judge(sn.grad(loss), [params, normal([3, 8])], 1e-4);
  const conv = (w, x) => x.conv2d(w, { strides: 2, padding: 'same' }).square().mean();
  const inside = sn.checkpoint((x) => x.sin().exp().mul(x));
  await judge(sn.grad((x) => inside(x.mul(2)).sum()), [normal([5])]);
  await judge(sn.grad(conv, { argnums: [0, 1] }), [normal([3, 3, 3, 4], 1), normal([2, 9, 8, 3])], 1e-4);
});

test('what ONNX does not have, and what is no function, is refused', () => {
  assert.throws(() => onnx.export((x) => x.cumprod(0), [sn.ones([2])]), /onnx\.export: there is no cumprod in ONNX/);
  assert.throws(() => onnx.export(() => random.normal(random.key(0), [2]), []), /there is no .* in ONNX .*sn\.eval\(params\) before/);
  assert.throws(() => onnx.export(7, []), /expected a function, not 7/);
  assert.throws(() => onnx.export((x) => x, sn.ones([2])), /args is a tensor, expected an array of arguments/);
});
