// TypeScript to JavaScript, a line for each line of the text; and loops that are counted, so that one without an end can be
// told by its line. Both are loaded for programs that were changed.

import { parser } from '@lezer/javascript';
import { transform } from 'sucrase';

export const stripTypes = (source: string): string =>
  transform(source, { transforms: ['typescript', 'imports'], disableESTransforms: true }).code;

const typescript = parser.configure({ dialect: 'ts' });
/** What each round of a loop calls; the program gets it from evaluate.ts. */
export const TURN = '$turn';

/** Each loop calls TURN in every round, but for those that wait for something. A text that cannot be parsed stays as it is. */
export function countLoops(source: string): string {
  const pieces: { at: number; text: string }[] = [];
  let isBroken = false;
  typescript.parse(source).iterate({
    enter: ({ node, type }) => {
      isBroken ||= type.isError;
      if (!['ForStatement', 'WhileStatement', 'DoStatement'].includes(type.name)) return;
      const body = type.name === 'DoStatement' ? node.firstChild?.nextSibling : node.lastChild;
      if (body === null || body === undefined || /\bawait\b/.test(source.slice(node.from, node.to))) return;
      if (body.name === 'Block') pieces.push({ at: body.from + 1, text: `${TURN}();` });
      else pieces.push({ at: body.from, text: `{${TURN}();` }, { at: body.to, text: '}' });
    },
  });
  if (isBroken) return source;
  let text = source;
  for (const piece of pieces.sort((a, b) => b.at - a.at)) text = text.slice(0, piece.at) + piece.text + text.slice(piece.at);
  return text;
}
