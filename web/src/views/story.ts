// One sentence on what the last step did and what memory it left behind. For programs: the bytes in
// use and the number of steps for which they have not changed, as data-bytes and data-steady.

import type { Progress } from '../state/protocol.ts';
import type { Settings } from '../state/settings.ts';
import { element, setText } from './dom.ts';
import { bytes, count, plural, significant } from './format.ts';

export class Story {
  private readonly line = element('story');
  private kernels = 0;

  /** Kernel calls of one step, once they are measured. */
  setKernels(calls: number): void {
    this.kernels = Math.round(calls);
  }

  clear({ hidden, batch }: Settings): void {
    this.kernels = 0;
    const sizes = [784, ...hidden, 10];
    const weights = sizes.slice(1).reduce((sum, size, i) => sum + size * (sizes[i] + 1), 0);
    setText(
      this.line,
      `A network ${sizes.join(' – ')} with ${count(weights)} weights, batches of ${batch}, Adam. ` +
        'Forward, backward and update are one compiled program.',
    );
  }

  show(progress: Progress, batch: number): void {
    const { step, flopsPerStep, bytesInUse, bytesPeak, tensors, bytesSteady, msPerStep } = progress;
    if (step === 0) return;
    this.line.dataset.bytes = String(bytesInUse);
    this.line.dataset.steady = String(bytesSteady);
    const kernels = this.kernels > 0 ? ` in ${plural(this.kernels, 'kernel call')}` : '';
    const time = msPerStep > 0 ? `, ${significant(msPerStep)} ms` : '';
    const steady = bytesSteady > 0 ? `, unchanged for ${plural(bytesSteady, 'step')}` : '';
    setText(
      this.line,
      `Step ${count(step)}: ${plural(batch, 'image')} forward, backward and one Adam update${kernels}, ` +
        `${significant(flopsPerStep / 1e6)} MFLOP${time}. ` +
        `Memory: ${bytes(bytesInUse)} in ${plural(tensors, 'tensor')} (peak ${bytes(bytesPeak)})${steady}.`,
    );
  }
}
