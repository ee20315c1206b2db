// The shape of a tree as JSON: where its tensors are, and its static values. JSON has no undefined, no NaN and no -0, so
// each value is written with its kind.
//
// What is loaded is not trusted: a tree that is malformed, or too deep, is an error.

import { SinterError, damagedError } from './errors.js';
import type { TreeShape } from './pytree.js';

const MAX_DEPTH = 200;

type Saved = [kind: 'null' | 'undefined'] | [kind: 'boolean' | 'number' | 'string' | 'bigint', text: string];

function saveValue(op: string, value: unknown): Saved {
  if (value === null) return ['null'];
  switch (typeof value) {
    case 'undefined':
      return ['undefined'];
    case 'number':
      return ['number', Object.is(value, -0) ? '-0' : String(value)];
    case 'boolean':
    case 'string':
    case 'bigint':
      return [typeof value as 'string', String(value)];
    default:
      throw new SinterError('argument', op, `a ${typeof value} among the arguments or results cannot be saved`);
  }
}

function loadValue(op: string, saved: unknown): unknown {
  const [kind, text = ''] = Array.isArray(saved) ? (saved as unknown[]) : [];
  if (typeof text !== 'string') throw damagedError(op, 'a value is not one');
  switch (kind) {
    case 'null':
      return null;
    case 'undefined':
      return undefined;
    case 'boolean':
      return text === 'true';
    case 'number':
      return Number(text);
    case 'string':
      return text;
    case 'bigint':
      if (/^-?\d{1,1000}$/.test(text)) return BigInt(text);
  }
  throw damagedError(op, 'a value is not one');
}

/** A tree as plain objects. */
export type Plain = { kind: string; value?: Saved; keys?: unknown[]; items?: Plain[] };

export function saveTree(op: string, node: TreeShape): Plain {
  switch (node.kind) {
    case 'tensor':
      return { kind: node.kind };
    case 'static':
      return { kind: node.kind, value: saveValue(op, node.value) };
    case 'object':
      return { kind: node.kind, keys: node.keys, items: node.items.map((item) => saveTree(op, item)) };
    case 'map':
      return { kind: node.kind, keys: node.keys.map((key) => saveValue(op, key)), items: node.items.map((item) => saveTree(op, item)) };
    case 'array':
    case 'set':
      return { kind: node.kind, items: node.items.map((item) => saveTree(op, item)) };
    case 'instance':
      throw new SinterError('argument', op, 'an instance of a class cannot be saved', {
        hint: 'its class may be another one where it is loaded; use a plain object',
      });
  }
}

export function loadTree(op: string, saved: unknown, depth = 0): TreeShape {
  if (typeof saved !== 'object' || saved === null || depth > MAX_DEPTH) throw damagedError(op, 'a tree is not one');
  const { kind, value, keys, items } = saved as Partial<Plain>;
  if (kind === 'tensor') return { kind };
  if (kind === 'static') return { kind, value: loadValue(op, value) };
  if (!Array.isArray(items)) throw damagedError(op, 'a tree is not one');
  const inner = items.map((item) => loadTree(op, item, depth + 1));
  if (kind === 'array' || kind === 'set') return { kind, items: inner };
  if (!Array.isArray(keys) || keys.length !== inner.length) throw damagedError(op, 'a tree is not one');
  if (kind === 'map') return { kind, keys: keys.map((key) => loadValue(op, key)), items: inner };
  if (kind === 'object' && keys.every((key) => typeof key === 'string')) return { kind, keys, items: inner };
  throw damagedError(op, 'a tree is not one');
}
