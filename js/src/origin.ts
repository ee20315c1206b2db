// Which function a transform such as grad or vmap made another one of, and what that returns. So the source that jsSource
// writes has the names of f's parameters for grad(f), too.

type AnyFunction = (...args: never) => unknown;

/** What is known of a function that a transform made. */
interface Origin {
  /** The function that was transformed. */
  of: AnyFunction;
  /** The numbers of the arguments that it returns derivatives by; a bare number: one derivative, not a list; null: none. */
  gradsOf: number | readonly number[] | null;
  /** Whether it returns the value before the derivatives. */
  hasValue: boolean;
}

const origins = new WeakMap<AnyFunction, Origin>();

/** Notes that made has the parameters of another function, and what it returns. Returns made. */
export function derivedFrom<F extends AnyFunction>(of: unknown, made: F, result: Partial<Origin> = {}): F {
  origins.set(made, { gradsOf: null, hasValue: false, ...result, of: of as AnyFunction });
  return made;
}

/** Splits a list of parameters at commas outside of brackets, up to the bracket that closes it. */
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

/** The names of a function's parameters; null for one without, such as a pattern. */
function parametersOf(f: AnyFunction): (string | null)[] {
  const origin = origins.get(f);
  if (origin) return parametersOf(origin.of);
  const text = Function.prototype.toString.call(f);
  const single = /^(?:async\s+)?([A-Za-z_$][\w$]*)\s*=>/.exec(text);
  if (single) return [single[1]!];
  const list = listed(text.slice(text.indexOf('(') + 1).replace(/\/\*[^]*?\*\/|\/\/.*/g, ''));
  return list.map((part) => /^\s*([A-Za-z_$][\w$]*)\s*(?:=[^]*)?$/.exec(part)?.[1] ?? null);
}

/** A parameter's name, or null, for each of count arguments. */
export const parameterNames = (f: AnyFunction, count: number): (string | null)[] => {
  const known = parametersOf(f);
  return Array.from({ length: count }, (_, i) => known[i] ?? null);
};

/** The numbers of the arguments that a result has derivatives by; null: it has none. */
export interface ResultKind {
  gradsOf: readonly number[] | null;
  /** Whether the value comes before them. */
  hasValue: boolean;
}

/** The kind of f's result, as far as transforms tell. */
export function resultKind(f: AnyFunction): ResultKind {
  const origin = origins.get(f);
  if (!origin) return { gradsOf: null, hasValue: false };
  const { gradsOf, hasValue, of } = origin;
  if (gradsOf === null) return resultKind(of);
  return { gradsOf: typeof gradsOf === 'number' ? [gradsOf] : gradsOf, hasValue };
}
