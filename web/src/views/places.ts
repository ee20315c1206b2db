// The places of the page - training, models, fit, logic, compiler, bench - as tabs and in the address (#models, #fit, #logic,
// #compiler, #bench). The code of all but the first is loaded when they are first opened.

import { element, keepQuery, setText } from './dom.ts';
import { beginningOf } from './format.ts';
import { Tabs } from './tabs.ts';

export interface PlaceActions {
  /** Called before a measurement: nothing else should use the cores. */
  quiet(): void;
  fail(message: string): void;
  /** Reports an error in the page's address. */
  address(message: string): void;
  /** Called when the training place is shown again. */
  training(): void;
}

const TRAINING = 'training';

/** The purpose of each place. That of training depends on the example. */
const PURPOSES: Record<string, string> = {
  models: 'A model of yours, in your browser.',
  fit: 'A differential equation follows the points that you drag.',
  logic: 'Circuits learn in this tab, and rules are tensors.',
  compiler: 'Programs are taken apart, from the first graph to the code.',
  bench: 'What your browser and your processor reach.',
};

/** A place. It may continue to use the cores when another one is shown, unless it has `rest`. */
interface Place {
  rest?: () => void;
  /** Called when the place is shown again. */
  wake?: () => void;
}

const LOAD: Record<string, (root: HTMLElement, actions: PlaceActions) => Promise<unknown>> = {
  models: async (root, actions) => new (await import('../models/tab.ts')).ModelsTab(root, actions),
  fit: async (root, actions) => new (await import('../fit/tab.ts')).FitTab(root, actions),
  logic: async (root, actions) => new (await import('../logic/tab.ts')).LogicTab(root, actions),
  compiler: async (root, actions) => new (await import('../compiler/tab.ts')).CompilerTab(root, actions),
  bench: async (root, actions) => new (await import('../bench/tab.ts')).BenchTab(root, actions),
};

/** What the address has in the place of a place, '' for training, and then the other parts of its fragment. */
function placeAndMore(): string[] {
  const parts = location.hash.slice(1).split('&').filter((part) => part !== '');
  return parts[0]?.includes('=') === false ? parts : ['', ...parts];
}

export class Places {
  private readonly tabs: Tabs;
  /** The places whose code is loaded or loading. Training has nothing to load. */
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
      const place = this.current === '' ? TRAINING : this.current;
      this.tabs.show(place);
      this.open(place);
      if (place === TRAINING && !['', TRAINING].includes(asked))
        actions.address(`there is no tab ${beginningOf(asked)}; ${Object.keys(LOAD).join(', ')} are those beside Training`);
    };
    addEventListener('popstate', () => {
      keepQuery();
      follow();
    });
    follow();
  }

  /** The place that is shown, as in the address: '' for training. */
  get current(): string {
    const [asked] = placeAndMore();
    return Object.hasOwn(LOAD, asked) ? asked : '';
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
