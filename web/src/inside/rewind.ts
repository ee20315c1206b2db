// The states that a training keeps, to go back to; also replays the steps from there, and compares the results bit by bit.

import type { KeptReport } from '../state/inside.ts';
import { create, setText } from '../views/dom.ts';
import { bytes, count, plural, short } from '../views/format.ts';

export interface RewindActions {
  rewind(step: number): void;
  replay(): void;
}

export class RewindView {
  readonly element = create('div', 'rewind');
  private readonly slider = create('input', '');
  private readonly place = create('output', '', 'No state is kept yet.');
  private readonly back = create('button', '', 'Rewind');
  private readonly again = create('button', '', 'Replay');
  private readonly memory = create('p', 'muted');
  private readonly verdict = create('p', 'verdict');
  private report: KeptReport | null = null;

  constructor(actions: RewindActions) {
    const { slider, place, back, again, memory, verdict } = this;
    slider.type = 'range';
    slider.min = slider.max = slider.value = '0';
    slider.dataset.testid = 'rewind-slider';
    slider.setAttribute('aria-label', 'Kept states');
    place.dataset.testid = 'rewind-place';
    back.type = again.type = 'button';
    back.dataset.testid = 'rewind-back';
    again.dataset.testid = 'rewind-replay';
    memory.dataset.testid = 'rewind-memory';
    verdict.dataset.testid = 'rewind-verdict';
    verdict.setAttribute('role', 'status');
    back.disabled = again.disabled = true;
    this.element.append(create('div', 'line', slider, place), create('div', 'buttons', back, again), memory, verdict);
    slider.addEventListener('input', () => this.say());
    back.addEventListener('click', () => {
      const step = this.chosen?.step;
      if (step !== undefined) actions.rewind(step);
    });
    again.addEventListener('click', () => actions.replay());
  }

  clear(): void {
    this.report = null;
    setText(this.verdict, '');
  }

  show(report: KeptReport): void {
    const { states, until, step, replay } = report;
    const isLast = this.report === null || Number(this.slider.value) === this.report.states.length - 1;
    const before = this.chosen?.step;
    this.report = report;
    this.slider.max = String(Math.max(0, states.length - 1));
    const same = states.findIndex((each) => each.step === before);
    this.slider.value = String(isLast && until === null ? states.length - 1 : Math.max(0, same));
    this.again.disabled = until === null || step >= until || replay?.isEnded === false;
    setText(this.again, until === null ? 'Replay' : `Replay to step ${count(until)}`);
    const each = states.length < 2 ? '' : `, every ${count(Math.round((states[states.length - 1].step - states[0].step) / (states.length - 1)))} steps`;
    setText(this.memory, `${plural(states.length, 'state')}${each}: ${bytes(report.bytes)} of at most ${bytes(report.most)}. When that is full, every second one goes.`);
    this.memory.dataset.states = String(states.length);
    this.memory.dataset.bytes = String(report.bytes);
    if (replay !== null) this.judge(replay, step);
    this.say();
  }

  private judge({ from, losses, states, differ, isEnded }: NonNullable<KeptReport['replay']>, step: number): void {
    const compared = `${plural(losses, 'loss', 'losses')} and ${plural(states, 'kept state')}`;
    const found = differ === 0 ? `all of ${compared} have the same bits as before` : `${count(differ)} of ${compared} differ from before`;
    setText(this.verdict, `${isEnded ? 'Replayed' : 'Replays'} steps ${count(from)} to ${count(step)}: ${found}.`);
    this.verdict.dataset.differ = String(differ);
    this.verdict.dataset.losses = String(losses);
    this.verdict.dataset.states = String(states);
    this.verdict.dataset.ended = String(isEnded);
  }

  private get chosen(): KeptReport['states'][number] | undefined {
    return this.report?.states[Number(this.slider.value)];
  }

  private say(): void {
    const { chosen, report } = this;
    this.back.disabled = chosen === undefined || chosen.step === report?.step;
    if (chosen === undefined) return;
    const loss = Number.isNaN(chosen.loss) ? '' : `, loss ${short(chosen.loss)}`;
    setText(this.place, `step ${count(chosen.step)}${loss}`);
    this.slider.setAttribute('aria-valuetext', this.place.textContent ?? '');
  }
}
