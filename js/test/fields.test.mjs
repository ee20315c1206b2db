// What errors say as fields: the function, the shapes that the message names, the hint; of the core's also where.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';

await sn.init({ threads: 1 });

const [a, b, q, gone] = [sn.zeros([2, 3]), sn.zeros([4, 5]), sn.zeros([2, 4, 8]), sn.zeros([2])];
gone.dispose();

/** Bad calls with op, shapes and hint. Strides, and shapes with a negative size, are no shapes. */
const CASES = [
  [() => sn.matmul(a, b), 'matmul', [[2, 3], [4, 5]]],
  [() => sn.add(a, b), 'add', [[2, 3], [4, 5]]],
  [() => a.sum({ axis: 4 }), 'sum', [[2, 3]]],
  [() => a.sum({ axes: 1 }), 'sum', [], 'the options are axis, keepdims'],
  [() => sn.grad((x) => sn.whileLoop((c) => c.less(9), (c) => c.mul(2), x))(1), 'grad', [],
    'use scan or foriLoop with a fixed number of rounds, or jvp'],
  [() => a.sum({ axis: 'x' }), 'sum', []],
  [() => a.sum({ keepdims: 1 }), 'sum', []],
  [() => sn.argmax(sn.tensor(1), { axis: 0 }), 'argmax', [[]]],
  [() => sn.max(sn.zeros([2, 0]), { axis: 1 }), 'max', [[2, 0]]],
  [() => sn.einsum('ij,jk->ik', a, b), 'einsum', [[2, 3], [4, 5]]],
  [() => sn.einsum('ij'), 'einsum', []],
  [() => sn.attention(q, q, q, { mask: sn.zeros([7, 1, 1]) }), 'attention', [[2, 4, 8], [2, 4, 8], [2, 4, 8], [7, 1, 1]]],
  [() => sn.attention(q, a, q), 'attention', [[2, 4, 8], [2, 3], [2, 4, 8]]],
  [() => sn.attention(q, q, q, { past: 1 }), 'attention', []],
  [() => a.reshape([-1, 4]), 'reshape', [[2, 3]]],
  [() => a.reshape([4, 2]), 'reshape', [[2, 3], [4, 2]]],
  [() => a.transpose([0]), 'transpose', [[2, 3]]],
  [() => a.transpose([0, 0]), 'transpose', [[2, 3]]],
  [() => a.transpose(1), 'transpose', [], 'write [1, 0]; swapaxes takes two axes'],
  [() => a.slice([0], [1]), 'slice', [[2, 3]]],
  [() => a.slice([0, 0], [9, 9]), 'slice', [[2, 3]]],
  [() => a.slice([0, 0], [1, 1], { strides: [0, 1] }), 'slice', [[2, 3]]],
  [() => a.squeeze(0), 'squeeze', [[2, 3]]],
  [() => a.expandDims(), 'expandDims', [], 'write 0, or { axis: 0 }'],
  [() => sn.concat([a, b], { axis: 1 }), 'concat', [[2, 3], [4, 5]]],
  [() => sn.concat([a, a.astype('int32')], { axis: 'x' }), 'concat', []],
  [() => sn.concat(a), 'concat', [], 'write concat([a, b])'],
  [() => sn.stack([a, b]), 'stack', [[2, 3], [4, 5]]],
  [() => sn.stack([]), 'stack', [], 'write stack([a, b])'],
  [() => a.broadcastTo([3, 3]), 'broadcastTo', [[2, 3], [3, 3]]],
  [() => a.take(a), 'take', []],
  [() => a.take([9]), 'take', []],
  [() => a.pad([[1, 1]]), 'pad', [[2, 3]]],
  [() => a.pad([[0, 0], [0, -1]]), 'pad', []],
  [() => a.tile([1, -1]), 'tile', []],
  [() => a.repeat(-1), 'repeat', []],
  [() => a.split(4), 'split', [[2, 3]]],
  [() => a.roll([1, 2, 3], { axis: [0, 1] }), 'roll', [[2, 3]]],
  [() => sn.topk(a, 9), 'topk', [[2, 3]]],
  [() => sn.where(a, b, a), 'where', [[2, 3], [4, 5]]],
  [() => sn.bitwiseAnd(a, 1), 'bitwiseAnd', []],
  [() => sn.bitcast(a, 'bool'), 'bitcast', []],
  [() => a.astype('float8'), 'astype', [], 'there are float32, float64, int32, bool, float16, bfloat16, int8, uint8'],
  [() => sn.tensor([[1], [2, 3]]), 'tensor', [[2, 1]]],
  [() => sn.tensor([1, 'x']), 'tensor', []],
  [() => sn.tensor([1, 2, 3], { shape: [2, 2] }), 'tensor', [[2, 2]]],
  [() => sn.tensor(new Uint32Array(2)), 'tensor', [], "dtype: 'int32' keeps its bits"],
  [() => sn.tensor([300], { dtype: 'uint8' }), 'tensor', [], 'astype of a float tensor saturates'],
  [() => sn.zeros([2, -1]), 'zeros', []],
  [() => sn.zeros(3.5), 'zeros', [], 'write [2, 3]'],
  [() => sn.zeros(new Array(9).fill(1)), 'zeros', []],
  [() => sn.full([2], 'x'), 'full', []],
  [() => sn.arange(0, 5, 0), 'arange', []],
  [() => sn.arange('x'), 'arange', []],
  [() => sn.conv2d(sn.zeros([1, 5, 5, 2]), sn.zeros([3, 3, 3, 4])), 'conv2d', [[1, 5, 5, 2], [3, 3, 3, 4]]],
  [() => sn.conv2d(sn.zeros([1, 5, 5, 2]), sn.zeros([3, 3, 2, 4]), { strides: [1] }), 'conv2d', [[1, 5, 5, 2], [3, 3, 2, 4]]],
  [() => sn.maxPool2d(sn.zeros([1, 5, 5]), { window: 2 }), 'maxPool2d', [[1, 5, 5], [2, 2]]],
  [() => sn.softmax(a, { axis: 2 }), 'softmax', [[2, 3]]],
  [() => sn.layerNorm(a, { weight: b }), 'layerNorm', [[3], [2, 3], [4, 5]]],
  [() => sn.batchNorm(a, { mean: 1 }), 'batchNorm', []],
  [() => sn.softmaxCrossEntropy(a, b), 'softmaxCrossEntropy', [[2, 3], [4, 5]]],
  [() => sn.norm(a, { ord: 'x' }), 'norm', []],
  [() => sn.cumsum(a, { axis: 5 }), 'cumsum', [[2, 3]]],
  [() => sn.sort(a, { axis: -3 }), 'sort', [[2, 3]]],
  [() => sn.scatterAdd(a, [0.5], 1), 'scatterAdd', []],
  [() => sn.oneHot(a, 3), 'oneHot', []],
  [() => sn.grad((x) => x)(a), 'grad', [[2, 3]]],
  [() => sn.grad((x) => x.sum(), { argnums: 3 })(a), 'grad', []],
  [() => sn.grad((x) => x.astype('int32').sum())(a), 'grad', []],
  [() => sn.grad(3), 'grad', [], 'grad(f) is a function of the arguments of f'],
  [() => sn.grad((x) => x.sum())('x'), 'grad', [], 'make tensors of it: sn.tensor([1, 2])'],
  [() => sn.jit((x) => x.item())(a), 'item', [], 'return the tensor from the function that is traced, and read it outside'],
  [() => gone.add(1), 'add', [[2]]],
  [() => sn.nn.linear(0, 3), 'nn.linear', []],
  [() => sn.nn.sequential(3), 'nn.sequential', [], 'a module has init(key) and apply(params, x)'],
  [() => sn.nn.linear(3, 4).apply({}, a), 'matmul', []],
  [() => sn.nn.selfAttention(8, { heads: 3 }), 'nn.selfAttention', []],
  [() => sn.optim.sgd({ lr: 'x' }), 'optim.sgd', [], 'write { lr: 0.01 }'],
  [() => sn.optim.sgd({ lr: 1 }).update([b], sn.optim.sgd({ lr: 1 }).init([a]), [a]), 'optim.sgd', [[4, 5]], 'gradients have the structure and the shapes of the parameters'],
  [() => sn.trainStep((p) => p, 3), 'trainStep', [], 'the second argument is e.g. sn.optim.adam({ lr: 1e-3 })'],
  [() => sn.trainStep((p) => p, sn.optim.sgd({ lr: 1 }))({}, a), 'trainStep', [], 'the first state is step.init(params), the next ones are returned by the step'],
  [() => sn.random.uniform(a, [2]), 'random.uniform', [[2, 3]], 'make one with random.key(seed) or random.split(key)'],
  [() => sn.random.uniform('x', [2]), 'random.uniform', [], 'the first argument is a key: make one with random.key(seed) or random.split(key)'],
  [() => sn.random.key(0.5), 'random.key', []],
  [() => sn.random.bernoulli(sn.random.key(0), [2], { p: 3 }), 'random.bernoulli', [], 'write [2, 3]'],
  [() => sn.quantize(a, { bits: 3 }), 'quantize', []],
  [() => sn.rope(sn.zeros([2, 3])), 'rope', [[2, 3]]],
  [() => sn.resize(sn.zeros([1, 4, 4, 1]), [0, 0]), 'resize', [[0, 0], [1, 4, 4, 1]]],
  [() => sn.tree.map(3, a), 'tree.map', [], 'write map(f, tree)'],
  [() => sn.tidy(async () => 1), 'tidy', [], 'use scope() in async code'],
  [() => a + 1, 'tensor', [[2, 3]], 'write a.add(b), a.greater(b) ..., or item() for the number of a computed tensor'],
  [() => JSON.stringify(a), 'toJSON', [], 'sn.tree.map((t) => t.toArray(), tree) makes arrays of all tensors of a tree; await t.data() waits for values'],
  [() => a.item(), 'item', [[2, 3]], 'use dataSync or toArray'],
  [() => sn.init({ threads: 'x' }), 'init', [], 'one program has one core; call init once, or with the same options'],
  [() => sn.load(new Uint8Array(3)), 'load', []],
  [() => sn.load(3), 'load', []],
  [() => sn.lpPool2d(sn.zeros([1, 4, 4, 1]), { window: 2, norm: -1 }), 'lpPool2d', []],
  [() => sn.groupNorm(sn.zeros([2, 4, 4, 6]), { groups: 4 }), 'groupNorm', []],
  [() => sn.dot(a, b), 'matmul', [[2, 3], [4, 5]]],
  [() => sn.linspace(0, 1, -1), 'linspace', []],
  [() => sn.eye(-1), 'eye', []],
  [() => sn.tril(sn.tensor([1])), 'tril', [[1]]],
  [() => sn.swapaxes(a, 0, 7), 'swapaxes', [[2, 3]]],
  [() => sn.flip(a, { axis: 9 }), 'flip', [[2, 3]]],
  [() => sn.logsumexp(a, { axis: 3 }), 'logsumexp', [[2, 3]]],
];

const errorOf = async (call) => {
  try {
    await (await call())?.data?.();
  } catch (error) {
    return error;
  }
  return assert.fail(`${call} is not refused`);
};

test('errors have fields', async () => {
  for (const [call, op, shapes, hint = ''] of CASES) {
    const error = await errorOf(call);
    assert.ok(error instanceof sn.SinterError, String(call));
    assert.deepEqual([error.op, error.shapes, error.hint], [op, shapes, hint], String(call));
    assert.ok(error.message.startsWith(op && `${op}: `), error.message);
    assert.ok(error.message.endsWith(hint && ` (${hint})`), error.message);
  }
});

test('the message of an error without a function has no beginning', async () => {
  const error = await errorOf(() => sn.setPass('x', true));
  assert.equal(error.op, '');
  assert.ok(error.message.startsWith('there is no pass x'), error.message);
});

test('errors of the core say where they were raised, others have a stack', async () => {
  const refused = await errorOf(() => sn.matmul(a, b));
  assert.equal(refused.file, 'matmul.c');
  assert.ok(refused.line > 0);
  const own = await errorOf(() => a.sum({ axis: 4 }));
  assert.deepEqual([own.file, own.line], ['', 0]);
});
