// Collects what has happened since the last report and sends it at most 4 times a second: drawing takes
// time from the same cores.

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
  /** Of one step; 0 until it is measured. */
  flopsPerStep = 0;

  constructor(
    readonly meter: Meter,
    private readonly post: (message: FromTrainer) => void,
  ) {}

  /** The step took so long, with all that belongs to it. */
  step(reading: Reading, ms: number): void {
    this.readings.push(reading);
    this.meter.step(ms);
  }

  /** `now`: even if the last report has only just been sent. */
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
