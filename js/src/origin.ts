// What transforms made functions of: grad(f), vmap(f) and their like have the parameters of f, and it is known what they
// return. For names in written source.

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

/** What a result returns derivatives by: the numbers of arguments; null: none. */
export interface ResultKind {
  gradsOf: readonly number[] | null;
  /** Whether the value comes before them. */
  hasValue: boolean;
}

/** What kind of result f has, as far as transforms tell. */
export function resultKind(f: AnyFunction): ResultKind {
  const origin = origins.get(f);
  if (!origin) return { gradsOf: null, hasValue: false };
  const { gradsOf, hasValue, of } = origin;
  if (gradsOf === null) return resultKind(of);
  return { gradsOf: typeof gradsOf === 'number' ? [gradsOf] : gradsOf, hasValue };
}
