// Converts between facts and relations as solve keeps them: whole tensors, or bits with the rows of one argument.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import { countBits, eachBit, wordsFor, wordsOfPairs, type Rows } from './bits.js';
import type { Relation } from './check.js';
import { shapeOf } from './dense.js';
import { placeOf, sizeOf } from './facts.js';

/** null: a whole tensor; otherwise bits, and which argument numbers the rows. */
export type Layout = Rows | null;

type Elements = ArrayLike<number | boolean>;

/** The tensor with a value at each row, or 1; the largest value if a row occurs twice. */
export function keptOf(relation: Relation, layout: Layout, rows: Int32Array, values: ArrayLike<number> | null, dtype: 'bool' | 'float32'): Tensor {
  const shape = shapeOf(relation);
  if (layout !== null) return sn.tensor(wordsOfPairs(rows, shape, layout), { shape: wordsShape(relation, layout) });
  const size = sizeOf('program.solve', relation);
  const entries = dtype === 'bool' ? new Uint8Array(size) : new Float32Array(size);
  const arity = shape.length;
  const count = arity === 0 ? (values?.length ?? 0) : rows.length / arity;
  for (let row = 0; row < count; row++) {
    const place = placeOf(relation, rows, row * arity);
    entries[place] = Math.max(entries[place]!, values ? values[row]! : 1);
  }
  return sn.tensor(entries, { shape, dtype });
}

const wordsShape = (relation: Relation, rows: Rows): number[] => {
  const shape = shapeOf(relation);
  return [shape[rows]!, wordsFor(shape[1 - rows]!)];
};

export function emptyOf(relation: Relation, layout: Layout, dtype: 'bool' | 'float32'): Tensor {
  if (layout !== null) return sn.zeros(wordsShape(relation, layout), { dtype: 'int32' });
  return sn.zeros(shapeOf(relation), { dtype: relation.numbers ? 'float32' : dtype });
}

/** The flat indices in the whole tensor where a relation holds, in ascending order. */
export function placesOf(relation: Relation, layout: Layout, data: Elements, threshold: number): number[] {
  const places: number[] = [];
  if (layout === null) {
    for (let i = 0; i < data.length; i++) if (Number(data[i]) > threshold) places.push(i);
    return places;
  }
  const [rows, columns] = shapeOf(relation) as [number, number];
  const width = wordsFor(layout === 0 ? columns : rows);
  eachBit(data as Int32Array, width, (row, column) => places.push(layout === 0 ? row * columns + column : column * columns + row));
  return layout === 0 ? places : [...Float64Array.from(places).sort()];
}

export function countOf(layout: Layout, data: Elements, threshold: number): number {
  if (layout !== null) return countBits(data as Int32Array);
  let count = 0;
  for (let i = 0; i < data.length; i++) count += Number(Number(data[i]) > threshold);
  return count;
}

/** The value of a relation at a row. */
export function valueAt(relation: Relation, layout: Layout, data: Elements, row: readonly number[]): number {
  if (layout === null) return Number(data[placeOf(relation, row)]);
  const width = wordsFor(relation.domains[1 - layout]!.size);
  const column = row[1 - layout]!;
  return (Number(data[row[layout]! * width + (column >> 5)]) >>> (column & 31)) & 1;
}
