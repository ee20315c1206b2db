// Views of the inside of training, which are opened one by one: layers, answers, kept states, two runs, memory. Loaded when the
// first one is opened.

import '../style/inside.css';
import type { Looked } from '../state/inside.ts';
import type { DigitSample, Evaluation, FromTrainer, Phase, Progress } from '../state/protocol.ts';
import type { History } from '../state/history.ts';
import { create } from '../views/dom.ts';
import { ConfusionView } from './confusion.ts';
import { LayersView } from './layers.ts';
import { MemoryView } from './memory.ts';
import { RewindView, type RewindActions } from './rewind.ts';
import { RunsView, type RunOf } from './runs.ts';

export type InsideView = Looked | 'runs' | 'memory';

export interface InsideActions extends RewindActions {
  look(views: Looked[]): void;
}

/** What exists already when the first view is opened. */
export interface There {
  history: History;
  run: RunOf;
  phase: Phase;
  /** The test digits, for programs that read digits; otherwise null. */
  digits: DigitSample | null;
  evaluation: Evaluation | null;
}

const TITLES: Record<InsideView, string> = {
  layers: 'Layers',
  confusion: 'Answers',
  rewind: 'Kept states',
  runs: 'Two runs',
  memory: 'Memory',
};

export class InsideCard {
  private readonly layers = new LayersView();
  private readonly confusion = new ConfusionView();
  private readonly memory = new MemoryView();
  private readonly rewind: RewindView;
  private readonly runs: RunsView;
  private readonly open = new Set<InsideView>();
  private readonly boxes: Record<InsideView, HTMLElement>;

  constructor(
    root: HTMLElement,
    private readonly actions: InsideActions,
    there: There,
  ) {
    this.rewind = new RewindView(actions);
    this.runs = new RunsView(there.history, there.run);
    this.runs.follow(there.phase);
    this.setDigits(there.digits, there.evaluation);
    const box = (view: InsideView, { element }: { element: HTMLElement }): HTMLElement => {
      const made = create('section', 'inside-view', create('h3', '', TITLES[view]), element);
      made.id = `inside-view-${view}`;
      made.dataset.testid = `inside-view-${view}`;
      made.setAttribute('aria-label', TITLES[view]);
      made.hidden = true;
      return made;
    };
    const { layers, confusion, rewind, runs, memory } = this;
    this.boxes = {
      layers: box('layers', layers),
      confusion: box('confusion', confusion),
      rewind: box('rewind', rewind),
      runs: box('runs', runs),
      memory: box('memory', memory),
    };
    root.replaceChildren(...Object.values(this.boxes));
  }

  show(view: InsideView, on: boolean): void {
    if (on) this.open.add(view);
    else this.open.delete(view);
    this.boxes[view].hidden = !on;
    this.runs.open = this.open.has('runs');
    this.look();
  }

  /** Called for another program, or for the same one from its beginning. */
  adopt(run: RunOf, digits: DigitSample | null, step: number): void {
    this.setDigits(digits, null);
    this.runs.begin(run);
    this.layers.clear();
    this.confusion.clear();
    this.rewind.clear();
    this.memory.clear(step);
    this.look();
  }

  /** Called when the same run continues with other settings. */
  change(run: RunOf): void {
    this.runs.set(run);
  }

  follow(phase: Phase): void {
    this.runs.follow(phase);
  }

  evaluated(evaluation: Evaluation): void {
    if (this.open.has('confusion')) this.confusion.evaluated(evaluation);
  }

  progress(progress: Progress): void {
    if (this.open.has('memory')) this.memory.progress(progress);
    this.runs.progress();
  }

  receive(message: Extract<FromTrainer, { type: 'layers' | 'confusion' | 'kept-states' | 'not-looked' }>): void {
    if (message.type === 'layers') this.layers.show(message.report);
    else if (message.type === 'kept-states') this.rewind.show(message.report);
    else if (message.type === 'confusion') this.confusion.show(message.report);
    else if (message.view === 'confusion') this.confusion.refuse(message.why);
    else this.layers.refuse(message.why);
  }

  private setDigits(digits: DigitSample | null, evaluation: Evaluation | null): void {
    this.confusion.digits = digits;
    if (evaluation !== null) this.confusion.evaluated(evaluation);
  }

  /** Asks for what the open views need; answers to digits come anyway. */
  private look(): void {
    const asked: Looked[] = ['layers', 'confusion', 'rewind'];
    this.actions.look(asked.filter((view) => this.open.has(view) && !(view === 'confusion' && this.confusion.hasDigits)));
  }
}
