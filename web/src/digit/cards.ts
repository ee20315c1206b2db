// The cards of a program that reads digits: a sample with the network's answers, a pad to draw on, and what the network
// reads there. The page loads them with the first such program.

import type { DigitSample } from '../state/protocol.ts';
import { DigitGrid } from './grid.ts';
import { DrawPad } from './pad.ts';
import { PredictionView } from './prediction.ts';

/** While the network learns, the drawing is read anew no more often than this. */
const READ_AGAIN_MS = 250;

export class DigitCards {
  private readonly grid = new DigitGrid();
  private readonly prediction = new PredictionView();
  private drawn: Float32Array | null = null;
  private readAt = 0;

  /** `read` asks the network what 784 values in [0, 1] show; its answer comes to `answered`. */
  constructor(private readonly read: (pixels: Float32Array) => void) {
    new DrawPad((pixels) => {
      this.drawn = pixels;
      if (pixels === null) this.prediction.clear();
      else this.readDrawing();
    });
  }

  /** Another network, or the same from its beginning. */
  clear(): void {
    this.grid.setPredictions(null);
    this.readDrawing();
  }

  setSample(sample: DigitSample): void {
    this.grid.setSample(sample);
  }

  setPredictions(predicted: Uint8Array): void {
    this.grid.setPredictions(predicted);
  }

  /** The network has learnt something since the drawing was read. */
  learnt(): void {
    if (performance.now() - this.readAt > READ_AGAIN_MS) this.readDrawing();
  }

  /** A probability for each digit. */
  answered(probabilities: Float32Array): void {
    if (this.drawn !== null) this.prediction.show(probabilities);
  }

  private readDrawing(): void {
    if (this.drawn === null) return;
    this.readAt = performance.now();
    this.read(this.drawn);
  }
}
