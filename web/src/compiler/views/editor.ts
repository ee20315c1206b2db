// The editor of the program. Tab leaves it, like any field; errors are shown at their place in the text.

import { defaultKeymap, history, historyKeymap, isolateHistory } from '@codemirror/commands';
import { bracketMatching, indentOnInput, indentUnit, syntaxTree } from '@codemirror/language';
import { setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { Compartment, EditorState, Transaction, type Extension } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import type { Problem } from '../protocol.ts';
import { codeStyle } from './highlight.ts';

export class Editor {
  private readonly view: EditorView;
  private readonly history = new Compartment();
  private replacing = false;
  /** The problem of the last run, and problems found without running the text. */
  private problems: Diagnostic[] = [];
  private hints: Diagnostic[] = [];

  /** onEdit: called when the user changes the text. */
  constructor(parent: HTMLElement, language: Extension, onEdit: () => void) {
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          lineNumbers(),
          this.history.of(history()),
          drawSelection(),
          indentUnit.of('  '),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          language,
          codeStyle,
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.contentAttributes.of({ 'aria-label': 'Program', spellcheck: 'false', tabindex: '0' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !this.replacing) onEdit();
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  set text(text: string) {
    const { length } = this.view.state.doc;
    this.replacing = true;
    this.view.dispatch({
      changes: { from: 0, to: length, insert: text },
      // The first text cannot be undone; others are undone by themselves, not together with what was typed before.
      annotations: [Transaction.addToHistory.of(length > 0), isolateHistory.of('full')],
    });
    this.view.scrollDOM.scrollTop = 0;
    this.replacing = false;
  }

  /** From here on, earlier texts cannot be undone. */
  forget(): void {
    for (const kept of [[], history()]) this.view.dispatch({ effects: this.history.reconfigure(kept) });
  }

  focus(): void {
    this.view.focus();
  }

  /** The place, from 1, of the first syntax error; null if the parser finds none. */
  syntaxError(): { line: number; column: number } | null {
    let at: number | null = null;
    syntaxTree(this.view.state).iterate({
      enter: ({ type, from }) => {
        if (type.isError) at ??= from;
      },
    });
    if (at === null) return null;
    const line = this.view.state.doc.lineAt(at);
    return { line: line.number, column: at - line.from + 1 };
  }

  /** Underlines the place of a problem; null removes the mark. */
  mark(problem: Problem | null): void {
    const { doc } = this.view.state;
    this.problems = [];
    if (problem !== null && problem.line !== null && problem.line <= doc.lines) {
      const line = doc.line(problem.line);
      const from = Math.min(line.to, line.from + (problem.column ?? 1) - 1);
      const word = this.view.state.wordAt(from);
      const to = word === null || word.to === from ? Math.min(line.to, from + 1) : word.to;
      this.problems = [{ from: from === to ? line.from : from, to, severity: 'error', message: problem.message, source: problem.name }];
    }
    this.underline();
  }

  /** Underlines problems found without running the text. */
  hint(hints: Diagnostic[]): void {
    this.hints = hints;
    this.underline();
  }

  private underline(): void {
    const { length } = this.view.state.doc;
    const all = [...this.problems, ...this.hints].filter(({ to }) => to <= length);
    this.view.dispatch(setDiagnostics(this.view.state, all.sort((a, b) => a.from - b.from)));
  }
}
