// onnxruntime-web: a session per case; it cannot train.
import * as ort from 'onnxruntime-web/wasm';
import { numbers, operandShapes } from './cases.mjs';
import { attribute, model, node } from './onnx.mjs';

const last = [attribute('axis', -1)];
const NODES = {
  relu: [node('Relu', ['a'], ['y'])],
  add: [node('Add', ['a', 'b'], ['y'])],
  tanh: [node('Tanh', ['a'], ['y'])],
  gelu: [node('Gelu', ['a'], ['y'])],
  sum: [node('ReduceSum', ['a'], ['y'], [attribute('keepdims', 0)])],
  softmax: [node('Softmax', ['a'], ['y'], last)],
  layernorm: [node('LayerNormalization', ['a', 'scale'], ['y'], last)],
  fused: [
    node('Mul', ['a', 'b'], ['ab']),
    node('Add', ['ab', 'c'], ['abc']),
    node('Sigmoid', ['abc'], ['s']),
    node('Mul', ['s', 'a'], ['sa']),
    node('Mul', ['b', 'b'], ['bb']),
    node('Mul', ['bb', 'half'], ['bb2']),
    node('Sub', ['sa', 'bb2'], ['y']),
  ],
  matmul: [node('MatMul', ['a', 'b'], ['y'])],
};

export const open = async () => {
  ort.env.wasm.numThreads = 2;
  ort.env.wasm.wasmPaths = '/bench/peers/node_modules/onnxruntime-web/dist/';
  return { info: ort.env.versions?.web ?? '', prepare };
};

const prepare = async (given) => {
  if (!NODES[given.op]) return null;
  const feeds = {};
  const float = (name, shape, data) => (feeds[name] = new ort.Tensor('float32', data, shape));
  const inputs = operandShapes(given).map((shape, i) => ['abc'[i], shape]);
  inputs.forEach(([name, shape], i) => float(name, shape, numbers(shape, i + 1)));
  const extra = { layernorm: ['scale', [given.shape?.at(-1)], 1], fused: ['half', [1], 0.5] }[given.op];
  if (extra) {
    const [name, shape, value] = extra;
    inputs.push([name, shape]);
    float(name, shape, new Float32Array(shape[0]).fill(value));
  }
  const result = { sum: [], matmul: given.sizes && [given.sizes[0], given.sizes[2]] }[given.op] ?? given.shape;
  const session = await ort.InferenceSession.create(model(NODES[given.op], inputs, [['y', result]]), {
    executionProviders: ['wasm'],
    intraOpNumThreads: 2,
  });
  return {
    call: () => session.run(feeds),
    result: async () => (await session.run(feeds)).y.data,
    release: () => session.release(),
  };
};
