// The places of the page - training, models, fit, logic, compiler, bench - as tabs and in the address (#models, #fit,
// #logic, #compiler, #bench). The code of all but the first is loaded when they are first opened.

import { element, setText } from './dom.ts';
import { Tabs } from './tabs.ts';

export interface PlaceActions {
  /** Something is about to be timed: nothing else should use the cores. */
  quiet(): void;
  fail(message: string): void;
  /** Says what the page's address has wrong. */
  address(message: string): void;
  /** The training place is shown again. */
  training(): void;
}

const TRAINING = 'training';

/** What each place is for, but for training: that depends on the example. */
const PURPOSES: Record<string, string> = {
  models: 'A model of yours, in your browser.',
  fit: 'A differential equation follows the points that you drag.',
  logic: 'Circuits learn in this tab, and rules are tensors.',
  compiler: 'Programs are taken apart, from the first graph to the code.',
  bench: 'What your browser and your processor reach.',
};

/** A place that is left may go on using the cores, unless it rests. */
interface Place {
  rest?: () => void;
  /** It is shown again. */
  wake?: () => void;
}

const LOAD: Record<string, (root: HTMLElement, actions: PlaceActions) => Promise<unknown>> = {
  models: async (root, actions) => new (await import('../models/tab.ts')).ModelsTab(root, actions),
  fit: async (root, actions) => new (await import('../fit/tab.ts')).FitTab(root, actions),
  logic: async (root, actions) => new (await import('../logic/tab.ts')).LogicTab(root, actions),
  compiler: async (root, actions) => new (await import('../compiler/tab.ts')).CompilerTab(root, actions),
  bench: async (root, actions) => new (await import('../bench/tab.ts')).BenchTab(root, actions),
};

/** The place in the address, '' for training, and what else its fragment says. */
function placeAndMore(): string[] {
  const parts = location.hash.slice(1).split('&').filter((part) => part !== '');
  return parts[0]?.includes('=') === false ? parts : ['', ...parts];
}

export class Places {
  private readonly tabs: Tabs;
  /** Places whose code is here or under way; of training nothing is loaded. */
  private readonly loaded = new Map<string, Promise<unknown>>([[TRAINING, Promise.resolve({})]]);

  constructor(private readonly actions: PlaceActions) {
    this.tabs = new Tabs(element('places'), (place) => {
      const [, ...others] = placeAndMore();
      const hash = [...(place === TRAINING ? [] : [place]), ...others].join('&');
      history.pushState(null, '', location.pathname + location.search + (hash === '' ? '' : `#${hash}`));
      this.open(place);
    });
    const follow = (): void => {
      const [asked] = placeAndMore();
      const place = Object.hasOwn(LOAD, asked) ? asked : TRAINING;
      this.tabs.show(place);
      this.open(place);
    };
    addEventListener('popstate', follow);
    follow();
  }

  /** The one that is shown, as the address has it. */
  get current(): string {
    return placeAndMore()[0];
  }

  get training(): boolean {
    return !element(TRAINING).hidden;
  }

  private open(place: string): void {
    element('purpose').hidden = place !== TRAINING;
    setText(element('place-purpose'), PURPOSES[place] ?? '');
    for (const [other, opened] of this.loaded) if (other !== place) void opened.then((each) => (each as Place).rest?.());
    if (place === TRAINING) this.actions.training();
    if (this.loaded.has(place)) return void this.loaded.get(place)?.then((each) => (each as Place).wake?.());
    const opened = LOAD[place](element(place), this.actions).catch((error: unknown) => {
      this.loaded.delete(place);
      this.actions.fail(`the ${place} view could not be loaded: ${String(error)}`);
      return {};
    });
    this.loaded.set(place, opened);
  }
}
