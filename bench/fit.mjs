// fit.mjs - measures what sn.fit adds to a step: node bench/fit.mjs (after npm run build -- js).
//
// Prefetch: a loader waits, as for a disk or a network, for 80 % of a step's time; compares steps alone, with prefetch, and
// without. Checkpoint: writes a state of 100 MB to memory, by saveState at once and by snapshot in a worker, and measures the
// longest time that the event loop was blocked.
import * as sn from 'sinter';

await sn.init();
const { data, nn, optim, random } = sn;

const ROUNDS = 5;
const STEPS = 50;
const best = async (f) => {
  let least = Infinity;
  for (let i = 0; i < ROUNDS; i++) least = Math.min(least, await f());
  return least;
};
const timed = async (f) => {
  const begin = performance.now();
  await f();
  return performance.now() - begin;
};

const net = nn.sequential(nn.linear(256, 1024), nn.relu(), nn.linear(1024, 256));
const step = sn.trainStep((params, x) => net.apply(params, x).sub(x).square().mean(), optim.adam({ lr: 1e-3 }));
let state = step.init(net.init(random.key(0)));
const x = random.normal(random.key(1), [512, 256]);
sn.eval(x);
const values = x.dataSync();

/** The milliseconds of a step in fit with this dataset. */
const inFit = async (set) => (await timed(async () => ({ state } = await sn.fit(step, state, set)))) / STEPS;

/** The milliseconds of a step by hand. The loss of each step is read after the next step has begun. */
const byHand = async () => (await timed(async () => {
  let before = null;
  for (let i = 0; i < STEPS; i++) {
    const made = step(state, x);
    state = made.state;
    await before?.data();
    before?.dispose();
    before = made.loss;
  }
  await before.data();
  before.dispose();
})) / STEPS;

const batches = data.from(() => Array.from({ length: STEPS }, () => [x.reshape([512, 256])]));
const loading = (wait) => data.from(async function* () {
  for (let i = 0; i < STEPS; i++) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    yield [sn.tensor(values, { shape: [512, 256] })];
  }
});
const load = async (wait) => (await timed(async () => {
  for await (const batch of loading(wait)) sn.dispose(batch);
})) / STEPS;

await byHand(); // compiles
const wait = Math.round(0.8 * (await best(byHand)));
// The rows take turns, since other work on the machine varies; the best of each counts.
const rows = {
  'a step alone': byHand,
  'in fit, batches in memory': () => inFit(batches),
  'the loader alone': () => load(wait),
  'in fit, with prefetch': () => inFit(loading(wait).prefetch(2)),
  'in fit, without': () => inFit(loading(wait)),
};
const least = Object.fromEntries(Object.keys(rows).map((name) => [name, Infinity]));
for (let i = 0; i < ROUNDS; i++) for (const [name, f] of Object.entries(rows)) least[name] = Math.min(least[name], await f());
const alone = least['a step alone'];
console.log(`${sn.info().threads} threads`);
for (const [name, ms] of Object.entries(least)) console.log(`${name.padEnd(44)} ${ms.toFixed(2).padStart(8)} ms ${(ms / alone).toFixed(2).padStart(6)} x`);

const big = { a: random.normal(random.key(2), [12_500_000]), b: random.normal(random.key(3), [12_500_000]) };
sn.eval(big);
/** The longest time between two turns of the event loop while f runs. */
const longestTurn = async (f) => {
  let [longest, last, on] = [0, performance.now(), true];
  const tick = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
    if (on) setImmediate(tick);
  };
  tick();
  await f();
  on = false;
  return longest;
};
const saved = await best(() => timed(() => sn.io.saveState(big)));
const snapped = await best(() => timed(() => sn.io.snapshot(big)));
const away = await best(() => longestTurn(() => sn.io.snapshot(big)));
console.log(`100 MB to memory: saveState ${saved.toFixed(0)} ms, snapshot ${snapped.toFixed(0)} ms, of which this thread is away for ${away.toFixed(1)} ms at most`);
