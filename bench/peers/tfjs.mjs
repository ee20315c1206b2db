// TensorFlow.js on its WebAssembly backend. Its ops are eager and end before they return.
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-core/dist/register_all_gradients';
import { setThreadsCount, setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import { CNN_RATE, cnnData, numbers, operandShapes, simulationData, trainingData } from './cases.mjs';
import { lossWith } from './chained.mjs';

const gelu = (x) => tf.mul(tf.mul(x, 0.5), tf.add(1, tf.erf(tf.mul(x, Math.SQRT1_2))));

const FUNCTIONS = {
  relu: (x) => tf.relu(x),
  add: (x, y) => tf.add(x, y),
  tanh: (x) => tf.tanh(x),
  gelu,
  sum: (x) => tf.sum(x),
  softmax: (x) => tf.softmax(x),
  layernorm: (x) => {
    const { mean, variance } = tf.moments(x, -1, true);
    return tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5)));
  },
  fused: (x, y, z) => tf.sub(tf.mul(tf.sigmoid(tf.add(tf.mul(x, y), z)), x), tf.div(tf.square(y), 2)),
  matmul: (x, y) => tf.matMul(x, y),
  linear: (a, b, bias) => gelu(tf.fused.matMul({ a, b, bias })),
  conv: (x, w) => tf.conv2d(x, w, 1, 'same'),
  attention: (q, k, v) => tf.matMul(tf.softmax(tf.mul(tf.matMul(q, k, false, true), q.shape.at(-1) ** -0.5)), v),
};

export const open = async () => {
  setWasmPaths('/bench/peers/node_modules/@tensorflow/tfjs-backend-wasm/dist/');
  setThreadsCount(2);
  await tf.setBackend('wasm');
  await tf.ready();
  return { info: tf.version_core ?? '', prepare };
};

const SPECIAL = { train: (given) => train(given), cnn: (given) => cnn(given), simulate: () => simulation() };

const prepare = (given) => {
  if (SPECIAL[given.op]) return SPECIAL[given.op](given);
  const f = FUNCTIONS[given.op];
  if (!f) return null;
  const inputs = operandShapes(given).map((shape, i) => tf.tensor(numbers(shape, i + 1), shape));
  return {
    call: () => tf.tidy(() => f(...inputs)).dispose(),
    result: () => tf.tidy(() => f(...inputs)).dataSync(),
    release: () => tf.dispose(inputs),
  };
};

const train = (given) => {
  const { images, distributions, layers } = trainingData(given);
  const weights = layers.map(({ shape, weight }) => tf.variable(tf.tensor(weight, shape)));
  const biases = layers.map(({ shape }) => tf.variable(tf.zeros([shape[1]])));
  const x = tf.tensor(images, [given.batch, given.widths[0]]);
  const y = tf.tensor(distributions, [given.batch, given.widths.at(-1)]);
  return stepping(tf.train.adam(1e-3), y, () => weights.reduce((h, w, i) => {
    const sum = tf.add(tf.matMul(h, w), biases[i]);
    return i + 1 < weights.length ? tf.relu(sum) : sum;
  }, x));
};

const cnn = (given) => {
  const { images, distributions, filters, dense } = cnnData(given);
  const made = ({ shape, data }) => tf.tensor(data, shape);
  const layers = [...filters, dense].map((weight) =>
    [tf.variable(made(weight)), tf.variable(tf.zeros([weight.shape.at(-1)]))]);
  const x = made(images);
  return stepping(tf.train.sgd(CNN_RATE), tf.tensor(distributions, [given.batch, 10]), () => {
    const features = layers.slice(0, -1).reduce((h, [w, b]) =>
      tf.maxPool(tf.relu(tf.add(tf.conv2d(h, w, 1, 'same'), b)), 2, 2, 'valid'), x);
    return tf.add(tf.matMul(tf.reshape(features, [given.batch, -1]), layers.at(-1)[0]), layers.at(-1)[1]);
  });
};

/** A call is a training step, always on the same batch. */
const stepping = (optimizer, y, logits) => {
  const call = () => {
    const loss = optimizer.minimize(
      () => tf.neg(tf.mean(tf.sum(tf.mul(y, tf.logSoftmax(logits())), 1))), true);
    const value = loss.dataSync()[0];
    loss.dispose();
    return value;
  };
  return { call, result: () => [call()], release: () => {} };
};

const simulation = () => {
  const { add, sub, mul, div, neg, abs } = tf;
  const loss = lossWith({ add, sub, mul, div, neg, abs });
  const inputs = simulationData().map((x) => tf.scalar(x));
  // Four of the parameters are not used; a gradient with respect to them is an error here.
  const both = tf.valueAndGrads((...scalars) => tf.add(loss(scalars), tf.mul(0, tf.addN(scalars))));
  const run = (read) => tf.tidy(() => {
    const { value, grads } = both(inputs);
    return read ? [value, grads.at(-1)].map((x) => x.dataSync()[0]) : undefined;
  });
  return { call: () => run(false), result: () => run(true), release: () => tf.dispose(inputs) };
};
