// The half that trains: it runs the program of the file, and tells the other half what to show. It runs in a worker, or, if the
// browser makes no worker from a file, in the page between two frames.

import * as sn from 'sinter';
import { describe } from '../compiler/workers/source.ts';
import { moduleOf } from '../program/workers/training.ts';
import type { FromTrainer, Reading } from '../state/protocol.ts';
import { CheckedCards } from '../trainer/cards.ts';
import { DigitExaminer, isDigits } from '../trainer/digits.ts';
import { together, type Examiner } from '../trainer/examiner.ts';
import { OwnExaminer } from '../trainer/own.ts';
import { Pace } from '../trainer/pace.ts';
import { Session } from '../trainer/session.ts';
import { nextTask } from '../views/tasks.ts';
import type { Contents, FromOffline, ToOffline } from './contents.ts';
import * as playground from './data.ts';

/** How long training continues, in ms, before anything else gets its turn. */
const SLICE_MS = 24;

interface Running {
  session: Session;
  examiner: Examiner;
  pace: Pace;
}

/** Runs the text and returns its exports. */
function exportsOf(code: string): Record<string, unknown> {
  const modules: Record<string, object> = { sinter: sn, playground };
  const require = (name: string): object => ({ __esModule: true, ...modules[name] });
  const text = `"use strict";${code}\n;return exports;\n//# sourceURL=program.js`;
  return (new Function('sn', 'require', 'exports', text) as (...given: unknown[]) => Record<string, unknown>)(sn, require, {});
}

export class OfflineTrainer {
  private running: Running | null = null;
  private isOn = false;

  /** breath: waited for between two slices. */
  constructor(
    private readonly post: (message: FromOffline) => void,
    private readonly breath: () => Promise<unknown>,
  ) {}

  async receive(message: ToOffline): Promise<void> {
    try {
      if (message.type === 'open') {
        playground.hold(message.packed);
        await sn.init();
        await this.make(message.contents);
      } else {
        const begins = message.on && !this.isOn;
        this.isOn = message.on;
        if (begins) await this.train();
      }
    } catch (error) {
      this.isOn = false;
      this.post({ type: 'failed', problem: describe(error) });
    }
  }

  dispose(): void {
    this.running?.examiner.dispose();
    this.running?.session.dispose();
    this.running = null;
  }

  private async make({ code, settings: given }: Contents): Promise<void> {
    const module = moduleOf(exportsOf(code));
    const settings = { ...module.settings, ...given };
    const training = await module.make(settings);
    const session = new Session(training, settings.seed ?? 0);
    await session.rehearse();
    const { data, predict } = training;
    const examiners: Examiner[] = [new OwnExaminer(session, new CheckedCards([], this.tell), this.tell)];
    if (predict !== null && isDigits(data)) examiners.push(new DigitExaminer(session, predict, data, this.tell));
    this.post({ type: 'made', about: training.about, views: training.views.map(({ kind, title }) => ({ kind, title })) });
    const examiner = together(examiners);
    examiner.rehearse();
    examiner.atRest?.();
    this.running = { session, examiner, pace: new Pace(training.pace) };
  }

  /** Forwards those messages of examiners that this page shows. */
  private readonly tell = (message: FromTrainer): void => {
    if (message.type === 'views' || message.type === 'figures' || message.type === 'evaluation') this.post(message);
  };

  private async train(): Promise<void> {
    const { running } = this;
    while (this.isOn && running !== null && running === this.running) {
      await this.turn(running);
      await this.breath();
    }
  }

  /** Trains for one slice, and shows what there is to see. */
  private async turn({ session, examiner, pace }: Running): Promise<void> {
    const begin = performance.now();
    const readings: Reading[] = [];
    let room = pace.due(begin);
    while (room-- > 0 && performance.now() - begin < SLICE_MS && !examiner.due) {
      readings.push(await session.step());
      pace.done(1);
    }
    if (readings.length > 0) this.post({ type: 'trained', step: session.steps, readings });
    if (examiner.due) examiner.advance();
    else if (examiner.wantsToShow) examiner.show(SLICE_MS / 2);
  }
}

/** In a worker: trains as the page asks. */
export function serveWorker(): void {
  const trainer = new OfflineTrainer((message) => (self as unknown as Worker).postMessage(message), nextTask);
  addEventListener('message', ({ data }: MessageEvent<ToOffline>) => void trainer.receive(data));
}
