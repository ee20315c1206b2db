// The cards for programs that read digits: a sample with the network's answers, a pad to draw on, and the network's answer to
// the drawing. The page loads them with the first such program.

import type { DigitSample } from '../state/protocol.ts';
import { DigitGrid } from './grid.ts';
import { DrawPad } from './pad.ts';
import { PredictionView } from './prediction.ts';

/** The least time between two readings of the drawing while the network learns. */
const READ_AGAIN_MS = 250;

export class DigitCards {
  private readonly grid = new DigitGrid();
  private readonly prediction = new PredictionView();
  private drawn: Float32Array | null = null;
  private readAt = 0;

  /** read: asks the network which digit 784 values in [0, 1] show; its answer goes to `answered`. */
  constructor(private readonly read: (pixels: Float32Array) => void) {
    new DrawPad((pixels) => {
      this.drawn = pixels;
      if (pixels === null) this.prediction.clear();
      else this.readDrawing();
    });
  }

  /** Called for another network, or for the same one from its beginning. */
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

  /** Called when the network has learnt something. */
  learnt(): void {
    if (performance.now() - this.readAt > READ_AGAIN_MS) this.readDrawing();
  }

  /** probabilities: one for each digit. */
  answered(probabilities: Float32Array): void {
    if (this.drawn !== null) this.prediction.show(probabilities);
  }

  private readDrawing(): void {
    if (this.drawn === null) return;
    this.readAt = performance.now();
    this.read(this.drawn);
  }
}
