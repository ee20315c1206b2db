// Trees of arguments and results in the form that the loader of an exported module reads (description.ts).

import { UnsupportedError } from '../index.js';
import type { Plain } from '../savedtree.js';
import type { LoaderTree } from './description.js';

const VALUES: Readonly<Record<string, (text: string) => unknown>> = {
  null: () => null,
  undefined: () => undefined,
  boolean: (text) => text === 'true',
  number: Number,
  string: (text) => text,
};

const unsupported = (what: string): UnsupportedError =>
  new UnsupportedError('exportWasm', `${what} among the arguments or results cannot be exported`, { hint: 'use plain objects and arrays of tensors' });

function valueText([kind, text = '']: NonNullable<Plain['value']>): string {
  const make = VALUES[kind];
  if (!make) throw unsupported(`a ${kind}`);
  const value = make(text);
  if (typeof value === 'number' && !Number.isFinite(value)) throw unsupported(String(value));
  return JSON.stringify(value) ?? '';
}

/** Converts a saved tree; next gives the numbers of its tensors. */
export function loaderTree(tree: Plain, next: () => number): LoaderTree {
  const items = (): LoaderTree[] => tree.items!.map((item) => loaderTree(item, next));
  if (tree.kind === 'tensor') return next();
  if (tree.kind === 'static') return valueText(tree.value!);
  if (tree.kind === 'array') return items();
  if (tree.kind === 'object') return Object.fromEntries(items().map((item, i) => [tree.keys![i] as string, item]));
  throw unsupported(`a ${tree.kind === 'map' ? 'Map' : 'Set'}`);
}

/** A list of tensors: the tree of a program that was saved in C and has none. */
export const plainList = (count: number): Plain => ({ kind: 'array', items: Array.from({ length: count }, () => ({ kind: 'tensor' })) });
