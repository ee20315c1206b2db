// Strips TypeScript to JavaScript, line by line. Also counts the turns of loops and the calls of functions, so that a program
// without end is stopped and its line is known. Both are loaded only for programs that were changed.

import type { SyntaxNode } from '@lezer/common';
import { parser } from '@lezer/javascript';
import { transform } from 'sucrase';

export const stripTypes = (source: string): string =>
  transform(source, { transforms: ['typescript', 'imports'], disableESTransforms: true }).code;

const typescript = parser.configure({ dialect: 'ts' });
/** The function that each turn calls; evaluate.ts passes it to the program. */
const TURN = '$turn';

const LOOPS = ['ForStatement', 'WhileStatement', 'DoStatement'];
const FUNCTIONS = ['FunctionDeclaration', 'FunctionExpression', 'MethodDeclaration', 'ArrowFunction'];

/** A text to insert at a position. */
interface Piece {
  at: number;
  text: string;
}

/** Makes a body begin with TURN; the body is a block, a statement, or the value of an arrow function. */
function beginning({ name, from, to }: SyntaxNode, isValue: boolean): Piece[] {
  if (name === 'Block') return [{ at: from + 1, text: `${TURN}();` }];
  const [before, after] = isValue ? [`(${TURN}(), `, ')'] : [`{${TURN}();`, '}'];
  return [{ at: from, text: before }, { at: to, text: after }];
}

/** Loops that wait for something yield to the event loop. */
const waits = (source: string, { from, to }: SyntaxNode): boolean => /\bawait\b/.test(source.slice(from, to));

/** Makes each function begin with TURN, and each turn of a loop that does not wait. A text with a syntax error stays
 *  unchanged. */
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
