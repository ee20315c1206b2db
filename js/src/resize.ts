// Resizing: each element of the result is a weighted sum of elements near its place in x, one axis after the other.
//
// An axis of n elements becomes one of m. Element i of the result has its centre at
//
//   half pixels    (i + 1/2) n / m - 1/2      both axes as wholes, from edge to edge
//   alignCorners   i (n - 1) / (m - 1)        first and last elements on each other; 0 for m = 1
//
// and what lies outside of x counts as the element at the edge.

import { asTensor, type TensorLike } from './apply.js';
import { checkChoice } from './check.js';
import { accumulatorOf, isHalf } from './dtype.js';
import { ShapeError, shapeText } from './errors.js';
import { iota, reshape, take } from './functions.gen.js';
import { RESIZE_MODES, type ResizeOptions } from './options.gen.js';
import { add, floor, maximum, minimum, mul, sub } from './ops.gen.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';
import { checkShape } from './upload.js';

/** An element beside the place, and its weight. */
type Tap = readonly [offset: number, weight: Tensor | null];

/** The taps of each mode, by how far (0 to 1, float64) the place lies behind the element before it. */
const TAPS: Readonly<Record<string, (t: Tensor, a: number) => readonly Tap[]>> = {
  nearest: () => [[0, null]],
  linear: (t) => [
    [0, sub(1, t)],
    [1, t],
  ],
  cubic: (t, a) => {
    // a |d|^3 - 5 a |d|^2 + 8 a |d| - 4 a for 1 < |d| < 2, (a + 2) |d|^3 - (a + 3) |d|^2 + 1 below
    const far = (d: Tensor): Tensor => d.mul(a).sub(5 * a).mul(d).add(8 * a).mul(d).sub(4 * a);
    const near = (d: Tensor): Tensor => d.mul(a + 2).sub(a + 3).mul(d).mul(d).add(1);
    return [
      [-1, far(add(t, 1))],
      [0, near(t)],
      [1, near(sub(1, t))],
      [2, far(sub(2, t))],
    ];
  },
};

/** Where the m elements of a resized axis of n lie in it. */
function centres(n: number, m: number, alignCorners: boolean): Tensor {
  const i = iota([m], 0, { dtype: 'float64' });
  if (alignCorners) return mul(i, m > 1 ? (n - 1) / (m - 1) : 0);
  return sub(mul(add(i, 0.5), n / m), 0.5);
}

function resizeAxis(t: Tensor, axis: number, m: number, mode: string, alignCorners: boolean, a: number): Tensor {
  const n = t.shape[axis]!;
  const at = centres(n, m, alignCorners);
  const before = floor(mode === 'nearest' ? add(at, 0.5) : at);
  const taps = TAPS[mode]!(sub(at, before), a).map(([offset, weight]) => {
    const index = minimum(maximum(add(before, offset), 0), n - 1).astype('int32');
    const elements = take(t, index, { axis });
    const column = t.shape.map((_, i) => (i === axis ? m : 1));
    return weight ? mul(elements, reshape(weight, column).astype(t.dtype)) : elements;
  });
  return taps.reduce((sum, tap) => add(sum, tap));
}

/**
 * x in another shape of the same rank; axes that keep their size stay as they are. Nothing is smoothed before an axis
 * gets shorter. Nearest keeps the dtype; else floats do, and integers become float32.
 */
export function resize(x: TensorLike, shape: readonly number[], { mode, alignCorners, coefficient }: Required<ResizeOptions>): Tensor {
  checkChoice('resize', 'mode', mode, RESIZE_MODES);
  checkShape('resize', shape);
  return tidy(() => {
    const t = asTensor(x, 'resize');
    if (shape.length !== t.ndim || shape.some((m, i) => m > 0 && t.shape[i] === 0)) {
      throw new ShapeError('resize', `cannot become ${shapeText(shape)}: a ${shapeText(t.shape)}`, { shapes: [shape, t.shape] });
    }
    const wide = mode === 'nearest' ? t : t.astype(accumulatorOf(t.dtype));
    const resized = shape.reduce(
      (y: Tensor, m, axis) => (m === t.shape[axis] ? y : resizeAxis(y, axis, m, mode, alignCorners, coefficient)),
      wide,
    );
    return isHalf(t.dtype) ? resized.astype(t.dtype) : resized;
  });
}
