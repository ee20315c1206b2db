// Ops that only move elements.

import { DTypeError, ShapeError, SinterError, shapeText } from './errors.js';
import { asTensor, type TensorLike } from './apply.js';
import { resolveAxes, resolveAxis, type Axes } from './axes.js';
import { checkIntegers, shown } from './check.js';
import { dtypeNumber, parseDType, type DTypeName } from './dtype.js';
import { concat } from './functions.gen.js';
import { runtime, type Runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { wrap, type Tensor } from './tensor.js';
import { checkShape } from './upload.js';

/** Runs call on the argument with words in the scratch block. */
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
  checkShape('reshape', Array.isArray(shape) ? shape.map((dim) => (dim === -1 ? 1 : dim)) : shape);
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
      throw new SinterError('argument', `transpose: the order of axes is an array, not ${shown(perm)}`, {
        hint: 'write [1, 0]; swapaxes takes two axes',
      });
    }
    if (perm && perm.length !== t.ndim) {
      throw new ShapeError(`transpose: ${perm.length} axes given: a ${shapeText(t.shape)}`);
    }
    return perm ? resolveAxes('transpose', perm, t.shape) : t.shape.map((_, i) => t.ndim - 1 - i);
  };
  return move('transpose', x, order, (rt, t) => rt.exports.sinter_transpose(t));
}

/** Two axes exchanged. */
export function swapaxes(x: TensorLike, a: number, b: number): Tensor {
  return tidy(() => {
    const t = asTensor(x, 'swapaxes');
    const [i, j] = [a, b].map((axis) => resolveAxis('swapaxes', axis, t.shape)) as [number, number];
    return transpose(
      t,
      t.shape.map((_, k) => (k === i ? j : k === j ? i : k)),
    );
  });
}

/** One axis moved to another place, the others in their order. */
export function moveaxis(x: TensorLike, from: number, to: number): Tensor {
  return tidy(() => {
    const t = asTensor(x, 'moveaxis');
    const source = resolveAxis('moveaxis', from, t.shape);
    const perm = t.shape.map((_, i) => i).filter((i) => i !== source);
    perm.splice(resolveAxis('moveaxis', to, t.shape), 0, source);
    return transpose(t, perm);
  });
}

/** New axes of size 1 at the given places of the result. */
export function expandDims(x: TensorLike, { axis: axes }: { axis: Axes | null | undefined }): Tensor {
  return tidy(() => {
    const t = asTensor(x, 'expandDims');
    if (axes === undefined || axes === null)
      throw new SinterError('argument', 'expandDims: no axis is given', { hint: 'write 0, or { axis: 0 }' });
    const rank = t.ndim + (typeof axes === 'number' ? 1 : axes.length);
    const added = new Set(resolveAxes('expandDims', axes, t.shape, rank));
    const old = t.shape.values();
    return reshape(
      t,
      Array.from({ length: rank }, (_, i) => (added.has(i) ? 1 : (old.next().value as number))),
    );
  });
}

/** Axes of size 1 dropped: the given ones, or all. */
export function squeeze(x: TensorLike, { axis: axes }: { axis: Axes | null }): Tensor {
  return tidy(() => {
    const t = asTensor(x, 'squeeze');
    const dropped = new Set(axes === null ? [] : resolveAxes('squeeze', axes, t.shape));
    for (const i of dropped) {
      if (t.shape[i] !== 1)
        throw new ShapeError(`squeeze: axis ${i} is not of size 1: a ${shapeText(t.shape)}`);
    }
    return reshape(
      t,
      t.shape.filter((dim, i) => (axes === null ? dim !== 1 : !dropped.has(i))),
    );
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
      throw new ShapeError(
        `slice: begin, size and strides need ${t.ndim} entries each: a ${shapeText(t.shape)}`,
      );
    }
    if (strides.includes(0)) throw new SinterError('argument', `slice: a stride is 0: a ${shapeText(t.shape)}`);
    const first = begin.map((at, i) => (at < 0 ? at + t.shape[i]! : at));
    const count = size.map((n, i) => (n === -1 ? rest(t.shape[i]!, first[i]!, strides[i]!) : n));
    return [...first, ...count, ...strides];
  };
  return move('slice', x, words, (rt, t) => rt.exports.sinter_slice(t));
}

/** The order of elements along axes reversed; along all by default. */
export function flip(x: TensorLike, { axis: axes }: { axis: Axes | null }): Tensor {
  return tidy(() => {
    const t = asTensor(x, 'flip');
    const flipped = new Set(axes === null ? t.shape.keys() : resolveAxes('flip', axes, t.shape));
    const turns = t.shape.map((dim, i) => flipped.has(i) && dim > 0);
    return slice(
      t,
      t.shape.map((dim, i) => (turns[i] ? dim - 1 : 0)),
      t.shape,
      {
        strides: turns.map((turn) => (turn ? -1 : 1)),
      },
    );
  });
}

/** Tensors of one shape along a new axis (default 0). */
export function stack(list: readonly TensorLike[], { axis }: { axis: number }): Tensor {
  return tidy(() => {
    const tensors = list.map((x) => asTensor(x, 'stack'));
    const { shape } = tensors[0]!;
    const at = resolveAxis('stack', axis, shape, shape.length + 1);
    const other = tensors.find((t) => t.shape.length !== shape.length || t.shape.some((n, i) => n !== shape[i]));
    if (other) throw new ShapeError(`stack: shapes differ: a ${shapeText(shape)}, b ${shapeText(other.shape)}`);
    return concat(tensors.map((t) => expandDims(t, { axis: at })), { axis: at });
  });
}

/** The same bits as the other of float32 and int32. */
export function bitcast(x: TensorLike, dtype: DTypeName): Tensor {
  const parsed = parseDType(dtype, 'bitcast');
  if (parsed !== 'float32' && parsed !== 'int32')
    throw new DTypeError(`bitcast: to ${parsed}, expected float32 or int32`);
  return move(
    'bitcast',
    x,
    () => [],
    (rt, t) => rt.exports.sinter_bitcast(t, dtypeNumber(parsed)),
  );
}
