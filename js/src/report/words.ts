// Explains a profile in words: what bounds the program, and which three changes would help most.
//
// Every millisecond has one cause. Time outside kernels is counted under the name of its gap. A kernel is bounded by what it
// comes closest to: the rate of memory, the rate of arithmetic, or a single thread.

import { internals, type CompileOptions, type KernelProfile, type Profile } from '../index.js';
import { checkProfile } from './given.js';

/** The highest rates of the machine, over all threads. */
export interface Roof {
  gflops: number;
  gbps: number;
}

export type Bound = 'memory' | 'arithmetic' | 'packing' | 'one thread' | 'dispatch' | 'compile' | 'host';

export interface Change {
  /** What to do, in a sentence. */
  text: string;
  /** The estimated gain, in milliseconds of the profile. */
  savesMs: number;
  /** Compile options that make the change, so that it can be measured. */
  options?: CompileOptions;
}

export interface ProfileReport {
  /** The cause of most of the time. */
  bound: Bound;
  /** Each cause's share of the whole time; the sum is 1. */
  shares: Record<Bound, number>;
  /** At most three, the best first. */
  changes: Change[];
  /** The whole report as text. */
  text: string;
}

export interface ReportOptions {
  /** The machine's rates. Default: the best rates in the profile itself, which cannot exceed the machine's. */
  roof?: Roof;
}

const OPTIONS: internals.OptionSchema<ReportOptions> = { roof: 'object' };

/** A kernel on one thread that takes less per call is too short for more threads. */
const LONG_MS = 0.05;
/** The smallest share of the time that the report mentions. */
const WORTH = 0.03;
/** A product below this share of both rates spends its time on packing operands and on edges. */
const CLOSE = 0.35;

const WORDS: Record<Bound, string> = {
  memory: 'moving values between memory and the cores',
  arithmetic: 'arithmetic',
  packing: 'packing the operands of products, and their edges',
  'one thread': 'kernels that run on one thread while others wait',
  dispatch: 'handing out work to kernels that are too short for it',
  compile: 'compiling',
  host: 'JavaScript between the runs',
};

export function roofOf(kernels: readonly KernelProfile[]): Roof {
  const most = (of: (kernel: KernelProfile) => number): number => kernels.reduce((best, kernel) => Math.max(best, of(kernel)), 0);
  return { gflops: most(({ gflops }) => gflops), gbps: most(({ gbps }) => gbps) };
}

/** What bounds a kernel. */
export function boundOf({ kind, gflops, gbps, ms, calls, threads }: KernelProfile, roof: Roof, workers: number): Bound {
  const [compute, memory] = [gflops / (roof.gflops || 1), gbps / (roof.gbps || 1)];
  if (workers > 1 && threads === 1 && ms / calls > LONG_MS) return 'one thread';
  if (kind === 'contraction' && Math.max(compute, memory) < CLOSE) return 'packing';
  return compute > memory ? 'arithmetic' : 'memory';
}

const round = (value: number): string => Number(value.toPrecision(3)).toString();
const percent = (share: number): string => `${Math.round(100 * share)} %`;

interface Found {
  profile: Profile;
  roof: Roof;
  /** Milliseconds per cause. */
  spent: Record<Bound, number>;
  /** The kernels of each cause, in the order of the profile. */
  kernels: Map<Bound, KernelProfile[]>;
}

function find(profile: Profile, roof: Roof): Found {
  const { totalMs, workers, kernels } = profile;
  const { dispatch = 0, compile = 0, host = 0 } = workers[0]?.gaps ?? {};
  const spent: Record<Bound, number> = { memory: 0, arithmetic: 0, packing: 0, 'one thread': 0, dispatch, compile, host };
  const listed = new Map<Bound, KernelProfile[]>();
  const inKernels = kernels.reduce((sum, { ms }) => sum + ms, 0);
  // Kernels are measured from the first worker's start to the last one's end, which adds up to a little more than the busy
  // time.
  const scale = inKernels > 0 ? (totalMs - dispatch - compile - host) / inKernels : 0;
  for (const kernel of kernels) {
    const bound = boundOf(kernel, roof, workers.length);
    spent[bound] += kernel.ms * scale;
    listed.set(bound, [...(listed.get(bound) ?? []), kernel]);
  }
  return { profile, roof, spent, kernels: listed };
}

const named = (kernels: readonly KernelProfile[] | undefined): string => (kernels?.[0] ? `, above all ${kernels[0].name}` : '');

function changesOf({ profile, roof, spent, kernels }: Found): Change[] {
  const workers = profile.workers.length;
  const changes: Change[] = [];
  const busy = spent.memory + spent.arithmetic + spent.packing + spent['one thread'];
  const cores = globalThis.navigator?.hardwareConcurrency ?? 1;
  changes.push(
    { text: 'Make the whole step one function of sn.jit or sn.trainStep, and read results less often.', savesMs: 0.8 * spent.host },
    { text: 'Give every call arguments of the same shapes, and numbers that change as tensors: then nothing is compiled anew.', savesMs: spent.compile },
    { text: 'Give each run more to do: a larger batch, or several steps in one program by sn.scan.', savesMs: 0.7 * spent.dispatch },
    {
      text: `Keep values in half of the bytes, with { precision: 'float16' }${named(kernels.get('memory'))}.`,
      savesMs: 0.4 * spent.memory,
      options: { precision: 'float16' },
    },
    {
      text: `Let kernels use all threads: larger or more regular shapes${named(kernels.get('one thread'))}.`,
      savesMs: spent['one thread'] * (1 - 1 / workers),
    },
  );
  const packed = kernels.get('packing') ?? [];
  const slow = packed.reduce((sum, { ms, gflops }) => sum + ms * (1 - Math.min(1, gflops / (roof.gflops * CLOSE))), 0);
  changes.push({ text: `Join small products into larger ones: a batch, or operands side by side${named(packed)}.`, savesMs: slow });
  const slowly = profile.kernels.filter(({ engine }) => engine === 'vm');
  const interpreted = slowly.reduce((sum, { ms }) => sum + ms, 0);
  changes.push({ text: `Let kernels be emitted code: { jit: true }, where the page's policy permits it${named(slowly)}.`, savesMs: 0.4 * interpreted, options: { jit: true } });
  if (workers === 1 && cores > 1)
    changes.push({
      text: `Use all ${cores} cores: serve the page with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp.`,
      savesMs: busy * (1 - 1 / cores),
    });
  return changes
    .filter(({ savesMs }) => savesMs > WORTH * profile.totalMs)
    .sort((a, b) => b.savesMs - a.savesMs)
    .slice(0, 3);
}

/** Explains a profile in words. */
export function report(profile: Profile, options?: ReportOptions): ProfileReport {
  const op = 'report';
  checkProfile(op, profile, ['kernels', 'workers']);
  const { roof = roofOf(profile.kernels) } = internals.readOptions(op, options, OPTIONS);
  for (const rate of [roof.gflops, roof.gbps]) internals.checkNumber(op, 'a rate of the roof', rate);
  const found = find(profile, roof);
  const total = profile.totalMs || 1;
  const causes = (Object.entries(found.spent) as [Bound, number][]).sort((a, b) => b[1] - a[1]);
  const shares = Object.fromEntries(causes.map(([bound, ms]) => [bound, ms / total])) as Record<Bound, number>;
  const bound = causes[0]![0];
  const changes = changesOf(found);
  const others = causes.slice(1).filter(([, ms]) => ms > WORTH * total);
  const lines = [
    `${percent(shares[bound])} of ${round(profile.totalMs)} ms goes to ${WORDS[bound]}${named(found.kernels.get(bound))}.`,
    ...(others.length > 0 ? [`The rest: ${others.map(([name, ms]) => `${percent(ms / total)} ${WORDS[name]}`).join(', ')}.`] : []),
    ...changes.map(({ text, savesMs }, i) => `${i + 1}. ${text} About ${round(savesMs)} ms, ${percent(savesMs / total)}.`),
    ...(changes.length === 0 ? ['It is close to what this machine can do.'] : []),
  ];
  return { bound, shares, changes, text: lines.join('\n') };
}
