// The page's end of the worker that holds the model. A run can be cancelled: the worker is ended, and the model with it.

import { Rpc, openPatiently } from '../compiler/rpc.ts';
import type { ModelsMethods } from './protocol.ts';

/** A large file, and the first run of a large model, take a long time; the visitor can cancel them. */
const PATIENCE_MS = 15 * 60_000;

export class Runner {
  private readonly rpc = new Rpc<ModelsMethods>(
    () => new Worker(new URL('./workers/models.ts', import.meta.url), { type: 'module', name: 'models' }),
  );
  private opened: Promise<number> | null = null;
  private asked = 0;

  /** changed: called when a question begins to run, and when none runs any more. */
  constructor(private readonly changed: (busy: boolean) => void) {}

  async ask<K extends keyof ModelsMethods>(method: K, ...args: Parameters<ModelsMethods[K]>): Promise<ReturnType<ModelsMethods[K]>> {
    this.count(1);
    try {
      if (this.opened === null || !this.rpc.alive) this.opened = openPatiently((limitMs) => this.rpc.ask('open', [], limitMs));
      await this.opened;
      return await (this.rpc.ask as (name: K, args: unknown[], limitMs: number) => Promise<ReturnType<ModelsMethods[K]>>).call(this.rpc, method, args, PATIENCE_MS);
    } finally {
      this.count(-1);
    }
  }

  /** Whether the worker, and with it what was loaded, still exists. */
  get alive(): boolean {
    return this.rpc.alive;
  }

  end(): void {
    this.rpc.end();
    this.opened = null;
  }

  private count(by: number): void {
    this.asked += by;
    this.changed(this.asked > 0);
  }
}
