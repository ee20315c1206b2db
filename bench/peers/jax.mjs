// jax-js on its WebAssembly or WebGPU backend: jit, then a wait for the result; on WebGPU the result is read.
import { defaultDevice, init, jit, lax, nn, numpy as np, valueAndGrad } from '@jax-js/jax';
import {
  CNN_RATE, LETTERS, TO_NCHW, TO_NHWC, TO_OIHW, cnnData, gptData, numbers, operandShapes, permuted, simulationData, trainingData,
} from './cases.mjs';
import { lossWith } from './chained.mjs';

const FUNCTIONS = {
  relu: (x) => nn.relu(x),
  add: (x, y) => x.add(y),
  tanh: (x) => np.tanh(x),
  gelu: (x) => nn.gelu(x, { approximate: false }),
  sum: (x) => np.sum(x),
  softmax: (x) => nn.softmax(x),
  layernorm: (x) => nn.standardize(x, -1, { epsilon: 1e-5 }),
  fused: (x, y, z) => nn.sigmoid(x.ref.mul(y.ref).add(z)).mul(x).sub(y.ref.mul(y).mul(0.5)),
  matmul: (x, y) => np.matmul(x, y),
  linear: (x, w, b) => nn.gelu(np.matmul(x, w).add(b), { approximate: false }),
  conv: (x, w) => lax.convGeneralDilated(x, w, [1, 1], 'SAME'),
  attention: (q, k, v) => nn.dotProductAttention(q, k, v),
};

/** For ops with another order of axes: the orders of the operands, and the one that converts the result back. */
const SWAP_HEADS = [0, 2, 1, 3];
const ORDERS = {
  conv: { operands: [TO_NCHW, TO_OIHW], result: TO_NHWC },
  attention: { operands: [SWAP_HEADS, SWAP_HEADS, SWAP_HEADS], result: SWAP_HEADS },
};
/** An array of the same numbers, with its axes in this order (undefined: unchanged). */
const array = (data, shape, order) =>
  (order ? np.array(permuted(data, shape, order), { shape: order.map((axis) => shape[axis]) }) : np.array(data, { shape }));

let backend = 'wasm';

export const open = async (onWebGpu) => {
  backend = onWebGpu ? 'webgpu' : 'wasm';
  await init(backend);
  defaultDevice(backend);
  return { info: backend, prepare };
};

const SPECIAL = { train: (given) => train(given), cnn: (given) => cnn(given), gpt: (given) => gpt(given), simulate: () => simulation() };

const prepare = (given) => {
  if (SPECIAL[given.op]) return SPECIAL[given.op](given);
  if (!FUNCTIONS[given.op]) return null;
  const f = jit(FUNCTIONS[given.op]);
  const orders = ORDERS[given.op];
  const inputs = operandShapes(given).map((shape, i) => array(numbers(shape, i + 1), shape, orders?.operands[i]));
  const run = () => f(...inputs.map((x) => x.ref));
  return {
    call: async () => {
      const y = run();
      if (backend === 'webgpu') {
        await y.data();
        return;
      }
      await y.blockUntilReady();
      y.dispose();
    },
    result: async () => {
      const y = run();
      const shape = [...y.shape];
      const data = await y.data();
      return orders ? permuted(data, shape, orders.result) : data;
    },
    release: () => inputs.forEach((x) => x.dispose()),
  };
};

const cnn = (given) => {
  const { images, distributions, filters, dense } = cnnData(given);
  const { batch } = given;
  const [w1, w2] = filters.map(({ shape, data }) => array(data, shape, TO_OIHW));
  // Features come out in the order (channel, h, w), so the rows of the last layer must have that order, too.
  const rows = permuted(dense.data, [7, 7, 32, 10], [2, 0, 1, 3]);
  let params = [w1, np.zeros([16, 1, 1]), w2, np.zeros([32, 1, 1]), array(rows, dense.shape), np.zeros([10])];
  const x = array(images.data, images.shape, TO_NCHW);
  const y = array(distributions, [batch, 10]);
  const layer = (h, w, b) => {
    const sums = nn.relu(lax.convGeneralDilated(h, w, [1, 1], 'SAME').add(b));
    const [, channels, side] = sums.shape;
    return np.max(sums.reshape([batch, channels, side / 2, 2, side / 2, 2]), [3, 5]);
  };
  const loss = ([c1, b1, c2, b2, w, b], input, labels) => {
    const features = layer(layer(input, c1, b1), c2, b2).reshape([batch, -1]);
    return np.mean(np.sum(nn.logSoftmax(np.matmul(features, w).add(b)).mul(labels), 1)).neg();
  };
  const both = valueAndGrad(loss);
  const step = jit((old, input, labels) => {
    const [value, grads] = both(old.map((a) => a.ref), input, labels);
    return [value, old.map((param, i) => param.sub(grads[i].mul(CNN_RATE)))];
  });
  const call = async () => {
    let value;
    [value, params] = step(params, x.ref, y.ref);
    return (await value.data())[0];
  };
  return { call, result: async () => [await call()], release: () => {} };
};

const train = (given) => {
  const { images, distributions, layers } = trainingData(given);
  const p = layers.flatMap(({ shape, weight }) => [np.array(weight, { shape }), np.zeros([shape[1]])]);
  const x = np.array(images, { shape: [given.batch, given.widths[0]] });
  const y = np.array(distributions, { shape: [given.batch, given.widths.at(-1)] });
  const loss = (params, input, labels) => {
    let h = input;
    for (let i = 0; i < params.length; i += 2) {
      h = np.matmul(h, params[i]).add(params[i + 1]);
      if (i + 2 < params.length) h = nn.relu(h);
    }
    return np.mean(np.sum(nn.logSoftmax(h).mul(labels), 1)).neg();
  };
  return withAdam(loss, p, x, y);
};

/** A call is a step of Adam; parameters are a list. */
const withAdam = (loss, params, x, y) => {
  const zeros = () => params.map(({ shape }) => np.zeros(shape));
  let [p, m, v] = [params, zeros(), zeros()];
  const both = valueAndGrad(loss);
  const step = jit((list, means, squares, input, labels) => {
    const [value, g] = both(list.map((a) => a.ref), input, labels);
    const next = [[], [], []];
    list.forEach((param, i) => {
      const mean = means[i].mul(0.9).add(g[i].ref.mul(0.1));
      const square = squares[i].mul(0.999).add(g[i].ref.mul(g[i]).mul(0.001));
      next[0].push(param.sub(mean.ref.mul(1e-3).div(np.sqrt(square.ref).add(1e-8))));
      next[1].push(mean);
      next[2].push(square);
    });
    return [value, ...next];
  });
  const call = async () => {
    let value;
    [value, p, m, v] = step(p, m, v, x.ref, y.ref);
    return (await value.data())[0];
  };
  return { call, result: async () => [await call()], release: () => {} };
};

const gpt = (given) => {
  const { heads, width, batch, context } = given;
  const data = gptData(given);
  const names = { around: Object.keys(data.around), block: Object.keys(data.blocks[0]) };
  const params = [data.around, ...data.blocks].flatMap((part) => Object.values(part)).map(({ shape, data: values }) => np.array(values, { shape }));
  const named = (keys, list) => Object.fromEntries(keys.map((key, i) => [key, list[i]]));
  const norm = (x, scale, shift) => nn.standardize(x, -1, { epsilon: 1e-5 }).mul(scale).add(shift);
  const split = (x) => x.reshape([batch, context, heads, width / heads]);
  const block = (x, p) => {
    const h = norm(x.ref, p.firstScale, p.firstShift);
    const [q, k] = [p.query, p.key].map((w) => split(np.matmul(h.ref, w)));
    const mixed = nn.dotProductAttention(q, k, split(np.matmul(h, p.value)), { isCausal: true }).reshape([batch, context, width]);
    const y = x.add(np.matmul(mixed, p.mixed));
    const up = np.matmul(norm(y.ref, p.secondScale, p.secondShift), p.up);
    return y.add(np.matmul(nn.gelu(up, { approximate: false }), p.down));
  };
  const loss = (list, letters, targets) => {
    const around = named(names.around, list);
    const size = names.block.length;
    let x = np.matmul(nn.oneHot(letters, LETTERS), around.letter).add(around.place);
    for (let at = names.around.length; at < list.length; at += size) x = block(x, named(names.block, list.slice(at, at + size)));
    const logits = np.matmul(norm(x, around.lastScale, around.lastShift), around.head);
    return np.mean(np.sum(nn.logSoftmax(logits).mul(nn.oneHot(targets, LETTERS)), -1)).neg();
  };
  const whole = (values) => np.array(values, { shape: [batch, context], dtype: np.int32 });
  return withAdam(loss, params, whole(data.letters), whole(data.targets));
};

const simulation = () => {
  // Functions consume their arguments, so a value that is needed again is passed as another reference.
  const again = (x) => (typeof x === 'number' ? x : x.ref);
  const method = (name) => [name, (x, ...others) => x.ref[name](...others.map(again))];
  const ops = Object.fromEntries(['add', 'sub', 'mul', 'div', 'neg'].map(method));
  const loss = lossWith({ ...ops, abs: (x) => np.abs(x.ref) });
  const inputs = simulationData().map((x) => np.array(x));
  const both = jit(valueAndGrad(loss));
  const run = async () => {
    const [value, grads] = both(inputs.map((x) => x.ref));
    await value.blockUntilReady();
    return [value, ...grads];
  };
  return {
    call: async () => (await run()).forEach((x) => x.dispose()),
    result: async () => {
      const all = await run();
      return [(await all[0].data())[0], (await all.at(-1).data())[0]];
    },
    release: () => inputs.forEach((x) => x.dispose()),
  };
};
