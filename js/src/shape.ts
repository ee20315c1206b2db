// Ops that only move elements.

import { DTypeError, ShapeError, SinterError, shapeText } from './errors.js';
import { asTensor, type TensorLike } from './apply.js';
import { resolveAxes, type Axes } from './axes.js';
import { checkIntegers, shown } from './check.js';
import { dtypeNumber, parseDType, type DTypeName } from './dtype.js';
import { runtime, type Runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { wrap, type Tensor } from './tensor.js';
import { checkShape, MAX_RANK } from './upload.js';

/** Calls the core for x, with the words that make returns in the scratch block. */
function move(
  op: string,
  x: TensorLike,
  make: (t: Tensor) => number[],
  call: (rt: Runtime, x: number) => number,
): Tensor {
  const rt = runtime();
  return tidy(() => {
    const t = asTensor(x, op);
    rt.send(make(t));
    return wrap(call(rt, t.use(op)));
  });
}

/** The same elements in row-major order; one size may be -1 and follows from the others. */
export function reshape(x: TensorLike, shape: readonly number[]): Tensor {
  checkShape('reshape', Array.isArray(shape) && shape.length <= MAX_RANK ? shape.map((dim) => (dim === -1 ? 1 : dim)) : shape);
  return move(
    'reshape',
    x,
    () => [...shape],
    (rt, t) => rt.exports.sinter_reshape(t, shape.length),
  );
}

/** Axes in another order; without perm all reversed. */
export function transpose(x: TensorLike, perm?: readonly number[]): Tensor {
  const order = (t: Tensor): number[] => {
    if (perm !== undefined && !Array.isArray(perm)) {
      throw new SinterError('argument', 'transpose', `the order of axes is an array, not ${shown(perm)}`, {
        hint: 'write [1, 0]; swapaxes takes two axes',
      });
    }
    if (perm && perm.length !== t.ndim) {
      throw new ShapeError('transpose', `${perm.length} axes given: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
    }
    return perm ? resolveAxes('transpose', perm, t.shape) : t.shape.map((_, i) => t.ndim - 1 - i);
  };
  return move('transpose', x, order, (rt, t) => rt.exports.sinter_transpose(t));
}

/** New axes of size 1 at the given places of the result. */
export function expandDims(x: TensorLike, { axis: axes }: { axis: Axes | null | undefined }): Tensor {
  return tidy(() => {
    const t = asTensor(x, 'expandDims');
    if (axes === undefined || axes === null)
      throw new SinterError('argument', 'expandDims', 'no axis is given', { hint: 'write 0, or { axis: 0 }' });
    const rank = t.ndim + (typeof axes === 'number' ? 1 : axes.length);
    const mask = resolveAxes('expandDims', axes, t.shape, rank).reduce((bits, at) => bits | (1 << at), 0);
    return wrap(runtime().exports.sinter_expand_dims(t.use('expandDims'), mask));
  });
}

/** Dimensions of size 1 repeated, new ones in front, to the given shape. */
export function broadcastTo(x: TensorLike, shape: readonly number[]): Tensor {
  checkShape('broadcastTo', shape);
  return move(
    'broadcastTo',
    x,
    () => [...shape],
    (rt, t) => rt.exports.sinter_broadcast_to(t, shape.length),
  );
}

/** Elements from begin on to the end of an axis, in steps of stride. */
const rest = (dim: number, begin: number, stride: number): number =>
  Math.max(0, stride > 0 ? Math.ceil((dim - begin) / stride) : Math.floor(begin / -stride) + 1);

/** size elements from begin on along each axis; a negative begin counts from the end, size -1 is the rest. */
export function slice(
  x: TensorLike,
  begin: readonly number[],
  size: readonly number[],
  given: { strides?: readonly number[] | undefined },
): Tensor {
  const words = (t: Tensor): number[] => {
    const { strides = t.shape.map(() => 1) } = given;
    checkIntegers('slice', 'begin', begin);
    checkIntegers('slice', 'size', size, -1);
    checkIntegers('slice', 'strides', strides);
    if (begin.length !== t.ndim || size.length !== t.ndim || strides.length !== t.ndim) {
      throw new ShapeError('slice', `begin, size and strides need ${t.ndim} entries each: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
    }
    if (strides.includes(0)) throw new SinterError('argument', 'slice', `a stride is 0: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
    const first = begin.map((at, i) => (at < 0 ? at + t.shape[i]! : at));
    const count = size.map((n, i) => (n === -1 ? rest(t.shape[i]!, first[i]!, strides[i]!) : n));
    return [...first, ...count, ...strides];
  };
  return move('slice', x, words, (rt, t) => rt.exports.sinter_slice(t));
}

/** The same bits as the other one of the dtypes float32 and int32. */
export function bitcast(x: TensorLike, dtype: DTypeName): Tensor {
  const parsed = parseDType(dtype, 'bitcast');
  if (parsed !== 'float32' && parsed !== 'int32')
    throw new DTypeError('bitcast', `to ${parsed}, expected float32 or int32`);
  return move(
    'bitcast',
    x,
    () => [],
    (rt, t) => rt.exports.sinter_bitcast(t, dtypeNumber(parsed)),
  );
}
