// Describes errors in a program that a user wrote, with their places in its text. program/workers/evaluate.ts runs it.

import type { SourcePlace } from 'sinter';
import type { Problem } from '../protocol.ts';

/** The file name under which engines report places in the text. */
export const FILE = 'program.js';
/** The number of lines that `new Function` puts before the text. */
const LINES_BEFORE = 2;

export class SourceError extends Error {
  override readonly name: string = 'ProgramError';
}

/** The text cannot be parsed; with the place of the error. */
export class ParseError extends SourceError {
  override readonly name = 'SyntaxError';

  constructor(
    message: string,
    readonly line: number,
    readonly column: number,
  ) {
    super(message);
  }
}

/** The place in the text of the innermost stack frame that lies in it; null if there is none. */
function place(stack: string): { line: number; column: number } | null {
  const found = /program\.js(?: line \d+ > Function)?:(\d+):(\d+)/.exec(stack);
  if (found === null) return null;
  const line = Number(found[1]) - LINES_BEFORE;
  const column = Number(found[2]) - (line === 1 ? '"use strict";'.length : 0);
  return line >= 1 ? { line, column: Math.max(1, column) } : null;
}

/** The line numbers in the text that occur among places, each once. */
export function linesIn(places: readonly SourcePlace[]): number[] {
  const lines = places.flatMap(({ file, line }) => (file === FILE ? [line - LINES_BEFORE] : []));
  return [...new Set(lines)];
}

export function describe(error: unknown): Problem {
  if (!(error instanceof Error))
    return { name: 'Error', message: String(error), hint: '', line: null, column: null };
  const forbidden = error instanceof EvalError;
  const hint = forbidden
    ? "This server's Content-Security-Policy forbids it; programs need 'unsafe-eval' in that of the worker."
    : 'hint' in error && typeof error.hint === 'string'
      ? error.hint
      : '';
  const at = error instanceof ParseError ? error : place(error.stack ?? '');
  return {
    name: error.name,
    message: error.message,
    hint,
    line: at?.line ?? null,
    column: at?.column ?? null,
  };
}
