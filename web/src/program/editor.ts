// The editor of the shown program, with what TypeScript knows of it: completion, descriptions, and errors at their line.

import type { Extension } from '@codemirror/state';
import { javascript } from '@codemirror/lang-javascript';
import type { Problem } from '../compiler/protocol.ts';
import { Editor } from '../compiler/views/editor.ts';
import { language } from './language.ts';

export class ProgramEditor {
  private readonly editor: Editor;

  constructor(parent: HTMLElement, onEdit: (text: string) => void, more: Extension = []) {
    this.editor = new Editor(parent, [javascript({ typescript: true }), language((mistakes) => this.editor.hint(mistakes)), more], () => onEdit(this.editor.text));
  }

  get text(): string {
    return this.editor.text;
  }
  set text(text: string) {
    if (text !== this.editor.text) this.editor.text = text;
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
