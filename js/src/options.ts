// The only reader of options: the last argument of a function, a plain object with known names.
//
// A function states a schema with the kind of each option. A name that is not in it, a value of another kind, and anything
// that is no plain object is an error that says what would be right. undefined counts as not given.

import { fitsInt32, isNumericArray, isPlainObject, shown } from './check.js';
import { ShapeError, SinterError } from './errors.js';
import { Tensor } from './tensor.js';

/** The kinds of values that options have. The function itself checks 'any', and whether its tensor has an axis that is
 *  given. */
export type OptionKind =
  | 'any'
  | 'boolean'
  | 'integer'
  | 'number'
  | 'bytes'
  | 'axis'
  | 'axes'
  | 'tensor'
  | 'function'
  | 'string'
  | 'object';

/** The kind of every option of O. */
export type OptionSchema<O> = { readonly [K in keyof Required<O>]: OptionKind };

interface Kind {
  fits: (value: unknown) => boolean;
  /** What errors call such a value. */
  text: string;
}

const KINDS: Readonly<Record<OptionKind, Kind>> = {
  any: { fits: () => true, text: 'a value' },
  boolean: { fits: (value) => typeof value === 'boolean', text: 'true or false' },
  integer: { fits: fitsInt32, text: 'a whole number within 32 bits' },
  number: { fits: (value) => typeof value === 'number' && !Number.isNaN(value), text: 'a number' },
  bytes: { fits: (value) => typeof value === 'number' && value >= 1, text: 'a number of bytes from 1 on' },
  axis: { fits: (value) => value === null || typeof value === 'number', text: 'a whole number' },
  axes: {
    fits: (value) =>
      value === null || typeof value === 'number' || (Array.isArray(value) && value.every((axis) => typeof axis === 'number')),
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

/** A hint for a value in the place of an object: the first option whose kind it fits, written out. */
function example(given: unknown, names: readonly string[], schema: Readonly<Record<string, OptionKind>>): string {
  const isShort = typeof given === 'number' || typeof given === 'string' || typeof given === 'boolean';
  const name = isShort ? names.find((each) => KINDS[schema[each]!].fits(given)) : undefined;
  return name === undefined ? `{ ${names[0]}: ... }` : `{ ${name}: ${shown(given)} }`;
}

/** The Levenshtein distance: how many letters have to be put in, left out or replaced to turn a into b. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + Number(a[i - 1] !== b[j - 1]);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

/** The name that was probably meant: the nearest one, if at most a third of its letters are wrong and at most two; case
 *  does not count. */
function meant(name: string, names: readonly string[]): string | undefined {
  const given = name.slice(0, 40).toLowerCase();
  const all = names.map((each) => ({ each, wrong: distance(given, each.toLowerCase()) }));
  const [nearest] = all.sort((a, b) => a.wrong - b.wrong);
  return nearest && nearest.wrong <= Math.min(2, Math.ceil(nearest.each.length / 3)) ? nearest.each : undefined;
}

function noOption(op: string, name: string, names: readonly string[]): SinterError {
  const suggestion = meant(name, names);
  const question = suggestion === undefined ? '' : `, did you mean '${suggestion}'?`;
  const short = name.length > 40 ? `${name.slice(0, 40)}...` : name;
  return new SinterError('argument', op, `there is no option '${short}'${question}`, { hint: listed(names) });
}

/** Returns the options of a call after checking them against the schema. */
export function readOptions<O extends object>(op: string, given: O | undefined, schema: OptionSchema<O>): O {
  if (given === undefined) return NONE as O;
  if (!isPlainObject(given)) throw notOptions(op, given, schema);
  for (const name of Object.keys(given)) {
    const kind = Object.hasOwn(schema, name) ? schema[name as keyof O] : undefined;
    if (kind === undefined) {
      throw noOption(op, name, Object.keys(schema));
    }
    const value = given[name];
    if (value === undefined || KINDS[kind].fits(value)) continue;
    const text = `option ${name} is ${shown(value)}, expected ${KINDS[kind].text}`;
    throw kind === 'axis' || kind === 'axes' ? new ShapeError(op, text) : new SinterError('argument', op, text);
  }
  return given;
}

function notOptions(op: string, given: unknown, schema: Readonly<Record<string, OptionKind>>): SinterError {
  const names = Object.keys(schema);
  const write = names.length ? `write ${example(given, names, schema)}; ` : '';
  return new SinterError('argument', op, `options are an object, not ${shown(given)}`, { hint: `${write}${listed(names)}` });
}
