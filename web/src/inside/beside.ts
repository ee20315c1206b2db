// Trains a kept run again from its beginning, in a worker of its own. It learns at the same time as the page's training, on the
// same cores. It ends with its view, or when another run is kept.

import { TrainerClient } from '../state/client.ts';
import { History } from '../state/history.ts';
import type { FromTrainer, Phase, ProgramText } from '../state/protocol.ts';
import type { Settings } from '../state/settings.ts';

export class BesideTrainer {
  readonly history = new History();
  /** Why it does not train; '' if it does. */
  problem = '';
  private readonly trainer: TrainerClient;
  private isReady = false;
  private runs = false;

  constructor(
    program: ProgramText,
    settings: Settings,
    private readonly changed: () => void,
  ) {
    this.trainer = new TrainerClient({
      receive: (message) => this.receive(message),
      busy: (seconds) => this.fail(seconds > 0 ? `it has not answered for ${Math.round(seconds)} s` : ''),
      ended: () => this.fail('it did not answer, and was ended'),
    });
    this.trainer.send({ type: 'open', program, settings, device: 'cpu' });
  }

  /** Starts or pauses together with the page's training. */
  follow(phase: Phase): void {
    this.runs = phase === 'running';
    if (this.isReady) this.trainer.send({ type: this.runs ? 'start' : 'pause' });
  }

  close(): void {
    this.trainer.close();
  }

  private receive(message: FromTrainer): void {
    if (message.type === 'network') {
      this.isReady = true;
      if (this.runs) this.trainer.send({ type: 'start' });
      this.changed();
    } else if (message.type === 'progress') {
      const { step, readings } = message.progress;
      readings.forEach((reading, i) => this.history.push(step - readings.length + 1 + i, reading));
      this.changed();
    } else if (message.type === 'problem') this.fail(message.problem.message);
    else if (message.type === 'failure') this.fail(message.failure.message);
  }

  private fail(problem: string): void {
    this.problem = problem;
    this.changed();
  }
}
