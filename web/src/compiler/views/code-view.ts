// Read-only text: the IR of a stage, a kernel's WebAssembly, C, JavaScript. Only visible lines are in the document, so a kernel
// of ten thousand lines costs no more than one of ten.

import { javascript } from '@codemirror/lang-javascript';
import { StreamLanguage, foldGutter, indentUnit } from '@codemirror/language';
import { c } from '@codemirror/legacy-modes/mode/clike';
import { rust } from '@codemirror/legacy-modes/mode/rust';
import { wast } from '@codemirror/legacy-modes/mode/wast';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { EditorView, drawSelection, lineNumbers } from '@codemirror/view';
import { codeStyle } from './highlight.ts';
import { lightLines, litLines } from './linked-lines.ts';

export type Language = 'plain' | 'wat' | 'wgsl' | 'c' | 'js' | 'ts';

const LANGUAGES: { [L in Language]: Extension } = {
  plain: [],
  wat: StreamLanguage.define(wast),
  // WGSL's words are nearly those of Rust.
  wgsl: StreamLanguage.define(rust),
  c: StreamLanguage.define(c),
  js: javascript(),
  ts: javascript({ typescript: true }),
};

export class CodeView {
  private readonly view: EditorView;
  private readonly language = new Compartment();
  private shown: Language = 'plain';

  constructor(parent: HTMLElement, label: string) {
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          lineNumbers(),
          foldGutter(),
          drawSelection(),
          indentUnit.of('  '),
          this.language.of([]),
          codeStyle,
          litLines,
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Highlights lines, from 1. */
  light(lines: ReadonlySet<number>): void {
    lightLines(this.view, { lines, around: new Set() }, true);
  }

  show(text: string, language: Language): void {
    if (language === this.shown && text === this.text) return;
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      effects: language === this.shown ? [] : this.language.reconfigure(LANGUAGES[language]),
    });
    this.shown = language;
    this.view.scrollDOM.scrollTop = 0;
  }
}
