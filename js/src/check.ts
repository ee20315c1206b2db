// Checks of arguments that are no options: numbers, lists of numbers, functions, and what is one too many.
//
// Nothing here runs code of a value's own, so that describing a bad argument cannot fail.

import { ShapeError, SinterError } from './errors.js';
import { Tensor } from './tensor.js';
import type { NumericArray } from './upload.js';

/** Most that a word of the core holds, and most of a size. */
export const MAX_INT32 = 0x7fffffff;

/** Of the core: a whole number that is not given, SN_DEFAULT; no axis, but all elements in row-major order, SN_FLAT. */
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

/** The name of an object's class, as far as it can be had without running code. */
export function className(value: object): string {
  try {
    const prototype: unknown = Object.getPrototypeOf(value);
    const made = prototype && Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
    const name = typeof made === 'function' && Object.getOwnPropertyDescriptor(made, 'name')?.value;
    return typeof name === 'string' && /^[\w$]{1,40}$/.test(name) ? name : '';
  } catch {
    return ''; // a proxy that does not let itself be asked
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

/** A whole number from least to most, which stay within 32 bits. */
export function checkInteger(op: string, what: string, value: unknown, least = -MAX_INT32 - 1, most = MAX_INT32): number {
  if (fitsInt32(value) && value >= least && value <= most) return value;
  const range = least > -MAX_INT32 ? ` from ${least} ${most < MAX_INT32 ? `to ${most}` : 'on'}` : '';
  throw new SinterError('argument', op, `${what} is ${shown(value)}, expected a whole number${range || ' within 32 bits'}`);
}

/** An array of such numbers, of the given length where there is one. */
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
  // Not forEach, which leaves out holes.
  for (let i = 0; i < values.length; i++) checkInteger(op, `${what}[${i}]`, values[i], least);
  return values as readonly number[];
}

/** Tensors in an array, at least one. */
export function checkList(op: string, list: unknown): void {
  if (Array.isArray(list) && list.length > 0) return;
  throw new SinterError('argument', op, 'expected tensors in an array', { hint: `write ${op}([a, b])` });
}

/** The place of one of the given texts among them. */
export function checkChoice(op: string, what: string, value: unknown, choices: readonly string[]): number {
  const place = choices.indexOf(value as string);
  if (place >= 0) return place;
  throw new SinterError('argument', op, `no ${what} ${shown(value)}`, { hint: `there are ${choices.join(', ')}` });
}

/** Any number; NaN and the infinities among them. */
export function checkNumber(op: string, what: string, value: unknown): number {
  if (typeof value === 'number') return value;
  throw new SinterError('argument', op, `${what} is ${shown(value)}, expected a number`);
}

export function checkFunction(op: string, f: unknown, hint = ''): void {
  if (typeof f === 'function') return;
  throw new SinterError('argument', op, `expected a function, not ${shown(f)}`, { hint });
}

/** One number of an argument or several, as a list. */
export function argumentNumbers(op: string, what: string, given: unknown): readonly number[] {
  const numbers: readonly unknown[] = Array.isArray(given) ? given : [given];
  const wrong = numbers.findIndex((n) => !fitsInt32(n) || n < 0);
  if (wrong < 0) return numbers as readonly number[];
  throw new SinterError('argument', op, `${what} is ${shown(numbers[wrong])}, expected the number of an argument`, {
    hint: `write ${what}: 0, or ${what}: [0, 1]`,
  });
}

/** The error of a number of an argument that a call does not have. */
export const noArgument = (op: string, n: number, count: number): SinterError =>
  new SinterError('argument', op, `there is no argument ${n}, the function was called with ${count}`);

/** Refuses arguments behind the last one that counts. */
export function refuseExtra(op: string, extra: readonly unknown[], hint: string): void {
  for (let i = 0; i < extra.length; i++) {
    if (extra[i] !== undefined) throw new SinterError('argument', op, `${shown(extra[i])} is an argument too many`, { hint });
  }
}
