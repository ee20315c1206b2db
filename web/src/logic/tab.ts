// The Logic tab: automata whose rule is a trainable circuit, and rules as tensors. Loaded when it is first opened; so is each
// of its two pages.

import '../style/code.css';
import '../style/logic.css';
import { element } from '../views/dom.ts';
import { Tabs } from '../views/tabs.ts';
import { readPage, unknownPage, writePage, type LogicPage } from './address.ts';
import panel from './panel.html?raw';

export interface Surroundings {
  /** Called before a measurement: nothing else should use the cores. */
  quiet(): void;
  fail(message: string): void;
  /** Reports an error in the page's address. */
  address(message: string): void;
}

interface Page {
  /** Called when the page is no longer shown. */
  rest(): void;
}

const LOAD: Record<LogicPage, (root: HTMLElement, surroundings: Surroundings) => Promise<Page>> = {
  automaton: async (root, around) => new (await import('./automaton/page.ts')).AutomatonPage(root, () => around.quiet()),
  rules: async (root, around) => new (await import('./rules/page.ts')).RulesPage(root, around),
};

const ID = 'logic-';

export class LogicTab {
  private readonly pages = new Map<LogicPage, Promise<Page>>();

  constructor(
    root: HTMLElement,
    private readonly surroundings: Surroundings,
  ) {
    root.innerHTML = panel;
    const tabs = new Tabs(element('logic-pages'), (id) => {
      const page = id.slice(ID.length) as LogicPage;
      writePage(page);
      this.open(page);
    });
    const [first, unknown] = [readPage(), unknownPage()];
    if (unknown !== null) {
      this.surroundings.address(`there is no page ${unknown} of circuits and rules; this is the automaton`);
      writePage(first);
    }
    tabs.show(`${ID}${first}`);
    this.open(first);
  }

  /** Called when another tab is opened. */
  rest(): void {
    this.restBut(null);
  }

  private restBut(page: LogicPage | null): void {
    for (const [other, opened] of this.pages) if (other !== page) void opened.then((each) => each.rest());
  }

  private open(page: LogicPage): void {
    this.restBut(page);
    if (this.pages.has(page)) return;
    const opened = LOAD[page](element(`${ID}${page}`), this.surroundings);
    this.pages.set(page, opened);
    opened.catch((error: unknown) => {
      this.pages.delete(page);
      this.surroundings.fail(`the page of ${page} could not be loaded: ${String(error)}`);
    });
  }
}
