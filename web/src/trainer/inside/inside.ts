// The views inside of training, for one program. They are measured only while they are open, between slices of training, and
// only as often as their share of the time allows.

import { describe } from '../../compiler/workers/source.ts';
import type { FromTrainer } from '../../state/protocol.ts';
import type { Looked } from '../../state/inside.ts';
import type { Session } from '../session.ts';
import { Confusion } from './confusion.ts';
import { KeptStates } from './kept.ts';
import { Layers } from './layers.ts';

/** The least time between two measurements for one view, in ms, and as a multiple of the time that one took: a share below 2
 *  % each. */
const SPACED_MS = 500;
const PATIENCE = 60;

/** The timing of one view that is measured from time to time. */
class Glance {
  private next = 0;
  private at = -1;

  constructor(private readonly session: Session) {}

  get isDue(): boolean {
    return this.session.steps !== this.at && performance.now() >= this.next;
  }

  /** Takes a measurement, and sets the time of the next by how long it took. */
  take(look: () => void): void {
    const begin = performance.now();
    this.at = this.session.steps;
    look();
    const end = performance.now();
    this.next = end + Math.max(SPACED_MS, PATIENCE * (end - begin));
  }
}

export class Inside {
  private layers: Layers | null = null;
  private confusion: Confusion | null = null;
  private kept: KeptStates | null = null;
  private readonly glances: Record<'layers' | 'confusion', Glance>;

  constructor(
    private readonly session: Session,
    private readonly post: (message: FromTrainer) => void,
  ) {
    this.glances = { layers: new Glance(session), confusion: new Glance(session) };
  }

  /** Opens these views and closes the others. */
  async open(looked: readonly Looked[]): Promise<void> {
    const wants = (view: Looked): boolean => looked.includes(view);
    if (!wants('layers')) this.closeLayers();
    if (!wants('confusion')) this.closeConfusion();
    if (!wants('rewind')) this.kept = null;
    const { session } = this;
    if (wants('layers')) this.layers ??= new Layers(session.training);
    if (wants('confusion')) this.confusion ??= new Confusion(session);
    if (wants('rewind')) this.kept ??= new KeptStates(session);
    await this.look(true);
  }

  get isOpen(): boolean {
    return this.layers !== null || this.confusion !== null || this.kept !== null;
  }

  get states(): KeptStates | null {
    return this.kept;
  }

  get wantsToLook(): boolean {
    const { layers, confusion } = this.glances;
    return (this.layers !== null && layers.isDue) || (this.confusion !== null && confusion.isDue) || this.kept?.isDue === true;
  }

  /** Measures the open views that are due; now: all of them. Returns whether a replay has reached its end. */
  async look(now = false): Promise<boolean> {
    const { session, glances, kept } = this;
    await session.bring();
    if (this.layers !== null && (now || glances.layers.isDue)) glances.layers.take(() => this.lookAtLayers());
    if (this.confusion !== null && (now || glances.confusion.isDue)) glances.confusion.take(() => this.lookAtAnswers());
    if (kept === null || !(now || kept.isDue || kept.isReplaying)) return false;
    const isEnd = await kept.keep();
    this.post({ type: 'kept-states', report: kept.report });
    return isEnd;
  }

  dispose(): void {
    this.closeLayers();
    this.closeConfusion();
    this.kept = null;
  }

  private lookAtLayers(): void {
    const { session } = this;
    const begin = performance.now();
    try {
      const found = this.layers?.look(session.state, session.training.data.batch(session.steps));
      if (found !== undefined) this.post({ type: 'layers', report: { ...found, step: session.steps, ms: performance.now() - begin } });
    } catch (error) {
      this.closeLayers();
      this.post({ type: 'not-looked', view: 'layers', why: describe(error).message });
    }
  }

  private lookAtAnswers(): void {
    try {
      const report = this.confusion?.look() ?? null;
      if (report !== null) return this.post({ type: 'confusion', report });
      this.closeConfusion();
      this.post({ type: 'not-looked', view: 'confusion', why: 'This program does not answer with classes: its batches are not (x, classes), or its model gives no score of each class.' });
    } catch (error) {
      this.closeConfusion();
      this.post({ type: 'not-looked', view: 'confusion', why: describe(error).message });
    }
  }

  private closeLayers(): void {
    this.layers?.dispose();
    this.layers = null;
  }

  private closeConfusion(): void {
    this.confusion?.dispose();
    this.confusion = null;
  }
}
