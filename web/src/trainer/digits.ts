// Programs that read digits: their data, and test accuracy. It is measured on a sample of 1,000 digits every 100 steps, and on
// the whole test set at the end of every epoch. The sample is every tenth digit, because the set's first half is the easier
// one.

import * as sn from 'sinter';
import type { Data } from 'playground';
import type { DigitSample, FromTrainer } from '../state/protocol.ts';
import { SourceError } from '../compiler/workers/source.ts';
import { Batches, gather, standardise } from './batches.ts';
import type { Examiner } from './examiner.ts';
import { PIXELS, type Digits, type Mnist } from './mnist.ts';
import type { Predict } from '../program/workers/training.ts';
import type { Session } from './session.ts';

const CLASSES = 10;
const SAMPLE_STRIDE = 10;
const EVERY_STEPS = 100;
/** The number of digits of the whole set that are classified between two commands. */
const CHUNK = 1000;
/** The number of digits in one call: the results of convolutions take far more memory than the pixels. */
const PART = 250;

export interface DigitData extends Data {
  readonly kind: 'digits';
  readonly test: Digits;
  /** The shape in which a network takes an image. */
  readonly shape: readonly number[];
}

export const isDigits = (data: Data): data is DigitData => (data as Partial<DigitData>).kind === 'digits';

export function digitData(
  { train, test }: Mnist,
  { batch, seed, shape }: { batch: number; seed: number; shape: readonly number[] },
): DigitData {
  const batches = new Batches(train, batch, seed);
  return {
    kind: 'digits',
    test,
    shape,
    stepsPerEpoch: batches.stepsPerEpoch,
    batch: (step) => {
      batches.show(step);
      return [sn.tensor(batches.images, { shape: [batch, ...shape] }), sn.tensor(batches.labels)];
    },
  };
}

function sampleOf({ count }: Digits): Uint32Array {
  return Uint32Array.from({ length: Math.ceil(count / SAMPLE_STRIDE) }, (_, i) => i * SAMPLE_STRIDE);
}

/** The images and labels of the sample, for the page to show. */
export function digitSample(test: Digits): DigitSample {
  const index = sampleOf(test);
  const images = new Uint8Array(index.length * PIXELS);
  index.forEach((digit, i) => {
    images.set(test.images.subarray(digit * PIXELS, (digit + 1) * PIXELS), i * PIXELS);
  });
  return { images, labels: Uint8Array.from(index, (digit) => test.labels[digit]) };
}

export class DigitExaminer implements Examiner {
  private readonly index: Uint32Array;
  private readonly test: Digits;
  private readonly scores: sn.EvalStep<unknown, [sn.Tensor], unknown, sn.Tensor>;
  private examinedAt = 0;
  /** The predictions for the whole test set so far; null if no such test is running. */
  private whole: { predicted: Uint8Array; next: number } | null = null;

  constructor(
    private readonly session: Session,
    predict: Predict,
    private readonly data: DigitData,
    private readonly post: (message: FromTrainer) => void,
  ) {
    this.test = data.test;
    this.index = sampleOf(this.test);
    this.scores = sn.evalStep((params: unknown, x: sn.Tensor, { state }: sn.StepContext) => predict(params, x, { state }));
  }

  rehearse(): void {
    this.predict(this.index);
    this.classify(new Float32Array(PIXELS));
  }

  get due(): boolean {
    const { steps, stepsPerEpoch } = this.session;
    return steps !== this.examinedAt && (steps % EVERY_STEPS === 0 || steps % stepsPerEpoch === 0);
  }

  quick(): void {
    this.whole = null;
    const sample = this.predict(this.index);
    const right = this.right(this.index, sample);
    this.finish(sample, right / this.index.length, this.index.length, false);
  }

  advance(): void {
    if (this.session.steps % this.session.stepsPerEpoch !== 0) return this.quick();
    const { count } = this.test;
    this.whole ??= { predicted: new Uint8Array(count), next: 0 };
    const { predicted, next } = this.whole;
    const length = Math.min(CHUNK, count - next);
    predicted.set(this.predict(Uint32Array.from({ length }, (_, i) => next + i)), next);
    this.whole.next += length;
    if (this.whole.next < count) return;
    this.whole = null;
    const right = this.right(this.test.labels.keys(), predicted);
    const sample = Uint8Array.from(this.index, (digit) => predicted[digit]);
    this.finish(sample, right / count, count, true);
  }

  readonly wantsToShow = false;

  show(): void {}

  classify(pixels: Float32Array): Float32Array {
    const scores = this.run(pixels.map(standardise));
    const top = Math.max(...scores);
    const weights = scores.map((score) => Math.exp(score - top));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  }

  dispose(): void {
    this.scores.dispose();
  }

  /** The predicted digit of each of the given test images. */
  private predict(index: Uint32Array): Uint8Array {
    const predicted = new Uint8Array(index.length);
    for (let from = 0; from < index.length; from += PART) {
      const part = index.subarray(from, from + PART);
      const pixels = new Float32Array(part.length * PIXELS);
      gather(this.test, part, pixels);
      const scores = this.run(pixels);
      if (scores.length !== part.length * CLASSES) throw new SourceError(`predict must give ${CLASSES} scores of each image`);
      for (let row = 0; row < part.length; row++) {
        const own = scores.subarray(row * CLASSES, (row + 1) * CLASSES);
        predicted[from + row] = own.reduce((best, score, c) => (score > own[best] ? c : best), 0);
      }
    }
    return predicted;
  }

  /** The scores of the classes for standardised pixels, image by image. */
  private run(pixels: Float32Array): Float32Array {
    return sn.tidy(() => {
      const images = sn.tensor(pixels, { shape: [pixels.length / PIXELS, ...this.data.shape] });
      return this.scores(this.session.state, images).dataSync() as Float32Array;
    });
  }

  private right(index: Iterable<number>, predicted: Uint8Array): number {
    let right = 0;
    let i = 0;
    for (const digit of index) if (predicted[i++] === this.test.labels[digit]) right++;
    return right;
  }

  private finish(sample: Uint8Array, accuracy: number, count: number, whole: boolean): void {
    const { steps: step } = this.session;
    this.examinedAt = step;
    this.post({ type: 'evaluation', evaluation: { step, accuracy, count, whole, sample, loss: null } });
  }
}
