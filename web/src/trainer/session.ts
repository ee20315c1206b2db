// One program being trained: its compiled step, its state, its place in the data. No method leaves a tensor behind but the
// training state, and its copy on the CPU where it lies on a graphics processor.

import * as sn from 'sinter';
import { begin, stepOf, type State, type Step, type Training } from '../program/workers/training.ts';
import type { Precision, Reading, TrainedOn } from '../state/protocol.ts';

/** What of a session goes into a file, beside what says which session it is. */
export interface Saved {
  /** Steps done, which is the place in the data. */
  steps: number;
  state: State;
}

const numbersOf = (tensors: readonly sn.Tensor[]): Promise<number[]> =>
  Promise.all(tensors.map(async (t) => (await t.data())[0] as number));

/** The same values on the CPU. */
async function copyOf(state: State): Promise<State> {
  const leaves = sn.tree.leaves(state) as sn.Tensor[];
  const copies = await Promise.all(leaves.map((t) => t.to('cpu')));
  let next = 0;
  return sn.tree.map(() => copies[next++], state) as State;
}

export class Session {
  /** How many numbers are learnt. */
  readonly weights: number;
  steps = 0;
  private trained: State;
  /** Of the state, on the CPU. */
  private copy: State | null = null;
  private readonly train: Step;

  constructor(
    readonly training: Training,
    readonly seed: number,
    private readonly options: { precision?: Precision; device?: TrainedOn } = {},
  ) {
    this.train = stepOf(training, options);
    this.trained = begin(training, this.train, seed);
    const leaves = sn.tree.leaves(this.train.params(this.trained)) as sn.Tensor[];
    this.weights = leaves.reduce((sum, { size }) => sum + size, 0);
  }

  get stepsPerEpoch(): number {
    return this.training.stepsPerEpoch;
  }

  /** A first step that leaves nothing behind: what is wrong with a program shows before it is started, and its step is
   *  compiled. */
  async rehearse(): Promise<void> {
    const made = sn.tidy(() => this.train(begin(this.training, this.train, this.seed), ...this.training.data.batch(0)));
    try {
      await this.read([made.loss]);
    } finally {
      sn.dispose(made);
    }
  }

  /** Valid until the next step; on the CPU once `bring` is done. */
  get state(): State {
    return this.copy ?? this.trained;
  }

  /** What looks at the state reads at once, and so on the CPU: brings a copy there, where it lies elsewhere. */
  async bring(): Promise<void> {
    const leaves = sn.tree.leaves(this.trained) as sn.Tensor[];
    if (this.copy === null && leaves.some(({ device }) => device !== 'cpu')) this.copy = await copyOf(this.trained);
  }

  private forgetCopy(): void {
    sn.dispose(this.copy);
    this.copy = null;
  }

  /** A graphics processor cannot be waited for; the CPU need not be. */
  private read(tensors: readonly sn.Tensor[]): number[] | Promise<number[]> {
    return (this.options.device ?? 'cpu') === 'cpu' ? tensors.map((t) => t.item()) : numbersOf(tensors);
  }

  /** Trains on the next batch. */
  async step(): Promise<Reading> {
    const programs = this.train.cacheSize;
    const begun = performance.now();
    const made = sn.tidy(() => this.train(this.trained, ...this.training.data.batch(this.steps)));
    try {
      const { norm: length, rate: used } = made.state.optimizer as unknown as Record<'norm' | 'rate', sn.Tensor>;
      const [loss, norm, rate] = await this.read([made.loss, length, used]);
      const ms = this.train.cacheSize === programs ? performance.now() - begun : NaN;
      sn.dispose([made.loss, made.aux]);
      this.forgetCopy();
      this.trained = made.state;
      this.steps++;
      return { loss, norm, rate, ms };
    } catch (error) {
      sn.dispose(made);
      throw error;
    }
  }

  /** From the next step on; state stays, and so does the compiled program unless the rate is a schedule of its own. */
  setLearningRate(rate: sn.optim.LearningRate): void {
    this.training.optimizer.lr = rate;
    if (typeof rate === 'function') this.train.dispose();
  }

  /** Bytes that a step takes: its state, its batch, and what it makes in between. */
  memoryOfStep(): number {
    const within = (state: State, ...batch: sn.Tensor[]): unknown => this.train(state, ...batch);
    return sn.tidy(() => {
      const { memory, dispose } = sn.inspect(within)(this.trained, ...this.training.data.batch(this.steps));
      dispose();
      const given = memory.blocks.filter(({ kind }) => kind === 'argument' || kind === 'donated');
      return given.reduce((sum, { bytes }) => sum + bytes, memory.arenaBytes);
    });
  }

  /** By what the loss is scaled, and how many steps were skipped for that. */
  get scaling(): { scale: number; skipped: number } {
    const { scale, skipped } = this.train.precision(this.trained);
    return { scale, skipped };
  }

  get saved(): Saved {
    return { steps: this.steps, state: this.state };
  }

  /** Goes on from there. */
  restore({ steps, state }: Saved): void {
    this.forgetCopy();
    sn.dispose(this.trained);
    this.trained = state;
    this.steps = steps;
  }

  dispose(): void {
    this.forgetCopy();
    sn.dispose(this.trained);
    this.train.dispose();
  }
}
