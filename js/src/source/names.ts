// Names in written source: of parameters and what is in them as the function has them, of values after what they are.

import { leavesWithPaths, type TreeShape } from '../pytree.js';

type AnyFunction = (...args: never) => unknown;

/** What a transform made a function of. */
interface Origin {
  of: AnyFunction;
  /** The arguments that it returns derivatives by; a number: of one alone. */
  gradsOf: number | readonly number[] | null;
  /** Whether it returns the value in front of them. */
  hasValue: boolean;
}

const origins = new WeakMap<AnyFunction, Origin>();

/** Notes that made has the parameters of another function, and returns it. */
export function derivedFrom<F extends AnyFunction>(of: unknown, made: F, result: Partial<Origin> = {}): F {
  origins.set(made, { gradsOf: null, hasValue: false, ...result, of: of as AnyFunction });
  return made;
}

/** Splits at commas that are in no brackets, up to the bracket that closes the list. */
function listed(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const c of text) {
    if ('([{'.includes(c)) depth++;
    if (')]}'.includes(c) && depth-- === 0) break;
    if (c === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += c;
  }
  return parts;
}

/** The names of a function's parameters, null where one has none. */
function parametersOf(f: AnyFunction): (string | null)[] {
  const origin = origins.get(f);
  if (origin) return parametersOf(origin.of);
  const text = Function.prototype.toString.call(f);
  const single = /^(?:async\s+)?([A-Za-z_$][\w$]*)\s*=>/.exec(text);
  if (single) return [single[1]!];
  const list = listed(text.slice(text.indexOf('(') + 1).replace(/\/\*[^]*?\*\/|\/\/.*/g, ''));
  return list.map((part) => /^\s*([A-Za-z_$][\w$]*)\s*(?:=[^]*)?$/.exec(part)?.[1] ?? null);
}

/** One for each argument. */
export const parameterNames = (f: AnyFunction, count: number): (string | null)[] => {
  const known = parametersOf(f);
  return Array.from({ length: count }, (_, i) => known[i] ?? null);
};

/** The last word of a leaf's place: 'w1' of 'p.layers[0].w1'. */
export const lastWord = (path: string): string => [...path.matchAll(/[A-Za-z_$][\w$]*/g)].at(-1)?.[0] ?? '';

/** What the leaves of a result are called, '' where nothing is known: derivatives after what they are by, others after
 *  their keys. leaves: names of each argument's leaves. */
export function resultNames(f: AnyFunction, shape: TreeShape, leaves: readonly (readonly string[])[]): string[] {
  const origin = origins.get(f);
  const named = leavesWithPaths(shape).flatMap(({ path, isTensor }) => (isTensor ? [lastWord(path)] : []));
  if (!origin || origin.gradsOf === null) return origin ? resultNames(origin.of, shape, leaves) : named;
  const numbers = typeof origin.gradsOf === 'number' ? [origin.gradsOf] : origin.gradsOf;
  const grads = numbers.flatMap((n) => leaves[n] ?? []).map((name) => `d${name}`);
  const all = origin.hasValue ? ['value', ...grads] : grads;
  return named.map((name, i) => all[i] ?? name);
}

const RESERVED =
  'break case catch class const continue debugger default delete do else enum export extends false finally for function if import in instanceof new null return super switch this throw true try typeof var void while with yield let static await async of arguments eval sn dilate recurrence scatterAlongAxis';

/** Names in use where something is written. Those of an inner function may not hide names around it. */
export class Names {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string> = RESERVED.split(' ')) {
    this.#taken = new Set(taken);
  }

  /** A name like the given one that nothing has yet. */
  claim(wanted: string): string {
    const base = /^[A-Za-z_$]/.test(wanted) ? wanted : `x${wanted}`;
    let name = base;
    for (let n = 2; this.#taken.has(name); n++) name = `${base}${/\d$/.test(base) ? '_' : ''}${n}`;
    this.#taken.add(name);
    return name;
  }

  /** Of a function inside, in which these names mean nothing. */
  inner(free: readonly string[] = []): Names {
    return new Names([...this.#taken].filter((name) => !free.includes(name)));
  }
}

/** Of a value, after the op that makes it. */
const BY_OP: Readonly<Record<string, string>> = {
  matmul: 'z', conv: 'z', relu: 'h', tanh: 'h', sigmoid: 'h', gelu: 'h', silu: 'h', mish: 'h', softplus: 'h', softmax: 'p',
  exp: 'e', sum: 'total', max: 'top', min: 'least', sort: 'sorted', argsort: 'order', gather: 'rows', iota: 'index', transpose: 'turned',
  concat: 'joined', pad: 'padded', slice: 'part', scan: 'ys', equal: 'mask', not_equal: 'mask', less: 'mask', less_equal: 'mask',
  greater: 'mask', greater_equal: 'mask', logical_and: 'mask', logical_or: 'mask', logical_not: 'mask', isnan: 'mask',
};

export const nameOfOp = (op: string): string => BY_OP[op] ?? 't';
