// Facts as users write and read them, as rows of members by number or by name, and their places in tensors.

import * as sn from '../../index.js';
import { listed, type Domain, type Relation } from './check.js';
import { shapeOf } from './dense.js';

const { shown } = sn.internals;

/** A member: its number, or its name if its domain has names. */
export type Member = number | string;

/** All rows in one flat array, or an array of members for each row. */
export type Rows = ArrayLike<number> | readonly (readonly Member[])[];

export const fail = (op: string, text: string, hint = ''): never => {
  throw new sn.SinterError('argument', op, text, { hint });
};

/** Refuses anything but a number from 0 to most. */
export function checkWithin(op: string, what: string, value: unknown, most = Infinity): void {
  if (typeof value === 'number' && value >= 0 && value <= most) return;
  fail(op, `${what} is ${shown(value)}, expected a number from 0${most === Infinity ? ' on' : ` to ${most}`}`);
}

function memberNumber(op: string, { name, size, names }: Domain, value: unknown, where: string): number {
  if (typeof value === 'string' && names) {
    const number = names.indexOf(value);
    if (number >= 0) return number;
  } else if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < size) return value;
  return fail(op, `${where} is ${shown(value)}, no member of ${name}`, `it has ${names || size === 0 ? listed(names ?? []) : `0 to ${size - 1}`}`);
}

/** Checks rows, and returns the numbers of their members as one flat array. */
export function readRows(op: string, { name, domains }: Relation, rows: unknown): Int32Array {
  const arity = domains.length;
  if (typeof rows !== 'object' || rows === null || !(Array.isArray(rows) || ArrayBuffer.isView(rows))) {
    return fail(op, `the facts of ${name} are ${shown(rows)}`, 'rows as arrays of members, or an Int32Array of all one after the other');
  }
  const list = rows as ArrayLike<unknown>;
  const nested = Array.isArray(list[0]);
  if (!nested && (arity === 0 ? list.length > 0 : list.length % arity !== 0)) {
    return fail(op, `${list.length} members are no rows of ${name}, which has ${arity} arguments`);
  }
  const count = nested || arity === 0 ? list.length : list.length / arity;
  const members = new Int32Array(count * arity);
  for (let row = 0; row < count; row++) {
    const values = nested ? list[row] : null;
    if (nested && !(Array.isArray(values) && values.length === arity)) {
      return fail(op, `row ${row} of ${name} is ${shown(values)}, expected an array of ${arity} members`);
    }
    for (let i = 0; i < arity; i++) {
      const value = nested ? (values as unknown[])[i] : list[row * arity + i];
      members[row * arity + i] = memberNumber(op, domains[i]!, value, `argument ${i + 1} of row ${row} of ${name}`);
    }
  }
  return members;
}

/** The flat index of a row in the tensor of its relation. */
export const placeOf = ({ domains }: Relation, members: ArrayLike<number>, begin = 0): number =>
  domains.reduce((place, { size }, i) => place * size + members[begin + i]!, 0);

/** The row at a flat index. */
export function rowAt({ domains }: Relation, place: number): number[] {
  const row = new Array<number>(domains.length);
  for (let i = domains.length - 1, rest = place; i >= 0; i--) {
    const { size } = domains[i]!;
    row[i] = rest % size;
    rest = Math.floor(rest / size);
  }
  return row;
}

export const namedRow = ({ domains }: Relation, row: readonly number[]): Member[] => row.map((member, i) => domains[i]!.names?.[member] ?? member);

const MOST_ENTRIES = 2 ** 30;

/** The number of entries in the tensor of a relation; throws if there are too many. */
export function sizeOf(op: string, relation: Relation): number {
  const size = shapeOf(relation).reduce((n, dim) => n * dim, 1);
  if (size <= MOST_ENTRIES) return size;
  const text = `${relation.name} has ${shapeOf(relation).join(' x ')} entries, more than ${MOST_ENTRIES}`;
  throw new sn.OutOfMemoryError(op, text, { hint: 'smaller domains, or fewer arguments' });
}
