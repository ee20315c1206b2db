// scale.mjs [--docs FILE] - predicts how long a data-parallel step of sinter-train takes on 1 to 1,024 processes: by a model in
// closed form, and by a simulation of the schedule that collectives_mpi.c follows, bucket by bucket, which checks the model.
// Writes the tables of docs/scale.md.
//
// Every process does the same work: a GPT of one of the sizes in GPTS, with one batch of that row for each process. Gradients
// come from the last layer to the first and gather in buckets. One thread exchanges the buckets one after the other; the update
// waits for all of them.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

/** The bytes of a bucket if a step has `bytes`: the same as collectives_next_step of tools/train/collectives_mpi.c. */
const bucketOf = (bytes, ranks) => Math.max(8 * 1024 * ranks, Math.min(2 ** 20, bytes / 16));

/** Width, blocks, context, sequences. ms: the measured time of a step, on 2 threads of a 2-core AVX-512 server. */
export const GPTS = [
  { name: '353 k', width: 96, layers: 3, context: 64, batch: 16, ms: 41 },
  { name: '820 k', width: 128, layers: 4, context: 96, batch: 16, ms: 132 },
  { name: '2.7 M', width: 192, layers: 6, context: 128, batch: 12, ms: 345 },
  { name: '124 M', width: 768, layers: 12, context: 1024, batch: 4, letters: 50257 },
];

/** The cores of a process, the seconds of a message, and the bytes per second of a process's link. */
export const MACHINES = [
  { name: '2 cores, 10 Gb/s Ethernet', cores: 2, latency: 30e-6, bandwidth: 1.1e9 },
  { name: '16 cores, 25 Gb/s Ethernet', cores: 16, latency: 20e-6, bandwidth: 2.8e9 },
  { name: '64 cores, 200 Gb/s InfiniBand', cores: 64, latency: 2e-6, bandwidth: 23e9 },
];

/** The parameters of each layer, in the order in which their gradients come: head, blocks from the last to the first,
 *  tables. */
const layersOf = ({ width: d, layers, context, letters = 65 }) => [letters * d, ...Array(layers).fill(12 * d * d + 13 * d), (letters + context) * d];
const sum = (list) => list.reduce((a, b) => a + b, 0);

/** Multiply-adds count as two operations: 6 for each parameter and token, and the two products of attention, forward and
 *  backward. */
export const flopsOf = (gpt) => {
  const tokens = gpt.batch * gpt.context;
  return tokens * (6 * sum(layersOf(gpt)) + 12 * gpt.layers * gpt.context * gpt.width);
};

/** The rate of a core, from the measured steps. */
const measured = GPTS.filter(({ ms }) => ms).map((gpt) => flopsOf(gpt) / (gpt.ms * 1e-3) / 2);
export const FLOPS_PER_CORE = sum(measured) / measured.length;
/** The speed of several cores as a multiple of one: 5 % of a step is serial. */
const worth = (cores) => 1 / (0.05 + 0.95 / cores);

/** The time to exchange a bucket: two rounds, all to all and back, of R - 1 messages each. */
export const exchangeSeconds = ({ latency, bandwidth }, ranks, bytes) => (ranks === 1 ? 0 : 2 * (ranks - 1) * (latency + bytes / ranks / bandwidth));

/** When each layer's gradient is complete, from the beginning of the step. The backward pass takes two thirds of the step. */
const schedule = (gpt, seconds) => {
  const layers = layersOf(gpt);
  let at = seconds / 3;
  return layers.map((parameters) => {
    at += (seconds * 2 / 3) * (parameters / sum(layers));
    return { at, bytes: 4 * parameters };
  });
};

/** Simulates the schedule: the seconds of the step, and of its exchanges. */
export const simulate = (gpt, machine, ranks) => {
  const seconds = flopsOf(gpt) / (FLOPS_PER_CORE * worth(machine.cores));
  const most = bucketOf(4 * sum(layersOf(gpt)), ranks);
  let [bucket, free, busy] = [0, 0, 0];
  const send = (at) => {
    const takes = exchangeSeconds(machine, ranks, bucket);
    free = Math.max(free, at) + takes;
    busy += takes;
    bucket = 0;
  };
  for (const { at, bytes } of schedule(gpt, seconds)) {
    bucket += bytes;
    if (bucket >= most) send(at);
  }
  if (bucket) send(seconds);
  return { seconds: Math.max(seconds, free), compute: seconds, busy };
};

/** The same in closed form, as two bounds. Lower bound: only the exchange of the last bucket is exposed, or, if the network is
 *  slower, all exchanges follow the first bucket without a gap. Upper bound: nothing is hidden. */
export const model = (gpt, machine, ranks) => {
  const { compute, busy } = simulate(gpt, machine, ranks);
  const layers = schedule(gpt, compute);
  const most = bucketOf(4 * sum(layersOf(gpt)), ranks);
  let [first, last, bucket] = [0, 0, 0];
  for (const { at, bytes } of layers) {
    bucket += bytes;
    if (bucket < most) continue;
    first ||= at;
    last = bucket;
    bucket = 0;
  }
  first ||= compute;
  last = bucket || last;
  return { least: Math.max(compute + exchangeSeconds(machine, ranks, last), first + busy), most: compute + busy };
};

const RANKS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const ms = (seconds) => String(Number((seconds * 1e3).toPrecision(3)));
const percent = (x) => `${(100 * x).toFixed(0)} %`;

export const tables = () => MACHINES.map((machine) => [
  `### ${machine.name}`,
  '',
  `${(FLOPS_PER_CORE * worth(machine.cores) / 1e9).toFixed(0)} GF/s a process, ${machine.latency * 1e6} us a message, ${machine.bandwidth / 1e9} GB/s.`,
  '',
  `| GPT | a step alone, ms | ${RANKS.slice(1).join(' | ')} |`,
  `|---|---|${'---|'.repeat(RANKS.length - 1)}`,
  ...GPTS.map((gpt) => {
    const [alone, ...rest] = RANKS.map((ranks) => simulate(gpt, machine, ranks));
    return `| ${gpt.name} | ${ms(alone.seconds)} | ${rest.map(({ seconds }) => percent(alone.seconds / seconds)).join(' | ')} |`;
  }),
  '',
].join('\n')).join('\n');

/** Checks that the simulated times lie between the model's bounds. */
export const check = () => {
  for (const gpt of GPTS)
    for (const machine of MACHINES)
      for (const ranks of RANKS) {
        const { seconds } = simulate(gpt, machine, ranks);
        const { least, most } = model(gpt, machine, ranks);
        if (seconds < least * (1 - 1e-9) || seconds > most * (1 + 1e-9))
          throw new Error(`${gpt.name}, ${machine.name}, ${ranks}: ${seconds} is not between ${least} and ${most}`);
      }
};

if (import.meta.main ?? process.argv[1]?.endsWith('scale.mjs')) {
  const { values: { docs } } = parseArgs({ options: { docs: { type: 'string' } } });
  check();
  if (docs) {
    const [head] = readFileSync(docs, 'utf8').split('<!-- tables -->\n');
    writeFileSync(docs, `${head}<!-- tables -->\n\n${tables()}`);
  } else console.log(tables());
}
