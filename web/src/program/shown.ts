// The program that every tab of the page shows: its text, where it came from, and the settings that differ from those it
// declares. Tabs read it, and hear of every change.

import { FIRST, entry, textOf, type Entry } from './list.ts';
import type { Settings } from '../state/settings.ts';

export interface ShownProgram {
  /** Of the list; a program that was changed keeps the name of the one that it was. */
  readonly name: string;
  readonly text: string;
  /** The text is not that of the list. */
  readonly isChanged: boolean;
  /** Only what differs from what the program declares. */
  readonly settings: Settings;
  /** False of a text from an address, until the visitor has asked to run it: it is shown, not run. */
  readonly isTrusted: boolean;
}

/** Why it changed: another program of the list or of an address, an edit by hand, a setting, or leave to run. */
export type Change = 'chosen' | 'edited' | 'settings' | 'trusted';

type Listener = (program: ShownProgram, change: Change, by: unknown) => void;

export class Shown {
  /** Null until the first text is here. */
  private current: ShownProgram | null = null;
  private readonly listeners = new Set<Listener>();
  /** Programs as they were left. */
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

  /** Hears of the program at once, if there is one, and of each change; returns how to hear no more. */
  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    if (this.current !== null) listener(this.current, 'chosen', null);
    return () => this.listeners.delete(listener);
  }

  /** A program of the list as it was left, changes of its text included; choosing the one that is shown opens it anew, and so
   *  do settings other than it was left with. */
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

  /** A text from elsewhere, derived from a program of the list; unless it is of this server it is not run before `trust`. */
  bring(program: Omit<ShownProgram, 'isChanged'>): void {
    this.choice++;
    this.become({ ...program, isChanged: true }, 'chosen');
  }

  /** by: who edits, and need not hear of it. */
  edit(text: string, by: unknown): void {
    if (this.current === null || text === this.current.text) return;
    this.become({ ...this.current, text, isChanged: true, isTrusted: true }, 'edited', by);
  }

  set(settings: Settings): void {
    if (this.current !== null) this.become({ ...this.current, settings }, 'settings');
  }

  /** The visitor wants it to run. */
  trust(): void {
    if (this.current !== null && !this.current.isTrusted) this.become({ ...this.current, isTrusted: true }, 'trusted');
  }

  private become(program: ShownProgram, change: Change, by: unknown = null): void {
    this.current = program;
    for (const listener of this.listeners) listener(program, change, by);
  }
}

/** Of the page there is one. */
export const shown = new Shown();
