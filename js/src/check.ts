// Checks of arguments that are no options: numbers, lists of numbers, functions, and arguments beyond the last parameter.
//
// Nothing here runs code that belongs to a bad value (a getter, toString), so that describing it in an error cannot fail.

import { ShapeError, SinterError } from './errors.js';
import { Tensor } from './tensor.js';
import type { NumericArray } from './upload.js';

/** The largest number that a word of the core holds, and the largest size of an axis. */
export const MAX_INT32 = 0x7fffffff;

/** The core's value for a whole number that is not given (SN_DEFAULT), and for all elements in row-major order in place
 *  of an axis (SN_FLAT). */
export const NOT_GIVEN = -0x80000000;

export function fitsInt32(value: unknown): value is number {
  return typeof value === 'number' && value === Math.trunc(value) && value <= MAX_INT32 && value >= -MAX_INT32 - 1;
}

export const isNumericArray = (x: unknown): x is NumericArray => ArrayBuffer.isView(x) && !(x instanceof DataView);

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The name of an object's class, read without running code of the object; '' if that does not give one. */
export function className(value: object): string {
  try {
    const prototype: unknown = Object.getPrototypeOf(value);
    const made = prototype && Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
    const name = typeof made === 'function' && Object.getOwnPropertyDescriptor(made, 'name')?.value;
    return typeof name === 'string' && /^[\w$]{1,40}$/.test(name) ? name : '';
  } catch {
    return ''; // a proxy whose traps throw
  }
}

/** A value as an error message shows it. */
export function shown(value: unknown): string {
  if (value instanceof Tensor) return 'a tensor';
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint') return `the bigint ${value}`;
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : String(value);
  const name = className(value);
  if (name === 'Array') return 'an array';
  if (name === 'Object' || name === '') return 'an object';
  return `${/^(?!Uint)[AEIOU](?![A-Z])/.test(name) ? 'an' : 'a'} ${name}`;
}

/** Numbers as a list in an error message; long ones are cut. */
export const shownList = (values: ArrayLike<unknown>): string => {
  const first = Array.from({ length: Math.min(values.length, 10) }, (_, i) => shown(values[i]));
  return `[${first.join(', ')}${values.length > 10 ? ', ...' : ''}]`;
};

/** Returns value if it is a whole number from least to most; both bounds are within 32 bits. Throws otherwise. */
export function checkInteger(op: string, what: string, value: unknown, least = -MAX_INT32 - 1, most = MAX_INT32): number {
  if (fitsInt32(value) && value >= least && value <= most) return value;
  const range = least > -MAX_INT32 ? ` from ${least} ${most < MAX_INT32 ? `to ${most}` : 'on'}` : '';
  throw new SinterError('argument', op, `${what} is ${shown(value)}, expected a whole number${range || ' within 32 bits'}`);
}

/** Returns values if it is an array of whole numbers from least on, with the given length if there is one. Throws otherwise. */
export function checkIntegers(
  op: string,
  what: string,
  values: unknown,
  least?: number,
  length?: number,
): readonly number[] {
  if (!Array.isArray(values)) {
    throw new SinterError('argument', op, `${what} is ${shown(values)}, expected an array of whole numbers`);
  }
  if (length !== undefined && values.length !== length)
    throw new ShapeError(op, `${what} has ${values.length} entries, expected ${length}`);
  // A loop, since forEach leaves out the holes of an array.
  for (let i = 0; i < values.length; i++) checkInteger(op, `${what}[${i}]`, values[i], least);
  return values as readonly number[];
}

/** Refuses what is no array, and an empty one. */
export function checkList(op: string, list: unknown): void {
  if (Array.isArray(list) && list.length > 0) return;
  throw new SinterError('argument', op, 'expected tensors in an array', { hint: `write ${op}([a, b])` });
}

/** The index of value in choices; throws if it is not among them. */
export function checkChoice(op: string, what: string, value: unknown, choices: readonly string[]): number {
  const place = choices.indexOf(value as string);
  if (place >= 0) return place;
  throw new SinterError('argument', op, `no ${what} ${shown(value)}`, { hint: `there are ${choices.join(', ')}` });
}

/** Returns value if it is a number, NaN and infinities included. Throws otherwise. */
export function checkNumber(op: string, what: string, value: unknown): number {
  if (typeof value === 'number') return value;
  throw new SinterError('argument', op, `${what} is ${shown(value)}, expected a number`);
}

export function checkFunction(op: string, f: unknown, hint = ''): void {
  if (typeof f === 'function') return;
  throw new SinterError('argument', op, `expected a function, not ${shown(f)}`, { hint });
}

/** The argument numbers that an option gives, one or several, as a list. Throws for one that is no whole number from 0 on. */
export function argumentNumbers(op: string, what: string, given: unknown): readonly number[] {
  const numbers: readonly unknown[] = Array.isArray(given) ? given : [given];
  const wrong = numbers.findIndex((n) => !fitsInt32(n) || n < 0);
  if (wrong < 0) return numbers as readonly number[];
  throw new SinterError('argument', op, `${what} is ${shown(numbers[wrong])}, expected the number of an argument`, {
    hint: `write ${what}: 0, or ${what}: [0, 1]`,
  });
}

/** The error for argument number n of a call that has only count arguments. */
export const noArgument = (op: string, n: number, count: number): SinterError =>
  new SinterError('argument', op, `there is no argument ${n}, the function was called with ${count}`);

/** Refuses arguments beyond the last parameter, unless they are undefined. */
export function refuseExtra(op: string, extra: readonly unknown[], hint: string): void {
  for (let i = 0; i < extra.length; i++) {
    if (extra[i] !== undefined) throw new SinterError('argument', op, `${shown(extra[i])} is an argument too many`, { hint });
  }
}
