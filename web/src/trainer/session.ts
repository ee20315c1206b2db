// One program in training: its compiled step, its state, its position in the data. Methods leave no tensors behind except the
// training state, and its copy on the CPU if the state is on a graphics processor.

import * as sn from 'sinter';
import { begin, stepOf, type State, type Step, type Training } from '../program/workers/training.ts';
import type { Precision, Reading, TrainedOn } from '../state/protocol.ts';

/** The part of a session that is stored in a file, besides what identifies the session. */
export interface Saved {
  /** The number of steps done, which is also the position in the data. */
  steps: number;
  state: State;
}

const numbersOf = (tensors: readonly sn.Tensor[]): Promise<number[]> =>
  Promise.all(tensors.map(async (t) => (await t.data())[0] as number));

/** Copies the state to the CPU. */
async function copyOf(state: State): Promise<State> {
  const leaves = sn.tree.leaves(state) as sn.Tensor[];
  const copies = await Promise.all(leaves.map((t) => t.to('cpu')));
  let next = 0;
  return sn.tree.map(() => copies[next++], state) as State;
}

export class Session {
  /** The number of trained parameters. */
  readonly weights: number;
  steps = 0;
  private trained: State;
  /** A copy of the state on the CPU; null if there is none. */
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

  /** Does a first step and discards it: errors of the program show before training starts, and the step is compiled. */
  async rehearse(): Promise<void> {
    const made = sn.tidy(() => this.train(begin(this.training, this.train, this.seed), ...this.training.data.batch(0)));
    try {
      await this.read([made.loss]);
    } finally {
      sn.dispose(made);
    }
  }

  /** Valid until the next step; on the CPU after `bring`. */
  get state(): State {
    return this.copy ?? this.trained;
  }

  /** Copies the state to the CPU if it is elsewhere, because examiners read it synchronously. */
  async bring(): Promise<void> {
    const leaves = sn.tree.leaves(this.trained) as sn.Tensor[];
    if (this.copy === null && leaves.some(({ device }) => device !== 'cpu')) this.copy = await copyOf(this.trained);
  }

  private forgetCopy(): void {
    sn.dispose(this.copy);
    this.copy = null;
  }

  /** Results of a graphics processor can only be read asynchronously; those of the CPU are read at once. */
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

  /** Sets the rate from the next step on. The state stays. So does the compiled program, unless the rate is a schedule. */
  setLearningRate(rate: sn.optim.LearningRate): void {
    this.training.optimizer.lr = rate;
    if (typeof rate === 'function') this.train.dispose();
  }

  /** The bytes that a step takes: its state, its batch, and its intermediate values. */
  memoryOfStep(): number {
    const within = (state: State, ...batch: sn.Tensor[]): unknown => this.train(state, ...batch);
    return sn.tidy(() => {
      const { memory, dispose } = sn.inspect(within)(this.trained, ...this.training.data.batch(this.steps));
      dispose();
      const given = memory.blocks.filter(({ kind }) => kind === 'argument' || kind === 'donated');
      return given.reduce((sum, { bytes }) => sum + bytes, memory.arenaBytes);
    });
  }

  /** The factor that scales the loss, and the number of steps that were skipped for it. */
  get scaling(): { scale: number; skipped: number } {
    const { scale, skipped } = this.train.precision(this.trained);
    return { scale, skipped };
  }

  get saved(): Saved {
    return { steps: this.steps, state: this.state };
  }

  /** Continues from a saved state; takes ownership of it. */
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
