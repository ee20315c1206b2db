// Ops along axes: reductions, cumulative sums, sorting, softmax.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Node, Op } from '../plan.js';
import { INT64 } from '../types.js';
import { made, type Value } from '../value.js';
import { axisOf } from './shape.js';
import { wrapped } from './elementwise.js';

interface Axes {
  axis: number[];
  keepdims: boolean;
}

/** The axes of a reduction; null if the op does nothing. */
function reducedAxes(n: Node, x: Value, given: Value | undefined): Axes | null {
  const axes = given ? given.numbers : n.ints('axes');
  const keepdims = n.flag('keepdims', true);
  if (axes && axes.length > 0) return { axis: axes.map((axis) => axisOf(axis, x.rank)), keepdims };
  return n.flag('noop_with_empty_axes') ? null : { axis: [...x.shape.keys()], keepdims };
}

type Reduce = (x: Tensor, axes: Axes) => Tensor;

/** before applies to each element, even if nothing is reduced; after applies to the result. */
const reduce = (f: Reduce, before: (x: Tensor) => Tensor = (x) => x, after: (x: Tensor) => Tensor = (x) => x): Op => ({
  since: 1,
  run: (n, x, given) => {
    const axes = reducedAxes(n, x!, given);
    const mapped = before(x!.t);
    return wrapped(x!.type, after(axes && axes.axis.length > 0 ? f(mapped, axes) : mapped));
  },
  forms: [1],
});

/** The least and the greatest value of a dtype that has no infinities. */
const RANGES: Partial<Record<sn.DType, readonly [number, number]>> = {
  int32: [-0x80000000, 0x7fffffff],
  int8: [-128, 127],
  uint8: [0, 255],
  bool: [0, 1],
};

/** A maximum or minimum. If there are no elements, the result is the identity of the operation. */
const extreme =
  (f: Reduce, least: number): Reduce =>
  (x, axes) => {
    if (x.size > 0) return x.dtype === 'bool' ? f(x.astype('uint8'), axes).astype('bool') : f(x, axes);
    const shape = x.shape.flatMap((size, i) => (axes.axis.includes(i) ? (axes.keepdims ? [1] : []) : [size]));
    const [low, high] = RANGES[x.dtype] ?? [-Infinity, Infinity];
    return sn.full(shape, least > 0 ? high : low, { dtype: x.dtype });
  };

/** reduce calls this only if there are axes; without axes the result is x itself. */
const logSumExp: Reduce = (x, axes) => sn.logsumexp(x, axes);

const argument =
  (f: (x: Tensor, options: { axis: number; keepdims: boolean }) => Tensor): Op => ({
    since: 1,
    run: (n, x) => {
      const axis = axisOf(n.int('axis'), x!.rank);
      const options = { axis, keepdims: n.flag('keepdims', true) };
      if (!n.flag('select_last_index')) return made(INT64, f(x!.t, options));
      return made(INT64, sn.sub(x!.shape[axis]! - 1, f(sn.flip(x!.t, axis), options)));
    },
  });

const running = (f: typeof sn.cumsum): Op => ({
  since: 11,
  run: (n, x, axis) => f(x!.t, { axis: axisOf(Number(axis!.elements[0]), x!.rank), reverse: n.flag('reverse'), exclusive: n.flag('exclusive') }),
  forms: [1],
});

/** Before opset 13 the axes from the given one on are treated as a single axis. */
const overAxis = (f: (x: Tensor, axis: number) => Tensor): Op => ({
  since: 1,
  run: (n, x) => {
    const axis = axisOf(n.int('axis', n.opset < 13 ? 1 : -1), x!.rank);
    if (n.opset >= 13) return f(x!.t, axis);
    const outer = x!.shape.slice(0, axis).reduce((a, b) => a * b, 1);
    return sn.reshape(f(sn.reshape(x!.t, [outer, outer === 0 ? 0 : x!.size / outer]), 1), [...x!.shape]);
  },
});

/** 1 at the first largest element, 0 elsewhere. */
function hardmax(x: Tensor, axis: number): Tensor {
  const at = sn.argmax(x, { axis, keepdims: true });
  return sn.equal(sn.iota(x.shape.map((size, i) => (i === axis ? size : 1)), axis), at).astype(x.dtype);
}

const topK: Op = {
  since: 1,
  run: (n, x, k) => {
    const axis = axisOf(n.int('axis', -1), x!.rank);
    const count = k ? Number(k.elements[0]) : n.int('k');
    const order = sn.argsort(x!.t, { axis, descending: n.flag('largest', true) });
    const indices = sn.slice(order, x!.shape.map(() => 0), x!.shape.map((size, i) => (i === axis ? count : size)));
    return [sn.takeAlongAxis(x!.t, indices, { axis }), made(INT64, indices)];
  },
  forms: [1],
};

/** Divides by the p-norm along an axis; 0 where the norm is 0. */
const lpNormalization: Op = {
  since: 1,
  run: (n, x) => {
    const axis = axisOf(n.int('axis', -1), x!.rank);
    const norm = sn.norm(x!.t, { axis, ord: n.int('p', 2), keepdims: true });
    return sn.where(sn.equal(norm, 0), 0, sn.div(x!.t, sn.where(sn.equal(norm, 0), 1, norm)));
  },
};

export const REDUCTION: Readonly<Record<string, Op>> = {
  ReduceSum: reduce(sn.sum),
  ReduceMean: reduce(sn.mean),
  ReduceProd: reduce(sn.prod),
  ReduceMax: reduce(extreme(sn.max, -Infinity)),
  ReduceMin: reduce(extreme(sn.min, Infinity)),
  ReduceL1: reduce(sn.sum, sn.abs),
  ReduceL2: reduce(sn.sum, sn.square, (x) => (sn.internals.isFloat(x.dtype) ? sn.sqrt(x) : sn.sqrt(x.astype('float64')))),
  ReduceSumSquare: reduce(sn.sum, sn.square),
  ReduceLogSum: reduce(sn.sum, undefined, sn.log),
  ReduceLogSumExp: reduce(logSumExp),
  ArgMax: argument(sn.argmax),
  ArgMin: argument(sn.argmin),
  CumSum: running(sn.cumsum),
  CumProd: running(sn.cumprod as typeof sn.cumsum),
  Softmax: overAxis((x, axis) => sn.softmax(x, { axis })),
  LogSoftmax: overAxis((x, axis) => sn.logSoftmax(x, { axis })),
  Hardmax: overAxis(hardmax),
  TopK: topK,
  LpNormalization: lpNormalization,
};
