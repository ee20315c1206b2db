// loops.mjs - measures the cost of loops and transforms, in Node: node bench/loops.mjs [THREADS]
//
// A time is the best of many calls, each with its result read; "first" is the first call, from trace to result.
import * as sn from 'sinter';

await sn.init({ threads: Number(process.argv[2] ?? 2) });

const best = (call, times) => {
  let least = Infinity;
  for (let i = 0; i < times; i += 1) {
    const begin = performance.now();
    call();
    least = Math.min(least, performance.now() - begin);
  }
  return least;
};

const row = (name, ms, asked) =>
  console.log(`${name.padEnd(58)} ${(ms < 1 ? ms * 1000 : ms).toFixed(2).padStart(9)} ${ms < 1 ? 'us' : 'ms'}   asked ${asked}`);

const measure = (name, call, times, asked, askedFirst) => {
  const begin = performance.now();
  call();
  const first = performance.now() - begin;
  row(name, best(call, times), asked);
  row(`${name}, first`, first, askedFirst);
};

const numbers = (list, dtype) => list.map((x) => sn.tensor(x, { dtype }));

/* ---- the building simulation: one step a round, four numbers carried ---- */

const DT = 0.1;
const FLOW = { flow: 0.0006309, density: 1000, Cp: 4180 };

const roundOf = (spacing, thickness, Cp) => {
  const area = sn.div(100 * Math.PI * 0.019, spacing);
  const resistance = sn.div(sn.mul(thickness, 10 * 2.43), area);
  const warmed = (temp, power) => sn.add(temp, sn.div(sn.mul(power, DT), FLOW.Cp * FLOW.flow * DT * FLOW.density));
  return ({ slab, water, tank }) => {
    const given = sn.mul(sn.sub(tank, water), FLOW.flow * FLOW.density * FLOW.Cp);
    const source = sn.add(tank, sn.div(sn.mul(given, DT), 4180 * 0.0757082 * 1000));
    const before = warmed(water, given);
    const lost = sn.div(sn.sub(slab, before), resistance);
    const floor = sn.sub(slab, sn.div(sn.mul(lost, DT), sn.mul(Cp, 100 * 0.101 * 2242.58)));
    return { slab: floor, water: warmed(before, lost), tank: source };
  };
};

const building = (steps, unrolled) => (start, spacing, thickness, Cp, tank) => {
  const round = roundOf(spacing, thickness, Cp);
  let state = { slab: start, water: sn.tensor(60), tank };
  if (unrolled) for (let i = 0; i < steps; i += 1) state = round(state);
  else [state] = sn.scan((s) => [round(s), null], state, null, { length: steps });
  return sn.abs(sn.sub(state.slab, 27.344767));
};

const all = { argnums: [0, 1, 2, 3, 4] };
const known = numbers([33.3, 0.50292, 0.001588, 0.2, 70]);
for (const [steps, unrolled, asked] of [[20, true, '-'], [20, false, '1.5 of it'], [2000, false, '1.0 ms']]) {
  const f = sn.jit(sn.valueAndGrad(building(steps, unrolled), all));
  const name = `building, ${steps} steps ${unrolled ? 'written out' : 'by scan'}, value and gradient`;
  measure(name, () => f(...known)[0].item(), 500, asked, unrolled ? '-' : '60 ms');
}

/* ---- Lotka-Volterra, RK4 in float64 ---- */

const change = ([a, b], p) => {
  const met = sn.mul(a, b);
  return [sn.sub(sn.mul(p[0], a), sn.mul(p[1], met)), sn.sub(sn.mul(p[3], met), sn.mul(p[2], b))];
};
const along = (y, k, h) => y.map((v, i) => sn.add(v, sn.mul(k[i], h)));
const rk4 = (y, p, h) => {
  const k1 = change(y, p), k2 = change(along(y, k1, h / 2), p), k3 = change(along(y, k2, h / 2), p);
  const k4 = change(along(y, k3, h), p);
  return y.map((v, i) => sn.add(v, sn.mul(sn.add(sn.add(k1[i], k4[i]), sn.mul(sn.add(k2[i], k3[i]), 2)), h / 6)));
};
const lotkaVolterra = (steps) => (...p) => {
  const [, stacked] = sn.scan((y) => {
    const next = rk4(y, p, 0.05);
    return [next, sn.add(sn.square(next[0]), sn.square(next[1]))];
  }, numbers([10, 5], 'float64'), null, { length: steps });
  return sn.sum(stacked);
};
const rates = numbers([1.1, 0.4, 0.4, 0.1], 'float64');
for (const [steps, asked] of [[200, '35 us'], [20_000, '-']]) {
  const f = sn.jit(sn.valueAndGrad(lotkaVolterra(steps), { argnums: [0, 1, 2, 3] }));
  measure(`Lotka-Volterra, ${steps} RK4 steps, value and gradient`, () => f(...rates)[0].item(), 300, asked, '30 ms');
}

/* ---- states that are vectors ---- */

const field = sn.random.normal(sn.random.key(5), [5, 5]).mul(0.3);
const rk4Of = (f, y, h) => {
  const k1 = f(y), k2 = f(y.add(k1.mul(h / 2))), k3 = f(y.add(k2.mul(h / 2))), k4 = f(y.add(k3.mul(h)));
  return y.add(k1.add(k4).add(k2.add(k3).mul(2)).mul(h / 6));
};
const steered = (y, a) => sn.scan((s) => {
  const next = rk4Of((v) => sn.tanh(a.matmul(v)).sub(v), s, 0.01);
  return [next, next];
}, y, null, { length: 1000 })[1].square().sum();
const five = sn.tensor([1, 0.5, 0.2, -0.3, 0.7]);
const steeredValue = sn.jit(steered);
measure('a field of 5 and a matrix, 1,000 RK4 steps, value', () => steeredValue(five, field).item(), 50, '-', '-');
const steeredGradient = sn.jit(sn.valueAndGrad(steered, { argnums: [0, 1] }));
measure('a field of 5 and a matrix, 1,000 RK4 steps, and gradient', () => steeredGradient(five, field)[0].item(), 50, '-', '-');

const moments = Array.from({ length: 101 }, (_, i) => i / 10);
const prey = (y, t, p) => {
  const [a, b, met] = [y.take(0), y.take(1), y.take(0).mul(y.take(1))];
  return sn.stack([a.mul(p.take(0)).sub(met.mul(p.take(1))), met.mul(p.take(3)).sub(b.mul(p.take(2)))]);
};
const adaptive = (y, p) => sn.odeint(prey, y, moments, { args: p, rtol: 1e-5, atol: 1e-7 }).square().sum();
const two = [sn.tensor([10, 5]), sn.tensor([1.1, 0.4, 0.4, 0.1])];
const adaptiveValue = sn.jit(adaptive);
measure('Lotka-Volterra as vectors, dopri5 to 100 times, value', () => adaptiveValue(...two).item(), 50, '-', '-');
const adaptiveGradient = sn.jit(sn.valueAndGrad(adaptive, { argnums: [0, 1] }));
measure('Lotka-Volterra as vectors, dopri5 to 100 times, and gradient', () => adaptiveGradient(...two)[0].item(), 50, '-', '-');

/* ---- recurrent layers: a training step ---- */

for (const [kind, size, batch, times, asked] of [
  ['lstm', 128, 32, 100, '30 ms'], ['gru', 64, 16, 200, '15 ms'], ['lstm', 128, 32, 10, '-'], ['lstm', 16, 4, 10_000, '-']]) {
  const net = sn.nn[kind](size, size);
  const [x, y] = [1, 2].map((seed) => sn.random.normal(sn.random.key(seed), [batch, times, size]));
  const step = sn.trainStep((p, a, b) => sn.mean(sn.square(sn.sub(net.apply(p, a), b))), sn.optim.adam({ lr: 1e-3 }));
  let state = step.init(net.init(sn.random.key(0)));
  measure(`${kind} ${size}, batch ${batch}, ${times} times, a training step`, () => {
    const next = step(state, x, y);
    next.loss.item();
    state = next.state;
  }, 15, asked, '80 ms');
}

/* ---- a long sequence, and the memory that its gradient takes ---- */

const longSequence = sn.random.normal(sn.random.key(5), [1000, 32, 128]);
for (const checkpoint of [undefined, 'sqrt']) {
  const net = sn.nn.lstm(128, 128, { last: true, timeFirst: true, checkpoint });
  const params = net.init(sn.random.key(0));
  const slope = sn.valueAndGrad((p, x) => sn.mean(sn.square(net.apply(p, x))));
  const seen = sn.inspect(slope)(params, longSequence);
  const megabytes = (seen.memory.arenaBytes / 1e6).toFixed(1);
  seen.dispose();
  const call = sn.jit(slope);
  const name = `lstm 128, batch 32, 1,000 times${checkpoint ? ", 'sqrt'" : ''}, gradient in ${megabytes} MB`;
  measure(name, () => call(params, longSequence)[0].item(), 5, checkpoint ? 'a tenth of the MB' : '-', '-');
}

/* ---- loops of nearly nothing ---- */

const limit = sn.tensor(1_000_000, { dtype: 'int32' });
const zero = sn.tensor(0, { dtype: 'int32' });
const count = sn.jit((n) => sn.whileLoop((i) => sn.less(i, n), (i) => sn.add(i, 1), zero));
measure('a while that counts to a million', () => count(limit).item(), 30, '5 ms', '-');
const added = sn.jit((x) => sn.scan((c) => [sn.add(c, 1), null], x, null, { length: 1_000_000 })[0]);
measure('a million rounds of one addition', () => added(zero).item(), 30, '20 ms', '-');

/* ---- transforms ---- */

const rows = 1000, size = 100;
const data = sn.random.normal(sn.random.key(3), [rows, size]);
const labels = sn.astype(sn.random.bernoulli(sn.random.key(4), 0.5, [rows]), 'float32');
const logistic = (w) => {
  const z = sn.matmul(data, w);
  return sn.mean(sn.sub(sn.softplus(z), sn.mul(labels, z)));
};
const second = sn.jit(sn.hessian(logistic));
const weights = sn.zeros([size]);
measure('Hessian of a logistic regression, 100 by 1,000', () => second(weights).dataSync(), 30, '10 ms', '-');

const net = sn.nn.sequential(sn.nn.linear(784, 256), sn.nn.relu(), sn.nn.linear(256, 10));
const params = net.init(sn.random.key(6));
const batch = [sn.random.normal(sn.random.key(7), [128, 784]), sn.random.normal(sn.random.key(8), [128, 10])];
const distance = (p, x, y) => sn.mean(sn.square(sn.sub(net.apply(p, x), y)));
const gradientOfAll = sn.jit(sn.grad(distance));
const gradientOfEach = sn.jit(sn.vmap(sn.grad(distance), { inAxes: [null, 0, 0] }));
const filled = sn.jit((x) => sn.broadcastTo(x, [128, 203_530]).add(0));
const done = (result) => {
  sn.eval(result);
  sn.dispose(result);
};
const held = sn.tensor(1.5);
measure('gradient of an MLP 784-256-10, batch 128', () => done(gradientOfAll(params, ...batch)), 40, '-', '-');
measure('the same of each example, all 128 stored', () => done(gradientOfEach(params, ...batch)), 40, '3 of it', '-');
measure('as many bytes filled with one number', () => done(filled(held)), 40, '-', '-');

const fitted = sn.jit((start) => sn.minimize(
  (p) => sn.mean(sn.square(sn.sub(lotkaVolterraPath(p), observed))), start, { method: 'lbfgs', maxSteps: 50 }));
const lotkaVolterraPath = (p) => sn.scan((y) => {
  const next = rk4(y, p, 0.05);
  return [next, next];
}, numbers([10, 5], 'float64'), null, { length: 200 })[1][0];
const observed = lotkaVolterraPath(rates);
measure('L-BFGS until it converges, through 200 RK4 steps', () => sn.eval(fitted(numbers([1, 0.45, 0.45, 0.12], 'float64')).x), 5, '5 ms', '-');
process.exit(0);
