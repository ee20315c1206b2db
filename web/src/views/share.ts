// Links to the shown program, to open it or to embed it in another page; and exports as files.

import { shown, type ShownProgram } from '../program/shown.ts';
import type { RunOf } from '../inside/runs.ts';
import type { History } from '../state/history.ts';
import { element, inside, setText } from './dom.ts';

export interface ShareActions {
  /** The tab that a link opens. */
  place(): string;
  /** Asks the trainer for the parameters; they are saved when they arrive. */
  weights(): void;
  history: History;
  run(): RunOf;
}

type Exports = typeof import('../share/exports.ts');

const linkTo = async (program: ShownProgram, place: string, embed: boolean): Promise<string> =>
  (await import('../program/packed.ts')).linkTo(program, place, embed);

export class ShareBox {
  private readonly box = element<HTMLDetailsElement>('share');
  private readonly field = element<HTMLInputElement>('share-link');
  private readonly note = element('share-note');

  constructor(private readonly actions: ShareActions) {
    this.box.addEventListener('toggle', () => {
      if (this.box.open) void this.write();
      else this.field.value = ''; // an old link must not be taken for the next one
    });
    this.box.addEventListener('keydown', ({ key }) => {
      if (key !== 'Escape' || !this.box.open) return;
      this.box.open = false;
      inside(this.box, 'summary').focus();
    });
    document.addEventListener('pointerdown', ({ target }) => {
      if (target instanceof Node && !this.box.contains(target)) this.box.open = false;
    });
    this.field.addEventListener('focus', () => this.field.select());
    element('share-copy').addEventListener('click', () => void this.copy(this.field.value, 'The link is copied.'));
    element('share-embed').addEventListener('click', () => void this.copyFrame());
    element('share-weights').addEventListener('click', () => actions.weights());
    const { history, run } = actions;
    this.bind('share-file', ({ savePage }) => savePage(this.program));
    this.bind('share-html', ({ copyPage }) => copyPage(this.program));
    this.bind('share-csv', ({ saveCurves }) => saveCurves(history, run(), 'csv'));
    this.bind('share-json', ({ saveCurves }) => saveCurves(history, run(), 'json'));
  }

  /** Shows a message. */
  say(text: string): void {
    setText(this.note, text);
  }

  private get program(): ShownProgram {
    if (shown.program === null) throw new Error('there is no program yet');
    return shown.program;
  }

  /** Connects a button whose work is loaded with the first click, and shows the result as a message. */
  private bind(id: string, work: (all: Exports) => string | Promise<string>): void {
    const button = element<HTMLButtonElement>(id);
    button.addEventListener('click', async () => {
      button.disabled = true;
      this.say('One moment…');
      try {
        this.say(await work(await import('../share/exports.ts')));
      } catch (error) {
        this.say(error instanceof Error ? `${error.message}.` : String(error));
      }
      button.disabled = false;
    });
  }

  private async write(): Promise<void> {
    setText(this.note, '');
    this.field.value = '';
    const { program } = shown;
    if (program === null) return;
    try {
      this.field.value = await linkTo(program, this.actions.place(), false);
    } catch (error) {
      this.field.value = '';
      setText(this.note, error instanceof Error ? `${error.message}.` : String(error));
    }
  }

  private async copyFrame(): Promise<void> {
    const { program } = shown;
    if (program === null) return;
    const link = await linkTo(program, '', true).catch(() => null);
    if (link === null) return;
    const frame = `<iframe src="${link.replaceAll('&', '&amp;')}" width="100%" height="640" allow="cross-origin-isolated" title="Sinter playground"></iframe>`;
    await this.copy(frame, 'The lines for a page are copied.');
  }

  private async copy(text: string, done: string): Promise<void> {
    if (text === '') return;
    try {
      await navigator.clipboard.writeText(text);
      setText(this.note, done);
    } catch {
      this.field.value = text;
      this.field.select();
      setText(this.note, 'This browser lets nothing be copied: take it from the field.');
    }
  }
}
