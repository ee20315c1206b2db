// Cuts the training set into batches of equal size, in a new order every epoch. The order follows only from the seed and the
// number of the epoch, so training can resume at any step. The last few images, which do not fill a batch, are left for another
// epoch's order, so that every step has the same shapes and one compiled program serves them all.

import { PIXELS, type Digits } from './mnist.ts';
import { generator, shuffle } from './random.ts';

/** The mean and standard deviation of all pixels of the training set, as values in [0, 1]. */
const MEAN = 0.1307;
const DEVIATION = 0.3081;

/** A grey value in [0, 1] as the network sees it: normalized to mean 0 and deviation 1. */
export function standardise(grey: number): number {
  return (grey - MEAN) / DEVIATION;
}

const OF_BYTE = Float32Array.from({ length: 256 }, (_, byte) => standardise(byte / 255));

/** Writes the standardised pixels of the given digits into `out`, row by row. */
export function gather(from: Digits, index: ArrayLike<number>, out: Float32Array): void {
  for (let row = 0; row < index.length; row++) {
    const start = index[row] * PIXELS;
    const target = row * PIXELS;
    for (let p = 0; p < PIXELS; p++) out[target + p] = OF_BYTE[from.images[start + p]];
  }
}

export class Batches {
  readonly stepsPerEpoch: number;
  /** The last requested batch. */
  readonly images: Float32Array;
  readonly labels: Int32Array;

  private readonly order: Uint32Array;
  /** The epoch that `order` belongs to. */
  private epoch = -1;

  constructor(
    private readonly digits: Digits,
    readonly size: number,
    private readonly seed: number,
  ) {
    this.stepsPerEpoch = Math.floor(digits.count / size);
    this.images = new Float32Array(size * PIXELS);
    this.labels = new Int32Array(size);
    this.order = new Uint32Array(digits.count);
  }

  /** Sets images and labels to those of a step. */
  show(step: number): void {
    this.enter(Math.floor(step / this.stepsPerEpoch));
    const start = (step % this.stepsPerEpoch) * this.size;
    const rows = this.order.subarray(start, start + this.size);
    gather(this.digits, rows, this.images);
    for (let row = 0; row < this.size; row++) this.labels[row] = this.digits.labels[rows[row]];
  }

  private enter(epoch: number): void {
    if (epoch === this.epoch) return;
    this.epoch = epoch;
    this.order.forEach((_, i, order) => (order[i] = i));
    shuffle(this.order, generator(this.seed, epoch));
  }
}
