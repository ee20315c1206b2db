// Links to the shown program: to open it, and to show it within another page.

import { linkTo } from '../program/address.ts';
import { shown } from '../program/shown.ts';
import { element, setText } from './dom.ts';

export class ShareBox {
  private readonly box = element<HTMLDetailsElement>('share');
  private readonly field = element<HTMLInputElement>('share-link');
  private readonly note = element('share-note');

  /** `place`: the tab that a link opens. */
  constructor(private readonly place: () => string) {
    this.box.addEventListener('toggle', () => {
      if (this.box.open) void this.write();
      else this.field.value = ''; // a link of before is not to be taken for the next one
    });
    this.box.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape') this.box.open = false;
    });
    document.addEventListener('pointerdown', ({ target }) => {
      if (target instanceof Node && !this.box.contains(target)) this.box.open = false;
    });
    this.field.addEventListener('focus', () => this.field.select());
    element('share-copy').addEventListener('click', () => void this.copy(this.field.value, 'The link is copied.'));
    element('share-embed').addEventListener('click', () => void this.copyFrame());
  }

  private async write(): Promise<void> {
    setText(this.note, '');
    this.field.value = '';
    const { program } = shown;
    if (program === null) return;
    try {
      this.field.value = await linkTo(program, this.place(), false);
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
