// The names and forms that users rely on.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as sn from '../dist/index.js';

await sn.init();

const FUNCTIONS = `init info mod atan2 exp2 expm1 log2 tan asin acos atan sinh cosh asinh acosh atanh softplus leakyRelu elu
  selu gelu silu mish hardswish clip logicalXor tensor zeros ones full arange linspace eye tidy scope keep eval memory dispose
  add sub mul div pow maximum minimum neg abs sign floor ceil round trunc sqrt rsqrt square reciprocal exp log log1p
  sin cos tanh erf sigmoid relu where equal notEqual less lessEqual greater greaterEqual logicalAnd logicalOr
  logicalNot isnan isfinite astype stopGradient sum prod mean max min any all argmax argmin var std logsumexp
  norm cumsum cumprod reshape transpose permuteDims swapaxes moveaxis expandDims squeeze broadcastTo slice pad flip
  roll concat stack split tile repeat take takeAlongAxis scatterAdd at oneHot tril triu sort argsort topk matmul dot
  einsum outer conv1d conv2d conv3d convTranspose1d convTranspose2d convTranspose3d maxPool1d maxPool2d maxPool3d
  avgPool1d avgPool2d avgPool3d lpPool1d lpPool2d scatter scatterNd gatherNd softmax logSoftmax layerNorm rmsNorm batchNorm
  softmaxCrossEntropy attention rope groupNorm instanceNorm resize floorDivide remainder quantize dequantize packInt4 unpackInt4
  grad valueAndGrad vjp jvp linearize jacobian jacfwd jacrev hessian vmap checkGrads jit trainStep profile inspect`.split(/\s+/);

const METHODS = `mod atan2 exp2 expm1 log2 tan asin acos atan sinh cosh asinh acosh atanh softplus leakyRelu elu selu gelu silu
  mish hardswish clip logicalXor add sub mul div pow neg exp log tanh sigmoid relu where equal less greater astype sum prod mean max min
  any all var std argmax argmin cumsum cumprod take at sort argsort topk roll split tile repeat reshape transpose slice pad matmul conv1d conv2d convTranspose2d maxPool2d avgPool2d data dataSync item toArray dispose`.split(/\s+/);

test('every function of the contract is exported', () => {
  for (const name of FUNCTIONS) assert.equal(typeof sn[name], 'function', name);
  for (const name of ['key', 'split', 'foldIn', 'uniform', 'normal', 'bits', 'bernoulli', 'seed']) {
    assert.equal(typeof sn.random[name], 'function', `random.${name}`);
  }
  for (const name of ['linear', 'relu', 'tanh', 'sigmoid', 'sequential']) assert.equal(typeof sn.nn[name], 'function');
  for (const name of ['sgd', 'adam']) assert.equal(typeof sn.optim[name], 'function');
});

test('the commonest functions are methods too', () => {
  const x = sn.tensor([1, 2]);
  for (const name of METHODS) assert.equal(typeof x[name], 'function', name);
  assert.equal(typeof x[Symbol.dispose ?? Symbol.for('Symbol.dispose')], 'function');
});

test('every row of the op table has a function', () => {
  const table = readFileSync(new URL('../../src/graph/ops.def', import.meta.url), 'utf8');
  const rows = [...table.matchAll(/^(?:EW|CMP)_[A-Z]+\(\s*(\w+)\s*,\s*\d\s*,\s*([-A-Z]+)/gm)];
  assert.ok(rows.length > 40);
  for (const [, name, flags] of rows) {
    if (flags.includes('H')) continue;
    const camel = name.replace(/_([a-z])/g, (_, c) => c.toUpperCase());
    assert.equal(typeof sn[camel], 'function', camel);
    assert.equal(typeof sn.Tensor.prototype[camel], 'function', `method ${camel}`);
  }
});

test('docs/ops.md lists in its column JS what is exported', () => {
  const docs = readFileSync(new URL('../../docs/ops.md', import.meta.url), 'utf8');
  let column = -1;
  let checked = 0;
  for (const line of docs.split('\n')) {
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    if (cells.includes('JS')) column = cells.indexOf('JS');
    else if (!line.startsWith('|')) column = -1;
    const name = /^`(\w+)/.exec(cells[column] ?? '')?.[1];
    if (!name) continue;
    assert.equal(typeof sn[name], 'function', name);
    checked++;
  }
  assert.ok(checked > 70, `${checked} names`);
});

test('info says what is in use', () => {
  const info = sn.info();
  assert.equal(info.version, JSON.parse(readFileSync(new URL('../package.json', import.meta.url))).version);
  assert.ok(info.threads >= 1);
  assert.equal(info.simd, true);
  assert.equal(info.jit, true);
  assert.ok(info.modules.live >= 0 && info.modules.refused === 0);
  assert.ok(Array.isArray(info.reasons));
});

test('a tensor prints as its dtype and shape', () => {
  assert.equal(String(sn.zeros([2, 3])), 'Tensor(float32 (2, 3))');
});

test('the package has no dependencies and no install scripts', () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url)));
  assert.equal(manifest.dependencies, undefined);
  for (const name of ['preinstall', 'install', 'postinstall']) assert.equal(manifest.scripts[name], undefined);
});
