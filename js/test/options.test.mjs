// Options: every function reads them with one reader, which refuses what it does not know.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertRejects, assertThrows } from './support.mjs';

await assertRejects(sn.init({ thread: 1 }), sn.SinterError, { code: 'argument', op: 'init', message: /'thread', did you mean 'threads'\?/ });
await assertRejects(sn.init(null), sn.SinterError, { code: 'argument', op: 'init' });
await sn.init();

const x = sn.tensor([[1, 2, 3], [4, 5, 6]]);
const key = sn.random.key(0);
const image = sn.ones([1, 4, 4, 1]);
const filter = sn.ones([3, 3, 1, 1]);
const heads = sn.ones([1, 1, 2, 4]);

/** Every function that takes options, given some. */
const WITH_OPTIONS = {
  sum: (o) => x.sum(o),
  prod: (o) => sn.prod(x, o),
  mean: (o) => x.mean(o),
  max: (o) => x.max(o),
  min: (o) => x.min(o),
  any: (o) => x.any(o),
  all: (o) => x.all(o),
  logsumexp: (o) => x.logsumexp(o),
  var: (o) => x.var(o),
  std: (o) => x.std(o),
  norm: (o) => x.norm(o),
  argmax: (o) => x.argmax(o),
  argmin: (o) => x.argmin(o),
  cumsum: (o) => x.cumsum(o),
  cumprod: (o) => x.cumprod(o),
  softmax: (o) => x.softmax(o),
  logSoftmax: (o) => x.logSoftmax(o),
  layerNorm: (o) => sn.layerNorm(x, o),
  rmsNorm: (o) => sn.rmsNorm(x, o),
  batchNorm: (o) => sn.batchNorm(x, o),
  leakyRelu: (o) => x.leakyRelu(o),
  elu: (o) => x.elu(o),
  gelu: (o) => x.gelu(o),
  roll: (o) => x.roll(1, o),
  split: (o) => x.split(1, o),
  repeat: (o) => x.repeat(2, o),
  tril: (o) => sn.tril(x, o),
  triu: (o) => sn.triu(x, o),
  attention: (o) => sn.attention(heads, heads, heads, o),
  rope: (o) => sn.rope(heads, o),
  conv1d: (o) => sn.conv1d(sn.ones([1, 4, 1]), sn.ones([2, 1, 1]), o),
  conv2d: (o) => image.conv2d(filter, o),
  conv3d: (o) => sn.conv3d(sn.ones([1, 2, 2, 2, 1]), sn.ones([1, 1, 1, 1, 1]), o),
  convTranspose2d: (o) => image.convTranspose2d(filter, o),
  maxPool2d: (o) => image.maxPool2d(o),
  avgPool2d: (o) => image.avgPool2d(o),
  tensor: (o) => sn.tensor([1], o),
  full: (o) => sn.full([1], 2, o),
  zeros: (o) => sn.zeros([1], o),
  ones: (o) => sn.ones([1], o),
  iota: (o) => sn.iota([2], 0, o),
  arange: (o) => sn.arange(0, 2, 1, o),
  linspace: (o) => sn.linspace(0, 1, 2, o),
  eye: (o) => sn.eye(2, o),
  take: (o) => x.take([0], o),
  takeAlongAxis: (o) => x.takeAlongAxis([[0], [0]], o),
  scatterAdd: (o) => x.scatterAdd([0], 1, o),
  oneHot: (o) => sn.oneHot([0], 2, o),
  sort: (o) => x.sort(o),
  argsort: (o) => x.argsort(o),
  topk: (o) => x.topk(1, o),
  squeeze: (o) => x.squeeze(o),
  expandDims: (o) => x.expandDims(o),
  flip: (o) => x.flip(o),
  slice: (o) => x.slice([0, 0], [1, 1], o),
  pad: (o) => x.pad([[0, 0], [0, 0]], o),
  concat: (o) => sn.concat([x], o),
  stack: (o) => sn.stack([x], o),
  convTranspose1d: (o) => sn.convTranspose1d(sn.ones([1, 4, 1]), sn.ones([2, 1, 1]), o),
  maxPool1d: (o) => sn.maxPool1d(sn.ones([1, 4, 1]), o),
  lpPool2d: (o) => sn.lpPool2d(image, o),
  scatter: (o) => sn.scatter(x, [0], 1, o),
  scatterNd: (o) => sn.scatterNd(x, [[0]], 1, o),
  resize: (o) => sn.resize(x, [4, 6], o),
  groupNorm: (o) => sn.groupNorm(heads, 2, o),
  instanceNorm: (o) => sn.instanceNorm(heads, o),
  quantize: (o) => sn.quantize(x, o),
  dequantize: (o) => sn.dequantize(sn.quantize(x), o),
  packInt4: (o) => sn.packInt4(sn.ones([2], { dtype: 'int8' }), o),
  unpackInt4: (o) => sn.unpackInt4(sn.ones([2], { dtype: 'uint8' }), o),
  softmaxCrossEntropy: (o) => sn.softmaxCrossEntropy(x, [0, 1], o),
  'random.uniform': (o) => sn.random.uniform(key, [2], o),
  jit: (o) => sn.jit((t) => t, o),
  inspect: (o) => sn.inspect((t) => t, o),
  grad: (o) => sn.grad((t) => t.sum(), o),
  valueAndGrad: (o) => sn.valueAndGrad((t) => t.sum(), o),
  jacobian: (o) => sn.jacobian((t) => t, o),
  jacfwd: (o) => sn.jacfwd((t) => t, o),
  jacrev: (o) => sn.jacrev((t) => t, o),
  hessian: (o) => sn.hessian((t) => t, o),
  vmap: (o) => sn.vmap((t) => t, o),
  checkGrads: (o) => sn.checkGrads((t) => t, [1], o),
  'optim.adam': (o) => sn.optim.adam(o),
  'optim.sgd': (o) => sn.optim.sgd(o),
  'nn.linear': (o) => sn.nn.linear(2, 2, o),
  'nn.conv2d': (o) => sn.nn.conv2d(2, 2, 3, o),
  'nn.maxPool2d': (o) => sn.nn.maxPool2d(2, o),
  'nn.avgPool2d': (o) => sn.nn.avgPool2d(2, o),
  'nn.selfAttention': (o) => sn.nn.selfAttention(4, 2, o),
};

for (const [op, call] of Object.entries(WITH_OPTIONS)) {
  test(`${op} refuses options that it does not know`, () => {
    assertThrows(() => call({ misspelt: 1 }), sn.SinterError, { code: 'argument', op, message: /there is no option 'misspelt' \(the options are \w/ });
    assertThrows(() => call('text'), sn.SinterError, { code: 'argument', op });
    assertThrows(() => call(true), sn.SinterError, { code: 'argument', op });
    assertThrows(() => call(new Date()), sn.SinterError, { code: 'argument', op });
    assertThrows(() => call(() => 1), sn.SinterError, { code: 'argument', op });
  });
}

test('an option that is nearly one is told', () => {
  const misspelt = [
    [() => sn.sum(x, { axes: 0 }), "sum: there is no option 'axes', did you mean 'axis'? (the options are axis, keepdims)"],
    [() => x.max({ keepDims: true }), "max: there is no option 'keepDims', did you mean 'keepdims'? (the options are axis, keepdims)"],
    [() => x.softmax({ dim: 0 }), "softmax: there is no option 'dim' (the options are axis)"],
    [() => sn.optim.sgd({ lr: 1, momentun: 0 }), /^optim.sgd: there is no option 'momentun', did you mean 'momentum'\?/],
    [() => sn.jit((t) => t, { donates: 0 }), /^jit: there is no option 'donates', did you mean 'donate'\?/],
    [() => sn.random.uniform(key, [2], { minVal: 0 }), /did you mean 'minval'\?/],
    [() => image.conv2d(filter, { stride: 2 }), /^conv2d: there is no option 'stride', did you mean 'strides'\?/],
    [() => sn.grad((t) => t.sum(), { argnum: 0 }), /did you mean 'argnums'\?/],
    [() => x.sum({ ['a'.repeat(1e6)]: 1 }), /no option 'a{40}\.\.\.'/],
  ];
  for (const [call, message] of misspelt) assertThrows(call, sn.SinterError, { code: 'argument', message });
});

test('an axis that is none names the function, the rank and the axes that there are', () => {
  const functions = {
    sum: (axis) => x.sum({ axis }),
    mean: (axis) => x.mean([axis]),
    argmax: (axis) => x.argmax({ axis }),
    softmax: (axis) => x.softmax({ axis }),
    logSoftmax: (axis) => x.logSoftmax({ axis }),
    batchNorm: (axis) => sn.batchNorm(x, { axis }),
    layerNorm: (axis) => sn.layerNorm(x, { axis }),
    concat: (axis) => sn.concat([x, x], { axis }),
    sort: (axis) => x.sort({ axis }),
    cumsum: (axis) => x.cumsum({ axis }),
    take: (axis) => x.take([0], { axis }),
    takeAlongAxis: (axis) => x.takeAlongAxis([[0], [0]], { axis }),
    scatter: (axis) => x.scatter([0], 1, { axis }),
    split: (axis) => x.split(1, { axis }),
    roll: (axis) => x.roll(1, { axis }),
    repeat: (axis) => x.repeat(1, { axis }),
    flip: (axis) => x.flip(axis),
    squeeze: (axis) => x.squeeze(axis),
    swapaxes: (axis) => x.swapaxes(axis, 0),
    moveaxis: (axis) => x.moveaxis(0, axis),
    transpose: (axis) => x.transpose([axis, 0]),
    quantize: (axis) => x.quantize({ axis }),
    topk: (axis) => x.topk(1, { axis }),
    iota: (axis) => sn.iota([2, 3], axis),
  };
  for (const [op, call] of Object.entries(functions)) {
    assertThrows(() => call(2), sn.ShapeError, { op, message: `${op}: axis 2 is out of range: a (2, 3) of rank 2, axes are -2 to 1` });
    assertThrows(() => call(-3), sn.ShapeError, { op, message: `${op}: axis -3 is out of range: a (2, 3) of rank 2, axes are -2 to 1` });
    assertThrows(() => call(0.5), sn.ShapeError, { op, message: `${op}: axis 0.5 is no whole number: a (2, 3) of rank 2, axes are -2 to 1` });
    assertThrows(() => call(NaN), sn.ShapeError, { op });
  }
  assertThrows(() => sn.stack([x, x], { axis: 3 }), sn.ShapeError, { op: 'stack', message: 'stack: axis 3 is out of range: a (2, 3) of rank 2, axes are -3 to 2' });
  assertThrows(() => sn.expandDims(x, -4), sn.ShapeError, { op: 'expandDims', message: /axes are -3 to 2/ });
  assertThrows(() => sn.softmax(3), sn.ShapeError, { message: 'softmax: axis -1 is out of range: a () of rank 0, it has no axes' });
});

test('a number in place of options is refused with what to write', () => {
  const refusals = [
    [() => sn.concat([x, x], 1), /write \{ axis: 1 \}/],
    [() => sn.stack([x, x], 2), /write \{ axis: 2 \}/],
    [() => sn.split(x, 3, 1), /write \{ axis: 1 \}/],
    [() => sn.take(x, [0], 1), /write \{ axis: 1 \}/],
    [() => sn.takeAlongAxis(x, [[0, 0, 0]], 0), /write \{ axis: 0 \}/],
    [() => sn.sort(x, 0), /write \{ axis: 0 \}/],
    [() => sn.argsort(x, 0), /write \{ axis: 0 \}/],
    [() => x.topk(1, 0), /write \{ axis: 0 \}/],
    [() => sn.roll(x, 1, 1), /write \{ axis: 1 \}/],
    [() => sn.repeat(x, 2, 1), /write \{ axis: 1 \}/],
    [() => x.softmax(0), /write \{ axis: 0 \}/],
    [() => x.logSoftmax(0), /write \{ axis: 0 \}/],
    [() => x.leakyRelu(0.2), /write \{ alpha: 0.2 \}/],
    [() => x.elu(2), /write \{ alpha: 2 \}/],
    [() => sn.tril(x, 1), /write \{ k: 1 \}/],
    [() => x.gelu('tanh'), /write \{ approximate: \.\.\. \}/],
    [() => sn.tensor([1]).pad([[1, 1]], 9), /write \{ value: 9 \}/],
    [() => sn.zeros([2], 'int32'), /write \{ dtype: "int32" \}/],
    [() => sn.full([2], 1, 'int32'), /write \{ dtype: "int32" \}/],
    [() => sn.optim.adam(0.1), /write \{ lr: 0.1 \}/],
    [() => sn.optim.sgd(0.1), /write \{ lr: 0.1 \}/],
    [() => sn.random.uniform(key, [2], -1, 1), /write \{ minval: -1 \}/],
    [() => sn.jit((t) => t, 0), /the options are .*donate/],
    [() => sn.grad((t) => t.sum(), 1), /write \{ argnums: 1 \}/],
  ];
  for (const [call, message] of refusals) assertThrows(call, sn.SinterError, { code: 'argument', message });
});

test('an argument too many is refused', () => {
  assertThrows(() => x.sum(0, true), sn.SinterError, { op: 'sum', message: /keepdims: true/ });
  assertThrows(() => sn.max(x, 0, 1), sn.SinterError, { op: 'max' });
  assertThrows(() => x.argmax(0, true), sn.SinterError, { op: 'argmax' });
  assertThrows(() => x.cumsum(0, true), sn.SinterError, { op: 'cumsum', message: /reverse/ });
  assertThrows(() => x.transpose(1, 0), sn.SinterError, { op: 'transpose', message: /\[1, 0\]/ });
  assertThrows(() => x.reshape(3, 2), sn.SinterError, { op: 'reshape', message: /\[2, 3\]/ });
  assertThrows(() => sn.zeros(2, 3), sn.SinterError, { op: 'zeros' });
  assertThrows(() => sn.concat(x, x), sn.SinterError, { op: 'concat', message: /concat\(\[a, b\]\)/ });
  assertThrows(() => sn.matmul(x, x, { transposeB: true }), sn.SinterError, { op: 'matmul', message: /swapaxes/ });
  assertThrows(() => sn.random.normal(key, [2], { mean: 5 }), sn.SinterError, { op: 'random.normal' });
  assertThrows(() => sn.trainStep((p) => p.sum(), sn.optim.adam(), 0.1), sn.SinterError, { op: 'trainStep' });
});

test('a range of rows is read like options', () => {
  assertThrows(() => x.at({ start: 1 }).get(), sn.SinterError, { code: 'argument', op: 'at', message: /'start'.*begin/ });
  assertThrows(() => x.at({ begin: 0.5 }).get(), sn.SinterError, { code: 'argument', op: 'at' });
  assertThrows(() => x.at(1, { axis: 1 }), sn.SinterError, { code: 'argument', op: 'at', message: /first axis/ });
});

test('a value of another kind is refused', () => {
  assertThrows(() => x.sum({ axis: '0' }), sn.SinterError, { op: 'sum', message: /option axis is "0"/ });
  assertThrows(() => x.sum({ keepdims: 1 }), sn.SinterError, { op: 'sum', message: /true or false/ });
  assertThrows(() => x.softmax({ axis: 2 ** 32 }), sn.SinterError, { op: 'softmax' });
  assertThrows(() => sn.layerNorm(x, { weight: 'w' }), sn.SinterError, { op: 'layerNorm', message: /a tensor/ });
  assertThrows(() => sn.optim.adam({ lr: '0.1' }), sn.SinterError, { message: /lr is "0.1"/ });
  assertThrows(() => sn.optim.sgd(), sn.SinterError, { message: /optim.sgd: lr is undefined/ });
  assertThrows(() => sn.jit((t) => t, { donate: 'x' }), sn.SinterError, { message: /donate/ });
  assertThrows(() => sn.jit((t) => t, { passes: { fuse: 1 } })(x), sn.SinterError, { message: /pass fuse/ });
});

test('what is right stays: a number or axes in place of options of reductions, undefined options, undefined values', () => {
  assert.deepEqual(x.sum(1).toArray(), [6, 15]);
  assert.deepEqual(x.sum([0, 1]).toArray(), 21);
  assert.deepEqual(x.max({ axis: -1, keepdims: undefined }).toArray(), [3, 6]);
  assert.deepEqual(x.flip(1).toArray(), [[3, 2, 1], [6, 5, 4]]);
  assert.deepEqual(x.cumsum(0).toArray(), [[1, 2, 3], [5, 7, 9]]);
  assert.deepEqual(sn.squeeze(x.expandDims({ axis: 0 }), undefined).shape, [2, 3]);
  assert.deepEqual(x.sum(Object.assign(Object.create(null), { axis: 0 })).toArray(), [5, 7, 9]);
});
