// Splits a text of rules into words. % begins a comment, which ends with its line.

import { RuleError, quoted, type Place } from './syntax.js';

export type WordKind = 'name' | 'number' | 'quoted' | 'sign' | 'end';

export interface Word {
  readonly kind: WordKind;
  /** The text as written; for a quoted word without the quotes. */
  readonly text: string;
  readonly at: Place;
  /** The offsets in the text of its beginning and end. */
  readonly begin: number;
  readonly end: number;
}

// A number needs a digit behind its dot: the dot of `domain D = 20.` ends the sentence.
const PARTS = {
  space: /\s+|%[^\n]*/u,
  number: /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/u,
  name: /[\p{L}_][\p{L}\p{N}_]*/u,
  quoted: /'[^'\n]*'|"[^"\n]*"/u,
  sign: /:-|\?-|::|\+=|!=|<=|>=|[-+*=<>()[\]{},;.]/u,
};
const WORD = new RegExp(Object.entries(PARTS).map(([kind, part]) => `(?<${kind}>${part.source})`).join('|'), 'uy');

export const shownWord = ({ kind, text }: Word): string => (kind === 'end' ? 'the end of the text' : kind === 'quoted' ? quoted(text) : text);

export function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  let [line, lineBegin, begin] = [1, 0, 0];
  const place = (): Place => ({ line, column: begin - lineBegin + 1 });
  while (begin < text.length) {
    WORD.lastIndex = begin;
    const groups = WORD.exec(text)?.groups;
    if (!groups) throw unknown(place(), text.slice(begin));
    const end = WORD.lastIndex;
    const [kind, word] = Object.entries(groups).find(([, found]) => found !== undefined)!;
    if (kind !== 'space') words.push({ kind: kind as WordKind, text: kind === 'quoted' ? word.slice(1, -1) : word, at: place(), begin, end });
    for (let i = begin; i < end; i++) if (text[i] === '\n') [line, lineBegin] = [line + 1, i + 1];
    begin = end;
  }
  words.push({ kind: 'end', text: '', at: place(), begin, end: begin });
  return words;
}

function unknown(at: Place, rest: string): RuleError {
  const sign = String.fromCodePoint(rest.codePointAt(0)!);
  if (sign === "'" || sign === '"') return new RuleError(at, `the quote ${sign} is not closed in its line`);
  return new RuleError(at, `${sign} means nothing here`, sign === '#' || sign === '/' ? 'a comment begins with %' : '');
}
