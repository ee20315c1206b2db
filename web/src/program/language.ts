// TypeScript in the editor: completion with explanations, a description under the pointer, and errors at their place. The
// worker for this is started when an editor first gets the focus; all editors share it.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import type { Diagnostic } from '@codemirror/lint';
import type { Extension } from '@codemirror/state';
import { EditorView, hoverTooltip, keymap, tooltips } from '@codemirror/view';
import { Rpc } from '../compiler/rpc.ts';
import { create } from '../views/dom.ts';
import type { LanguageMethods } from './language-protocol.ts';

/** The worker is large, so its first answer may take a while. */
const LIMIT_MS = 60_000;
/** How long a text must stay unchanged, in ms, before it is checked. */
const RESTS_MS = 500;
const MOST_CODE = 600;

const service = new Rpc<LanguageMethods>(
  () => new Worker(new URL('./workers/language.ts', import.meta.url), { type: 'module', name: 'language' }),
);

/** The answer, or null if it fails: the editor then goes on without it. */
const asked = <T>(answer: Promise<T>): Promise<T | null> => answer.catch(() => null);

function note(code: string, text: string): HTMLElement {
  const shown = code.length > MOST_CODE ? `${code.slice(0, MOST_CODE)}…` : code;
  return create('div', 'language-note', create('code', '', shown), ...(text === '' ? [] : [create('p', '', text)]));
}

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const text = context.state.doc.toString();
  const found = await asked(service.ask('proposals', [text, context.pos, context.explicit], LIMIT_MS));
  if (found === null || context.aborted) return null;
  return {
    from: found.from,
    validFor: /^[\w$]*$/,
    options: found.options.map(({ label, type, order }) => ({
      label,
      type,
      boost: -order,
      info: async () => {
        const about = await asked(service.ask('details', [text, context.pos, label], LIMIT_MS));
        return about && note(about.code, about.text);
      },
    })),
  };
}

const hover = hoverTooltip(async (view, pos) => {
  const found = await asked(service.ask('describe', [view.state.doc.toString(), pos], LIMIT_MS));
  return found && { pos: found.from, end: found.to, above: true, create: () => ({ dom: note(found.code, found.text) }) };
});

const theme = EditorView.theme({
  '.cm-tooltip-autocomplete > ul': { maxHeight: '220px', fontFamily: 'var(--mono)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent-soft)', color: 'var(--accent-strong)' },
  '.cm-completionInfo': { marginInline: '2px' },
});

/** `mark`: called with the errors of a text that has stayed unchanged, once the editor has had the focus. */
export function language(mark: (mistakes: Diagnostic[]) => void): Extension {
  let isOn = false;
  let timer = 0;
  const look = async (view: EditorView): Promise<void> => {
    const { doc } = view.state;
    const found = await asked(service.ask('mistakes', [doc.toString()], LIMIT_MS));
    if (found === null || view.state.doc !== doc) return;
    view.dom.dataset.mistakes = String(found.length);
    mark(found.map(({ from, to, message }) => ({ from, to: Math.min(to, doc.length), message, severity: 'error', source: 'TypeScript' })));
  };
  const soon = (view: EditorView): void => {
    clearTimeout(timer);
    delete view.dom.dataset.mistakes;
    timer = window.setTimeout(() => void look(view), RESTS_MS);
  };
  return [
    autocompletion({ override: [complete], activateOnTyping: true }),
    closeBrackets(),
    // Keeps tooltips from being clipped at the editor's border.
    tooltips({ parent: document.body }),
    theme,
    hover,
    keymap.of([...closeBracketsKeymap, ...completionKeymap]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged && isOn) soon(update.view);
    }),
    EditorView.domEventHandlers({
      focus: (_, view) => {
        if (!isOn) soon(view);
        isOn = true;
      },
    }),
  ];
}
