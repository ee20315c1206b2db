// The row of figures above the charts, and the progress bar: first of loading, then of the epoch.

import type { Evaluation, Progress } from '../state/protocol.ts';
import type { Words } from '../state/words.ts';
import { element, inside, setText, setValue } from './dom.ts';
import { NONE, count, loading, percent, significant } from './format.ts';

export class Tiles {
  private readonly loss = element('loss');
  private readonly accuracy = element('accuracy');
  private readonly accuracyOf = element('accuracy-of');
  private readonly stepsPerSecond = element('steps-per-second');
  private readonly msPerStep = element('ms-per-step');
  private readonly gflops = element('gflops');
  private readonly epoch = element('epoch');
  private readonly epochOf = element('epoch-of');
  private readonly bar = element('bar');
  private readonly fill = inside(this.bar, 'i');
  private whole = '';
  private answers = '';

  loading(received: number, total: number): string {
    this.setBar('Loading data', total > 0 ? received / total : 0);
    return loading(received, total);
  }

  /** `step`: where training begins. */
  clear({ answers, epoch }: Words, step: number, hasAccuracy: boolean): void {
    this.answers = answers;
    for (const tile of [this.loss, this.accuracy, this.stepsPerSecond, this.msPerStep, this.gflops])
      setValue(tile, NONE, null);
    delete this.loss.dataset.last;
    setValue(this.epoch, '0.00', 0);
    setText(this.accuracyOf, hasAccuracy ? 'not tested yet' : 'not counted here');
    this.epoch.dataset.step = String(step);
    setText(this.epochOf, epoch);
    this.whole = '';
    this.setBar('Epoch', 0);
  }

  progress(progress: Progress, meanLoss: number | null): void {
    const { step, stepsPerEpoch, stepsPerSecond, msPerStep, flopsPerStep } = progress;
    if (meanLoss !== null) setValue(this.loss, meanLoss.toFixed(4), meanLoss);
    const last = progress.readings.at(-1);
    if (last !== undefined) this.loss.dataset.last = String(last.loss);
    if (stepsPerSecond > 0) {
      setValue(this.stepsPerSecond, significant(stepsPerSecond), stepsPerSecond);
      setValue(this.msPerStep, significant(msPerStep), msPerStep);
    }
    if (flopsPerStep > 0 && msPerStep > 0) {
      const gflops = flopsPerStep / msPerStep / 1e6;
      setValue(this.gflops, significant(gflops), gflops);
    }
    setValue(this.epoch, (step / stepsPerEpoch).toFixed(2), step / stepsPerEpoch);
    this.epoch.dataset.step = String(step);
    setText(this.epochOf, `step ${count(step)}`);
    this.setBar('Epoch', (step % stepsPerEpoch) / stepsPerEpoch);
  }

  /** Also shows how many answers the number is based on. The last result on a whole set stays visible. */
  evaluation({ accuracy, count: size, whole, loss }: Evaluation): void {
    setValue(this.accuracy, percent(accuracy), 100 * accuracy);
    this.accuracy.dataset.count = String(size);
    if (whole) this.whole = ` · all: ${percent(accuracy)}`;
    const of = size === 0 ? 'as the program counts it' : `of ${count(size)} ${this.answers}`;
    if (loss !== null) setText(this.accuracyOf, `${of}, loss ${loss.toFixed(2)}`);
    else if (size === 0) setText(this.accuracyOf, of);
    else setText(this.accuracyOf, whole ? `of all ${count(size)}` : `of ${count(size)}${this.whole}`);
  }

  private setBar(label: string, share: number): void {
    this.bar.setAttribute('aria-label', label);
    this.bar.setAttribute('aria-valuenow', String(Math.round(100 * share)));
    this.fill.style.transform = `scaleX(${share})`;
  }
}
