// jax-js on its WebAssembly backend: jit, and a wait for the result.
import { defaultDevice, init, jit, nn, numpy as np, valueAndGrad } from '@jax-js/jax';
import { numbers, operandShapes, simulationData, trainingData } from './cases.mjs';
import { lossWith } from './chained.mjs';

const FUNCTIONS = {
  relu: (x) => nn.relu(x),
  add: (x, y) => x.add(y),
  tanh: (x) => np.tanh(x),
  gelu: (x) => nn.gelu(x, { approximate: false }),
  sum: (x) => np.sum(x),
  softmax: (x) => nn.softmax(x),
  fused: (x, y, z) => nn.sigmoid(x.ref.mul(y.ref).add(z)).mul(x).sub(y.ref.mul(y).mul(0.5)),
  matmul: (x, y) => np.matmul(x, y),
};

export const open = async () => {
  await init('wasm');
  defaultDevice('wasm');
  return { info: '', prepare };
};

const SPECIAL = { train: (given) => train(given), simulate: () => simulation() };

const prepare = (given) => {
  if (SPECIAL[given.op]) return SPECIAL[given.op](given);
  if (!FUNCTIONS[given.op]) return null;
  const f = jit(FUNCTIONS[given.op]);
  const inputs = operandShapes(given).map((shape, i) => np.array(numbers(shape, i + 1), { shape }));
  const run = () => f(...inputs.map((x) => x.ref));
  return {
    call: async () => {
      const y = run();
      await y.blockUntilReady();
      y.dispose();
    },
    result: () => run().data(),
    release: () => inputs.forEach((x) => x.dispose()),
  };
};

const train = (given) => {
  const { images, distributions, layers } = trainingData(given);
  const zeros = () => layers.flatMap(({ shape }) => [np.zeros(shape), np.zeros([shape[1]])]);
  let [m, v] = [zeros(), zeros()];
  let p = layers.flatMap(({ shape, weight }) => [np.array(weight, { shape }), np.zeros([shape[1]])]);
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
  const both = valueAndGrad(loss);
  const step = jit((params, means, squares, input, labels) => {
    const [value, g] = both(params.map((a) => a.ref), input, labels);
    const next = [[], [], []];
    params.forEach((param, i) => {
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

const simulation = () => {
  // Functions consume their arguments; what is read again is passed as another reference.
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
