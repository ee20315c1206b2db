// Turns the text of a program into a module, in a worker: strips its types, and provides what it imports and prints with.
//
// The text runs as a function that is made from it. The page's own policy forbids that in the page. But a worker has the policy
// of its own response, and this worker exists to run what the user types. If a server's policy forbids it in workers as well,
// the EvalError is shown. Text from an address runs only after the visitor has asked for it (program/shown.ts).

import * as sn from 'sinter';
import { FILE, ParseError, SourceError } from '../../compiler/workers/source.ts';
import * as playground from './playground.ts';

/** What a program exports, and what its short form declares. */
export interface Exports {
  [name: string]: unknown;
}

export type Print = (level: 'log' | 'warn' | 'error', line: string) => void;

/** Entry points of the package, loaded only for programs that import them. */
const BESIDE: Record<string, () => Promise<object>> = {
  'sinter/logic': () => import('sinter/logic'),
  'sinter/onnx': () => import('sinter/onnx'),
  'sinter/gguf': () => import('sinter/gguf'),
  'sinter/llm': () => import('sinter/llm'),
  'sinter/report': () => import('sinter/report'),
  'sinter/parallel': () => import('sinter/parallel'),
};

/** Loads the entry points that a text imports. */
async function besideOf(source: string): Promise<Record<string, object>> {
  const loaded: Record<string, object> = {};
  for (const [, name] of source.matchAll(/^\s*import\b[^;]*?\bfrom\s+['"](sinter\/\w+)['"]/gm))
    if (Object.hasOwn(BESIDE, name)) loaded[name] ??= await BESIDE[name]();
  return loaded;
}

/** The programs of the list, compiled to JavaScript when the page was built. */
const STRIPPED = import.meta.glob<{ text: string; code: string }>('../gallery/*.ts', { query: '?stripped', import: 'default' });

/** The JavaScript, line by line as in the text. */
async function strip(source: string, name: string, hasLimit: boolean): Promise<string> {
  const listed = await STRIPPED[`../gallery/${name}.ts`]?.();
  if (listed?.text === source) return listed.code;
  const { countTurns, stripTypes } = await import('./strip.ts');
  try {
    return stripTypes(hasLimit ? countTurns(source) : source);
  } catch (error) {
    const { message, loc } = error as Error & { loc?: { line: number; column: number } };
    if (loc === undefined) throw error;
    throw new ParseError(message.replace(/^Error parsing \S+: |\s*\(\d+:\d+\)$/g, ''), loc.line, loc.column);
  }
}

function requiring(sinter: typeof sn, beside: Record<string, object>): (name: string) => object {
  const modules: Record<string, object> = { ...beside, sinter, playground };
  return (name) => {
    if (!Object.hasOwn(modules, name))
      throw new SourceError(`a program imports from 'sinter', its entry points and 'playground', and there is no '${name}' here`);
    return { __esModule: true, ...modules[name] };
  };
}

/** Node's hook for printing: a tensor shows its values, if they are computed. */
const IN_NODE = Symbol.for('nodejs.util.inspect.custom');

/** Only the beginning of a long list. */
const listed = (name: string, values: unknown[], length: number, depth: number): string =>
  length === 0 ? `${name}[]` : `${name}[ ${values.map((each) => written(each, depth + 1)).join(', ')}${length > values.length ? ', …' : ''} ]`;

/** Any value as text; depth: the number of values that it is nested in. */
function shown(value: unknown, depth: number): string {
  if (typeof value === 'string') return depth > 0 ? `'${value}'` : value;
  if (value instanceof sn.Tensor) return (value as unknown as Record<symbol, () => string>)[IN_NODE]();
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (Array.isArray(value)) return listed('', value.slice(0, MOST_PARTS), value.length, depth);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const array = value as Float32Array;
    return listed(`${array.constructor.name}(${array.length}) `, [...array.subarray(0, MOST_PARTS)], array.length, depth);
  }
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype)
    return `{ ${Object.entries(value).slice(0, MOST_PARTS).map(([name, each]) => `${name}: ${written(each, depth + 1)}`).join(', ')} }`;
  return Object.is(value, -0) ? '-0' : String(value);
}

/** Values that are nested too deeply, or that throw, are shown by their kind. */
function written(value: unknown, depth = 0): string {
  try {
    if (depth <= DEEPEST || typeof value !== 'object') return shown(value, depth);
  } catch {
    // falls back to the kind
  }
  return Object.prototype.toString.call(value);
}

/** Long lines are cut: one line of a million letters is as bad as a million lines. */
const MOST_LETTERS = 500;
const MOST_PARTS = 50;
const DEEPEST = 4;

function printing(print: Print): Record<string, (...values: unknown[]) => void> {
  const at =
    (level: 'log' | 'warn' | 'error') =>
    (...values: unknown[]): void =>
      values.map((value) => written(value)).join(' ').split('\n').forEach((line) => print(level, line.slice(0, MOST_LETTERS)));
  return { log: at('log'), info: at('log'), debug: at('log'), table: at('log'), warn: at('warn'), error: at('error') };
}

/** The longest time, in ms, that a program may run without yielding to the worker's event loop. */
const LONGEST_MS = 5000;
/** The clock is read once in this many turns. */
const TURNS = 64;

/** Called in each turn of a loop and each call of a function. The time counts from the first turn since the event loop was
 *  last free. */
function limit(): () => void {
  let turns = 0;
  let begun = 0;
  return () => {
    if (++turns % TURNS !== 0) return;
    const now = performance.now();
    if (begun === 0) {
      begun = now;
      setTimeout(() => (begun = 0));
    } else if (now - begun > LONGEST_MS) {
      begun = now;
      throw new SourceError(`a loop or function has not come to an end for ${LONGEST_MS / 1000} s`);
    }
  };
}

export interface RunOptions {
  /** Its name, if it may be a program of the list. */
  name?: string;
  print?: Print;
  /** Whether endless loops and endless recursion are stopped. */
  hasLimit?: boolean;
  /** The object that the program imports as sinter. */
  sinter?: typeof sn;
}

/** An async function, as a module may use await at its top level. */
const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;

/** Runs the text. Returns its exports, or what it declares as `program` and `inputs`. */
export async function run(source: string, options: RunOptions = {}): Promise<Exports> {
  const { name = '', print = () => undefined, hasLimit = false, sinter = sn } = options;
  const text = `"use strict";${await strip(source, name, hasLimit)}\n;return {
    program: typeof program === 'undefined' ? undefined : program,
    inputs: typeof inputs === 'undefined' ? undefined : inputs,
    ...exports,
  };\n//# sourceURL=${FILE}`;
  const make = new AsyncFunction('sn', 'require', 'exports', 'console', '$turn', text) as (...given: unknown[]) => Promise<Exports>;
  return make(sinter, requiring(sinter, await besideOf(source)), {}, printing(print), limit());
}
