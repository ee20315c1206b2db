// small.mjs - what a call costs and how long compiling takes, in Node: node bench/small.mjs [THREADS]
//
// A call: the best mean of 9 rounds of 20,000 calls. Compiling: the first call of a new function, from trace
// to result, median of 7; each has another constant, so that nothing is found in a cache.
import * as sn from 'sinter';
import { arguments_, simulate, worstError } from './simulation.mjs';

await sn.init({ threads: Number(process.argv[2] ?? 2) });

const perCall = (f, rounds = 9, calls = 20_000) => {
  for (let i = 0; i < calls; i += 1) f();
  let best = Infinity;
  for (let r = 0; r < rounds; r += 1) {
    const begin = performance.now();
    for (let i = 0; i < calls; i += 1) f();
    best = Math.min(best, (performance.now() - begin) / calls);
  }
  return best * 1000;
};

const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
const compiling = (make) =>
  median(Array.from({ length: 7 }, (_, i) => {
    const begin = performance.now();
    sn.tidy(() => void make(i + 1));
    return performance.now() - begin;
  }));

const row = (name, value, unit, asked) =>
  console.log(`${name.padEnd(46)} ${value.toFixed(2).padStart(9)} ${unit}   asked ${asked}`);

const x = sn.tensor(new Float32Array(1000).fill(0.5));
const relu = sn.jit((v) => sn.relu(v));
row('jit call, relu of 1,000', perCall(() => relu(x).dispose()), 'us', '2');
row('eager op, relu of 1,000', perCall(() => {
  const y = sn.relu(x);
  sn.eval(y);
  y.dispose();
}), 'us', '5');

for (const dtype of ['float32', 'float64']) {
  const args = arguments_(dtype);
  const gradient = sn.jit(sn.valueAndGrad(simulate));
  const error = worstError(gradient(args));
  row(`building simulation, loss and gradient, ${dtype}`, perCall(() => sn.tidy(() => void gradient(args)), 5, 4000),
    'us', `10 (worst relative error ${error.toExponential(1)})`);
}
row('  compiling it', compiling((i) => {
  const f = sn.jit(sn.valueAndGrad((p) => simulate(p).mul(i)));
  return f(arguments_('float32'))[0].item();
}), 'ms', '150');

const chain = (i) => {
  const f = sn.jit((v) => {
    let y = v;
    for (let n = 0; n < 1000; n += 1) y = n % 3 ? y.mul(1 + i / 1000).add(v) : sn.tanh(y);
    return y;
  });
  return f(sn.zeros([64, 65])).sum().item();
};
row('compiling a chain of 1,667 nodes', compiling(chain), 'ms', '100');

const net = sn.nn.sequential(sn.nn.linear(784, 256), sn.nn.relu(), sn.nn.linear(256, 128), sn.nn.relu(), sn.nn.linear(128, 10));
const [images, labels] = [sn.zeros([128, 784]), sn.zeros([128], { dtype: 'int32' })];
row('compiling an MLP training step with Adam', compiling((i) => {
  const loss = (p, a, b) => sn.mean(sn.softmaxCrossEntropy(net.apply(p, a), b));
  const step = sn.trainStep(loss, sn.optim.adam({ lr: 1e-3 * i }));
  return step(step.init(net.init(sn.random.key(0))), images, labels).loss.item();
}), 'ms', '60');
process.exit(0);
