// One sentence on what the last step did and how much memory is in use. For scripts, data-bytes has the bytes in use, and
// data-steady the number of steps since they last changed.

import type { Progress } from '../state/protocol.ts';
import { element, setText } from './dom.ts';
import { bytes, count, plural, significant } from './format.ts';

export class Story {
  private readonly line = element('story');
  private kernels = 0;

  /** Sets the number of kernel calls of one step, once it is measured. */
  setKernels(calls: number): void {
    this.kernels = Math.round(calls);
  }

  /** `about`: the model in words; batch: the batch size, if the program has one. */
  clear(about: string, weights: number, batch: number | undefined): void {
    this.kernels = 0;
    const size = batch === undefined ? '' : `, batches of ${batch}`;
    setText(this.line, `${about}: ${count(weights)} weights${size}. Forward, backward and update are one compiled program.`);
  }

  show(progress: Progress, batch: number | undefined, unit: string): void {
    const { step, flopsPerStep, bytesInUse, bytesPeak, tensors, bytesSteady, msPerStep } = progress;
    if (step === 0) return;
    this.line.dataset.bytes = String(bytesInUse);
    this.line.dataset.steady = String(bytesSteady);
    const kernels = this.kernels > 0 ? ` in ${plural(this.kernels, 'kernel call')}` : '';
    const time = msPerStep > 0 ? `, ${significant(msPerStep)} ms` : '';
    const work = flopsPerStep > 0 ? `, ${significant(flopsPerStep / 1e6)} MFLOP` : '';
    const steady = bytesSteady > 0 ? `, unchanged for ${plural(bytesSteady, 'step')}` : '';
    setText(
      this.line,
      `Step ${count(step)}: ${batch === undefined ? '' : `${plural(batch, unit)} `}forward, backward and an update${kernels}${work}${time}. ` +
        `Memory: ${bytes(bytesInUse)} in ${plural(tensors, 'tensor')} (peak ${bytes(bytesPeak)})${steady}.`,
    );
  }
}
