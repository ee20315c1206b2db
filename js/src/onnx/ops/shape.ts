// Ops that rearrange or select elements, or make constants of a shape.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import { axesOf, broadcastShape, reshaped, shapeValue, sliceOf, splitSizes, stridesOf, unsqueezed } from '../fold.js';
import type { Node, Op } from '../plan.js';
import { countOf, type Elements } from '../tensors.js';
import { dtypeOf, FLOAT, INT64, STRING } from '../types.js';
import { known, made, type Value } from '../value.js';

const op = (since: number, run: Op['run'], forms?: readonly number[]): Op => (forms ? { since, run, forms } : { since, run });

export const axisOf = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis);

/** Applies f to any value. Texts are rearranged through a tensor of their indices. */
export function moved(x: Value, f: (t: Tensor) => Tensor): Value {
  if (x.type !== STRING) return made(x.type, f(x.t));
  const { texts } = x;
  const places = f(sn.tensor(Int32Array.from(texts.keys()), { shape: [...x.shape] }));
  return known(STRING, places.shape, Array.from(places.dataSync(), (i) => texts[i]!));
}

const flatten: Op = op(1, (n, x) => {
  const axis = axisOf(n.int('axis', 1), x!.rank);
  return moved(x!, (t) => sn.reshape(t, [countOf(x!.shape.slice(0, axis)), countOf(x!.shape.slice(axis))]));
});

const squeeze: Op = op(
  1,
  (n, x, axes) => {
    const at = axesOf(n, axes, x!.rank, [...x!.shape.keys()].filter((i) => x!.shape[i] === 1));
    return moved(x!, (t) => sn.reshape(t, x!.shape.filter((_, i) => !at.includes(i))));
  },
  [1],
);

/** The dimensions that Shape returns: those from start to end. */
const shape: Op = op(1, (n, x) => {
  const { rank } = x!;
  const clamp = (at: number): number => Math.min(Math.max(axisOf(at, rank), 0), rank);
  return shapeValue(x!.shape.slice(clamp(n.int('start')), clamp(n.int('end', rank))));
});

const slice: Op = op(
  1,
  (n, ...x) => {
    const { begin, size, step } = sliceOf(n, x);
    if (size.includes(0)) return moved(x[0]!, (t) => sn.slice(t, begin.map(() => 0), size.map((s, i) => Math.min(s, t.shape[i]!))));
    return moved(x[0]!, (t) => sn.slice(t, begin, size, { strides: step }));
  },
  [1, 2, 3, 4],
);

const split: Op = op(
  1,
  (n, x, sizes) => {
    const axis = axisOf(n.int('axis'), x!.rank);
    let at = 0;
    return splitSizes(n, x!.shape[axis]!, sizes).map((count) => {
      const begin = x!.shape.map((_, i) => (i === axis ? at : 0));
      at += count;
      return moved(x!, (t) => sn.slice(t, begin, x!.shape.map((size, i) => (i === axis ? count : size))));
    });
  },
  [1],
);

/** Concatenates values of one type, which may be texts. */
export function concatenated(x: readonly Value[], axis: number): Value {
  const at = axisOf(axis, x[0]!.rank);
  if (x[0]!.type !== STRING) return made(x[0]!.type, sn.concat(x.map((each) => each.t), { axis: at }));
  const texts = x.flatMap((each) => [...each.texts]);
  let first = 0;
  const places = x.map((each) => {
    const t = sn.tensor(Int32Array.from({ length: each.size }, (_, i) => first + i), { shape: [...each.shape] });
    first += each.size;
    return t;
  });
  const order = sn.concat(places, { axis: at });
  return known(STRING, order.shape, Array.from(order.dataSync(), (i) => texts[i]!));
}

const gather = (x: Tensor, indices: Tensor, axis: number): Tensor => sn.take(x, indices, { axis });

/** Makes negative indices, which count from the end, count from the front. */
const fromFront = (indices: Tensor, length: number): Tensor => sn.where(sn.less(indices, 0), sn.add(indices, length), indices);

const gatherElements: Op = op(11, (n, x, indices) => {
  const axis = axisOf(n.int('axis'), x!.rank);
  // x may be longer than the indices along the other axes.
  const cut = (t: Tensor): Tensor => sn.slice(t, t.shape.map(() => 0), t.shape.map((size, i) => (i === axis ? size : indices!.shape[i]!)));
  return moved(x!, (t) => sn.takeAlongAxis(cut(t), fromFront(indices!.t, t.shape[axis]!), { axis }));
});

const gatherND: Op = op(11, (n, x, indices) => {
  const batch = n.int('batch_dims');
  const lead = x!.shape.slice(0, batch);
  return moved(x!, (t) => sn.gatherNd(t, withBatch(indices!.t, lead)));
});

/** Indices (batch..., axes) with the indices of the batch axes put in front. */
function withBatch(indices: Tensor, lead: readonly number[]): Tensor {
  if (lead.length === 0) return indices;
  const shapeOf = [...indices.shape.slice(0, -1), 1];
  const places = lead.map((_, axis) => sn.iota(shapeOf, axis));
  return sn.concat([...places, indices], { axis: -1 });
}

type Mode = 'set' | 'add' | 'mul' | 'min' | 'max';
const modeOf = (n: Node): Mode => {
  const mode = n.text('reduction', 'none');
  return mode === 'none' ? 'set' : (mode as Mode);
};

/** x with updates of the same rank written at indices along one axis. */
function scatteredElements(x: Tensor, indices: Tensor, updates: Tensor, axis: number, mode: Mode): Tensor {
  const at = axisOf(axis, x.ndim);
  const along = fromFront(indices, x.shape[at]!);
  const all = x.shape.map((_, i) => (i === at ? along : sn.iota([...indices.shape], i)));
  return sn.scatterNd(x, sn.stack(all, { axis: -1 }), updates, { mode });
}

const scatterElements: Op = op(9, (n, x, indices, updates) =>
  scatteredElements(x!.t, indices!.t, updates!.t, n.int('axis'), modeOf(n)),
);

const scatterND: Op = op(11, (n, x, indices, updates) => {
  const axes = indices!.shape.at(-1)!;
  const sizes = sn.tensor(Int32Array.from(x!.shape.slice(0, axes)), { shape: [axes] });
  const at = sn.where(sn.less(indices!.t, 0), sn.add(indices!.t, sizes), indices!.t);
  return sn.scatterNd(x!.t, at, updates!.t, { mode: modeOf(n) });
});

const pad: Op = op(
  1,
  (n, x, pads, value, axes) => {
    const widths = pads ? pads.numbers : (n.ints('pads') ?? n.ints('paddings')!);
    const along = axes ? axes.numbers.map((axis) => axisOf(axis, x!.rank)) : [...x!.shape.keys()];
    const pairs = x!.shape.map((): [number, number] => [0, 0]);
    along.forEach((axis, i) => (pairs[axis] = [widths[i]!, widths[i + along.length]!]));
    const fill = value ? Number(value.elements[0] ?? 0) : n.float('value');
    return padded(x!.t, pairs, n.text('mode', 'constant'), fill);
  },
  [1, 2, 3],
);

/** Pads a tensor; negative widths cut off. */
export function padded(x: Tensor, pairs: readonly (readonly [number, number])[], mode: string, value = 0): Tensor {
  const begin = pairs.map(([before]) => Math.max(-before, 0));
  const size = x.shape.map((length, i) => length - begin[i]! - Math.max(-pairs[i]![1], 0));
  const cut = pairs.some(([a, b]) => a < 0 || b < 0) ? sn.slice(x, begin, size) : x;
  const widths = pairs.map(([a, b]): [number, number] => [Math.max(a, 0), Math.max(b, 0)]);
  if (mode !== 'wrap') return sn.pad(cut, widths, { mode: mode as 'constant' | 'edge' | 'reflect', value });
  return widths.reduce((t, [before, after], axis) => {
    if (before === 0 && after === 0) return t;
    const length = t.shape[axis]!;
    const places = Array.from({ length: before + length + after }, (_, i) => (((i - before) % length) + length) % length);
    return sn.take(t, sn.tensor(Int32Array.from(places)), { axis });
  }, cut);
}

const expand: Op = op(8, (n, x, wanted) => moved(x!, (t) => sn.broadcastTo(t, broadcastShape(n, x!.shape, wanted!.numbers))), [1]);

const constantOfShape: Op = op(
  9,
  (n, wanted) => {
    const value = n.tensor('value');
    const type = value?.type ?? FLOAT;
    return made(type, sn.full(wanted!.numbers, Number(value?.elements[0] ?? 0), { dtype: dtypeOf(type) }));
  },
  [0],
);

const constant: Op = op(1, (n) => {
  const value = n.tensor('value');
  if (value) return value;
  if (n.has('value_float')) return known(FLOAT, [], [n.float('value_float')]);
  if (n.has('value_int')) return known(INT64, [], [n.int('value_int')]);
  if (n.has('value_string')) return known(STRING, [], [n.text('value_string')]);
  const lists: readonly [number, Elements | undefined, string][] = [
    [FLOAT, n.floats('value_floats'), 'value_floats'],
    [INT64, n.ints('value_ints'), 'value_ints'],
    [STRING, n.texts('value_strings'), 'value_strings'],
  ];
  const found = lists.find(([, , name]) => n.has(name));
  if (!found) throw n.fail('there is no value that is read');
  return known(found[0], [found[1]!.length], found[1]!);
});

/** Moves channels into blocks of space. */
const depthToSpace: Op = op(1, (n, x) => {
  const size = n.int('blocksize');
  const [batch, channels, height, width] = x!.shape as [number, number, number, number];
  const deep = channels / size / size;
  const isColumns = n.text('mode', 'DCR') === 'CRD';
  const apart = sn.reshape(x!.t, isColumns ? [batch, deep, size, size, height, width] : [batch, size, size, deep, height, width]);
  return sn.reshape(sn.transpose(apart, isColumns ? [0, 1, 4, 2, 5, 3] : [0, 3, 4, 1, 5, 2]), [batch, deep, height * size, width * size]);
});

const spaceToDepth: Op = op(1, (n, x) => {
  const size = n.int('blocksize');
  const [batch, channels, height, width] = x!.shape as [number, number, number, number];
  const apart = sn.reshape(x!.t, [batch, channels, height / size, size, width / size, size]);
  return sn.reshape(sn.transpose(apart, [0, 3, 5, 1, 2, 4]), [batch, channels * size * size, height / size, width / size]);
});

const oneHot: Op = op(
  9,
  (n, indices, depth, values) => {
    const count = Number(depth!.elements[0]);
    const rank = indices!.rank + 1;
    const axis = axisOf(n.int('axis', -1), rank);
    const at = sn.expandDims(fromFront(indices!.t.astype('int32'), count), axis);
    const places = sn.iota(Array.from({ length: rank }, (_, i) => (i === axis ? count : 1)), axis);
    const [off, on] = [0, 1].map((i) => sn.slice(values!.t, [i], [1]));
    return made(values!.type, sn.where(sn.equal(at, places), on!, off!));
  },
  [1],
);

const range: Op = op(
  11,
  (_, start, limit, delta) => {
    const [from, to, by] = [start, limit, delta].map((x) => Number(x!.elements[0])) as [number, number, number];
    const count = Math.max(Math.ceil((to - from) / by), 0);
    const steps = sn.arange(0, count, 1, { dtype: dtypeOf(start!.type) });
    return sn.add(sn.mul(steps, by), from);
  },
  [0, 1, 2],
);

const tile: Op = op(6, (_, x, reps) => moved(x!, (t) => sn.tile(t, reps!.numbers)), [1]);

const eyeLike: Op = op(9, (n, x) => {
  const type = n.int('dtype', x!.type);
  const [rows, columns] = x!.shape as [number, number];
  const [i, j] = [sn.iota([rows, columns], 0), sn.iota([rows, columns], 1)];
  return made(type, sn.equal(sn.add(i, n.int('k')), j).astype(dtypeOf(type)));
});

const trilu: Op = op(
  14,
  (n, x, k) => {
    const diagonal = k ? Number(k.elements[0]) : 0;
    return n.flag('upper', true) ? sn.triu(x!.t, { k: diagonal }) : sn.tril(x!.t, { k: diagonal });
  },
  [1],
);

/** Reverses the elements of each example up to its length. */
const reverseSequence: Op = op(10, (n, x, lengths) => {
  const [time, batch] = [n.int('time_axis'), n.int('batch_axis', 1)];
  const shapeOf = (axis: number): number[] => x!.shape.map((size, i) => (i === axis ? size : 1));
  const at = sn.iota(shapeOf(time), time);
  const length = sn.reshape(lengths!.t, shapeOf(batch));
  const from = sn.where(sn.less(at, length), sn.sub(sn.sub(length, 1), at), at);
  return sn.takeAlongAxis(x!.t, sn.broadcastTo(from, [...x!.shape]), { axis: time });
});

const centerCropPad: Op = op(
  18,
  (n, x, wanted) => {
    const axes = axesOf(n, undefined, x!.rank, [...x!.shape.keys()]);
    const pairs = x!.shape.map((): [number, number] => [0, 0]);
    wanted!.numbers.forEach((size, i) => {
      const [axis, length] = [axes[i]!, x!.shape[axes[i]!]!];
      const before = size > length ? Math.floor((size - length) / 2) : -Math.floor((length - size) / 2);
      pairs[axis] = [before, size - length - before];
    });
    return padded(x!.t, pairs, 'constant');
  },
  [1],
);

/** The indices of elements that are not 0. Their count depends on values. */
const nonZero: Op = op(9, (_, x) => {
  const strides = stridesOf(x!.shape);
  const places = [...x!.numbers.keys()].filter((i) => x!.numbers[i] !== 0);
  return known(INT64, [x!.rank, places.length], strides.flatMap((stride, axis) => places.map((i) => Math.floor(i / stride) % x!.shape[axis]!)));
});

const compress: Op = op(9, (n, x, condition) => {
  const places = Int32Array.from(condition!.numbers.flatMap((holds, i) => (holds ? [i] : [])));
  const chosen = sn.tensor(places, { shape: [places.length] });
  return moved(x!, (t) => (n.has('axis') ? sn.take(t, chosen, { axis: axisOf(n.int('axis'), t.ndim) }) : sn.take(sn.reshape(t, [-1]), chosen, { axis: 0 })));
});

/** A cache with new rows written for each example, at positions of its own. */
const tensorScatter: Op = op(24, (n, past, update, places) => {
  const axis = axisOf(n.int('axis', -2), past!.rank);
  const [length, count] = [past!.shape[axis]!, update!.shape[axis]!];
  const shapeOf = (at: number): number[] => update!.shape.map((size, i) => (i === at ? size : 1));
  const first = places ? sn.reshape(places.t, shapeOf(0)) : sn.zeros(shapeOf(0), { dtype: 'int32' });
  const at = sn.add(first, sn.iota(update!.shape.map((_, i) => (i === axis ? count : 1)), axis));
  const around = n.text('mode', 'linear') === 'circular' ? sn.mod(at, length) : at;
  return scatteredElements(past!.t, sn.broadcastTo(around, [...update!.shape]), update!.t, axis, 'set');
});

export const SHAPE: Readonly<Record<string, Op>> = {
  Shape: shape,
  Size: op(1, (_, x) => known(INT64, [], [x!.size])),
  Reshape: op(1, (n, x, wanted) => moved(x!, (t) => sn.reshape(t, reshaped(n, x!, wanted ? wanted.numbers : n.ints('shape')!))), [1]),
  Flatten: flatten,
  Squeeze: squeeze,
  Unsqueeze: op(1, (n, x, axes) => moved(x!, (t) => sn.reshape(t, unsqueezed(x!.shape, axes ? axes.numbers : n.ints('axes')!))), [1]),
  Transpose: op(1, (n, x) => moved(x!, (t) => sn.transpose(t, n.ints('perm') ?? x!.shape.map((_, i) => x!.rank - 1 - i)))),
  Concat: op(4, (n, ...x) => concatenated(x, n.int('axis'))),
  Slice: slice,
  Split: split,
  Gather: op(1, (n, x, indices) => moved(x!, (t) => gather(t, indices!.t, axisOf(n.int('axis'), x!.rank)))),
  GatherElements: gatherElements,
  GatherND: gatherND,
  Scatter: scatterElements,
  ScatterElements: scatterElements,
  ScatterND: scatterND,
  Pad: pad,
  Expand: expand,
  Tile: tile,
  Constant: constant,
  ConstantOfShape: constantOfShape,
  DepthToSpace: depthToSpace,
  SpaceToDepth: spaceToDepth,
  OneHot: oneHot,
  Range: range,
  EyeLike: eyeLike,
  Trilu: trilu,
  ReverseSequence: reverseSequence,
  CenterCropPad: centerCropPad,
  NonZero: nonZero,
  Compress: compress,
  TensorScatter: tensorScatter,
};
