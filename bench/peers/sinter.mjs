// The package, as its users call it: a compiled function.
import * as sn from 'sinter';
import { webgpu } from 'sinter/webgpu';
import { arguments_, simulate } from '../simulation.mjs';
import { CNN_RATE, cnnData, gptData, numbers, operandShapes, trainingData } from './cases.mjs';

const FUNCTIONS = {
  relu: (x) => sn.relu(x),
  add: (x, y) => sn.add(x, y),
  tanh: (x) => sn.tanh(x),
  gelu: (x) => sn.gelu(x),
  sum: (x) => sn.sum(x),
  softmax: (x) => sn.softmax(x),
  layernorm: (x) => sn.layerNorm(x),
  fused: (x, y, z) => sn.sigmoid(x.mul(y).add(z)).mul(x).sub(y.square().div(2)),
  matmul: (x, y) => sn.matmul(x, y),
  linear: (x, w, b) => sn.gelu(x.matmul(w).add(b)),
  conv: (x, w) => sn.conv2d(x, w, { padding: 'same' }),
  attention: (q, k, v) => sn.attention(q, k, v),
};

/** The options of jit and trainStep. */
let on = { device: 'cpu' };

export const open = async (onWebGpu, options) => {
  if (onWebGpu) on = { device: 'webgpu' };
  const { threads, relaxedSimd, device } = await sn.init({ threads: 2, ...(onWebGpu && { device: webgpu(options) }) });
  return { info: device?.adapter ?? `${threads} threads, relaxed SIMD ${relaxedSimd}`, prepare };
};

const placed = (t) => (on.device === 'cpu' ? t : t.to(on.device));

const SPECIAL = { train: (given) => train(given), cnn: (given) => cnn(given), gpt: (given) => gpt(given), simulate: () => simulation() };

const prepare = (given) => {
  if (SPECIAL[given.op]) return SPECIAL[given.op](given);
  const f = sn.jit(FUNCTIONS[given.op], on);
  const inputs = operandShapes(given).map((shape, i) => placed(sn.tensor(numbers(shape, i + 1), { shape })));
  const result = async () => {
    const y = f(...inputs);
    const values = await y.data();
    y.dispose();
    return values;
  };
  return {
    call: on.device === 'cpu' ? () => f(...inputs).dispose() : result,
    result,
    release: () => [...inputs, f].forEach((x) => x.dispose()),
  };
};

const train = (given) => {
  const { images, classes, layers } = trainingData(given);
  const [x, y] = [sn.tensor(images, { shape: [given.batch, given.widths[0]] }), sn.tensor(classes)];
  const loss = (params, input, labels) => {
    const logits = params.reduce(
      (h, [w, b], i) => (i + 1 < params.length ? sn.relu(h.matmul(w).add(b)) : h.matmul(w).add(b)), input);
    return sn.mean(sn.softmaxCrossEntropy(logits, labels));
  };
  const params = layers.map(({ shape, weight }) => [sn.tensor(weight, { shape }), sn.zeros([shape[1]])]);
  return stepping(loss, sn.optim.adam({ lr: 1e-3 }), params, x, y);
};

const cnn = (given) => {
  const { images, classes, filters, dense } = cnnData(given);
  const made = ({ shape, data }) => sn.tensor(data, { shape });
  const loss = ({ convs, last }, input, labels) => {
    const features = convs.reduce((h, [w, b]) =>
      sn.maxPool2d(sn.relu(sn.conv2d(h, w, { padding: 'same' }).add(b)), { window: 2 }), input);
    return sn.mean(sn.softmaxCrossEntropy(features.reshape([given.batch, -1]).matmul(last[0]).add(last[1]), labels));
  };
  const withBias = (weight) => [made(weight), sn.zeros([weight.shape.at(-1)])];
  const params = { convs: filters.map(withBias), last: withBias(dense) };
  return stepping(loss, sn.optim.sgd({ lr: CNN_RATE }), params, made(images), sn.tensor(classes));
};

const gpt = (given) => {
  const { heads, width, batch, context } = given;
  const data = gptData(given);
  const made = (tree) => Object.fromEntries(Object.entries(tree).map(([name, { shape, data: values }]) => [name, sn.tensor(values, { shape })]));
  const split = (x) => x.reshape([batch, context, heads, width / heads]).permuteDims([0, 2, 1, 3]);
  const block = (x, p) => {
    const h = sn.layerNorm(x, { weight: p.firstScale, bias: p.firstShift });
    const [q, k, v] = [p.query, p.key, p.value].map((w) => split(h.matmul(w)));
    const mixed = sn.attention(q, k, v, { causal: true }).permuteDims([0, 2, 1, 3]).reshape([batch, context, width]);
    const y = x.add(mixed.matmul(p.mixed));
    return y.add(sn.gelu(sn.layerNorm(y, { weight: p.secondScale, bias: p.secondShift }).matmul(p.up)).matmul(p.down));
  };
  const loss = ({ around, blocks }, letters, targets) => {
    const x = blocks.reduce(block, sn.take(around.letter, letters, { axis: 0 }).add(around.place));
    const logits = sn.layerNorm(x, { weight: around.lastScale, bias: around.lastShift }).matmul(around.head);
    return sn.mean(sn.softmaxCrossEntropy(logits, targets));
  };
  const params = { around: made(data.around), blocks: data.blocks.map(made) };
  const [letters, targets] = [data.letters, data.targets].map((values) => sn.tensor(values, { shape: [batch, context] }));
  return stepping(loss, sn.optim.adam({ lr: 1e-3 }), params, letters, targets);
};

/** A call is a training step, always on the same batch. */
const stepping = (loss, optimizer, params, x, y) => {
  const step = sn.trainStep(loss, optimizer, on);
  const batch = [placed(x), placed(y)];
  let state = step.init(params);
  const next = () => {
    const made = step(state, ...batch);
    state = made.state;
    return made.loss;
  };
  const now = () => {
    const loss = next();
    const value = loss.item();
    loss.dispose();
    return value;
  };
  const later = async () => {
    const loss = next();
    const [value] = await loss.data();
    loss.dispose();
    return value;
  };
  const call = on.device === 'cpu' ? now : later;
  return { call, next, result: async () => [await call()], release: () => {} };
};

const simulation = () => {
  const args = arguments_('float32');
  const gradient = sn.jit(sn.valueAndGrad(simulate));
  return {
    call: () => sn.tidy(() => void gradient(args)),
    result: () => sn.tidy(() => {
      const [loss, { start }] = gradient(args);
      return [loss.item(), start.item()];
    }),
    release: () => sn.dispose([args, gradient]),
  };
};
