// Trains an automaton in slices of time, films it, and extracts the circuit.

import * as sn from 'sinter';
import * as logic from 'sinter/logic';
import { answer } from '../../compiler/workers/answer.ts';
import { describe } from '../../compiler/workers/source.ts';
import type { AutomatonMethods, CircuitFacts, Film, Form, Made, Progress, Taken } from '../automaton/protocol.ts';
import type { Settings, TargetName } from '../automaton/targets.ts';

/** The number of epochs whose median time is shown. */
const TIMES = 25;
/** The least time between two films, or two tests of the hard gates, during training. */
const LOOK_MS = 350;
/** The largest share of the time that is spent on films and tests. */
const LOOK_SHARE = 0.2;
/** The number of grids on which hard gates are tested once they are right on the grids of an epoch. */
const PROOF_GRIDS = 16;

/** The run shown with a circuit: its least number of steps. If the grid of the task is long, or there is no task, also the
 *  grid, and the share of its cells that are 1 at first. */
const LEAST_STEPS = 12;
const OTHER_GRID = [20, 20] as const;
const SOUP = 0.4;
/** The most channels of a circuit from a file, so that a grid of it fits into memory. */
const MOST_CHANNELS = 1024;

const TASKS: Record<TargetName, (settings: Settings, options: logic.tasks.TaskOptions) => logic.AutomatonOptions> = {
  'checkerboard-small': (_, options) => logic.tasks.checkerboard({ ...options, update: 'small' }),
  checkerboard: (_, options) => logic.tasks.checkerboard({ ...options, update: 'full' }),
  life: (_, options) => logic.tasks.gameOfLife(options),
  picture: ({ picture }, options) => logic.tasks.picture(picture, options),
  healing: ({ picture }, options) => logic.tasks.healing(picture, options),
};

const levels = (values: ArrayLike<number>): Uint8Array => Uint8Array.from(values, (value) => Math.round(255 * Math.min(1, Math.max(0, value))));

type Cells = CircuitFacts['cells'];

/** The facts about a circuit of an automaton. */
function factsOf(circuit: logic.Circuit, { channels, boundary, fire }: logic.AutomatonFacts, taken: Taken | null, cells: Cells): CircuitFacts {
  const { inputs, gates, outputs } = circuit.data;
  const { counts, depth } = circuit;
  return { inputs, gates, outputs, channels, boundary, fire, names: logic.NAMES, counts, depth, taken, json: JSON.stringify(circuit), cells };
}

/** A run of a circuit from the given cells of all channels. */
function runOf(circuit: logic.Circuit, start: Uint8Array, [height, width]: readonly [number, number], steps: number, key: sn.Tensor): Cells {
  const frames = steps + 1;
  const bits = new Uint8Array(frames * start.length);
  const runner = circuit.runner({ width, height, key });
  try {
    runner.write(start);
    for (let frame = 0; frame < frames; frame++) {
      if (frame > 0) runner.step();
      bits.set(runner.read(), frame * start.length);
    }
  } finally {
    runner.dispose();
  }
  return { width, height, frames, bits };
}

/** Random cells for all channels, on OTHER_GRID. */
const soupOf = (channels: number, key: sn.Tensor): Uint8Array =>
  sn.tidy(() => sn.random.bernoulli(key, SOUP, [channels, ...OTHER_GRID]).astype('uint8').dataSync() as Uint8Array);

class Training {
  readonly automaton: logic.Automaton;
  private state: logic.AutomatonState;
  private readonly key: sn.Tensor;
  private epoch = 0;
  private times: number[] = [];
  private lookedAt = -Infinity;
  private lookMs = 0;

  constructor(private readonly settings: Settings) {
    const { seed, batch, learningRate, asynchronous } = settings;
    const task = TASKS[settings.target](settings, { seed, batch, ...(asynchronous ? { asynchronous, steps: 50 } : {}) });
    const optimizer = task.optimizer ?? sn.optim.adamw({ beta2: 0.99, weightDecay: 0.01, clipNorm: 100 });
    optimizer.lr = learningRate;
    this.automaton = logic.automaton({ ...task, optimizer });
    this.key = sn.keep(sn.random.key(seed));
    this.state = sn.keep(sn.tidy(() => this.automaton.init(this.key)));
  }

  get gates(): number {
    const { perception, update } = this.automaton;
    return [...perception, ...update].reduce((sum, { outputs }) => sum + outputs, 0);
  }

  private keyOf(number: number): sn.Tensor {
    return sn.random.foldIn(this.key, number);
  }

  private epochOnce(): number {
    const begin = performance.now();
    const key = this.keyOf(this.epoch++);
    const { state, loss } = this.automaton.step(this.state, key);
    this.state = state;
    const value = loss.item();
    sn.dispose([key, loss]);
    this.times = [...this.times.slice(1 - TIMES), performance.now() - begin];
    return value;
  }

  async train(ms: number): Promise<Progress> {
    const begin = performance.now();
    const losses: number[] = [];
    do losses.push(this.epochOnce());
    while (performance.now() - begin < ms);
    const looks = performance.now() - this.lookedAt > Math.max(LOOK_MS, this.lookMs / LOOK_SHARE);
    const seen = looks ? await this.look() : { accuracy: null, solved: false, film: null };
    const epochMs = [...this.times].sort((a, b) => a - b)[this.times.length >> 1];
    return { epoch: this.epoch, losses, epochMs, ...seen };
  }

  private async look(): Promise<Pick<Progress, 'accuracy' | 'solved' | 'film'>> {
    const begin = performance.now();
    const accuracy = await this.accuracy(this.automaton.batch);
    const solved = accuracy === 1 && (!this.isRandom || (await this.accuracy(PROOF_GRIDS)) === 1);
    const film = this.film();
    this.lookedAt = performance.now();
    this.lookMs = this.lookedAt - begin;
    return { accuracy, solved, film };
  }

  /** Whether starts are random, so that grids differ. */
  private get isRandom(): boolean {
    return this.settings.target !== 'life' && this.settings.target !== 'picture';
  }

  private async accuracy(grids: number): Promise<number> {
    const key = this.keyOf(-1 - this.epoch);
    const share = await this.automaton.accuracy(this.state, { hard: true, key, grids });
    key.dispose();
    return share;
  }

  /** A start of the task, and the target for channel 0. */
  private example(): { start: sn.Tensor; target: sn.Tensor } {
    const { start, target } = this.automaton.examples(this.keyOf(0x7fffffff), 1);
    return { start: start.squeeze([1]), target: target.squeeze([1]).take(0) };
  }

  film(): Film {
    const { automaton } = this;
    return sn.tidy(() => {
      const { start, target } = this.example();
      const seen = (hard: boolean): Uint8Array =>
        levels(automaton.run(this.state, start, { steps: automaton.steps, hard }).take(0, { axis: 1 }).dataSync() as Float32Array);
      const [height, width] = automaton.grid;
      return { width, height, frames: automaton.steps + 1, soft: seen(false), hard: seen(true), target: levels(target.dataSync() as Float32Array) };
    });
  }

  async circuit(): Promise<{ circuit: logic.Circuit; facts: CircuitFacts }> {
    const { automaton, state } = this;
    const accuracy = await this.accuracy(this.isRandom ? PROOF_GRIDS : automaton.batch);
    const simplified = logic.extract(automaton, state, { prune: false });
    const circuit = accuracy === 1 ? logic.extract(automaton, state) : simplified;
    const taken = { trained: this.gates, simplified: simplified.gates, accuracy };
    return { circuit, facts: factsOf(circuit, automaton, taken, this.cells(circuit)) };
  }

  /** A run of the circuit from a start of the task. A rule on a long grid that wraps around is shown on a square one
   *  instead. */
  private cells(circuit: logic.Circuit): Cells {
    const { automaton, key } = this;
    const isLong = automaton.grid[1] > 2 * automaton.grid[0];
    const start = isLong
      ? soupOf(automaton.channels, key)
      : sn.tidy(() => this.example().start.greater(0.5).astype('uint8').dataSync() as Uint8Array);
    return runOf(circuit, start, isLong ? OTHER_GRID : automaton.grid, Math.max(automaton.steps, LEAST_STEPS), key);
  }

  dispose(): void {
    sn.dispose([this.state, this.key]);
  }
}

let training: Training | null = null;
let circuit: logic.Circuit | null = null;

function current(): Training {
  if (training === null) throw new Error('no automaton was made');
  return training;
}

async function open(): Promise<number> {
  const { threads } = await sn.init();
  return threads;
}

function make(settings: Settings): Made {
  training?.dispose();
  training = null;
  training = new Training(settings);
  circuit = null;
  return { threads: sn.info().threads, gates: training.gates, film: training.film() };
}

const train = (ms: number): Promise<Progress> => current().train(ms);

async function takeCircuit(): Promise<CircuitFacts> {
  const taken = await current().circuit();
  circuit = taken.circuit;
  return taken.facts;
}

function read(json: string): CircuitFacts {
  const given = logic.circuit(json);
  const { automaton } = given;
  if (automaton === null) throw new Error('this circuit is of no automaton: it has no cells for a grid');
  if (automaton.channels > MOST_CHANNELS) throw new Error(`this circuit has ${automaton.channels} channels, here are at most ${MOST_CHANNELS}`);
  const key = sn.random.key(0);
  try {
    const facts = factsOf(given, automaton, null, runOf(given, soupOf(automaton.channels, key), OTHER_GRID, LEAST_STEPS, key));
    circuit = given;
    return facts;
  } finally {
    key.dispose();
  }
}

function write(form: Form): string {
  if (circuit === null) throw new Error('there is no circuit yet');
  switch (form) {
    case 'c':
      return circuit.toC();
    case 'verilog':
      return circuit.toVerilog();
    case 'svg':
      return circuit.toSvg();
    case 'json':
      return JSON.stringify(circuit);
  }
}

answer<AutomatonMethods>({ open, make, train, circuit: takeCircuit, read, write }, describe);
