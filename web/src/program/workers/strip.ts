// TypeScript to JavaScript, a line for each line of the text; and turns of loops and calls of functions that are counted, so
// that what has no end can be told by its line. Both are loaded for programs that were changed.

import type { SyntaxNode } from '@lezer/common';
import { parser } from '@lezer/javascript';
import { transform } from 'sucrase';

export const stripTypes = (source: string): string =>
  transform(source, { transforms: ['typescript', 'imports'], disableESTransforms: true }).code;

const typescript = parser.configure({ dialect: 'ts' });
/** What each turn calls; the program gets it from evaluate.ts. */
const TURN = '$turn';

const LOOPS = ['ForStatement', 'WhileStatement', 'DoStatement'];
const FUNCTIONS = ['FunctionDeclaration', 'FunctionExpression', 'MethodDeclaration', 'ArrowFunction'];

/** A place in a text, and what is to stand there. */
interface Piece {
  at: number;
  text: string;
}

/** What makes a body begin with TURN: a block, a statement, or the value of an arrow function. */
function beginning({ name, from, to }: SyntaxNode, isValue: boolean): Piece[] {
  if (name === 'Block') return [{ at: from + 1, text: `${TURN}();` }];
  const [before, after] = isValue ? [`(${TURN}(), `, ')'] : [`{${TURN}();`, '}'];
  return [{ at: from, text: before }, { at: to, text: after }];
}

/** Loops that wait for something let others in between. */
const waits = (source: string, { from, to }: SyntaxNode): boolean => /\bawait\b/.test(source.slice(from, to));

/** Each function begins with TURN, and each round of a loop that waits for nothing. A text with a mistake stays as it is. */
export function countTurns(source: string): string {
  const pieces: Piece[] = [];
  let isBroken = false;
  typescript.parse(source).iterate({
    enter: ({ node, type }) => {
      isBroken ||= type.isError;
      const isFunction = FUNCTIONS.includes(type.name);
      if (!isFunction && (!LOOPS.includes(type.name) || waits(source, node))) return;
      const body = type.name === 'DoStatement' ? node.firstChild?.nextSibling : node.lastChild;
      if (!body || (isFunction && type.name !== 'ArrowFunction' && body.name !== 'Block')) return; // one without a body
      pieces.push(...beginning(body, type.name === 'ArrowFunction'));
    },
  });
  if (isBroken) return source;
  let text = source;
  for (const piece of pieces.sort((a, b) => b.at - a.at)) text = text.slice(0, piece.at) + piece.text + text.slice(piece.at);
  return text;
}
