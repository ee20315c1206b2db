// The page's end of the fitter. However often a fit is requested, one is running and at most one waits, which will use what is
// on the page when it begins.

import { Rpc, openPatiently } from '../compiler/rpc.ts';
import type { EquationName } from './equations.ts';
import type { Code, Curves, Fit, FitMethods, Search } from './protocol.ts';

const OPEN_MS = 30_000;
const FIT_MS = 10_000;

export interface FitterActions {
  /** What to fit now; null if there is nothing. */
  search(): Search | null;
  fitted(fit: Fit, search: Search): void;
  failed(error: unknown): void;
}

export class Fitter {
  private readonly rpc = new Rpc<FitMethods>(
    () => new Worker(new URL('./workers/fit.ts', import.meta.url), { type: 'module', name: 'fit' }),
  );
  private busy = false;
  private asked = false;

  constructor(private readonly actions: FitterActions) {}

  /** Opens the library, with another worker if one hangs, and then an equation. */
  async open(equation: EquationName, truth: Float64Array, start: Float64Array): Promise<Curves> {
    await openPatiently((limitMs) => this.rpc.ask('library', [], limitMs));
    return this.rpc.ask('open', [equation, truth, start], OPEN_MS);
  }

  code(equation: EquationName): Promise<Code> {
    return this.rpc.ask('code', [equation], OPEN_MS);
  }

  ask(): void {
    this.asked = true;
    if (!this.busy) void this.work();
  }

  private async work(): Promise<void> {
    this.busy = true;
    while (this.asked) {
      this.asked = false;
      const search = this.actions.search();
      if (search === null) continue;
      try {
        this.actions.fitted(await this.rpc.ask('fit', [search], FIT_MS), search);
      } catch (error) {
        this.actions.failed(error);
      }
    }
    this.busy = false;
  }
}
