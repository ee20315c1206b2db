// A program as the user wrote it: text that defines a function `program` and its arguments `inputs`.
//
// `new Function` makes it a function here, in a worker. The page's own policy forbids that to the page; a
// worker has the policy of its own response, and this one is meant to run what the user types. Nothing
// but that text is ever run: no address and no message of another page leads here. Where a server's policy
// forbids it to workers as well, the EvalError is shown.

import * as sn from 'sinter';
import type { Problem } from '../protocol.ts';

export interface Source {
  program: (...args: unknown[]) => unknown;
  inputs: unknown[];
}

/** The name under which engines report places in the text. */
const FILE = 'program.js';
/** Lines that `new Function` puts before the text. */
const LINES_BEFORE = 2;

export class SourceError extends Error {
  override readonly name = 'ProgramError';
}

export function evaluate(source: string): Source {
  const text = `"use strict";${source}\n;return {
    program: typeof program === 'undefined' ? undefined : program,
    inputs: typeof inputs === 'undefined' ? undefined : inputs,
  };\n//# sourceURL=${FILE}`;
  const make = new Function('sn', text) as (package_: typeof sn) => Partial<Source>;
  const { program, inputs } = make(sn);
  if (typeof program !== 'function') throw new SourceError('there is no function called program');
  if (!Array.isArray(inputs)) throw new SourceError('there is no array called inputs');
  return { program, inputs };
}

/** Where in the text an error arose: the innermost place of its stack that lies in it. */
function place(stack: string): { line: number; column: number } | null {
  const found = /program\.js(?: line \d+ > Function)?:(\d+):(\d+)/.exec(stack);
  if (found === null) return null;
  const line = Number(found[1]) - LINES_BEFORE;
  const column = Number(found[2]) - (line === 1 ? '"use strict";'.length : 0);
  return line >= 1 ? { line, column: Math.max(1, column) } : null;
}

/** The lines of the text among places, each once. */
export function linesIn(places: readonly sn.SourcePlace[]): number[] {
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
  const at = place(error.stack ?? '');
  return {
    name: error.name,
    message: error.message,
    hint,
    line: at?.line ?? null,
    column: at?.column ?? null,
  };
}
