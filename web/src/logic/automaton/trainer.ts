// The page's end of the training worker. A worker that was ended starts again with the next automaton.

import { Rpc, openPatiently } from '../../compiler/rpc.ts';
import type { AutomatonMethods, CircuitFacts, Form, Made, Progress } from './protocol.ts';
import type { Settings } from './targets.ts';

const MAKE_MS = 60_000;
const TRAIN_MS = 60_000;
const CIRCUIT_MS = 120_000;

export class Trainer {
  private readonly rpc = new Rpc<AutomatonMethods>(
    () => new Worker(new URL('../workers/automaton.ts', import.meta.url), { type: 'module', name: 'automaton' }),
  );
  private opened: Promise<number> | null = null;

  private async open(): Promise<void> {
    if (this.opened === null || !this.rpc.alive) this.opened = openPatiently((limitMs) => this.rpc.ask('open', [], limitMs));
    try {
      await this.opened;
    } catch (error) {
      this.end();
      throw error;
    }
  }

  async make(settings: Settings): Promise<Made> {
    await this.open();
    return this.rpc.ask('make', [settings], MAKE_MS);
  }

  train(ms: number): Promise<Progress> {
    return this.rpc.ask('train', [ms], TRAIN_MS);
  }

  circuit(): Promise<CircuitFacts> {
    return this.rpc.ask('circuit', [], CIRCUIT_MS);
  }

  /** Reads a circuit from the JSON that was saved. */
  async read(json: string): Promise<CircuitFacts> {
    await this.open();
    return this.rpc.ask('read', [json], MAKE_MS);
  }

  write(form: Form): Promise<string> {
    return this.rpc.ask('write', [form], MAKE_MS);
  }

  end(): void {
    this.rpc.end();
    this.opened = null;
  }
}
