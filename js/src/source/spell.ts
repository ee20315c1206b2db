// Writes ops as calls of the package's functions: for each kind of op the nodes it reads, and the text around them.
//
// Ops that JavaScript does not need are left out: numbers stand where they are used, tensors broadcast implicitly, and a
// reduction that keeps its axes is one call. When the text runs, it makes the op that it stands for, or others with equal bits.

import { BLOCK_KINDS } from '../options.gen.js';
import { axesOf, broadcastShape, listAttr, numberAttr, sameShape, type Constant, type Graph, type GraphNode } from './graph.js';

/** How a node is written: the nodes that it reads, and the text made of their texts. */
export interface Spelling {
  reads: number[];
  write: (texts: string[]) => string;
}

/** What spellings know about the graph. */
export interface Site {
  graph: Graph;
  /** Whether only one node reads it, so that the reader may absorb it. */
  isOwn: (id: number) => boolean;
  /** The longest path from a leaf to each node. */
  depth: readonly number[];
  /** The constant that a node is, if it has the same value everywhere. */
  constant: (id: number) => Constant | null;
  /** Requests a helper of HELPERS; returns its name. */
  helper: (name: HelperName) => string;
}

/** Helpers for ops without a function of their own, written before the program that needs them. */
export const HELPERS = {
  dilate: `/** step - 1 times value between the elements along an axis. */
const dilate = (x, axis, step, value = 0) => {
  const apart = x.expandDims(axis + 1);
  const wide = apart.pad(apart.shape.map((_, i) => [0, i === axis + 1 ? step - 1 : 0]), { value });
  const joined = wide.reshape(x.shape.map((n, i) => (i === axis ? n * step : n)));
  return joined.slice(x.shape.map(() => 0), x.shape.map((n, i) => (i === axis ? (n - 1) * step + 1 : n)));
};`,
  scatterAlongAxis: `/** x with update[i] put to x[index[i]] along an axis, for each place across it. */
const scatterAlongAxis = (x, index, updates, axis, mode) => {
  const n = x.shape[axis];
  const at = sn.where(index.less(0), index.add(n), index).clip(0, n - 1);
  const places = index.shape.map((_, i) => (i === axis ? at : sn.iota(index.shape, i)));
  return x.scatterNd(sn.stack(places, { axis: -1 }), updates, { mode });
};`,
  recurrence: `/** y[i] = a[i] y[i - 1] + b[i] along an axis, y before the first being 0; floats carried as float64. */
const recurrence = (a, b, axis, reverse = false) => {
  const step = (y, [p, q]) => {
    const next = p.mul(y).add(q);
    return [next, next];
  };
  const wide = a.dtype === 'int32' ? 'int32' : 'float64';
  const [p, q] = [a, b].map((x) => x.moveaxis(axis, 0).astype(wide));
  const [, ys] = sn.scan(step, sn.zeros(p.shape.slice(1), { dtype: wide }), [p, q], { reverse });
  return ys.astype(a.dtype).moveaxis(0, axis);
};`,
} as const;

export type HelperName = keyof typeof HELPERS;

export const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());

const listText = (list: readonly number[]): string => `[${list.map((n) => (Object.is(n, -0) ? '-0' : String(n))).join(', ')}]`;

/** The shortest text that gives the number in its dtype. */
export function numberText(value: number, dtype: string): string {
  if (Object.is(value, -0)) return '-0';
  if (dtype === 'float32' && Math.fround(value) === value)
    for (let digits = 1; digits < 10; digits++) {
      const short = Number(value.toPrecision(digits));
      if (Math.fround(short) === value) return String(short);
    }
  return String(value);
}

/** The given options as '{ a: 1 }', or '' if there are none. */
export function optionsText(options: Record<string, string | undefined>): string {
  const list = Object.entries(options).filter(([, text]) => text !== undefined);
  return list.length === 0 ? '' : `{ ${list.map(([name, text]) => `${name}: ${text}`).join(', ')} }`;
}

/** name(first, ...), followed by options if there are any. */
const call = (name: string, args: readonly string[], options: Record<string, string | undefined> = {}): string =>
  `${name}(${[...args, optionsText(options)].filter((text) => text !== '').join(', ')})`;

const dtypeOption = (dtype: string, usual: string): { dtype: string | undefined } => ({
  dtype: dtype === usual ? undefined : `'${dtype}'`,
});

export function fullText({ value, dtype, shape }: Constant): string {
  const option = dtypeOption(dtype, 'float32');
  if (Object.is(value, 0)) return call('sn.zeros', [listText(shape)], option);
  if (value === 1) return call('sn.ones', [listText(shape)], option);
  return call('sn.full', [listText(shape), numberText(value, dtype)], option);
}

/** A method call on the first node that is read. */
const method = (reads: number[], name: string, args: readonly string[] = [], options: Record<string, string | undefined> = {}): Spelling => ({
  reads,
  write: ([x, ...others]) => call(`${x}.${name}`, [...others, ...args], options),
});

type Speller = (site: Site, node: GraphNode, id: number) => Spelling;

const nodeOf = ({ graph }: Site, id: number): GraphNode => graph.nodes[id]!;

const flag = (node: GraphNode, name: string): string | undefined => (numberAttr(node, name) ? 'true' : undefined);

const axisUnless = (node: GraphNode, usual: number): string | undefined => {
  const axis = numberAttr(node, 'axis');
  return axis === usual ? undefined : String(axis);
};

const lastAxis = ({ shape }: GraphNode): number => shape.length - 1;

/* ---- elementwise ---- */

/** An operand of an elementwise expression: before its broadcast (shape), as a number (text), or in full. */
interface Operand {
  id: number;
  shape: readonly number[];
  text?: string;
}

function operandOf(site: Site, id: number, asNumber: boolean): Operand {
  const node = nodeOf(site, id);
  const constant = site.constant(id);
  if (constant && asNumber && constant.dtype !== 'bool') return { id, shape: [], text: numberText(constant.value, constant.dtype) };
  if (!constant && node.op === 'broadcast') return operandOf(site, node.inputs[0]!, false);
  return { id, shape: node.shape };
}

function elementwise(site: Site, node: GraphNode): Spelling {
  const mean = reductionAt(site, node);
  if (mean) return reduction(site, mean, false);
  const isChoice = node.op === 'where';
  const operands = node.inputs.map((id, i) => operandOf(site, id, !(isChoice && i === 0)));
  // Numbers take the dtype of the other operands, so one operand has to be a tensor.
  const last = operands.length - 1;
  const isBare = isChoice && node.dtype === 'float32'; // numbers alone give float32
  if (!isBare && operands.every(({ text }, i) => text !== undefined || (isChoice && i === 0)))
    operands[last] = operandOf(site, node.inputs[last]!, false);
  const fits = (): boolean => sameShape(broadcastShape(operands.map(({ shape }) => shape)) ?? [], node.shape);
  for (let i = last; i >= 0 && !fits(); i--) {
    const id = node.inputs[i]!;
    if (operands[i]!.id !== id || operands[i]!.text !== undefined) operands[i] = { id, shape: nodeOf(site, id).shape };
  }
  const name = camelCase(node.op);
  const commutes = operands.length === 2 && COMMUTATIVE.has(node.op);
  const comesSecond = ({ text, id }: Operand): number => (text === undefined ? -site.depth[id]! - 1 : 0);
  if (commutes) operands.sort((a, b) => comesSecond(a) - comesSecond(b));
  const reads = operands.filter(({ text }) => text === undefined).map(({ id }) => id);
  return {
    reads,
    write: (texts) => {
      let next = 0;
      const [first, ...others] = operands.map(({ text }) => text ?? texts[next++]!);
      const isTensor = operands[0]!.text === undefined && !isChoice;
      return isTensor ? call(`${first}.${name}`, others) : call(`sn.${name}`, [first!, ...others]);
    },
  };
}

/** For these ops the deeper operand is written first. */
const COMMUTATIVE = new Set(['add', 'mul', 'maximum', 'minimum', 'equal', 'not_equal', 'logical_and', 'logical_or', 'logical_xor']);

/* ---- reductions ---- */

/** The reduction that a node is: an op of REDUCTIONS, or a mean (a sum divided by its count, if only this node reads the
 *  sum). */
function reductionAt(site: Site, node: GraphNode): { name: string; from: GraphNode } | null {
  if (REDUCTIONS.has(node.op)) return { name: camelCase(node.op), from: node };
  const [sum, ...others] = node.inputs.filter((id) => !site.constant(id));
  const factor = node.inputs.map((id) => site.constant(id)).find((constant) => constant)?.value;
  const from = sum === undefined ? undefined : nodeOf(site, sum);
  if (from?.op !== 'sum' || others.length > 0 || factor === undefined || !site.isOwn(sum!)) return null;
  const { shape } = nodeOf(site, from.inputs[0]!);
  const count = axesOf(numberAttr(from, 'axes')).reduce((n, axis) => n * shape[axis]!, 1);
  const isPower = Number.isInteger(Math.log2(count)); // then division equals multiplication by the reciprocal
  const isMean = node.op === 'div' ? node.inputs[0] === sum && factor === count : node.op === 'mul' && isPower && factor === 1 / count;
  return isMean && count > 1 ? { name: 'mean', from } : null;
}

function reduction(site: Site, { name, from }: { name: string; from: GraphNode }, keepdims: boolean): Spelling {
  const rank = nodeOf(site, from.inputs[0]!).shape.length;
  const axes = axesOf(numberAttr(from, 'axes'));
  const axis = axes.length === rank ? undefined : axes.length === 1 ? String(axes[0]) : listText(axes);
  if (keepdims) return method(from.inputs, name, [], { axis, keepdims: 'true' });
  return method(from.inputs, name, axis === undefined ? [] : [axis]);
}

const REDUCTIONS = new Set(['sum', 'max', 'min', 'prod', 'bitwise_or_reduce']);

/* ---- views ---- */

const without = (list: readonly number[], at: number): number[] => list.filter((_, i) => i !== at);

/** The size-1 axis that `longer` has in addition; -1 if the shapes differ otherwise. */
function addedAxis(longer: readonly number[], shorter: readonly number[]): number {
  if (longer.length !== shorter.length + 1) return -1;
  return longer.findIndex((dim, axis) => dim === 1 && sameShape(without(longer, axis), shorter));
}

/** x[i] along an axis, which is a slice and a reshape; null if the nodes are something else. */
function elementAt(site: Site, node: GraphNode, from: GraphNode): Spelling | null {
  if (from.op !== 'slice') return null;
  const x = nodeOf(site, from.inputs[0]!);
  const axis = addedAxis(from.shape, node.shape);
  const only = x.shape.findIndex((dim, i) => dim !== from.shape[i]);
  const at = only < 0 ? axis : only;
  if (at < 0 || from.shape[at] !== 1 || !sameShape(without(x.shape, at), node.shape)) return null;
  const [begin, stride] = [listAttr(from, 'begin'), listAttr(from, 'stride')];
  if (begin.some((b, i) => i !== at && b !== 0) || stride.some((s, i) => i !== at && s !== 1)) return null;
  return method(from.inputs, 'take', [String(begin[at])], { axis: at === 0 ? undefined : String(at) });
}

/** The text of a reshape that keeps the order of elements. */
function reshaped(x: string, from: readonly number[], to: readonly number[]): string {
  if (sameShape(from, to)) return x;
  const [more, less] = [addedAxis(to, from), addedAxis(from, to)];
  if (more >= 0) return `${x}.expandDims(${more})`;
  return less >= 0 ? `${x}.squeeze(${less})` : `${x}.reshape(${listText(to)})`;
}

/** The text of a transpose. */
function permuted(x: string, axes: readonly number[]): string {
  if (axes.every((axis, i) => axis === i)) return x;
  if (axes.every((axis, i) => axis === axes.length - 1 - i)) return `${x}.transpose()`;
  const moved = axes.filter((axis, i) => axis !== i).sort((a, b) => a - b);
  return moved.length === 2 ? `${x}.swapaxes(${moved.join(', ')})` : `${x}.transpose(${listText(axes)})`;
}

const larger = (shape: readonly number[]): number[] => shape.flatMap((dim, i) => (dim === 1 ? [] : [i]));

/** For each axis of a view's result, the axis of its input, or null for a size-1 axis; null if the node is no such view. */
function axesBehind(node: GraphNode, from: GraphNode): (number | null)[] | null {
  if (node.op === 'transpose') return listAttr(node, 'axes');
  const [mine, its] = [larger(node.shape), larger(from.shape)];
  const isSame = node.op === 'reshape' && sameShape(mine.map((i) => node.shape[i]!), its.map((i) => from.shape[i]!));
  return isSame ? node.shape.map((_, i) => its[mine.indexOf(i)] ?? null) : null;
}

/** Writes a chain of views that move axes, or add and remove size-1 axes, as one view. vmap makes many of these. */
function movedAxes(site: Site, node: GraphNode): Spelling | null {
  let axes: (number | null)[] = node.shape.map((_, i) => i);
  let [at, steps, source] = [node, 0, -1];
  for (;;) {
    const id = at.inputs[0]!;
    const from = nodeOf(site, id);
    const behind = axesBehind(at, from);
    if (!behind || site.constant(id)) break;
    axes = axes.map((axis) => (axis === null ? null : behind[axis]!));
    [at, steps, source] = [from, steps + 1, id];
    if (at.op !== 'reshape' && at.op !== 'transpose') break;
  }
  if (steps < 2) return null;
  const { shape } = nodeOf(site, source);
  const order = axes.filter((axis): axis is number => axis !== null && shape[axis] !== 1);
  const perm = shape.map((dim, i) => (dim === 1 ? i : order.shift()!));
  return { reads: [source], write: ([x]) => reshaped(permuted(x!, perm), perm.map((axis) => shape[axis]!), node.shape) };
}

function reshape(site: Site, node: GraphNode): Spelling {
  const id = node.inputs[0]!;
  const from = nodeOf(site, id);
  const element = elementAt(site, node, from);
  if (element) return element;
  const reduced = site.isOwn(id) ? reductionAt(site, from) : null;
  if (reduced) {
    const { shape } = nodeOf(site, reduced.from.inputs[0]!);
    const axes = axesOf(numberAttr(reduced.from, 'axes'));
    if (sameShape(shape.map((dim, i) => (axes.includes(i) ? 1 : dim)), node.shape)) return reduction(site, reduced, true);
  }
  return movedAxes(site, node) ?? { reads: [id], write: ([x]) => reshaped(x!, from.shape, node.shape) };
}

const transpose = (site: Site, node: GraphNode): Spelling =>
  movedAxes(site, node) ?? { reads: node.inputs, write: ([x]) => permuted(x!, listAttr(node, 'axes')) };

function slice(site: Site, node: GraphNode): Spelling {
  const { shape } = nodeOf(site, node.inputs[0]!);
  const [begin, stride] = [listAttr(node, 'begin'), listAttr(node, 'stride')];
  const flipped = stride.flatMap((step, i) => (step === -1 && begin[i] === shape[i]! - 1 ? [i] : []));
  const isFlip = sameShape(shape, node.shape) && stride.every((step, i) => flipped.includes(i) || (step === 1 && begin[i] === 0));
  if (isFlip && flipped.length > 0)
    return method(node.inputs, 'flip', flipped.length === shape.length ? [] : [flipped.length === 1 ? String(flipped[0]) : listText(flipped)]);
  const strides = stride.every((step) => step === 1) ? undefined : listText(stride);
  return method(node.inputs, 'slice', [listText(begin), listText(node.shape)], { strides });
}

/** If there are fewer windows than fit into x, x is cut first. */
function windows(site: Site, node: GraphNode): Spelling {
  const { shape } = nodeOf(site, node.inputs[0]!);
  const [axis, step, dilation] = [numberAttr(node, 'axis'), numberAttr(node, 'step'), numberAttr(node, 'dilation')];
  const [count, size] = [node.shape[axis]!, node.shape[axis + 1]!];
  const span = (size - 1) * dilation + 1;
  const needed = count === 0 ? 0 : (count - 1) * step + span;
  const isAll = shape[axis]! >= needed && Math.max(0, Math.floor((shape[axis]! - span) / step) + 1) === count;
  const options = { step: step === 1 ? undefined : String(step), dilation: dilation === 1 ? undefined : String(dilation) };
  const cut = `.slice(${listText(shape.map(() => 0))}, ${listText(shape.map((n, i) => (i === axis ? needed : n)))})`;
  return { reads: node.inputs, write: ([x]) => call(`${x}${isAll ? '' : cut}.windows`, [String(axis), String(size)], options) };
}

const widthsText = (widths: readonly (readonly number[])[]): string => `[${widths.map(listText).join(', ')}]`;

function pad(site: Site, node: GraphNode): Spelling {
  const { shape } = nodeOf(site, node.inputs[0]!);
  const [low, step] = [listAttr(node, 'low'), listAttr(node, 'step')];
  const inner = shape.map((n, i) => Math.max(0, (n - 1) * step[i]! + 1));
  const value = Number(node.attrs['value']);
  const isZero = Object.is(value, 0);
  const widths = low.map((before, i) => [before, node.shape[i]! - before - inner[i]!]);
  const text = numberText(value, node.dtype);
  const spread = step.flatMap((n, axis) => (n > 1 && shape[axis]! > 1 ? [axis] : []));
  const name = spread.length > 0 ? site.helper('dilate') : '';
  return {
    reads: node.inputs,
    write: ([x]) => {
      const inside = spread.reduce((at, axis) => call(name, [at, String(axis), String(step[axis]), ...(isZero ? [] : [text])]), x!);
      return widths.flat().some((width) => width > 0) ? call(`${inside}.pad`, [widthsText(widths)], { value: isZero ? undefined : text }) : inside;
    },
  };
}

function concat(site: Site, node: GraphNode): Spelling {
  const axis = numberAttr(node, 'axis');
  const option = { axis: axis === 0 ? undefined : String(axis) };
  const isStack = node.inputs.every((id) => {
    const part = nodeOf(site, id);
    if (part.op !== 'reshape' || !site.isOwn(id) || part.shape[axis] !== 1) return false;
    return sameShape(without(part.shape, axis), nodeOf(site, part.inputs[0]!).shape);
  });
  const reads = isStack ? node.inputs.map((id) => nodeOf(site, id).inputs[0]!) : node.inputs;
  return { reads, write: (texts) => call(isStack ? 'sn.stack' : 'sn.concat', [`[${texts.join(', ')}]`], option) };
}

/* ---- pools ---- */

const each = (list: readonly number[]): string => (list.every((n) => n === list[0]) ? String(list[0]) : listText(list));

const eachUnless = (list: readonly number[], usual: readonly number[]): string | undefined => (sameShape(list, usual) ? undefined : each(list));

const around = (widths: readonly (readonly number[])[]): string | undefined =>
  widths.flat().every((n) => n === 0) ? undefined : widthsText(widths);

/** The reductions that are pools, and the value a pool pads with, which does not change the result. */
const POOLS: Readonly<Record<string, { name: string; outside: number }>> = { max: { name: 'maxPool', outside: -Infinity }, sum: { name: 'sumPool', outside: 0 } };

/** A reduction over windows of exactly the spatial axes, as a pool; null if it is something else. */
function pool(site: Site, node: GraphNode): Spelling | null {
  const kind = POOLS[node.op];
  const n = axesOf(numberAttr(node, 'axes')).length;
  const isSpatial = axesOf(numberAttr(node, 'axes')).every((axis, i) => axis === 2 + 2 * i);
  if (!kind || n > 3 || !isSpatial || nodeOf(site, node.inputs[0]!).shape.length !== 2 * n + 2 || !node.dtype.startsWith('float')) return null;
  const [window, strides, dilation, padding]: [number[], number[], number[], number[][]] = [[], [], [], []];
  let id = node.inputs[0]!;
  for (let i = n - 1; i >= 0; i--) {
    const view = nodeOf(site, id);
    const axis = 1 + 2 * i;
    if (view.op !== 'windows' || numberAttr(view, 'axis') !== axis || !site.isOwn(id)) return null;
    [window[i], strides[i], dilation[i]] = [view.shape[axis + 1]!, numberAttr(view, 'step'), numberAttr(view, 'dilation')];
    id = view.inputs[0]!;
    const [inner, span] = [nodeOf(site, id), (window[i]! - 1) * dilation[i]! + 1];
    padding[i] = [0, 0];
    if (inner.op === 'pad' && site.isOwn(id) && Object.is(Number(inner.attrs['value']), kind.outside)) {
      const x = nodeOf(site, inner.inputs[0]!);
      const [low, step] = [listAttr(inner, 'low'), listAttr(inner, 'step')];
      if (step.some((s) => s !== 1) || x.shape.some((dim, k) => k !== axis && dim !== inner.shape[k])) return null;
      padding[i] = [low[axis]!, inner.shape[axis]! - x.shape[axis]! - low[axis]!];
      id = inner.inputs[0]!;
    }
    const fits = Math.floor((inner.shape[axis]! - span) / strides[i]!) + 1;
    if (padding[i]!.some((width) => width >= span) || fits !== view.shape[axis]) return null;
  }
  const options = { window: each(window), strides: eachUnless(strides, window), padding: around(padding), dilation: eachUnless(dilation, dilation.map(() => 1)) };
  return method([id], `${kind.name}${n}d`, [], options);
}

/* ---- along an axis, by index ---- */

/** If an index is the same across all other axes (as take and scatter broadcast it): the node of that index, and how to
 *  write it in one dimension. Otherwise null. */
function lineOf(site: Site, id: number, axis: number): { id: number; write: (text: string) => string } | null {
  const index = nodeOf(site, id);
  if (index.shape.length === 1) return { id, write: (text) => text };
  const from = index.op === 'broadcast' ? index.inputs[0]! : id;
  const column = nodeOf(site, from);
  const lead = index.shape.length - column.shape.length;
  if (site.constant(id) || column.shape.some((n, i) => n !== 1 && i + lead !== axis) || column.shape[axis - lead] !== index.shape[axis]) return null;
  const inner = column.op === 'reshape' ? nodeOf(site, column.inputs[0]!) : column;
  if (inner.shape.length === 1) return { id: column === inner ? from : column.inputs[0]!, write: (text) => text };
  return { id: from, write: (text) => `${text}.reshape([-1])` };
}

const gather: Speller = (site, node) => {
  const axis = numberAttr(node, 'axis');
  const [x, index] = node.inputs as [number, number];
  const line = lineOf(site, index, axis);
  if (!line) return method(node.inputs, 'takeAlongAxis', [], { axis: axisUnless(node, lastAxis(node)) });
  const write = ([from, at]: string[]): string => call(`${from}.take`, [line.write(at!)], { axis: axisUnless(node, 0) });
  return { reads: [x, line.id], write: write as Spelling['write'] };
};

const scatter: Speller = (site, node) => {
  const mode = node.op.slice('scatter_'.length);
  const options = { mode: mode === 'set' ? undefined : `'${mode}'` };
  const [x, index, updates] = node.inputs as [number, number, number];
  const line = lineOf(site, index, numberAttr(node, 'axis'));
  if (line)
    return {
      reads: [x, line.id, updates],
      write: ([into, at, by]) => call(`${into}.scatter`, [line.write(at!), by!], { axis: axisUnless(node, 0), ...options }),
    };
  const name = site.helper('scatterAlongAxis');
  return { reads: node.inputs, write: (texts) => call(name, [...texts, String(numberAttr(node, 'axis')), `'${mode}'`]) };
};

/* ---- convolutions ---- */

function conv(site: Site, node: GraphNode): Spelling {
  const [x, w] = node.inputs.map((id) => nodeOf(site, id)) as [GraphNode, GraphNode];
  const axes = x.shape.length - 2;
  const [low, step, dilation, spread] = ['low', 'step', 'dilation', 'spread'].map((name) => listAttr(node, name)) as [number[], number[], number[], number[]];
  const groups = numberAttr(node, 'groups');
  const sizes = { in: x.shape.slice(1, -1), out: node.shape.slice(1, -1), window: w.shape.slice(0, axes) };
  const span = sizes.window.map((n, i) => (n - 1) * dilation[i]! + 1);
  const ones = dilation.map(() => 1);
  const shared = { dilation: eachUnless(dilation, ones), groups: groups === 1 ? undefined : String(groups) };
  if (numberAttr(node, 'transpose_filter') === 1 && step.every((n) => n === 1)) {
    const cut = span.map((n, i) => [n - 1 - low[i]!, (sizes.in[i]! - 1) * spread[i]! + low[i]! + 1 - sizes.out[i]!]);
    const more = cut.map(([, after]) => Math.max(0, -after!));
    const padding = cut.map(([before, after]) => [before!, Math.max(0, after!)]);
    if (more.every((n, i) => n === 0 || n < spread[i]! || n < dilation[i]!) && padding.flat().every((n) => n >= 0))
      return method(node.inputs, `convTranspose${axes}d`, [], {
        strides: eachUnless(spread, ones), padding: around(padding), ...shared, outputPadding: more.every((n) => n === 0) ? undefined : listText(more),
      });
  }
  return plainConv(site, node, { axes, low, step, spread, span, groups, sizes, strides: eachUnless(step, ones), shared });
}

interface Layer {
  axes: number;
  low: number[];
  step: number[];
  spread: number[];
  span: number[];
  groups: number;
  sizes: { in: number[]; out: number[]; window: number[] };
  strides: string | undefined;
  shared: Record<string, string | undefined>;
}

/** A convolution of x, dilated and cut as necessary, possibly with a transposed filter. */
function plainConv(site: Site, node: GraphNode, { axes, low, step, spread, span, groups, sizes, strides, shared }: Layer): Spelling {
  const [x, w] = node.inputs.map((id) => nodeOf(site, id)) as [GraphNode, GraphNode];
  const inner = sizes.in.map((n, i) => Math.max(0, (n - 1) * spread[i]! + 1));
  const high = inner.map((n, i) => (sizes.out[i]! - 1) * step[i]! + span[i]! - low[i]! - n);
  const padding = low.map((before, i) => [Math.max(0, before), Math.max(0, high[i]!)]);
  // Elements left over at the end are not covered by a window, so they need not be cut.
  const cutHigh = high.map((n, i) => (n < 0 && Math.floor((inner[i]! + low[i]! - span[i]!) / step[i]!) + 1 === sizes.out[i]! ? 0 : Math.min(0, n)));
  const isCut = low.some((n) => n < 0) || cutHigh.some((n) => n < 0);
  const begin = [0, ...low.map((n) => Math.max(0, -n)), 0];
  const size = [x.shape[0]!, ...inner.map((n, i) => n + Math.min(0, low[i]!) + cutHigh[i]!), x.shape.at(-1)!];
  const spreads = spread.flatMap((n, i) => (n > 1 && sizes.in[i]! > 1 ? [i] : []));
  const dilate = spreads.length > 0 ? site.helper('dilate') : '';
  const isTransposed = numberAttr(node, 'transpose_filter') === 1;
  const options = { strides, padding: around(padding), ...shared };
  return {
    reads: node.inputs,
    write: ([a, b]) => {
      let from = spreads.reduce((text, i) => call(dilate, [text, String(i + 1), String(spread[i])]), a!);
      if (isCut) from = call(`${from}.slice`, [listText(begin), listText(size)]);
      return call(`${from}.conv${axes}d`, [isTransposed ? transposedFilter(b!, w.shape, groups) : b!], options);
    },
  };
}

/** The text of a filter flipped along its window axes, with the two channel axes of each group exchanged. */
function transposedFilter(text: string, shape: readonly number[], groups: number): string {
  const axes = shape.length - 2;
  const window = shape.slice(0, axes);
  const flipped = call(`${text}.flip`, [listText(window.map((_, i) => i))]);
  if (groups === 1) return call(`${flipped}.swapaxes`, [String(axes), String(axes + 1)]);
  const [f, c] = [shape[axes]!, shape[axes + 1]! / groups];
  const apart = call(`${flipped}.reshape`, [listText([...window, f, groups, c])]);
  return call(`${call(`${apart}.swapaxes`, [String(axes), String(axes + 2)])}.reshape`, [listText([...window, c, groups * f])]);
}

/* ---- all ---- */

/** The unit matrix: the comparison of row and column indices, cast to numbers; null if it is something else. */
function eye(site: Site, node: GraphNode): Spelling | null {
  const { op, inputs } = nodeOf(site, node.inputs[0]!);
  const [rows, columns] = node.shape;
  if (op !== 'equal' || node.shape.length !== 2 || rows !== columns) return null;
  const along = inputs.map((id) => nodeOf(site, id)).map((each) => (each.op === 'iota' ? numberAttr(each, 'axis') : -1));
  if (along[0]! + along[1]! !== 1 || along.includes(-1)) return null;
  return { reads: [], write: () => call('sn.eye', [String(rows)], dtypeOption(node.dtype, 'float32')) };
}

const same: Speller = (_, { inputs }) => ({ reads: [inputs[0]!], write: ([x]) => x! });

const sort: Speller = (_, node) => method(node.inputs, node.op, [], { axis: axisUnless(node, lastAxis(node)), descending: flag(node, 'descending') });

const runningSum: Speller = (_, node) =>
  method(node.inputs, node.op, [], { axis: axisUnless(node, NaN), reverse: flag(node, 'reverse'), exclusive: flag(node, 'exclusive') });

const ofBlocks: Speller = (_, node) => method(node.inputs, camelCase(node.op), [], { kind: `'${BLOCK_KINDS[numberAttr(node, 'kind')]}'` });

const collective: Speller = (_, node) => method(node.inputs, camelCase(node.op), [], { axis: axisUnless(node, 0) });

const reduce: Speller = (site, node) => pool(site, node) ?? reduction(site, { name: camelCase(node.op), from: node }, false);

const SPELLERS: Readonly<Record<string, Speller>> = {
  iota: (_, node) => ({
    reads: [],
    write: () =>
      node.dtype === 'float32' && node.shape.length === 1
        ? call('sn.arange', [String(node.shape[0])])
        : call('sn.iota', [listText(node.shape), String(numberAttr(node, 'axis'))], dtypeOption(node.dtype, 'int32')),
  }),
  reshape,
  transpose,
  broadcast: (_, node) => method(node.inputs, 'broadcastTo', [listText(node.shape)]),
  slice,
  barrier: same,
  named: same,
  windows,
  pad,
  concat,
  matmul: (_, node) => method(node.inputs, 'matmul'),
  matmul_blocks: ofBlocks,
  matmul_dequantized: ofBlocks,
  dequantize_blocks: ofBlocks,
  conv,
  softmax: (_, node) => method(node.inputs, 'softmax', [], { axis: axisUnless(node, lastAxis(node)) }),
  astype: (site, node) => eye(site, node) ?? method(node.inputs, 'astype', [`'${node.dtype}'`]),
  bitcast: (_, node) => method(node.inputs, 'bitcast', [`'${node.dtype}'`]),
  gather,
  scatter_add: scatter,
  scatter_set: scatter,
  scatter_mul: scatter,
  scatter_max: scatter,
  scatter_min: scatter,
  scatter_or: scatter,
  sort,
  argsort: sort,
  cumsum: runningSum,
  cumprod: runningSum,
  recurrence: (site, node) => {
    const name = site.helper('recurrence');
    const args = [String(numberAttr(node, 'axis')), ...(numberAttr(node, 'reverse') ? ['true'] : [])];
    return { reads: node.inputs, write: (texts) => call(name, [...texts, ...args]) };
  },
  shard: collective,
  all_gather: collective,
  all_reduce: collective,
  sum: reduce,
  max: reduce,
  min: reduce,
  prod: reduce,
  bitwise_or_reduce: reduce,
  copy: same,
  marker: same,
};

/** How a node is written. Ops that SPELLERS does not list are elementwise, and are named by their row. */
export const spell = (site: Site, id: number): Spelling => {
  const constant = site.constant(id);
  if (constant) return { reads: [], write: () => fullText(constant) };
  const node = nodeOf(site, id);
  return (SPELLERS[node.op] ?? elementwise)(site, node, id);
};
