// The one reader of options: the last argument of a function, a plain object with known names.
//
// A function states a schema, a kind per name. A name that is not in it, a value of another kind, and
// anything that is no plain object is an error that says what would be right. undefined counts as not given.

import { SinterError } from './errors.js';

/** What the value of an option may be. 'any' is checked by the function itself. */
export type OptionKind = 'any' | 'boolean' | 'integer' | 'number' | 'function' | 'string';

/** A kind for every option of O. */
export type OptionSchema<O> = { readonly [K in keyof Required<O>]: OptionKind };

const FITS: Readonly<Record<OptionKind, (value: unknown) => boolean>> = {
  any: () => true,
  boolean: (value) => typeof value === 'boolean',
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === 'number' && !Number.isNaN(value),
  function: (value) => typeof value === 'function',
  string: (value) => typeof value === 'string',
};

const ARTICLE: Readonly<Record<OptionKind, string>> = {
  any: 'a value',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  function: 'a function',
  string: 'a string',
};

/** A value as an error message shows it: short, and made without running code of the value's. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value);
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return Object.is(value, -0) ? '-0' : String(value);
}

export const isPlainObject = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

const listed = (names: readonly string[]): string =>
  names.length ? `the options are ${names.join(', ')}` : 'there are no options';

/** The options of a call, checked against the schema. */
export function readOptions<O extends object>(op: string, given: O | undefined, schema: OptionSchema<O>): O {
  if (given === undefined) return {} as O;
  const names = Object.keys(schema);
  if (!isPlainObject(given)) {
    const example = names[0] === undefined ? '{}' : `{ ${names[0]}: ... }`;
    throw new SinterError('argument', `${op}: options are an object, not ${shown(given)}`, {
      hint: `write ${example}; ${listed(names)}`,
    });
  }
  for (const [name, value] of Object.entries(given)) {
    const kind = Object.hasOwn(schema, name) ? schema[name as keyof O] : undefined;
    if (kind === undefined) {
      throw new SinterError('argument', `${op}: there is no option ${shown(name)}`, { hint: listed(names) });
    }
    if (value !== undefined && !FITS[kind](value)) {
      throw new SinterError('argument', `${op}: option ${name} is ${shown(value)}, expected ${ARTICLE[kind]}`);
    }
  }
  return given;
}
