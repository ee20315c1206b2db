// The editor of the shown program, with TypeScript's support: completion, descriptions, and errors at their line.

import type { Extension } from '@codemirror/state';
import { javascript } from '@codemirror/lang-javascript';
import type { Problem } from '../compiler/protocol.ts';
import { Editor } from '../compiler/views/editor.ts';
import { language } from './language.ts';
import { shown, type Change, type ShownProgram } from './shown.ts';

export class ProgramEditor {
  private readonly editor: Editor;
  private name = '';

  constructor(parent: HTMLElement, onEdit: (text: string) => void, more: Extension = []) {
    this.editor = new Editor(parent, [javascript({ typescript: true }), language((mistakes) => this.editor.hint(mistakes)), more], () => onEdit(this.editor.text));
  }

  /** The text that runs: that of the editor, followed by the settings that the page's fields have changed (see toLookAt). */
  get text(): string {
    const settings = shown.program?.settings ?? {};
    const { text } = this.editor;
    return Object.keys(settings).length === 0 ? text : `${text}\nexport const settingsOfFields = ${JSON.stringify(settings)};\n`;
  }

  /** Takes over the shown program. Edits of another program cannot be undone in it. */
  follow({ name, text, isChanged }: ShownProgram, change: Change): void {
    const isOther = change === 'chosen' && (name !== this.name || isChanged);
    this.name = name;
    if (text !== this.editor.text) this.editor.text = text;
    if (isOther) this.editor.forget();
  }

  mark(problem: Problem | null): void {
    this.editor.mark(problem);
  }

  syntaxError(): { line: number; column: number } | null {
    return this.editor.syntaxError();
  }

  focus(): void {
    this.editor.focus();
  }
}
