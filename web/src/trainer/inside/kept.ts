// Keeps states of a training to go back to. They are kept by the clock as bytes, within a bound of memory; when that is full,
// every second one is dropped. From a kept state training can be replayed with the same rates at the same steps. The replay
// compares each loss, and each state that was kept on the way, bit by bit.

import * as sn from 'sinter';
import type { KeptReport } from '../../state/inside.ts';
import type { Session } from '../session.ts';

const MOST_BYTES = 128 * 2 ** 20;
const MOST_STATES = 64;
const KEEP_MS = 400;
/** The pause after keeping a state is this many times as long as keeping it took. */
const PATIENCE = 60;
/** The most losses that are remembered. */
const MOST_LOSSES = 100_000;

interface Kept {
  step: number;
  bytes: Uint8Array<ArrayBuffer>;
  loss: number;
}

type Rate = sn.optim.LearningRate;

const equal = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i]);

export class KeptStates {
  private states: Kept[] = [];
  /** The loss of each step. */
  private readonly losses = new Map<number, number>();
  private readonly rates: { step: number; rate: Rate }[] = [];
  private keepNext = 0;
  private loss = NaN;
  private until: number | null = null;
  private replay: KeptReport['replay'] = null;

  constructor(private readonly session: Session) {
    this.note();
  }

  /** Called after each step. */
  stepped(loss: number): void {
    const { steps } = this.session;
    this.loss = loss;
    if (this.replay?.isEnded === false) {
      this.replay.losses++;
      if (!Object.is(this.losses.get(steps), loss)) this.replay.differ++;
    } else if (this.until !== null && (steps > this.until || !Object.is(this.losses.get(steps), loss))) this.forgetFrom(steps);
    this.losses.set(steps, loss);
    if (this.losses.size > MOST_LOSSES) this.losses.delete(this.losses.keys().next().value as number);
  }

  /** Called when training takes another course than before: drops what was kept of the old course. */
  private forgetFrom(step: number): void {
    this.states = this.states.filter((state) => state.step < step);
    for (const other of this.losses.keys()) if (other > step) this.losses.delete(other);
    this.until = null;
    this.replay = null;
  }

  /** Records the learning rate from the next step on. */
  note(): void {
    const { steps } = this.session;
    const rate = this.session.training.optimizer.lr;
    if (this.rates.at(-1)?.rate === rate) return;
    const before = this.rates.findIndex(({ step }) => step >= steps);
    if (before >= 0) this.rates.length = before;
    this.rates.push({ step: steps, rate });
  }

  get isDue(): boolean {
    return performance.now() >= this.keepNext;
  }

  /** The number of steps until training must pause for a comparison, a change of the rate, or the end of a replay. */
  get room(): number {
    if (this.replay?.isEnded !== false) return Infinity;
    const { steps } = this.session;
    const ahead = this.states.map(({ step }) => step - steps).filter((room) => room > 0);
    const rates = this.rates.map(({ step }) => step - steps).filter((room) => room > 0);
    return Math.min(...ahead, ...rates, (this.until ?? steps) - steps);
  }

  private async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    await this.session.bring();
    return sn.io.snapshot(this.session.saved);
  }

  /** Keeps the current state, or in a replay compares it. Returns whether the replay has reached its end. */
  async keep(): Promise<boolean> {
    const begin = performance.now();
    const { steps } = this.session;
    const there = this.states.find(({ step }) => step === steps);
    if (this.replay?.isEnded === false) return this.compare(there);
    if (there === undefined) {
      this.states.push({ step: steps, bytes: await this.bytes(), loss: this.loss });
      this.states.sort((a, b) => a.step - b.step);
      this.thin();
    }
    const end = performance.now();
    this.keepNext = end + Math.max(KEEP_MS, PATIENCE * (end - begin));
    return false;
  }

  private async compare(there: Kept | undefined): Promise<boolean> {
    const { steps } = this.session;
    const { replay } = this;
    if (replay === null) return false;
    if (there !== undefined && steps > replay.from) {
      replay.states++;
      if (!equal(there.bytes, await this.bytes())) replay.differ++;
    }
    this.restoreRate();
    replay.isEnded = steps >= (this.until ?? steps);
    return replay.isEnded;
  }

  private get held(): number {
    return this.states.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** Drops every second state, except the first and the newest. */
  private thin(): void {
    while (this.states.length > 2 && (this.held > MOST_BYTES || this.states.length > MOST_STATES)) {
      const last = this.states.length - 1;
      this.states = this.states.filter((_, i) => i === last || i % 2 === 0);
    }
  }

  /** Goes back to a kept state. */
  async rewind(step: number): Promise<boolean> {
    const kept = this.states.find((state) => state.step === step);
    if (kept === undefined) return false;
    if (this.until === null) {
      await this.keep();
      this.until = this.session.steps;
    }
    this.session.restore(await sn.io.loadState(kept.bytes, this.session.saved));
    this.restoreRate();
    this.loss = kept.loss;
    this.replay = null;
    return true;
  }

  /** Sets the rate of that time if another one was set later. */
  private restoreRate(): void {
    const { session } = this;
    const rate = this.rates.filter(({ step }) => step <= session.steps).at(-1)?.rate;
    if (rate !== undefined && rate !== session.training.optimizer.lr) session.setLearningRate(rate);
  }

  /** Begins a replay; false if there is nothing to replay. */
  begin(): boolean {
    const { steps: from } = this.session;
    if (this.until === null || from >= this.until) return false;
    this.replay = { from, losses: 0, states: 0, differ: 0, isEnded: false };
    return true;
  }

  /** Ends the replay where it is. */
  stop(): void {
    if (this.replay !== null) this.replay.isEnded = true;
  }

  get isReplaying(): boolean {
    return this.replay?.isEnded === false;
  }

  get report(): KeptReport {
    const { states, until, replay, held: bytes } = this;
    return {
      states: states.map(({ step, bytes: own, loss }) => ({ step, bytes: own.length, loss })),
      step: this.session.steps,
      bytes,
      most: MOST_BYTES,
      until,
      replay: replay && { ...replay },
    };
  }
}
