// Highlights the lines of a text that belong to the selection, and selects the line under the cursor.

import { RangeSetBuilder, StateEffect, StateField, type Extension } from '@codemirror/state';
import { Decoration, EditorView, ViewPlugin, type DecorationSet } from '@codemirror/view';
import type { Selection } from '../selection.ts';

export interface LitLines {
  /** Line numbers from 1: those of the selection, and those from which they were reached. */
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

/** An extension for texts whose lines can be highlighted. */
export const litLines: Extension = field;

/** Highlights lines of a text that has `litLines`, and optionally scrolls to the first. */
export function lightLines(view: EditorView, lit: LitLines, scroll: boolean): void {
  const first = Math.min(...lit.lines);
  const { doc } = view.state;
  const effects: StateEffect<unknown>[] = [light.of(lit)];
  if (scroll && first >= 1 && first <= doc.lines) effects.push(EditorView.scrollIntoView(doc.line(first).from, { y: 'nearest', yMargin: 24 }));
  view.dispatch({ effects });
}

/** Connects the program's editor with the selection. */
export function linkedLines(selection: Selection): Extension {
  const plugin = ViewPlugin.define((view) => {
    selection.listen((lit) => lightLines(view, lit ?? NONE, lit?.chosen.what !== 'line'));
    return {};
  });
  const chooser = EditorView.updateListener.of(({ selectionSet, docChanged, state, transactions }) => {
    // Only selections by the user count, not those that the program makes.
    if (!selectionSet || docChanged || !transactions.some((each) => each.isUserEvent('select'))) return;
    selection.choose({ what: 'line', line: state.doc.lineAt(state.selection.main.head).number });
  });
  return [field, plugin, chooser];
}
