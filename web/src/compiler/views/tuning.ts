// What tuning tried on this machine: each choice against the best form at that time, with both times, and what was kept. The
// program is tuned on request, with some hundreds of runs in the lab's worker. A program that was tuned before is shown in its
// tuned form.

import type { Tuning, Trial } from 'sinter';
import { create, element, setText } from '../../views/dom.ts';
import { count, plural, short, significant } from '../../views/format.ts';
import { isForDevice, type Report } from '../report.ts';

export interface Tunable {
  /** Begins to tune the program, or continues: runs for a moment, and returns what has been tried so far. */
  begin(): Promise<Tuning>;
  goOn(): Promise<Tuning>;
  /** Called when tuning is done: the tuned form should be shown. */
  end(): void;
  /** Called before a measurement: nothing else should use the cores. */
  quiet(): void;
}

const OUTCOMES: Record<Trial['outcome'], string> = {
  taken: 'quicker',
  lost: 'not quicker',
  same: 'the same kernels',
  refused: 'cannot be compiled',
};

const factorOf = ({ factor }: Trial): string => (factor === 0 ? 'off' : `× ${short(factor)}`);

function row(trial: Trial): HTMLElement {
  const { knob, what, outcome, chosen, ms, bestMs } = trial;
  const head = create('th', 'name', what, ' ', create('code', '', `${knob} ${factorOf(trial)}`));
  head.scope = 'row';
  const time = (value?: number): HTMLElement => create('td', 'number', value === undefined ? '' : significant(value));
  const made = create('tr', '', head, create('td', '', chosen ? 'kept' : OUTCOMES[outcome]), time(ms), time(bestMs));
  made.dataset.outcome = chosen ? 'kept' : outcome;
  return made;
}

/** A row for each choice that was run, kept ones first; then a row that says how many made no difference to the kernels. */
function rows(trials: readonly Trial[]): HTMLElement[] {
  const others = trials.filter(({ outcome }) => outcome === 'same').length;
  const made = trials.filter(({ outcome }) => outcome !== 'same').sort((a, b) => Number(b.chosen) - Number(a.chosen)).map(row);
  if (others === 0) return made;
  const cell = create('td', 'others', `${plural(others, 'other choice')} would make the same kernels of this program.`);
  cell.colSpan = 4;
  return [...made, create('tr', '', cell)];
}

/** Says what is kept, and the gain. */
function words({ done, ms, plainMs, trials }: Tuning): string {
  if (!done) return `Trying: ${plural(trials.length, 'choice')} so far. Every form has the same bits.`;
  const kept = trials.filter(({ chosen }) => chosen);
  if (trials.length === 0) return 'Tuned on an earlier visit: nothing was quicker.';
  if (kept.length === 0) return `Nothing is kept: of ${plural(trials.length, 'choice')} none was quicker.`;
  const names = kept.map((trial) => `${trial.knob} ${factorOf(trial)}`).join(', ');
  const gain = ms === undefined || plainMs === undefined ? '' : `: ${significant(ms)} ms a run, ${significant(plainMs)} ms without (${count(100 * (1 - ms / plainMs))} % less)`;
  return `Kept: ${names}${gain}. What is shown here is that form.`;
}

export class TuningView {
  private readonly button = element<HTMLButtonElement>('tuning-run');
  private readonly note = element('tuning-note');
  private readonly rows = element('tuning-rows');
  private report: Report | null = null;
  private isOn = false;

  constructor(private readonly of: Tunable) {
    this.button.addEventListener('click', () => {
      if (this.isOn) this.isOn = false;
      else void this.run();
    });
  }

  /** Called after a program is compiled. */
  show(report: Report): void {
    this.report = report;
    this.isOn = false;
    this.button.disabled = isForDevice(report) || report.tuning !== null;
    this.present(report.tuning);
    if (isForDevice(report)) setText(this.note, 'What runs on the CPU can be tuned: switch the graphics processor off.');
  }

  private present(tuning: Tuning | null): void {
    setText(this.note, tuning === null ? 'Finds out which form of the program is the quickest on this machine, by some hundreds of runs.' : words(tuning));
    this.note.dataset.done = String(tuning?.done ?? false);
    this.rows.replaceChildren(...rows(tuning?.trials ?? []));
    element('tuning-table').hidden = tuning === null || tuning.trials.length === 0;
  }

  private async run(): Promise<void> {
    const { report } = this;
    const goesOn = (): boolean => this.isOn && this.report === report;
    this.isOn = true;
    setText(this.button, 'Stop');
    this.of.quiet();
    try {
      let tuning = await this.of.begin();
      while (!tuning.done && goesOn()) {
        this.present(tuning);
        tuning = await this.of.goOn();
      }
      if (tuning.done && goesOn()) this.of.end();
      else if (this.report === report) setText(this.note, `Stopped. ${words(tuning)}`);
    } catch (error) {
      if (this.report === report) setText(this.note, `Not tuned: ${error instanceof Error ? error.message : String(error)}`);
    }
    this.isOn = false;
    setText(this.button, 'Tune');
  }
}
