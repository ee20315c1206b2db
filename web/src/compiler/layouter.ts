// Asks the layout worker for one layout at a time: a new request cancels the one before.

import { arrange, type Scene } from './graph/arrange.ts';
import type { Drawing } from './graph/scene.ts';
import type { LayoutMethods } from './protocol.ts';
import { Rpc } from './rpc.ts';

const LIMIT_MS = 60_000;

export class Layouter {
  private readonly rpc = new Rpc<LayoutMethods>(
    () => new Worker(new URL('./workers/layout.ts', import.meta.url), { type: 'module', name: 'layout' }),
  );
  private busy = false;

  /** The drawing with coordinates; null if another request came in between. */
  async place(drawing: Drawing): Promise<Scene | null> {
    if (this.busy) this.rpc.end();
    this.busy = true;
    try {
      const placed = await arrange(drawing, (request) => this.rpc.ask('layout', [request], LIMIT_MS));
      this.busy = false;
      return placed;
    } catch (error) {
      if (error instanceof Error && error.name === 'Cancelled') return null;
      this.busy = false;
      throw error;
    }
  }

  cancel(): void {
    if (this.busy) this.rpc.end();
    this.busy = false;
  }
}
