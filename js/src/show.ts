// How a console shows a tensor: its dtype, shape and values, in Node, Deno, Bun and the consoles of browsers.
//
// Invariant: looking at a tensor computes nothing, waits for nothing and makes no tensor. Values are shown if they are in
// memory; of many, the first and the last along each axis.

import { isFloat, viewOf, type DType } from './dtype.js';
import { isNode } from './runtime/environment.js';
import { runtimeOrNull, type Runtime } from './runtime/runtime.js';
import { Tensor } from './tensor.js';

/** How much is shown. Of a tensor with more elements than this, `edge` elements at both ends of each axis; fewer at
 *  higher ranks, since rank 8 has 2^8 corners. */
interface Limits {
  readonly elements: number;
  readonly edge: (rank: number) => number;
}

const ALONE: Limits = { elements: 1000, edge: (rank) => (rank <= 3 ? 3 : rank === 4 ? 2 : 1) };
/** In arrays and objects, which may have many. */
const INSIDE: Limits = { elements: 60, edge: (rank) => (rank <= 2 ? 3 : 1) };

const LINE = 76;
const DIGITS = 6;
const GAP = '...';

const HALF_FRACTION = 2 ** -10;

function fromFloat16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = (bits & 0x3ff) * HALF_FRACTION;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** -14 : sign * (1 + fraction) * 2 ** (exponent - 15);
}

const fromBfloat16 = (bits: number): number => new Float32Array(Uint32Array.of(bits << 16).buffer)[0]!;

function elementText(dtype: DType, element: number): string {
  if (dtype === 'bool') return element ? 'true' : 'false';
  if (!isFloat(dtype)) return String(element);
  const value = dtype === 'float16' ? fromFloat16(element) : dtype === 'bfloat16' ? fromBfloat16(element) : element;
  if (Object.is(value, -0)) return '-0';
  const isWhole = Number.isInteger(value) && Math.abs(value) < 10 ** (DIGITS + 2);
  return String(isWhole ? value : Number(value.toPrecision(DIGITS)));
}

/** Indices along an axis that are shown; null stands for those left out between them. */
function shownIndices(length: number, edge: number): (number | null)[] {
  const isWhole = length <= 2 * edge + 1;
  const count = isWhole ? length : edge;
  const first = Array.from({ length: count }, (_, i) => i);
  return isWhole ? first : [...first, null, ...first.map((i) => length - edge + i)];
}

/** Texts of one row, right-aligned, in lines of limited length. */
function rowText(texts: readonly string[], width: number, indent: number): string {
  const perLine = Math.max(1, Math.floor((LINE - indent) / (width + 2)));
  const lines: string[] = [];
  for (let i = 0; i < texts.length; i += perLine) {
    const padded = texts.slice(i, i + perLine).map((text) => (text === GAP ? text : text.padStart(width)));
    lines.push(padded.join(', '));
  }
  return `[${lines.join(`,\n${' '.repeat(indent + 1)}`)}]`;
}

/** Nested brackets around the elements that are shown; as deep as the tensor's rank, at most 8. */
function nestedText(shape: readonly number[], edge: number, textAt: (index: number) => string): string {
  const [length] = shape;
  if (length === undefined) return textAt(0);
  const rows: string[][] = [];
  const collect = (axis: number, base: number): void => {
    const indices = shownIndices(shape[axis]!, edge);
    if (axis === shape.length - 1) {
      rows.push(indices.map((i) => (i === null ? GAP : textAt(base + i))));
      return;
    }
    for (const i of indices) if (i !== null) collect(axis + 1, (base + i) * shape[axis + 1]!);
  };
  collect(0, 0);
  const width = Math.max(0, ...rows.flat().map((text) => (text === GAP ? 0 : text.length)));
  let next = 0;
  const write = (axis: number): string => {
    const isLast = axis === shape.length - 1;
    if (isLast) return rowText(rows[next++]!, width, axis);
    const gap = `,${'\n'.repeat(shape.length - 1 - axis)}${' '.repeat(axis + 1)}`;
    return `[${shownIndices(shape[axis]!, edge)
      .map((i) => (i === null ? GAP : write(axis + 1)))
      .join(gap)}]`;
  };
  return write(0);
}

function valuesText(rt: Runtime, t: Tensor, limits: Limits): string {
  const { dtype, shape } = t.meta;
  const elements = viewOf(dtype, rt.memory.buffer, rt.exports.sinter_data(t.address) >>> 0, t.size);
  const edge = t.size > limits.elements ? limits.edge(shape.length) : Infinity;
  return nestedText(shape, edge, (index) => elementText(dtype, elements[index]!));
}

/** One line for a tensor that has no value to show, else that line and the values. */
export function show(t: Tensor, limits = ALONE): string {
  const rt = runtimeOrNull();
  const head = String(t);
  if (!rt || t.isDisposed) return head;
  if (t.device !== 'cpu') return head.replace(/\)$/, `, on ${t.device})`);
  if (!rt.exports.sinter_is_computed(t.address)) return head.replace(/\)$/, ', not computed)');
  if (t.size === 0) return `${head} []`;
  const values = valuesText(rt, t, limits);
  return values.includes('\n') ? `${head}\n${values}` : `${head} ${values}`;
}

/** Called by util.inspect of Node and Bun: inside other objects depth is less than options.depth. */
function inspectInNode(this: Tensor, depth: number | null, options?: { depth?: number | null }): string {
  if (typeof depth === 'number' && depth < 0) return String(this);
  const isInside = typeof depth === 'number' && typeof options?.depth === 'number' && depth < options.depth;
  return show(this, isInside ? INSIDE : ALONE);
}

Object.defineProperties(Tensor.prototype, {
  [Symbol.for('nodejs.util.inspect.custom')]: { value: inspectInNode, configurable: true, writable: true },
  [Symbol.for('Deno.customInspect')]: {
    value(this: Tensor): string {
      return show(this);
    },
    configurable: true,
    writable: true,
  },
});

type Markup = readonly [tag: string, attributes: object, ...children: (string | Markup)[]];

/** Chromium's and Firefox's consoles ask this about each value, with custom formatters switched on. */
const formatter = {
  header: (value: unknown): Markup | null => (value instanceof Tensor ? ['span', {}, String(value)] : null),
  hasBody: (value: unknown): boolean => value instanceof Tensor && !value.isDisposed,
  body: (value: unknown): Markup => ['pre', {}, show(value as Tensor)],
};

/** Tells a browser's console how tensors are shown; called by init, so that an import alone changes nothing. */
export function registerFormatter(): void {
  if (isNode) return;
  const host = globalThis as { devtoolsFormatters?: unknown[] };
  const formatters = (host.devtoolsFormatters ??= []);
  if (Array.isArray(formatters) && !formatters.includes(formatter)) formatters.push(formatter);
}
