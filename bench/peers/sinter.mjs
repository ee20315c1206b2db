// The package, as its users call it: a compiled function.
import * as sn from 'sinter';
import { arguments_, simulate } from '../simulation.mjs';
import { numbers, operandShapes, trainingData } from './cases.mjs';

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
};

export const open = async () => {
  const { threads, relaxedSimd } = await sn.init({ threads: 2 });
  return { info: `${threads} threads, relaxed SIMD ${relaxedSimd}`, prepare };
};

const SPECIAL = { train: (given) => train(given), simulate: () => simulation() };

const prepare = (given) => {
  if (SPECIAL[given.op]) return SPECIAL[given.op](given);
  const f = sn.jit(FUNCTIONS[given.op]);
  const inputs = operandShapes(given).map((shape, i) => sn.tensor(numbers(shape, i + 1), { shape }));
  return {
    call: () => f(...inputs).dispose(),
    result: () => f(...inputs).dataSync(),
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
  const step = sn.trainStep(loss, sn.optim.adam({ lr: 1e-3 }));
  let state = step.init(layers.map(({ shape, weight }) => [sn.tensor(weight, { shape }), sn.zeros([shape[1]])]));
  const call = () => {
    const next = step(state, x, y);
    state = next.state;
    const value = next.loss.item();
    next.loss.dispose();
    return value;
  };
  return { call, result: () => [call()], release: () => {} };
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
