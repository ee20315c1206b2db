// One program being trained: its compiled step, its state, its place in the data. Every method is synchronous and leaves no
// tensor behind but the training state.

import * as sn from 'sinter';
import { begin, stepOf, type State, type Step, type Training } from '../program/workers/training.ts';
import type { Precision, Reading } from '../state/protocol.ts';

/** What of a session goes into a file, beside what says which session it is. */
export interface Saved {
  /** Steps done, which is the place in the data. */
  steps: number;
  state: State;
}

export class Session {
  /** How many numbers are learnt. */
  readonly weights: number;
  steps = 0;
  /** Valid until the next step. */
  state: State;

  private readonly train: Step;

  constructor(
    readonly training: Training,
    readonly seed: number,
    precision: Precision = 'float32',
  ) {
    this.train = stepOf(training, { precision });
    this.state = begin(training, this.train, seed);
    const leaves = sn.tree.leaves(this.train.params(this.state)) as sn.Tensor[];
    this.weights = leaves.reduce((sum, { size }) => sum + size, 0);
  }

  get stepsPerEpoch(): number {
    return this.training.stepsPerEpoch;
  }

  /** A first step that leaves nothing behind: what is wrong with a program shows before it is started, and its step is
   *  compiled. */
  rehearse(): void {
    sn.tidy(() => {
      const { loss } = this.train(begin(this.training, this.train, this.seed), ...this.training.data.batch(0));
      loss.item();
    });
  }

  /** Trains on the next batch. */
  step(): Reading {
    const programs = this.train.cacheSize;
    const begun = performance.now();
    const reading = { loss: NaN, norm: NaN, rate: NaN, ms: NaN };
    this.state = sn.tidy(() => {
      const { state, loss } = this.train(this.state, ...this.training.data.batch(this.steps));
      const { norm, rate } = state.optimizer as unknown as Record<'norm' | 'rate', sn.Tensor>;
      reading.loss = loss.item();
      reading.norm = norm.item();
      reading.rate = rate.item();
      return state;
    });
    if (this.train.cacheSize === programs) reading.ms = performance.now() - begun;
    this.steps++;
    return reading;
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
      const { memory, dispose } = sn.inspect(within)(this.state, ...this.training.data.batch(this.steps));
      dispose();
      const given = memory.blocks.filter(({ kind }) => kind === 'argument' || kind === 'donated');
      return given.reduce((sum, { bytes }) => sum + bytes, memory.arenaBytes);
    });
  }

  /** By what the loss is scaled, and how many steps were skipped for that. */
  get scaling(): { scale: number; skipped: number } {
    const { scale, skipped } = this.train.precision(this.state);
    return { scale, skipped };
  }

  get saved(): Saved {
    return { steps: this.steps, state: this.state };
  }

  /** Goes on from there. */
  restore({ steps, state }: Saved): void {
    sn.dispose(this.state);
    this.state = state;
    this.steps = steps;
  }

  dispose(): void {
    sn.dispose(this.state);
    this.train.dispose();
  }
}
