// Lines of a text that belong to what is selected, and the line under the cursor as a selection of its own.

import { RangeSetBuilder, StateEffect, StateField, type Extension } from '@codemirror/state';
import { Decoration, EditorView, ViewPlugin, type DecorationSet } from '@codemirror/view';
import type { Selection } from '../selection.ts';

export interface LitLines {
  /** From 1. */
  lines: ReadonlySet<number>;
  around: ReadonlySet<number>;
}

const NONE: LitLines = { lines: new Set(), around: new Set() };
const light = StateEffect.define<LitLines>();
const main = Decoration.line({ class: 'lit-line' });
const faint = Decoration.line({ class: 'lit-line around' });

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(decorations, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(light)) continue;
      const builder = new RangeSetBuilder<Decoration>();
      const { doc } = transaction.state;
      const { lines, around } = effect.value;
      for (const line of [...new Set([...lines, ...around])].sort((a, b) => a - b))
        if (line >= 1 && line <= doc.lines) builder.add(doc.line(line).from, doc.line(line).from, lines.has(line) ? main : faint);
      return builder.finish();
    }
    return decorations.map(transaction.changes);
  },
  provide: (of) => EditorView.decorations.from(of),
});

/** Lines that can be lit. */
export const litLines: Extension = field;

/** Lights lines of a text with `litLines`, and brings the first into sight. */
export function lightLines(view: EditorView, lit: LitLines, scroll: boolean): void {
  const first = Math.min(...lit.lines);
  const { doc } = view.state;
  const effects: StateEffect<unknown>[] = [light.of(lit)];
  if (scroll && first >= 1 && first <= doc.lines) effects.push(EditorView.scrollIntoView(doc.line(first).from, { y: 'nearest', yMargin: 24 }));
  view.dispatch({ effects });
}

/** The program's editor as a view of the selection. */
export function linkedLines(selection: Selection): Extension {
  const plugin = ViewPlugin.define((view) => {
    selection.listen((lit) => lightLines(view, lit ?? NONE, lit?.chosen.what !== 'line'));
    return {};
  });
  const chooser = EditorView.updateListener.of(({ selectionSet, docChanged, state, transactions }) => {
    // What the user does, not what a program does to the text.
    if (!selectionSet || docChanged || !transactions.some((each) => each.isUserEvent('select'))) return;
    selection.choose({ what: 'line', line: state.doc.lineAt(state.selection.main.head).number });
  });
  return [field, plugin, chooser];
}
