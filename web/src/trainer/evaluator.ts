// Test accuracy: on a sample of 1,000 digits every 100 steps, on the whole test set at the end
// of every epoch. The sample is every tenth digit, because the set's first half is the easier one.
// The whole set is worked through in parts, one per call, so that commands get in between.

import type { DigitSample, FromTrainer } from '../state/protocol.ts';
import { PIXELS, type Digits } from './mnist.ts';
import type { Session } from './session.ts';

const SAMPLE_STRIDE = 10;
const EVERY_STEPS = 100;
const CHUNK = 1000;

export class Evaluator {
  private readonly index: Uint32Array;
  private evaluatedAt = 0;
  /** Predictions for the whole test set, as far as they go; null when that is not under way. */
  private whole: { predicted: Uint8Array; next: number } | null = null;

  constructor(
    private readonly test: Digits,
    private readonly post: (message: FromTrainer) => void,
  ) {
    const count = Math.ceil(test.count / SAMPLE_STRIDE);
    this.index = Uint32Array.from({ length: count }, (_, i) => i * SAMPLE_STRIDE);
  }

  /** The images and labels of the sample, for the page to show. */
  sample(): DigitSample {
    const images = new Uint8Array(this.index.length * PIXELS);
    this.index.forEach((digit, i) => {
      images.set(this.test.images.subarray(digit * PIXELS, (digit + 1) * PIXELS), i * PIXELS);
    });
    return { images, labels: Uint8Array.from(this.index, (digit) => this.test.labels[digit]) };
  }

  /** Compiles what evaluations run, so that memory stands still from the first steps on. */
  rehearse(session: Session): void {
    session.predict(this.test, this.index);
  }

  due({ steps, stepsPerEpoch }: Session): boolean {
    return steps !== this.evaluatedAt && (steps % EVERY_STEPS === 0 || steps % stepsPerEpoch === 0);
  }

  reset(): void {
    this.evaluatedAt = 0;
    this.whole = null;
  }

  /** The sample alone, at once. */
  quick(session: Session): void {
    this.whole = null;
    const sample = session.predict(this.test, this.index);
    const right = this.right(this.index, sample);
    this.finish(session, sample, right / this.index.length, this.index.length, false);
  }

  /** Does the next part of what is due; call until `due` is false. */
  advance(session: Session): void {
    if (session.steps % session.stepsPerEpoch !== 0) return this.quick(session);
    const { count } = this.test;
    this.whole ??= { predicted: new Uint8Array(count), next: 0 };
    const { predicted, next } = this.whole;
    const length = Math.min(CHUNK, count - next);
    const part = Uint32Array.from({ length }, (_, i) => next + i);
    predicted.set(session.predict(this.test, part), next);
    this.whole.next += length;
    if (this.whole.next < count) return;
    this.whole = null;
    const right = this.right(this.test.labels.keys(), predicted);
    const sample = Uint8Array.from(this.index, (digit) => predicted[digit]);
    this.finish(session, sample, right / count, count, true);
  }

  private right(index: Iterable<number>, predicted: Uint8Array): number {
    let right = 0;
    let i = 0;
    for (const digit of index) if (predicted[i++] === this.test.labels[digit]) right++;
    return right;
  }

  private finish(
    { steps: step }: Session,
    sample: Uint8Array,
    accuracy: number,
    count: number,
    whole: boolean,
  ): void {
    this.evaluatedAt = step;
    this.post({ type: 'evaluation', evaluation: { step, accuracy, count, whole, sample } });
  }
}
