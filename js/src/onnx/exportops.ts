// Writes the ops of a traced graph as ONNX nodes: one function per op, and a table for elementwise ops.

import { UnsupportedError } from '../index.js';
import type { GraphNode } from '../source/graph.js';
import { typeNumber, type Scribe } from './scribe.js';

/** A node to be written: the names of its inputs, and the graph nodes that they come from. */
export interface Site {
  scribe: Scribe;
  node: GraphNode;
  inputs: readonly string[];
  from: readonly GraphNode[];
}

type Write = (site: Site) => string;

const number = (node: GraphNode, name: string): number => Number(node.attrs[name]);
const list = (node: GraphNode, name: string): number[] => node.attrs[name] as number[];
const axesOf = (mask: number): number[] => Array.from({ length: 8 }, (_, i) => i).filter((i) => (mask >> i) & 1);

/** An end of a Slice with a negative step that lies before the first element: -1 would mean the last element. */
const BEFORE_ALL = -(2 ** 40);

const isFloat = (dtype: string): boolean => dtype.includes('float');

export const refuse = (op: string): UnsupportedError => 
  new UnsupportedError('onnx.export', `there is no ${op} in ONNX`, { hint: 'what the function captured is a constant of the file once it is computed: sn.eval(params) before' });

/** Nodes of some types in a row, each applied to the result of the one before. */
const chain =
  (...types: readonly string[]): Write =>
  ({ scribe, inputs }) =>
    types.reduce((x, type) => scribe.node(type, [x]), inputs[0]!);

const same =
  (type: string): Write =>
  ({ scribe, inputs }) =>
    scribe.node(type, inputs);

/** Bools have node types of their own. */
const orOfBools =
  (type: string, ofBools: string): Write =>
  ({ scribe, inputs, node }) =>
    scribe.node(node.dtype === 'bool' ? ofBools : type, inputs);

/** ONNX only compares numbers. For bools, x < y is "not x and y", and so on. negatesFirst: negate x instead of y. */
const ordered =
  (type: string, ofBools: 'And' | 'Or', negatesFirst: boolean): Write =>
  ({ scribe, inputs: [x, y], from }) => {
    if (from[0]!.dtype !== 'bool') return scribe.node(type, [x!, y!]);
    const negated = scribe.node('Not', [negatesFirst ? x! : y!]);
    return scribe.node(ofBools, [negated, negatesFirst ? y! : x!]);
  };

/** The first input unchanged. The other inputs only have to be computed before. */
const itself: Write = ({ scribe, inputs }) => scribe.node('Identity', [inputs[0]!]);

/** f builds nodes (n) from x, y and constants (c) of their dtype. */
const formula =
  (f: (n: (type: string, ...inputs: string[]) => string, x: string, c: (value: number) => string, y: string) => string): Write =>
  ({ scribe, inputs, node, from }) =>
    f((type, ...names) => scribe.node(type, names), inputs[0]!, (value) => scribe.scalar(isFloat(node.dtype) ? node.dtype : from[0]!.dtype, value), inputs[1]!);

/** Ops of ONNX that do the same as ours of the same name, in ONNX's spelling. */
const ALIKE = [
  'Neg', 'Abs', 'Sign', 'Floor', 'Ceil', 'Round', 'Sqrt', 'Reciprocal',
  'Exp', 'Log', 'Sin', 'Cos', 'Tan', 'Asin', 'Acos', 'Atan',
  'Sinh', 'Cosh', 'Tanh', 'Asinh', 'Acosh', 'Atanh', 'Sigmoid', 'Erf',
  'Softplus', 'Gelu', 'Mish', 'Sub', 'Div', 'Pow', 'Equal', 'BitwiseAnd',
  'BitwiseOr', 'BitwiseXor',
];

const ours = (type: string): string => type.replace(/\B[A-Z]/g, '_$&').toLowerCase();

export const ELEMENTWISE: Readonly<Record<string, Write>> = {
  ...Object.fromEntries(ALIKE.map((type) => [ours(type), same(type)])),
  stop_gradient: same('Identity'),
  trunc: formula((n, x) => n('Mul', n('Sign', x), n('Floor', n('Abs', x)))),
  rsqrt: chain('Sqrt', 'Reciprocal'),
  square: formula((n, x) => n('Mul', x, x)),
  log1p: formula(log1p),
  exp2: formula((n, x, c) => n('Exp', n('Mul', x, c(Math.LN2)))),
  // tanh(x / 2) (exp(x) + 1): the difference exp(x) - 1 would cancel for small x.
  expm1: formula((n, x, c) => n('Mul', n('Tanh', n('Mul', x, c(0.5))), n('Add', n('Exp', x), c(1)))),
  log2: formula((n, x, c) => n('Mul', n('Log', x), c(Math.LOG2E))),
  silu: formula((n, x) => n('Mul', x, n('Sigmoid', x))),
  relu: formula((n, x, c) => n('Max', x, c(0))),
  isnan: same('IsNaN'),
  isfinite: formula((n, x) => n('Not', n('Or', n('IsNaN', x), n('IsInf', x)))),
  logical_not: same('Not'),
  bitwise_invert: same('BitwiseNot'),
  add: orOfBools('Add', 'Or'),
  mul: orOfBools('Mul', 'And'),
  mod: ({ scribe, inputs: [x, y], node }) => {
    if (!isFloat(node.dtype)) return scribe.node('Mod', [x!, y!]);
    // fmod gives the sign of x. If that is not the sign of y, y is added.
    const rest = scribe.node('Mod', [x!, y!], { fmod: 1 });
    const signs = scribe.node('Mul', [scribe.node('Sign', [rest]), scribe.node('Sign', [y!])]);
    const isOther = scribe.node('Less', [signs, scribe.scalar(node.dtype, 0)]);
    return scribe.node('Where', [isOther, scribe.node('Add', [rest, y!]), rest]);
  },
  maximum: orOfBools('Max', 'Or'),
  minimum: orOfBools('Min', 'And'),
  not_equal: chainOf('Equal', 'Not'),
  // onnxruntime has no Where for bools.
  where: ({ scribe, inputs: [condition, x, y], node }) => {
    if (node.dtype !== 'bool') return scribe.node('Where', [condition!, x!, y!]);
    return scribe.node('Or', [scribe.node('And', [condition!, x!]), scribe.node('And', [scribe.node('Not', [condition!]), y!])]);
  },
  less: ordered('Less', 'And', true),
  less_equal: ordered('LessOrEqual', 'Or', true),
  greater: ordered('Greater', 'And', false),
  greater_equal: ordered('GreaterOrEqual', 'Or', false),
  logical_and: same('And'),
  logical_or: same('Or'),
  logical_xor: same('Xor'),
};

/** log(u) x / (u - 1) with u = 1 + x: what rounding took from u is in both factors and cancels (Kahan). If u is 1, or x
 *  infinite, the result is x. */
function log1p(n: (type: string, ...inputs: string[]) => string, x: string, c: (value: number) => string): string {
  const u = n('Add', x, c(1));
  const kept = n('Sub', u, c(1));
  const isItself = n('Or', n('Equal', kept, c(0)), n('Equal', x, c(Infinity)));
  return n('Where', isItself, x, n('Mul', n('Log', u), n('Div', x, kept)));
}

/** A node of all inputs, followed by a node of its result. */
function chainOf(first: string, second: string): Write {
  return ({ scribe, inputs }) => scribe.node(second, [scribe.node(first, inputs)]);
}

/** A slice of x: begin, number of elements and step along each axis. */
function sliced(scribe: Scribe, x: string, begin: readonly number[], size: readonly number[], step: readonly number[]): string {
  const ends = begin.map((at, i) => at + size[i]! * step[i]!).map((end) => (end < 0 ? BEFORE_ALL : end));
  return scribe.node('Slice', [x, scribe.ints(begin), scribe.ints(ends), scribe.ints(begin.map((_, i) => i)), scribe.ints(step)]);
}

const reshaped = (scribe: Scribe, x: string, shape: readonly number[]): string => scribe.node('Reshape', [x, scribe.ints(shape)], { allowzero: 1 });

/** Inserts step - 1 elements of the value between neighbours along each axis. Returns the result and its shape; shape: that
 *  of x. */
function spread(scribe: Scribe, x: string, shape: readonly number[], steps: readonly number[], value: string): { x: string; shape: number[] } {
  let [at, sizes] = [x, [...shape]];
  steps.forEach((step, axis) => {
    if (step === 1 || sizes[axis]! < 2) return;
    const apart = sizes.flatMap((size, i) => (i === axis ? [size, 1] : [size]));
    const widths = apart.map(() => 0);
    const padded = scribe.node('Pad', [reshaped(scribe, at, apart), scribe.ints([...widths, ...widths.map((_, i) => (i === axis + 1 ? step - 1 : 0))]), value]);
    const length = (sizes[axis]! - 1) * step + 1;
    const joined = reshaped(scribe, padded, sizes.map((size, i) => (i === axis ? size * step : size)));
    sizes = sizes.map((size, i) => (i === axis ? length : size));
    at = sliced(scribe, joined, sizes.map(() => 0), sizes, sizes.map(() => 1));
  });
  return { x: at, shape: sizes };
}

const pad: Write = ({ scribe, node, inputs, from }) => {
  const value = scribe.scalar(node.dtype, Number(node.attrs['value']));
  const { x, shape } = spread(scribe, inputs[0]!, from[0]!.shape, list(node, 'step'), value);
  const low = list(node, 'low');
  const high = low.map((before, i) => node.shape[i]! - before - shape[i]!);
  return [...low, ...high].every((width) => width === 0) ? x : scribe.node('Pad', [x, scribe.ints([...low, ...high]), value]);
};

/** A filter (window..., c, o) in ONNX's layout (o, c, window...). isTransposed: flipped, with the two channel axes of each group
 *  exchanged. */
function filterOf(scribe: Scribe, w: string, shape: readonly number[], groups: number, isTransposed: boolean): string {
  const axes = shape.length - 2;
  const window = Array.from({ length: axes }, (_, i) => i);
  if (!isTransposed) return scribe.node('Transpose', [w], { perm: [axes + 1, axes, ...window] });
  const begin = shape.map((size, i) => (i < axes ? size - 1 : 0));
  const flipped = sliced(scribe, w, begin, shape, shape.map((_, i) => (i < axes ? -1 : 1)));
  const [o, c] = [shape[axes]!, shape[axes + 1]! / groups];
  const apart = reshaped(scribe, flipped, [...shape.slice(0, axes), o, groups, c]);
  const moved = scribe.node('Transpose', [apart], { perm: [axes + 1, axes, axes + 2, ...window] });
  return reshaped(scribe, moved, [groups * o, c, ...shape.slice(0, axes)]);
}

const conv: Write = ({ scribe, node, inputs, from }) => {
  const [x, w] = from as [GraphNode, GraphNode];
  const axes = x.shape.length - 2;
  const spatial = Array.from({ length: axes }, (_, i) => i);
  const [low, step, dilation, between] = ['low', 'step', 'dilation', 'spread'].map((name) => list(node, name)) as [number[], number[], number[], number[]];
  const groups = number(node, 'groups');
  const zero = scribe.scalar(node.dtype, 0);
  const first = scribe.node('Transpose', [inputs[0]!], { perm: [0, axes + 1, ...spatial.map((i) => i + 1)] });
  const shape = [x.shape[0]!, x.shape.at(-1)!, ...x.shape.slice(1, -1)];
  const wide = spread(scribe, first, shape, [1, 1, ...between], zero);
  const high = spatial.map((i) => (node.shape[i + 1]! - 1) * step[i]! + (w.shape[i]! - 1) * dilation[i]! + 1 - low[i]! - wide.shape[i + 2]!);
  const isPlain = low.every((n) => n >= 0);
  const lows = isPlain ? low : low.map(() => 0);
  const cut = isPlain ? wide.x : scribe.node('Pad', [wide.x, scribe.ints([0, 0, ...low, 0, 0, ...low.map(() => 0)]), zero]);
  const filter = filterOf(scribe, inputs[1]!, w.shape, groups, number(node, 'transpose_filter') === 1);
  const pads = [...lows, ...high.map((n) => Math.max(n, 0))];
  // Conv drops elements at the end that no window covers. If that leaves one window too many, the slice below removes it.
  const y = scribe.node('Conv', [cut, filter], { strides: step, dilations: dilation, group: groups, pads, kernel_shape: w.shape.slice(0, axes) });
  const made = [node.shape[0]!, node.shape.at(-1)!, ...node.shape.slice(1, -1)];
  const fits = high.every((n) => n >= 0) ? y : sliced(scribe, y, made.map(() => 0), made, made.map(() => 1));
  return scribe.node('Transpose', [fits], { perm: [0, ...spatial.map((i) => i + 2), 1] });
};

/** Sliding windows along an axis: gathers the elements of each window. */
const windows: Write = ({ scribe, node, inputs }) => {
  const [axis, step, dilation] = ['axis', 'step', 'dilation'].map((name) => number(node, name)) as [number, number, number];
  const [count, size] = [node.shape[axis]!, node.shape[axis + 1]!];
  const places = Array.from({ length: count * size }, (_, i) => Math.floor(i / size) * step + (i % size) * dilation);
  return scribe.node('Gather', [inputs[0]!, scribe.ints(places, [count, size])], { axis });
};

const reduce =
  (type: string): Write =>
  ({ scribe, node, inputs, from }) => {
    const x = from[0]!.dtype === node.dtype ? inputs[0]! : scribe.node('Cast', [inputs[0]!], { to: typeNumber(node.dtype) });
    return scribe.node(type, [x, scribe.ints(axesOf(number(node, 'axes')))], { keepdims: 0 });
  };

const sorted = ({ scribe, node, inputs, from }: Site, output: number): string => {
  const axis = number(node, 'axis');
  // TopK only takes numbers.
  const x = from[0]!.dtype === 'bool' ? scribe.node('Cast', [inputs[0]!], { to: typeNumber('int32') }) : inputs[0]!;
  const results = scribe.nodes('TopK', [x, scribe.ints([node.shape[axis]!])], 2, { axis, largest: number(node, 'descending') });
  return results[output]!;
};

const scatter: Write = ({ scribe, node, inputs }) => {
  const mode = node.op.slice('scatter_'.length);
  if (mode === 'or') throw refuse(node.op);
  const reduction: Readonly<Record<string, string>> = mode === 'set' ? {} : { reduction: mode };
  return scribe.node('ScatterElements', inputs, { axis: number(node, 'axis'), ...reduction });
};

const iota: Write = ({ scribe, node }) => {
  const axis = number(node, 'axis');
  const places = scribe.node('Cast', [scribe.ints(Array.from({ length: node.shape[axis]! }, (_, i) => i), node.shape.map((size, i) => (i === axis ? size : 1)))], { to: typeNumber(node.dtype) });
  return scribe.node('Expand', [places, scribe.ints(node.shape)]);
};

const cast = (scribe: Scribe, x: string, from: string, to: string): string => {
  // ONNX truncates floats toward zero, as here. For types of 8 bits they are clamped to the range first.
  const bounds: Readonly<Record<string, [number, number]>> = { int8: [-128, 127], uint8: [0, 255] };
  const range = bounds[to];
  const x8 = range && isFloat(from) ? scribe.node('Clip', [x, scribe.scalar(from, range[0]), scribe.scalar(from, range[1])]) : x;
  return scribe.node('Cast', [x8], { to: typeNumber(to) });
};

/** Ops that are not elementwise. */
export const OTHERS: Readonly<Record<string, Write>> = {
  iota,
  reshape: ({ scribe, node, inputs }) => reshaped(scribe, inputs[0]!, node.shape),
  transpose: ({ scribe, node, inputs }) => scribe.node('Transpose', inputs, { perm: list(node, 'axes') }),
  broadcast: ({ scribe, node, inputs }) => scribe.node('Expand', [inputs[0]!, scribe.ints(node.shape)]),
  slice: ({ scribe, node, inputs }) => sliced(scribe, inputs[0]!, list(node, 'begin'), node.shape, list(node, 'stride')),
  barrier: itself,
  named: same('Identity'),
  copy: same('Identity'),
  marker: same('Identity'),
  windows,
  pad,
  concat: ({ scribe, node, inputs }) => scribe.node('Concat', inputs, { axis: number(node, 'axis') }),
  matmul: same('MatMul'),
  conv,
  softmax: ({ scribe, node, inputs }) => scribe.node('Softmax', inputs, { axis: number(node, 'axis') }),
  astype: ({ scribe, node, inputs, from }) => cast(scribe, inputs[0]!, from[0]!.dtype, node.dtype),
  gather: ({ scribe, node, inputs }) => scribe.node('GatherElements', inputs, { axis: number(node, 'axis') }),
  scatter_add: scatter,
  scatter_set: scatter,
  scatter_mul: scatter,
  scatter_max: scatter,
  scatter_min: scatter,
  sort: (site) => (site.node.dtype === 'bool' ? site.scribe.node('Cast', [sorted(site, 0)], { to: typeNumber('bool') }) : sorted(site, 0)),
  argsort: (site) => site.scribe.node('Cast', [sorted(site, 1)], { to: typeNumber('int32') }),
  cumsum: ({ scribe, node, inputs }) =>
    scribe.node('CumSum', [inputs[0]!, scribe.ints([number(node, 'axis')], [])], { reverse: number(node, 'reverse'), exclusive: number(node, 'exclusive') }),
  shard: same('Identity'),
  all_gather: same('Identity'),
  all_reduce: ({ scribe, node, inputs }) => scribe.node('ReduceSum', [inputs[0]!, scribe.ints([number(node, 'axis')])], { keepdims: 0 }),
  sum: reduce('ReduceSum'),
  max: reduce('ReduceMax'),
  min: reduce('ReduceMin'),
  prod: reduce('ReduceProd'),
};

