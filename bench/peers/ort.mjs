// onnxruntime-web: a session per case; it cannot train.
import * as ort from 'onnxruntime-web/wasm';
import { TO_NCHW, TO_NHWC, TO_OIHW, numbers, operandShapes, permuted } from './cases.mjs';
import { attribute, attributes, model, node } from './onnx.mjs';

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
  linear: [
    node('MatMul', ['a', 'b'], ['ab']),
    node('Add', ['ab', 'c'], ['abc']),
    node('Gelu', ['abc'], ['y']),
  ],
  conv: [node('Conv', ['a', 'b'], ['y'], [attributes('kernel_shape', [3, 3]), attributes('pads', [1, 1, 1, 1])])],
  attention: [
    node('Transpose', ['b'], ['bt'], [attributes('perm', [0, 1, 3, 2])]),
    node('MatMul', ['a', 'bt'], ['ab']),
    node('Mul', ['ab', 'scale'], ['scores']),
    node('Softmax', ['scores'], ['p'], last),
    node('MatMul', ['p', 'c'], ['y']),
  ],
};

/** For ops with another order of axes: the orders of the operands, and the one that converts the result back. */
const ORDERS = { conv: { operands: [TO_NCHW, TO_OIHW], result: TO_NHWC } };

const EXTRA = {
  layernorm: ({ shape }) => ['scale', [shape.at(-1)], 1],
  fused: () => ['half', [1], 0.5],
  attention: ({ shape }) => ['scale', [1], shape.at(-1) ** -0.5],
};
const RESULT = {
  sum: () => [],
  matmul: ({ sizes: [m, , n] }) => [m, n],
  linear: ({ sizes: [m, , n] }) => [m, n],
  conv: ({ side, channels }) => [1, channels, side, side],
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
  const orders = ORDERS[given.op];
  const inputs = operandShapes(given).map((shape, i) => {
    const order = orders?.operands[i];
    const data = numbers(shape, i + 1);
    const placed = order ? order.map((axis) => shape[axis]) : shape;
    float('abc'[i], placed, order ? permuted(data, shape, order) : data);
    return ['abc'[i], placed];
  });
  const extra = EXTRA[given.op]?.(given);
  if (extra) {
    const [name, shape, value] = extra;
    inputs.push([name, shape]);
    float(name, shape, new Float32Array(shape[0]).fill(value));
  }
  const result = RESULT[given.op]?.(given) ?? given.shape;
  const session = await ort.InferenceSession.create(model(NODES[given.op], inputs, [['y', result]]), {
    executionProviders: ['wasm'],
    intraOpNumThreads: 2,
  });
  return {
    call: () => session.run(feeds),
    result: async () => {
      const { data, dims } = (await session.run(feeds)).y;
      return orders ? permuted(data, dims, orders.result) : data;
    },
    release: () => session.release(),
  };
};
