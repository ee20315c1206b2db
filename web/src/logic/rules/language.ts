// The syntax of rules, for highlighting in the editor.

import { StreamLanguage } from '@codemirror/language';
import type { Extension } from '@codemirror/state';

const KEYWORDS = /^(?:domain|param|not|step|sigmoid|relu|tanh|exp|softmax)\b/u;

const rules = StreamLanguage.define<null>({
  name: 'rules',
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^%.*/u)) return 'comment';
    if (stream.match(/^'[^']*'?|^"[^"]*"?/u)) return 'string';
    if (stream.match(/^\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/u)) return 'number';
    if (stream.match(KEYWORDS)) return 'keyword';
    if (stream.match(/^[\p{Lu}][\p{L}\p{N}_]*/u)) return 'typeName';
    if (stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u)) return 'variableName';
    if (stream.match(/^(?::-|\?-|::|\+=)/u)) return 'keyword';
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: '%' } },
});

export const rulesLanguage: Extension = rules;
