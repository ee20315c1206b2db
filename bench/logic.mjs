// logic.mjs [NAMES] - layers of soft gates over constant wires, in Node: a training step's time, what it takes to
// compile, its memory, and with --kernels where the time goes. NAMES choose rows by a part of their names.
//
// Features lie first and cells last, so that a wire is a row of memory. A gate is c0 + c1 a + c2 b + c3 ab with four
// coefficients of its own, made once a step; a and b are rows of the layer before, at constant indices:
//   rows   a = take(h, wa), b = take(h, wb)
//   both   one take of all wires, first those of a, then those of b; a and b are its halves. Its gradient is one sum of
//          rows where that of `rows` is two, but the terms of that are put together in memory before
//   ruled  as rows, with a derivative of its own: dy, a and b are read once for the gradients of the coefficients, and
//          once more where each input adds what its wires bring, term by term and with nothing stored in between. The
//          quickest, in loops two thirds of the others' time; layers of sinter/logic do the same
//
// Steps of a cellular automaton are best a scan over sn.checkpoint(step): all that it keeps is the carry of each step,
// which is small, and a step's layers are made again once. { checkpoint: 'sqrt' } takes five times the memory, and longer.
import * as sn from 'sinter';

const asked = process.argv.slice(2).filter((word) => !word.startsWith('-'));
const showsKernels = process.argv.includes('--kernels');
await sn.init({ threads: 2 });

/* ---- random wires, the same in every run ---- */

let seed = 12345;
const below = (n) => {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return Math.floor((seed / 0x80000000) * n);
};

/** Pairs of different inputs; each pair occurs once as long as enough are left. */
const pairs = (inputs, gates) => {
  const seen = new Set();
  const a = [], b = [];
  while (a.length < gates) {
    const pair = [below(inputs), below(inputs)].sort((x, y) => x - y);
    if (pair[0] === pair[1] || (seen.has(`${pair}`) && seen.size < (inputs * (inputs - 1)) / 2)) continue;
    seen.add(`${pair}`);
    a.push(pair[0]);
    b.push(pair[1]);
  }
  return { a, b };
};

const indices = (list) => sn.tensor(Int32Array.from(list), { dtype: 'int32' });

/* ---- gates ---- */

const FUNCTIONS = [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, -1], [0, 1, 0, 0], [0, 0, 1, -1], [0, 0, 1, 0], [0, 1, 1, -2], [0, 1, 1, -1],
  [1, -1, -1, 1], [1, -1, -1, 2], [1, 0, -1, 0], [1, 0, -1, 1], [1, -1, 0, 0], [1, -1, 0, 1], [1, 0, 0, -1], [1, 0, 0, 0]];
/** The coefficients of a gate's outputs for (a, b) = 00, 01, 10, 11. */
const CORNERS = [[1, -1, -1, 1], [0, 0, 1, -1], [0, 1, 0, -1], [0, 0, 0, 1]];

/** Maps parameters to four coefficients for each gate, each (gates, 1). */
const coefficients = {
  softmax: (logits) => logits.softmax().matmul(sn.tensor(FUNCTIONS)).split(4, { axis: 1 }),
  table: (logits) => logits.sigmoid().matmul(sn.tensor(CORNERS)).split(4, { axis: 1 }),
};

const passThrough = {
  softmax: (gates) => sn.tensor(Array.from({ length: gates }, () => FUNCTIONS.map((_, i) => (i === 3 ? 10 : 0)))),
  table: (gates) => sn.tensor(Array.from({ length: gates }, () => [-3, -3, 3, 3])),
};

const inputsOf = {
  rows: (h, { a, b }) => [h.take(indices(a)), h.take(indices(b))],
  both: (h, { a, b }) => h.take(indices([...a, ...b])).split(2),
};

/** A layer with its own derivative: the gradient of h is one sum over all wires. */
const ruled = ({ a: wa, b: wb }) => {
  const gates = wa.length;
  const both = indices([...wa, ...wb]), others = indices([...wb, ...wa]);
  const twice = indices([...wa, ...wa].map((_, i) => i % gates));
  const value = (h, c0, c1, c2, c3) => {
    const a = h.take(indices(wa)), b = h.take(indices(wb));
    return c0.add(c1.mul(a)).add(b.mul(c2.add(c3.mul(a))));
  };
  return sn.customVjp(value, {
    forward: (...args) => [value(...args), args],
    backward: ([h, , c1, c2, c3], dy) => {
      const a = h.take(indices(wa)), b = h.take(indices(wb)), da = dy.mul(a);
      const sum = (x) => x.sum({ axis: 1, keepdims: true });
      const slope = sn.concat([c1, c2]).add(sn.concat([c3, c3]).mul(h.take(others)));
      const dh = sn.zeros(h.shape).scatterAdd(both, dy.take(twice).mul(slope));
      return [dh, sum(dy), sum(da), sum(dy.mul(b)), sum(da.mul(b))];
    },
  });
};

/** A layer of gates on h (features, cells). */
const layer = (h, wires, [c0, c1, c2, c3], form) => {
  if (form === 'ruled') return ruled(wires)(h, c0, c1, c2, c3);
  const [a, b] = inputsOf[form](h, wires);
  return c0.add(c1.mul(a)).add(b.mul(c2.add(c3.mul(a))));
};

/** All successive layers, starting from `inputs` features. */
const network = (inputs, sizes) => sizes.map((gates, i) => pairs(i ? sizes[i - 1] : inputs, gates));

/* ---- the cellular automaton ---- */

const WIDTH = 16, CHANNELS = 8, KERNELS = 16, BATCH = 2, STEPS = 20;
const cells = BATCH * WIDTH * WIDTH;

/** The wires of each kernel's gates. The first layer pairs the centre, neighbour 4, with the others. */
const perceptionWires = () => {
  const around = [0, 1, 2, 3, 5, 6, 7, 8];
  const layers = [{ a: [], b: [] }];
  for (let k = 0; k < KERNELS; k += 1) {
    layers[0].a.push(...around.map(() => 4));
    layers[0].b.push(...around);
  }
  for (const [inputs, gates] of [[8, 4], [4, 2]]) {
    const wires = { a: [], b: [] };
    for (let k = 0; k < KERNELS; k += 1) {
      const { a, b } = pairs(inputs, gates);
      wires.a.push(...a.map((i) => k * inputs + i));
      wires.b.push(...b.map((i) => k * inputs + i));
    }
    layers.push(wires);
  }
  return layers;
};

/** x (channels, cells) -> its 9 shifted copies, zero outside: (9, channels * cells). */
const neighbours = (x) => {
  const grid = x.reshape([CHANNELS, BATCH, WIDTH, WIDTH]).pad([[0, 0], [0, 0], [1, 1], [1, 1]]);
  const shifted = [];
  for (let dy = 0; dy < 3; dy += 1)
    for (let dx = 0; dx < 3; dx += 1)
      shifted.push(grid.slice([0, 0, dy, dx], [CHANNELS, BATCH, WIDTH, WIDTH]));
  return sn.stack(shifted).reshape([9, CHANNELS * cells]);
};

const automaton = (updateSizes, { parameters, form, checkpoint = 'step' }) => {
  const perception = perceptionWires();
  const update = network(CHANNELS + KERNELS * 2 * CHANNELS, updateSizes);
  const step = (x, [perceive, decide]) => {
    let seen = neighbours(x);
    perception.forEach((wires, i) => { seen = layer(seen, wires, perceive[i], form); });
    let h = sn.concat([x, seen.reshape([-1, cells])]);
    update.forEach((wires, i) => { h = layer(h, wires, decide[i], form); });
    return h;
  };
  const loss = (params, x, y) => {
    const made = params.map((layers) => layers.map(coefficients[parameters]));
    const whole = checkpoint === 'step' ? sn.checkpoint(step) : step;
    const options = checkpoint === 'step' ? {} : { checkpoint };
    const [last] = sn.scan((h) => [whole(h, made), null], x, null, { length: STEPS, ...options });
    return last.slice([0, 0], [1, cells]).sub(y).square().sum();
  };
  const params = [perception, update].map((layers) => layers.map(({ a }) => passThrough[parameters](a.length)));
  const x = sn.random.bernoulli(sn.random.key(1), 0.5, [CHANNELS, cells]).astype('float32');
  const y = sn.tensor([Array.from({ length: cells }, (_, i) => ((i % WIDTH >> 1) + (i / WIDTH >> 1)) % 2)]);
  return [loss, params, [x, y]];
};

const tail = [128, 64, 32, 16, 8];
const updateSizes = { full: [...Array(10).fill(256), ...tail], small: [...Array(4).fill(256), ...tail] };

/* ---- a network on bits ---- */

/** A classifier on pixels at three thresholds, with 6 layers and a sum for each class. */
const classifier = ({ parameters, form, batch = 128 }) => {
  const sizes = Array(6).fill(8000);
  const wires = network(2352, sizes);
  const loss = (params, x, labels) => {
    let h = x;
    wires.forEach((w, i) => { h = layer(h, w, coefficients[parameters](params[i]), form); });
    const scores = h.reshape([10, 800, batch]).sum({ axis: 1 }).div(10).transpose();
    return sn.softmaxCrossEntropy(scores, labels).mean();
  };
  const x = sn.random.bernoulli(sn.random.key(1), 0.3, [2352, batch]).astype('float32');
  return [loss, sizes.map((n) => passThrough[parameters](n)), [x, sn.zeros([batch], { dtype: 'int32' })]];
};

/** One layer whose wires are learnt, each among k candidates: a mixture of rows. */
const learntWires = ({ k, gates = 8000, inputs = 2352, batch = 128 }) => {
  const candidates = indices(Array.from({ length: 2 * gates * k }, () => below(inputs)));
  const loss = ({ choice, gate }, x) => {
    const weights = choice.softmax().reshape([2 * gates, k, 1]);
    const mixed = x.take(candidates).reshape([2 * gates, k, batch]).mul(weights).sum({ axis: 1 });
    const [a, b] = mixed.split(2);
    const [c0, c1, c2, c3] = coefficients.table(gate);
    return c0.add(c1.mul(a)).add(c2.mul(b)).add(c3.mul(a).mul(b)).square().mean();
  };
  const params = { choice: sn.random.normal(sn.random.key(2), [2 * gates, k]), gate: passThrough.table(gates) };
  return [loss, params, [sn.random.bernoulli(sn.random.key(1), 0.3, [inputs, batch]).astype('float32')]];
};

/* ---- rows ---- */

const ROWS = {
  'checkerboard full, softmax, rows': [() => automaton(updateSizes.full, { parameters: 'softmax', form: 'rows' }), 40],
  'checkerboard full, softmax, both': [() => automaton(updateSizes.full, { parameters: 'softmax', form: 'both' }), 40],
  'checkerboard full, softmax, both, sqrt': [() => automaton(updateSizes.full, { parameters: 'softmax', form: 'both', checkpoint: 'sqrt' }), 40],
  'checkerboard full, softmax, ruled': [() => automaton(updateSizes.full, { parameters: 'softmax', form: 'ruled' }), 40],
  'checkerboard full, table, both': [() => automaton(updateSizes.full, { parameters: 'table', form: 'both' }), 40],
  'checkerboard small, softmax, ruled': [() => automaton(updateSizes.small, { parameters: 'softmax', form: 'ruled' }), 15],
  'checkerboard small, softmax, rows': [() => automaton(updateSizes.small, { parameters: 'softmax', form: 'rows' }), 15],
  'checkerboard small, softmax, both': [() => automaton(updateSizes.small, { parameters: 'softmax', form: 'both' }), 15],
  'bits 6 x 8000, softmax, ruled': [() => classifier({ parameters: 'softmax', form: 'ruled' }), 0],
  'bits 6 x 8000, softmax, rows': [() => classifier({ parameters: 'softmax', form: 'rows' }), 0],
  'bits 6 x 8000, softmax, both': [() => classifier({ parameters: 'softmax', form: 'both' }), 0],
  'bits 6 x 8000, table, both': [() => classifier({ parameters: 'table', form: 'both' }), 0],
  'learnt wires among 8': [() => learntWires({ k: 8 }), 0],
};

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

const measure = async (name, make, asks) => {
  const [loss, params, batch] = make();
  const optimizer = sn.optim.adam({ lr: 0.05, beta2: 0.99, clipNorm: 100 });
  const train = sn.trainStep(loss, optimizer);
  let state = train.init(params);
  const run = () => {
    const next = train(state, ...batch);
    const value = next.loss.item();
    state = next.state;
    return value;
  };
  const before = performance.now();
  const first = run();
  const compiled = performance.now() - before;
  const times = [];
  const end = performance.now() + 4000;
  let last = first;
  while (times.length < 6 || (performance.now() < end && times.length < 60)) {
    const start = performance.now();
    last = run();
    times.push(performance.now() - start);
  }
  const seen = sn.inspect(train)(state, ...batch);
  const { memory: { arenaBytes }, flops, bytes } = seen;
  console.log(`${name.padEnd(36)} best ${Math.min(...times).toFixed(1).padStart(7)} ms  median ${median(times).toFixed(1).padStart(7)} ms` +
    `${asks ? `  (asked ${asks})` : ''}  first ${compiled.toFixed(0)} ms  arena ${(arenaBytes / 1e6).toFixed(1)} MB` +
    `  ${seen.kernels.length} kernels  ${(flops / 1e9).toFixed(2)} Gflop ${(bytes / 1e9).toFixed(2)} GB  loss ${first.toFixed(4)} -> ${last.toFixed(4)}`);
  if (!showsKernels) return;
  const profile = await sn.profile(run);
  for (const { ms, calls, name: kernel, kind, gbps, gflops } of [...profile.kernels].sort((a, b) => b.ms - a.ms).slice(0, 24))
    console.log(`  ${ms.toFixed(2).padStart(8)} ms ${String(calls).padStart(6)} x  ${kind.padEnd(11)} ${gbps.toFixed(1).padStart(6)} GB/s ${gflops.toFixed(1).padStart(5)} Gflop/s  ${kernel}`);
  seen.dispose();
};

for (const [name, [make, asks]] of Object.entries(ROWS))
  if (asked.every((part) => name.includes(part))) await measure(name, make, asks);
process.exit(0);
