// The text of a stage compared with that of the stage before, by CodeMirror's merge view in one column, which also fits on a
// phone.

import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, drawSelection, lineNumbers } from '@codemirror/view';
import { diff } from '../graph/diff.ts';
import type { Stage } from '../report.ts';
import { codeStyle } from './highlight.ts';

/** The number of unchanged lines shown around a change. */
const AROUND = 3;

const colours = EditorView.theme({
  '.cm-changedLine, .cm-insertedLine': { backgroundColor: 'var(--good-soft) !important' },
  '.cm-deletedChunk': { backgroundColor: 'var(--bad-soft) !important' },
  '.cm-changedText, .cm-insertedText': { background: 'color-mix(in srgb, var(--good) 22%, transparent) !important' },
  '.cm-deletedText': { background: 'color-mix(in srgb, var(--bad) 22%, transparent) !important' },
  '.cm-collapsedLines': { background: 'var(--well)', color: 'var(--muted)' },
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '""' },
  '.cm-changeGutter': { paddingLeft: 0 },
});

/**
 * Passes renumber the nodes. So that the texts differ only where the graphs do, nodes that stay get their former numbers, and
 * new ones get numbers like %n3.
 */
function withNumbersBefore(before: Stage, after: Stage): string {
  const { fresh, same } = diff(before, after);
  const names = new Map<number, string>();
  let made = 0;
  for (const node of after.nodes) {
    const was = same.get(node);
    names.set(node.id, was === undefined || fresh.has(node) ? `%n${made++}` : `%${was.id}`);
  }
  // Regions, whose lines are indented, number their nodes separately.
  return after.text
    .split('\n')
    .map((line) => (line.startsWith(' ') ? line : line.replace(/%(\d+)/g, (number, id) => names.get(Number(id)) ?? number)))
    .join('\n');
}

export class DiffView {
  private view: EditorView | null = null;

  constructor(private readonly parent: HTMLElement) {}

  show(before: Stage, after: Stage): void {
    this.view?.destroy();
    this.view = new EditorView({
      parent: this.parent,
      state: EditorState.create({
        doc: withNumbersBefore(before, after),
        extensions: [
          lineNumbers(),
          drawSelection(),
          codeStyle,
          colours,
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          EditorView.contentAttributes.of({ 'aria-label': 'What the pass changed in the text', tabindex: '0' }),
          unifiedMergeView({ original: before.text, mergeControls: false, collapseUnchanged: { margin: AROUND }, diffConfig: { scanLimit: 2000 } }),
        ],
      }),
    });
  }
}
