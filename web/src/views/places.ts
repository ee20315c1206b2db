// The two places of the page, training and compiler, as tabs and in the address (#compiler). The
// compiler's code is loaded when it is first gone to.

import { element } from './dom.ts';
import { Tabs } from './tabs.ts';

export interface PlaceActions {
  /** Something is about to be timed: nothing else should use the cores. */
  quiet(): void;
  fail(message: string): void;
}

const COMPILER = 'compiler';
const TRAINING = 'training';

export class Places {
  private readonly tabs: Tabs;
  private loading = false;

  constructor(private readonly actions: PlaceActions) {
    this.tabs = new Tabs(element('places'), (place) => {
      history.pushState(null, '', place === COMPILER ? `#${COMPILER}` : location.pathname + location.search);
      this.open(place);
    });
    const follow = (): void => {
      const place = location.hash === `#${COMPILER}` ? COMPILER : TRAINING;
      this.tabs.show(place);
      this.open(place);
    };
    addEventListener('popstate', follow);
    follow();
  }

  get training(): boolean {
    return !element(TRAINING).hidden;
  }

  private open(place: string): void {
    if (place !== COMPILER || this.loading) return;
    this.loading = true;
    this.load().catch((error: unknown) => {
      this.loading = false;
      this.actions.fail(`the compiler view could not be loaded: ${String(error)}`);
    });
  }

  private async load(): Promise<void> {
    const { CompilerTab } = await import('../compiler/tab.ts');
    new CompilerTab(element(COMPILER), this.actions);
  }
}
