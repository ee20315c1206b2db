// processes.mjs [--rounds N] [--only TEXT] [--ranks 1,2,4] - steps of sinter-train by several processes of one thread each, in
// turns: their steps per second together, the state that each holds, and the share of the exchange that is hidden behind work
// on an artificially slow network. It measures data parallelism, with the state whole and split, and modules of
// sinter/parallel. It builds nothing: node scripts/build.mjs native-mpi js comes first.
//
// If other programs share the cores, the ratios are those of what the system gives to one process and to several.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as sn from '../js/dist/index.js';
import { pipelineParallel, tensorParallel } from '../js/dist/parallel.js';
import { root } from '../scripts/lib/proc.mjs';
import { LETTERS, gpt } from './gpt.mjs';
import { median, table } from './report.mjs';

const TOOL = join(root, 'build/native-mpi/tools/train/sinter-train');
const BLOCKS = 4;
const { nn, optim, random } = sn;

const letters = (seed, shape, count) => random.uniform(random.key(seed), shape, { maxval: count }).astype('int32');
const cnn = () => nn.sequential(
  nn.conv2d(1, 16, 3, { padding: 'same' }), nn.relu(), nn.maxPool2d(2),
  nn.conv2d(16, 32, 3, { padding: 'same' }), nn.relu(), nn.maxPool2d(2),
  nn.flatten(), nn.linear(7 * 7 * 32, 10),
);
const mlp = () => nn.sequential(nn.linear(784, 256), nn.relu(), nn.linear(256, 128), nn.relu(), nn.linear(128, 10));

const WIDTH = 512;
const feed = (hidden) => nn.sequential(nn.linear(WIDTH, hidden), nn.gelu(), nn.linear(hidden, WIDTH));
/** Four blocks 512-2048-512; each(): makes one of them. */
const blocks = (each) => nn.sequential(...Array.from({ length: 4 }, each), nn.linear(WIDTH, 10));
const residual = (inner) => nn.residual(nn.layerNorm(WIDTH), inner);
const plain = () => blocks(() => residual(feed(4 * WIDTH)));
const sideBySide = () => blocks(() => residual(tensorParallel(BLOCKS, feed(4 * WIDTH / BLOCKS))));
const inLine = () => nn.sequential(pipelineParallel(BLOCKS, residual(feed(4 * WIDTH)), { parts: 8 }), nn.linear(WIDTH, 10));

/** The pictures and labels of a batch. */
const pictures = (...image) => (n) => [random.normal(random.key(1), [n, ...image]), letters(2, [n], 10)];
const CONTEXT = 128;
const texts = (n) => [letters(1, [n, CONTEXT], LETTERS), letters(2, [n, CONTEXT], LETTERS)];

/** slow: the latency in microseconds and the megabytes per second that SINTER_TRAIN_NETWORK simulates. shared: the module
 *  that the processes divide, instead of the batch. */
const MODELS = [
  { name: 'CNN 28 x 28, 16 and 32 channels, batch 64', module: cnn(), data: pictures(28, 28, 1), batch: 64, steps: 200, slow: '200 20' },
  { name: 'MLP 784-256-128-10, batch 512', module: mlp(), data: pictures(784), batch: 512, steps: 150, slow: '200 200' },
  { name: 'GPT width 192, 6 blocks, 128 letters, batch 12', module: gpt(sn, 192, 6, 6, CONTEXT), data: texts, batch: 12, steps: 20, slow: '200 200' },
  { name: '4 blocks 512-2048-512, the batch of 128 in 4', module: plain(), data: pictures(WIDTH), batch: 128, steps: 40, slow: '200 500' },
  { name: '4 blocks 512-2048-512 side by side in 4, batch 128', module: plain(), shared: sideBySide(), data: pictures(WIDTH), batch: 128, steps: 40, slow: '200 500' },
  { name: '4 blocks 512-2048-512 one behind the other, batch 128 in 8', module: plain(), shared: inLine(), data: pictures(WIDTH), batch: 128, steps: 40, slow: '200 500' },
];

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' }, only: { type: 'string', default: '' }, ranks: { type: 'string', default: '1,2,4' } } });
if (!existsSync(TOOL)) throw new Error(`${TOOL} is not there: node scripts/build.mjs native-mpi, which needs Debian's libopenmpi-dev and openmpi-bin`);
await sn.init({ threads: 1 });
const folder = mkdtempSync(join(tmpdir(), 'sinter-processes-'));
process.on('exit', () => rmSync(folder, { recursive: true }));

/** The arguments that train a model. */
const written = ({ name, data, batch, steps }, kind, module, options) => {
  const at = (suffix) => join(folder, `${name.replaceAll(/\W/g, '')}${suffix}`);
  const [x, y] = data(4 * batch);
  const loss = (params, inputs, labels) => sn.softmaxCrossEntropy(module.apply(params, inputs), labels).mean();
  const step = sn.trainStep(loss, optim.adam({ lr: 1e-3 }), options);
  writeFileSync(at('.x.npy'), sn.io.npy.encode(x));
  writeFileSync(at('.y.npy'), sn.io.npy.encode(y));
  const file = at(`.${kind}.step`);
  writeFileSync(file, step.export(step.init(module.init(random.key(3))), ...data(batch)));
  return [file, '--data', at('.x.npy'), '--labels', at('.y.npy'), '--steps', String(steps), '--threads', '1'];
};

/** Steps per second; and of the exchange the seconds, and the share that is hidden behind work. */
const train = (ranks, args, env = {}) => {
  const mpi = ['--allow-run-as-root', '--oversubscribe', '--bind-to', 'none', '--quiet', '-n', String(ranks), TOOL];
  const { status, stdout, stderr } = spawnSync('mpirun', [...mpi, ...args], { encoding: 'utf8', env: { ...process.env, ...env } });
  if (status !== 0) throw new Error(`${ranks} processes: ${stderr}`);
  const [, rate] = /, ([\d.]+) a second/.exec(stdout);
  const [, seconds, hidden] = /in ([\d.]+) s, (\d+) % of it behind/.exec(stdout) ?? [];
  const [, held] = /holds ([\d.]+) of/.exec(stdout) ?? [];
  return { rate: Number(rate), exchange: Number(seconds ?? NaN), hidden: Number(hidden ?? NaN), held: Number(held ?? NaN) };
};

const RANKS = values.ranks.split(',').map(Number);
const rounds = Number(values.rounds);
console.log(`${availableParallelism()} cores, load ${loadavg().map((x) => x.toFixed(1)).join(' ')}; processes of one thread, medians of ${rounds} rounds`);
for (const model of MODELS.filter(({ name }) => name.includes(values.only))) {
  const several = RANKS.filter((ranks) => ranks > 1);
  const whole = written(model, 'whole', model.module, {});
  const shared = written(model, 'shared', model.shared ?? model.module, model.shared ? {} : { blocks: BLOCKS });
  const variants = [
    { name: '1, nothing shared', run: (env) => train(1, whole, env) },
    ...RANKS.map((ranks) => ({ name: `${ranks}`, run: (env) => train(ranks, shared, env) })),
    ...several.map((ranks) => ({ name: `${ranks}, state split`, run: (env) => train(ranks, [...shared, '--split-state'], env) })),
    ...several.map((ranks) => ({ name: `${ranks}, network of ${model.slow.replace(' ', ' us, ')} MB/s`, run: (env) => train(ranks, shared, { ...env, SINTER_TRAIN_NETWORK: model.slow }) })),
  ];
  const made = variants.map(() => []);
  for (const { run } of variants) run({ SINTER_CC_WAIT: '1' }); // compiles and caches all code before any variant is timed
  for (let i = 0; i < rounds; i++) variants.forEach(({ run }, k) => made[k].push(run()));
  const of = (k, what) => median(made[k].map((one) => one[what]));
  const alone = made[1];
  const share = (x) => (Number.isNaN(x) ? '-' : `${x.toFixed(0)} %`);
  const number = (x, digits) => (Number.isNaN(x) ? '-' : x.toFixed(digits));
  console.log(`\n${model.name}`);
  console.log(table([
    ['processes', 'steps/s', 'of one', 'state, MB', 'exchange of a step, ms', 'behind work'],
    ...variants.map(({ name }, k) => [
      name, of(k, 'rate').toFixed(1), `${median(made[k].map(({ rate }, i) => rate / alone[i].rate)).toFixed(2)}x`,
      number(of(k, 'held'), 1), number(1e3 * of(k, 'exchange') / model.steps, 2), share(of(k, 'hidden')),
    ]),
  ]));
  console.log(`load ${loadavg()[0].toFixed(1)}`);
}
