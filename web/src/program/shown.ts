// The program that all tabs of the page show: its text, its origin, and the settings that differ from those that it declares.
// Tabs read it and are notified of every change.

import { FIRST, entry, textOf, type Entry } from './list.ts';
import type { Settings } from '../state/settings.ts';

export interface ShownProgram {
  /** Its name in the list. A changed program keeps the name of its original. */
  readonly name: string;
  readonly text: string;
  /** Whether the text differs from that in the list. */
  readonly isChanged: boolean;
  /** Only the settings that differ from those that the program declares. */
  readonly settings: Settings;
  /** False for a text from an address until the visitor asks to run it; until then it is only shown. */
  readonly isTrusted: boolean;
}

/** Why it changed: another program was chosen from the list or an address, an edit by hand, a setting, or the permission to
 *  run. */
export type Change = 'chosen' | 'edited' | 'settings' | 'trusted';

type Listener = (program: ShownProgram, change: Change, by: unknown) => void;

export class Shown {
  /** null until the first text is loaded. */
  private current: ShownProgram | null = null;
  private readonly listeners = new Set<Listener>();
  /** The programs as they were when another one was chosen. */
  private readonly left = new Map<string, ShownProgram>();
  private choice = 0;

  get program(): ShownProgram | null {
    return this.current;
  }

  get entry(): Entry {
    const found = entry(this.current?.name ?? FIRST) ?? entry(FIRST);
    if (found === null) throw new Error('the list of programs is empty');
    return found;
  }

  /** Calls the listener at once if there is a program, and on every change. Returns a function that unsubscribes it. */
  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    if (this.current !== null) listener(this.current, 'chosen', null);
    return () => this.listeners.delete(listener);
  }

  /** Shows a program of the list as it was left, including changes to its text. To choose the shown program again, or to
   *  pass settings, starts from the text of the list. */
  async choose(name: string, settings?: Settings): Promise<void> {
    const choice = ++this.choice;
    const text = await textOf(name);
    if (choice !== this.choice) return;
    const { current } = this;
    if (current !== null) this.left.set(current.name, current);
    const left = this.left.get(name);
    if (settings === undefined && left?.isChanged === true && name !== current?.name) return this.become(left, 'chosen');
    this.become({ name, text, isChanged: false, settings: settings ?? left?.settings ?? {}, isTrusted: true }, 'chosen');
  }

  /** Shows a text from elsewhere that derives from a program of the list. Unless isTrusted is set, it does not run before
   *  `trust`. */
  bring(program: Omit<ShownProgram, 'isChanged'>): void {
    this.choice++;
    this.become({ ...program, isChanged: true }, 'chosen');
  }

  /** by: the editor of the text, which can ignore the notification. */
  edit(text: string, by: unknown): void {
    if (this.current === null || text === this.current.text) return;
    this.become({ ...this.current, text, isChanged: true, isTrusted: true }, 'edited', by);
  }

  set(settings: Settings): void {
    if (this.current !== null) this.become({ ...this.current, settings }, 'settings');
  }

  /** The visitor allows it to run. */
  trust(): void {
    if (this.current !== null && !this.current.isTrusted) this.become({ ...this.current, isTrusted: true }, 'trusted');
  }

  private become(program: ShownProgram, change: Change, by: unknown = null): void {
    this.current = program;
    for (const listener of this.listeners) listener(program, change, by);
  }
}

/** The only instance of the page. */
export const shown = new Shown();
