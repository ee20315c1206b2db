// networks.mjs - training steps of whole networks, in Node: node bench/networks.mjs [--threads 2] [--only NAME] [--profile]
// [--accumulate 4] [--precision float16] [--tune] [--torch]
//
// A time is the best and the median of many steps. The share is relative to the rate of a product of 1,000 x 1,000 in the same
// run. Operations are those of products and convolutions alone, three times those of the forward pass. --accumulate: a batch
// that many times as large, in as many parts, beside a batch of one part: its arena, and in turns the time of as many steps.
// --precision: steps in 16 bits and in float32 in turns: the least processor time of each (of all threads together, so use
// --threads 1 beside other work), bytes of the arena and of the training state, and the loss after as many steps. --tune: a
// step that has tuned itself (and what it chose) beside one that has not, in turns. --torch: beside PyTorch's native step if it
// is installed, in turns, the best of each.
import { parseArgs } from 'node:util';
import * as sn from 'sinter';
import { LETTERS, gpt } from './gpt.mjs';
import { resnet8 } from './resnet.mjs';
import { closeVariants, openVariants } from './variants.mjs';

const { values: given } = parseArgs({
  options: {
    threads: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
    profile: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '40' },
    accumulate: { type: 'string', default: '1' },
    precision: { type: 'string', default: 'float32' },
    tune: { type: 'boolean', default: false },
    torch: { type: 'boolean', default: false },
  },
});
await sn.init({ threads: Number(given.threads) });
const { nn, optim, random } = sn;

/** Random whole numbers below count. */
const letters = (seed, shape, count) => random.uniform(random.key(seed), shape, { maxval: count }).astype('int32');

const gptCase = (width, blocks, heads, context, batch, asked) => ({
  name: `GPT width ${width}, ${blocks} blocks, ${heads} heads, ${context} letters, batch ${batch}`,
  module: gpt(sn, width, blocks, heads, context),
  optimizer: optim.adamw({ lr: 1e-3 }),
  batch: () => [letters(1, [batch, context], LETTERS), letters(2, [batch, context], LETTERS)],
  // Per letter: 12 width^2 of a block, and the head; the scores and the weighted sums of attention are width * context each.
  flops: 3 * 2 * batch * context * (blocks * (12 * width * width + 2 * width * context) + width * LETTERS),
  asked,
});

const cnn = () => nn.sequential(
  nn.conv2d(1, 16, 3, { padding: 'same' }), nn.relu(), nn.maxPool2d(2),
  nn.conv2d(16, 32, 3, { padding: 'same' }), nn.relu(), nn.maxPool2d(2),
  nn.flatten(), nn.linear(7 * 7 * 32, 10),
);

const CASES = [
  {
    name: 'MLP 784-256-128-10, batch 128',
    module: nn.sequential(nn.linear(784, 256), nn.relu(), nn.linear(256, 128), nn.relu(), nn.linear(128, 10)),
    optimizer: optim.adam({ lr: 1e-3 }),
    batch: () => [random.normal(random.key(1), [128, 784]), letters(2, [128], 10)],
    flops: 2 * 128 * (2 * 784 * 256 + 3 * 256 * 128 + 3 * 128 * 10),
  },
  gptCase(96, 3, 4, 64, 16, 26),
  gptCase(128, 4, 4, 96, 16, 90),
  gptCase(192, 6, 6, 128, 12, 285),
  {
    name: 'CNN 28 x 28, 16 and 32 channels, batch 64',
    module: cnn(),
    optimizer: optim.adam({ lr: 1e-3 }),
    batch: () => [random.normal(random.key(1), [64, 28, 28, 1]), letters(2, [64], 10)],
    flops: 3 * 2 * 64 * (784 * 9 * 16 + 196 * 9 * 16 * 32 + 1568 * 10),
    asked: 5.5,
    torch: ['cnn 64'],
  },
  {
    name: 'ResNet-8 32 x 32, 16, 32 and 64 channels, batch 32',
    module: resnet8(sn),
    optimizer: optim.sgd({ lr: 0.01, momentum: 0.9 }),
    batch: () => [random.normal(random.key(1), [32, 32, 32, 3]), letters(2, [32], 10)],
    flops: 3 * 2 * 32 * 16 * (1024 * 9 * (3 + 2 * 16) + 256 * 2 * (9 * (16 + 32) + 16) + 64 * 4 * (9 * (32 + 64) + 32) + 4 * 10),
    torch: ['resnet 32', 'resnet 32 channels_last'],
  },
];

const timed = (call, rounds, warm = 5) => {
  for (let i = 0; i < warm; i += 1) call();
  const times = Array.from({ length: rounds }, () => {
    const begin = performance.now();
    call();
    return performance.now() - begin;
  }).sort((a, b) => a - b);
  return { best: times[0], median: times[Math.floor(rounds / 2)] };
};

const a = random.normal(random.key(8), [1000, 1000]);
const b = random.normal(random.key(9), [1000, 1000]);
sn.eval(a, b);
const product = sn.jit((x, y) => sn.matmul(x, y));
const peak = () => 2e9 / timed(() => { const y = product(a, b); sn.eval(y); y.dispose(); }, 30).best / 1e6;

/** A step that continues from its own state. */
const stepper = (loss, optimizer, { params, state: own }, inputs, options) => {
  const step = sn.trainStep(loss, optimizer, options);
  let state = step.init(params, own && { state: own });
  const { arenaBytes } = sn.inspect(step)(state, ...inputs).memory;
  const call = () => {
    const made = step(state, ...inputs);
    state = made.state;
    const value = made.loss.item();
    made.loss.dispose();
    return value;
  };
  const stateBytes = sn.tree.leaves(state).reduce((bytes, { size, dtype }) => bytes + (dtype.endsWith('float16') ? 2 : 4) * size, 0);
  return { call, arenaBytes, stateBytes, tuning: () => step.tuning(state, ...inputs) };
};

const compareTuned = (name, loss, optimizer, first, inputs) => {
  const [plain, tuned] = [false, true].map((tune) => stepper(loss, optimizer, first, inputs, { tune }));
  let calls = 0;
  while (!tuned.tuning().done) {
    tuned.call();
    calls += 1;
  }
  const chosen = tuned.tuning().trials.filter((trial) => trial.chosen).map(({ knob, factor }) => `${knob}*${factor}`);
  const times = [[], []];
  for (let i = 0; i < Number(given.rounds); i += 1)
    [plain, tuned].forEach(({ call }, k) => times[k].push(timed(call, 1, 0).best));
  const [best, median] = [0, Math.floor(times[0].length / 2)].map((at) => times.map((list) => list.sort((x, y) => x - y)[at]));
  const pair = ([x, y]) => `${x.toFixed(2)} -> ${y.toFixed(2)} ms (${(y / x).toFixed(3)})`;
  console.log(`${name}: tuned after ${calls} steps: ${chosen.join(' ') || 'nothing'}; median ${pair(median)}, best ${pair(best)}`);
};

const comparePrecision = (name, loss, optimizer, first, inputs, precision) => {
  const [wide, narrow] = ['float32', precision].map((precision) => {
    const { call, arenaBytes, stateBytes } = stepper(loss, optimizer, first, inputs, { precision });
    return { call, bytes: arenaBytes + stateBytes, best: Infinity, loss: 0 };
  });
  for (let i = 0; i < Number(given.rounds); i += 1)
    for (const run of [wide, narrow]) {
      const begin = process.cpuUsage();
      run.loss = run.call();
      const { user, system } = process.cpuUsage(begin);
      run.best = Math.min(run.best, (user + system) / 1e3);
    }
  const pair = (f, digits) => `${f(wide).toFixed(digits)} -> ${f(narrow).toFixed(digits)} (${(f(narrow) / f(wide)).toFixed(3)})`;
  console.log(`${name}: ${pair(({ best }) => best, 1)} ms, ${pair(({ bytes }) => bytes / 1e6, 1)} MB, loss ${pair((run) => run.loss, 4)}`);
};

const compareParts = (name, loss, optimizer, first, inputs, parts) => {
  const large = inputs.map((x) => sn.concat(Array.from({ length: parts }, () => x)));
  const whole = stepper(loss, optimizer, first, inputs);
  const cut = stepper(loss, optimizer, first, large, { accumulate: parts });
  const sums = sn.tree.leaves(first.params).reduce((bytes, t) => bytes + 4 * t.size, 0);
  let [steps, accumulated] = [Infinity, Infinity];
  for (let i = 0; i < Number(given.rounds) / parts; i += 1) {
    steps = Math.min(steps, timed(() => Array.from({ length: parts }, whole.call), 1, i === 0).best);
    accumulated = Math.min(accumulated, timed(cut.call, 1, i === 0).best);
  }
  const ratio = (x, y) => (x / y).toFixed(3);
  console.log(`${name}: arena of ${parts} parts ${ratio(cut.arenaBytes, whole.arenaBytes)} of one, ${ratio(cut.arenaBytes - sums, whole.arenaBytes)} without the sums of gradients; time ${ratio(accumulated, steps)} of ${parts} steps`);
};

/** Both take turns; the best of each counts. */
const compareTorch = async (name, { call }, kinds) => {
  const [torch] = await openVariants(['torch'], {});
  const best = new Array(kinds.length + 1).fill(Infinity);
  for (let i = 0; i < 8; i += 1) {
    best[0] = Math.min(best[0], timed(call, Number(given.rounds)).best);
    for (const [k, kind] of kinds.entries()) best[k + 1] = Math.min(best[k + 1], ...(await torch.ask(`time 500 ${kind}`)).ms);
  }
  const beside = kinds.map((kind, k) => `${torch.isa} ${kind} ${best[k + 1].toFixed(2)} ms (${(best[k + 1] / best[0]).toFixed(2)} times as long)`);
  console.log(`${name}: ${best[0].toFixed(2)} ms, ${beside.join(', ')}`);
  await closeVariants([torch]);
};

/** The mean cross entropy. For a module with a state, it also returns the next state. */
const lossOf = (module) => {
  const entropy = (logits, y) => sn.softmaxCrossEntropy(logits, y).mean();
  if (!module.hasState) return (params, x, y) => entropy(module.apply(params, x), y);
  return (params, x, y, { state }) => {
    const [logits, next] = module.apply(params, x, { state, train: true });
    return [entropy(logits, y), { state: next }];
  };
};

for (const { name, module, optimizer, batch, flops, asked, torch } of CASES.filter((each) => each.name.includes(given.only))) {
  const loss = lossOf(module);
  const inputs = batch();
  sn.eval(...inputs);
  const made = module.init(random.key(0));
  const first = module.hasState ? made : { params: made };
  if (Number(given.accumulate) > 1) {
    compareParts(name, loss, optimizer, first, inputs, Number(given.accumulate));
    continue;
  }
  if (given.tune) {
    compareTuned(name, loss, optimizer, first, inputs);
    continue;
  }
  if (given.precision !== 'float32') {
    comparePrecision(name, loss, optimizer, first, inputs, given.precision);
    continue;
  }
  const begin = performance.now();
  const run = stepper(loss, optimizer, first, inputs);
  run.call();
  const ms = performance.now() - begin;
  if (given.torch) {
    if (torch) await compareTorch(name, run, torch);
    continue;
  }
  const { best, median } = timed(run.call, Number(given.rounds));
  const share = flops / best / 1e6 / peak();
  console.log(`${name.padEnd(60)} best ${best.toFixed(2)} median ${median.toFixed(2)} ms${asked ? `, asked ${asked}` : ''}; first ${ms.toFixed(0)} ms; ${(flops / best / 1e6).toFixed(0)} GFLOP/s, ${(100 * share).toFixed(0)} % of a product`);
  if (given.profile) {
    const seen = await sn.profile(run.call);
    console.log(`  ${seen.totalMs.toFixed(2)} ms in ${seen.kernels.length} kernels`);
    for (const k of seen.kernels.sort((x, y) => y.ms - x.ms).slice(0, 40))
      console.log(`  ${k.ms.toFixed(3).padStart(8)} ms ${String(k.calls).padStart(3)}x ${k.gflops.toFixed(0).padStart(4)} GFLOP/s ${k.gbps.toFixed(1).padStart(6)} GB/s  ${k.kind} ${k.name}`);
  }
}
process.exit(0);
