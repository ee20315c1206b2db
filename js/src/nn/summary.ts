// summary: the layers of a module, a row for each.

import { checkShape } from '../upload.js';
import type { DTypeName } from '../dtype.js';
import { shapeText } from '../errors.js';
import { inspect } from '../inspect.js';
import { readOptions } from '../options.js';
import { leaves } from '../pytree.js';
import * as random from '../random.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { zeros } from '../functions.gen.js';
import { applyBoth, checkModule, initBoth, type AnyModule } from './module.js';

/** A layer and its result. */
export interface SummaryRow {
  /** Its path, such as '0.2'; '' for the whole module. */
  path: string;
  name: string;
  /** The shape of its result. */
  shape: readonly number[];
  /** The number of learnt numbers. */
  parameters: number;
  /** Operations on floats in one application. */
  flops: number;
  /** Bytes of parameters and state. */
  bytes: number;
}

export interface Summary {
  /** A row for each layer; a module made of others follows them. */
  rows: SummaryRow[];
  /** Those of the whole module. */
  parameters: number;
  flops: number;
  bytes: number;
  /** The table as text. */
  toString(): string;
}

const BYTES: Readonly<Record<string, number>> = { float64: 8, float16: 2, bfloat16: 2, int8: 1, uint8: 1, bool: 1 };

const bytesOf = (tensors: readonly Tensor[]): number => tensors.reduce((sum, { size, dtype }) => sum + size * (BYTES[dtype] ?? 4), 0);

function rowsOf(module: AnyModule, x: Tensor, path: string, key: Tensor): SummaryRow[] {
  const rows: SummaryRow[] = [];
  let y = x;
  module.layers?.forEach((layer, i) => {
    const own = rowsOf(layer, y, path ? `${path}.${i}` : String(i), key);
    y = zeros(own.at(-1)!.shape);
    rows.push(...own);
  });
  const { params, state } = initBoth(module, key);
  const result = applyBoth(module, params, x, { state })[0];
  const seen = inspect((p: unknown, s: unknown, t: Tensor) => applyBoth(module, p, t, { state: s })[0])(params, state, x);
  seen.dispose();
  const tensors = leaves(params);
  return [
    ...rows,
    {
      path,
      name: module.name ?? 'module',
      shape: result.shape,
      parameters: tensors.reduce((sum, { size }) => sum + size, 0),
      flops: seen.flops,
      bytes: bytesOf([...tensors, ...leaves(state)]),
    },
  ];
}

/** The layers of a module, for an input of a shape (and dtype; float32 by default): a row for each, and a table of them
 *  as text. Nothing is computed. */
export function summary(module: AnyModule, shape: readonly number[], options?: { dtype?: DTypeName }): Summary {
  const { dtype = 'float32' } = readOptions<{ dtype?: DTypeName }>('nn.summary', options, { dtype: 'string' });
  checkModule('nn.summary', 'module', module);
  checkShape('nn.summary', shape);
  const rows = tidy(() => rowsOf(module, zeros(shape, { dtype }), '', random.key(0)));
  const { parameters, flops, bytes } = rows.at(-1)!;
  const text = (): string => {
    const cells = rows.map((row) => [row.path || 'all', row.name, shapeText(row.shape), ...[row.parameters, row.flops, row.bytes].map((n) => n.toLocaleString('en'))]);
    const table = [['layer', 'module', 'result', 'parameters', 'flops', 'bytes'], ...cells];
    const widths = table[0]!.map((_, i) => Math.max(...table.map((line) => line[i]!.length)));
    return table.map((line) => line.map((cell, i) => (i < 3 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')).join('\n');
  };
  return { rows, parameters, flops, bytes, toString: text };
}
