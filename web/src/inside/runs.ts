// Two runs side by side: the one that is trained, and one that was kept, or that trains again at the same time. Both use the
// same axes, and differences of their settings are listed.

import { diffLines } from 'diff';
import type { Column, History } from '../state/history.ts';
import type { Phase } from '../state/protocol.ts';
import { SETTING_LABELS, SETTING_NAMES, formatSetting, type Settings } from '../state/settings.ts';
import { Chart } from '../views/chart.ts';
import { create, PAINT_MS, setText, spaced } from '../views/dom.ts';
import { count, plural, short } from '../views/format.ts';
import { BesideTrainer } from './beside.ts';

/** What defines a run. */
export interface RunOf {
  name: string;
  title: string;
  text: string;
  settings: Settings;
}

interface Kept extends RunOf {
  steps: number[];
  mean: Column;
  norm: Column;
}

const POWERS = [-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4];
const MARKS = [POWERS.map((power) => 10 ** power), POWERS.flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power))];

/** Both columns over the union of their steps. */
function joined(a: { steps: number[]; column: Column }, b: { steps: number[]; column: Column }): [number[], Column, Column] {
  const of = ({ steps, column }: typeof a): Map<number, number | null> => new Map(steps.map((step, i) => [step, column[i]]));
  const [first, second] = [of(a), of(b)];
  const steps = [...new Set([...a.steps, ...b.steps])].sort((x, y) => x - y);
  return [steps, steps.map((step) => first.get(step) ?? null), steps.map((step) => second.get(step) ?? null)];
}

function differences(before: RunOf, now: RunOf): string[] {
  const found = before.title === now.title ? [] : [`program: ${before.title} → ${now.title}`];
  for (const name of SETTING_NAMES) {
    const [was, is] = [formatSetting(before.settings, name), formatSetting(now.settings, name)];
    if (was !== is) found.push(`${SETTING_LABELS[name].toLowerCase()}: ${was || 'none'} → ${is || 'none'}`);
  }
  if (before.title !== now.title) return found;
  const lines = diffLines(before.text, now.text).reduce((sum, part) => sum + (part.added ? (part.count ?? 0) : 0), 0);
  const gone = diffLines(before.text, now.text).reduce((sum, part) => sum + (part.removed ? (part.count ?? 0) : 0), 0);
  if (lines + gone > 0) found.push(`text of the program: ${plural(lines, 'line')} new, ${gone} gone`);
  return found;
}

export class RunsView {
  readonly element = create('div', 'runs');
  private readonly button = create('button', '', 'Keep this run');
  private readonly both = create('button', '', 'Train both');
  private readonly words = create('p', '');
  private readonly charts: { column: 'mean' | 'norm'; chart: Chart }[];
  private kept: Kept | null = null;
  /** The trainer of the kept run, while it trains again. */
  private beside: BesideTrainer | null = null;
  private phase: Phase = 'paused';
  private isOpen = false;
  private readonly draw = spaced(PAINT_MS, () => this.paint());

  constructor(
    private readonly history: History,
    private run: RunOf,
  ) {
    this.button.type = 'button';
    this.button.dataset.testid = 'runs-keep';
    this.button.addEventListener('click', () => this.keep());
    this.both.type = 'button';
    this.both.dataset.testid = 'runs-both';
    this.both.title = 'Trains the kept run anew, beside this one: both share the cores';
    this.both.addEventListener('click', () => this.trainBoth());
    this.words.dataset.testid = 'runs-words';
    this.words.setAttribute('role', 'status');
    const key = create('p', 'key', create('i', 'kept'), 'kept ', create('i', 'loss'), 'now');
    const charts = (['mean', 'norm'] as const).map((column) => ({ column, box: create('div', 'plot') }));
    const titles = { mean: 'Loss, running mean', norm: 'Gradient norm' };
    const plots = charts.map(({ column, box }) => create('div', '', create('h4', '', titles[column]), box));
    this.element.append(create('div', 'buttons', this.button, this.both), this.words, key, create('div', 'pair', ...plots));
    this.charts = charts.map(({ column, box }) => ({
      column,
      chart: new Chart(box, {
        group: 'runs',
        y: { distr: 3, range: (_, min, max) => [(min ?? 1) * 0.8, Math.max(max ?? 2, (min ?? 1) * 2) * 1.1] },
        marks: MARKS,
        mark: short,
        value: short,
        lines: [
          { label: 'kept', colour: '--rate', width: 1.5, points: false },
          { label: 'now', colour: '--loss', width: 2, points: false },
        ],
      }),
    }));
    this.say();
  }

  /** Called when another run begins. The previous one is kept if this view is open. */
  begin(run: RunOf): void {
    if (this.isOpen && this.beside === null && this.history.steps.length > 1) this.keep();
    this.set(run);
  }

  /** Called when the run continues with other settings. */
  set(run: RunOf): void {
    this.run = run;
    this.say();
  }

  /** Called when the page's training starts or pauses; the other run does the same. */
  follow(phase: Phase): void {
    this.phase = phase;
    this.beside?.follow(phase);
  }

  set open(on: boolean) {
    this.isOpen = on;
    if (on) this.draw();
    else this.endBeside();
  }

  /** Called when the current run has new figures. */
  progress(): void {
    if (this.isOpen) this.draw();
  }

  private trainBoth(): void {
    const { kept } = this;
    if (this.beside !== null) this.endBeside();
    else if (kept !== null) {
      this.beside = new BesideTrainer(kept, kept.settings, () => {
        this.say();
        this.draw();
      });
      this.beside.follow(this.phase);
    }
    this.say();
    this.draw();
  }

  /** Ends the other training. What it has learnt so far becomes the kept run. */
  private endBeside(): void {
    const { beside, kept } = this;
    if (beside === null || kept === null) return;
    beside.close();
    const { steps, mean, norm } = beside.history;
    if (steps.length > 1) this.kept = { ...kept, steps, mean, norm };
    this.beside = null;
    this.say();
  }

  private keep(): void {
    this.endBeside();
    const { steps, mean, norm } = this.history;
    this.kept = { ...this.run, steps: [...steps], mean: [...mean], norm: [...norm] };
    this.say();
    this.draw();
  }

  private say(): void {
    const { kept, run, beside } = this;
    this.both.disabled = kept === null;
    this.both.setAttribute('aria-pressed', String(beside !== null));
    this.words.dataset.beside = String(beside?.history.last === null ? 0 : (beside?.history.steps.at(-1) ?? 0));
    if (kept === null) {
      setText(this.words, 'Train for a while; then change a setting or the program: the run before is kept, and both are drawn.');
      return;
    }
    const found = differences(kept, run);
    const steps = beside?.history.steps ?? kept.steps;
    const state = beside === null ? 'Kept' : beside.problem !== '' ? `Kept (it does not train: ${beside.problem})` : 'Trained beside this one';
    setText(this.words, `${state}: ${kept.title}, ${plural(steps.at(-1) ?? 0, 'step')}. ${found.length === 0 ? 'Nothing is set otherwise now.' : `Set otherwise now - ${found.join('; ')}.`}`);
    this.words.dataset.differences = String(found.length);
  }

  private paint(): void {
    const { history } = this;
    const kept = this.beside?.history ?? this.kept;
    for (const { column, chart } of this.charts) {
      const before = kept === null ? { steps: [], column: [] } : { steps: kept.steps, column: kept[column] };
      chart.show(joined(before, { steps: history.steps, column: history[column] }));
    }
    this.element.dataset.drawn = `${count(kept?.steps.length ?? 0)} ${count(history.steps.length)}`;
  }
}
