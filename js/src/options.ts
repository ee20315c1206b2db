// The one reader of options: the last argument of a function, a plain object with known names.
//
// A function states a schema, a kind per name. A name that is not in it, a value of another kind, and
// anything that is no plain object is an error that says what would be right. undefined counts as not given.

import { fitsInt32, isNumericArray, isPlainObject, shown } from './check.js';
import { ShapeError, SinterError } from './errors.js';
import { Tensor } from './tensor.js';

/** What the value of an option may be. 'any' is checked by the function itself. */
export type OptionKind =
  | 'any'
  | 'boolean'
  | 'integer'
  | 'number'
  | 'axis'
  | 'axes'
  | 'tensor'
  | 'function'
  | 'string'
  | 'object';

/** A kind for every option of O. */
export type OptionSchema<O> = { readonly [K in keyof Required<O>]: OptionKind };

interface Kind {
  fits: (value: unknown) => boolean;
  /** What a value of the kind is called. */
  text: string;
}

const KINDS: Readonly<Record<OptionKind, Kind>> = {
  any: { fits: () => true, text: 'a value' },
  boolean: { fits: (value) => typeof value === 'boolean', text: 'true or false' },
  integer: { fits: fitsInt32, text: 'a whole number within 32 bits' },
  number: { fits: (value) => typeof value === 'number' && !Number.isNaN(value), text: 'a number' },
  axis: { fits: fitsInt32, text: 'a whole number' },
  axes: {
    fits: (value) => value === null || fitsInt32(value) || (Array.isArray(value) && value.every(fitsInt32)),
    text: 'an axis or an array of axes',
  },
  tensor: {
    fits: (value) =>
      value instanceof Tensor ||
      typeof value === 'number' ||
      typeof value === 'boolean' ||
      Array.isArray(value) ||
      isNumericArray(value),
    text: 'a tensor, a number or an array of numbers',
  },
  function: { fits: (value) => typeof value === 'function', text: 'a function' },
  string: { fits: (value) => typeof value === 'string', text: 'a string' },
  object: { fits: isPlainObject, text: 'an object' },
};

const NONE = Object.freeze({});

const listed = (names: readonly string[]): string =>
  names.length ? `the options are ${names.join(', ')}` : 'there are no options';

/** The option that a value in place of an object was probably meant for, written out. */
function example(given: unknown, names: readonly string[], schema: Readonly<Record<string, OptionKind>>): string {
  const isShort = typeof given === 'number' || typeof given === 'string' || typeof given === 'boolean';
  const name = isShort ? names.find((each) => KINDS[schema[each]!].fits(given)) : undefined;
  return name === undefined ? `{ ${names[0]}: ... }` : `{ ${name}: ${shown(given)} }`;
}

/** The options of a call, checked against the schema. */
export function readOptions<O extends object>(op: string, given: O | undefined, schema: OptionSchema<O>): O {
  if (given === undefined) return NONE as O;
  if (!isPlainObject(given)) throw notOptions(op, given, schema);
  for (const name of Object.keys(given)) {
    const kind = Object.hasOwn(schema, name) ? schema[name as keyof O] : undefined;
    if (kind === undefined) {
      throw new SinterError('argument', `${op}: there is no option ${shown(name)}`, { hint: listed(Object.keys(schema)) });
    }
    const value = given[name];
    if (value === undefined || KINDS[kind].fits(value)) continue;
    const message = `${op}: option ${name} is ${shown(value)}, expected ${KINDS[kind].text}`;
    throw kind === 'axis' || kind === 'axes' ? new ShapeError(message) : new SinterError('argument', message);
  }
  return given;
}

function notOptions(op: string, given: unknown, schema: Readonly<Record<string, OptionKind>>): SinterError {
  const names = Object.keys(schema);
  const write = names.length ? `write ${example(given, names, schema)}; ` : '';
  return new SinterError('argument', `${op}: options are an object, not ${shown(given)}`, { hint: `${write}${listed(names)}` });
}
