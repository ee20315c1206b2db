// The card of the program: its text, its errors, and what it prints. The text is plain until the user points at it or focuses
// it; then the editor is loaded.

import '../style/code.css';
import type { Problem } from '../compiler/protocol.ts';
import type { ProgramEditor } from '../program/editor.ts';
import { shown } from '../program/shown.ts';
import type { Printed } from '../state/protocol.ts';
import { create, element, setText } from './dom.ts';
import { count, withHint } from './format.ts';

/** How long the text must stay unchanged, in ms, before training starts over with it. */
const TYPING_MS = 800;
const MOST_LINES = 300;

export class SourceCard {
  private readonly box = element('source-editor');
  private readonly preview = element('source-preview');
  private readonly line = element('source-problem');
  private readonly log = element('printed');
  private editor: Promise<ProgramEditor> | null = null;
  private problem: Problem | null = null;
  private typing = 0;
  private left = 0;

  /** `onEdit`: called when the text was changed by hand and has stayed unchanged for a while. */
  constructor(private readonly onEdit: () => void) {
    for (const event of ['pointerenter', 'focus'] as const)
      this.preview.addEventListener(event, () => void this.open(event === 'focus'), { once: true });
    this.preview.addEventListener('click', () => void this.open(true));
    element('revert').addEventListener('click', () => void shown.choose(shown.entry.name, shown.program?.settings));
    shown.subscribe((program, change, by) => {
      setText(this.preview, program.text);
      element('source-changed').hidden = !program.isChanged;
      if (change === 'settings') return;
      if (by !== this) void this.editor?.then((editor) => editor.follow(program, change));
      if (change === 'edited') this.wait();
    });
  }

  /** Shows an error at its place; null: there is none. The editor's own parser knows better where a syntax error is. */
  show(problem: Problem | null): void {
    this.write(problem);
    void this.editor?.then((editor) => {
      const at = problem?.name === 'SyntaxError' ? editor.syntaxError() : null;
      if (problem !== null && at !== null && this.problem === problem) this.write({ ...problem, ...at });
      editor.mark(this.problem);
    });
  }

  private write(problem: Problem | null): void {
    this.problem = problem;
    this.line.hidden = problem === null;
    this.line.classList.toggle('problem', problem !== null);
    if (problem === null) return;
    const { line, name } = problem;
    setText(this.line, `${line === null ? '' : `Line ${line}: `}${name}: ${withHint(problem)}`);
  }

  clearLog(): void {
    this.log.replaceChildren();
    this.log.hidden = true;
    this.left = 0;
  }

  print(lines: readonly Printed[], more: number): void {
    const atEnd = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 4;
    this.left += more;
    this.log.append(...lines.map(({ level, line }) => create('p', level, line)));
    while (this.log.childElementCount > MOST_LINES) {
      this.log.firstElementChild?.remove();
      this.left++;
    }
    this.log.dataset.more = this.left === 0 ? '' : `… ${count(this.left)} more lines`;
    this.log.hidden = false;
    if (atEnd) this.log.scrollTop = this.log.scrollHeight;
  }

  private wait(): void {
    clearTimeout(this.typing);
    this.typing = window.setTimeout(() => this.onEdit(), TYPING_MS);
  }

  private async open(withFocus: boolean): Promise<void> {
    this.editor ??= import('../program/editor.ts').then(({ ProgramEditor: Made }) => {
      const made = new Made(this.box, (text) => shown.edit(text, this));
      if (shown.program !== null) made.follow(shown.program, 'chosen');
      made.mark(this.problem);
      this.preview.hidden = true;
      return made;
    });
    try {
      const editor = await this.editor;
      if (withFocus) editor.focus();
    } catch {
      this.editor = null; // a click tries again
    }
  }
}
