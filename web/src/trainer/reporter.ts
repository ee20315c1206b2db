// Collects what happened since the last report, and sends it at most 4 times a second: drawing takes time from the same cores.

import * as sn from 'sinter';
import type { FromTrainer, Reading } from '../state/protocol.ts';
import type { Meter } from './meter.ts';
import type { Session } from './session.ts';

const REPORT_EVERY_MS = 250;

export class Reporter {
  private readings: Reading[] = [];
  private reportedAt = -Infinity;
  private bytes = -1;
  private bytesSince = 0;
  /** The floating-point operations of one step; 0 until measured. */
  flopsPerStep = 0;

  constructor(
    readonly meter: Meter,
    private readonly post: (message: FromTrainer) => void,
  ) {}

  /** ms: the time of the step, with everything that belongs to it. */
  step(reading: Reading, ms: number): void {
    this.readings.push(reading);
    this.meter.step(ms);
  }

  /** `now`: sends even if the last report was sent just before. */
  report(session: Session, now: boolean): void {
    const time = performance.now();
    if (!now && time - this.reportedAt < REPORT_EVERY_MS) return;
    this.reportedAt = time;
    const { bytesInUse, bytesPeak, tensors } = sn.memory();
    if (bytesInUse !== this.bytes) {
      this.bytes = bytesInUse;
      this.bytesSince = session.steps;
    }
    this.post({
      type: 'progress',
      progress: {
        step: session.steps,
        stepsPerEpoch: session.stepsPerEpoch,
        readings: this.readings,
        stepsPerSecond: this.meter.stepsPerSecond,
        msPerStep: this.meter.msPerStep,
        flopsPerStep: this.flopsPerStep,
        bytesInUse,
        bytesPeak,
        tensors,
        bytesSteady: session.steps - this.bytesSince,
      },
    });
    this.readings = [];
  }
}
