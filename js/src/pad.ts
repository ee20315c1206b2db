// Padding: a value around a tensor is one call into the core; copies of its own elements are taken by index.

import { asTensor, type TensorLike } from './apply.js';
import { checkChoice, checkIntegers } from './check.js';
import { ShapeError, shapeText } from './errors.js';
import { iota, take } from './functions.gen.js';
import { PAD_MODES, type PadOptions } from './options.gen.js';
import { abs, maximum, minimum, mod, sub } from './ops.gen.js';
import { runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { wrap, type Tensor } from './tensor.js';

export type PadMode = Required<PadOptions>['mode'];

/** Which of n elements stands at each place i, counted from the first one on, as in NumPy. */
const PLACES: Readonly<Record<Exclude<PadMode, 'constant'>, (i: Tensor, n: number) => Tensor>> = {
  edge: (i, n) => minimum(maximum(i, 0), n - 1),
  reflect: (i, n) => (n === 1 ? i.mul(0) : sub(n - 1, abs(sub(mod(i, 2 * n - 2), n - 1)))),
  symmetric: (i, n) => {
    const turn = mod(i, 2 * n);
    return minimum(turn, sub(2 * n - 1, turn));
  },
};

function checkWidths(t: Tensor, widths: readonly (readonly [number, number])[]): void {
  if (!Array.isArray(widths) || widths.length !== t.ndim || !widths.every(Array.isArray)) {
    throw new ShapeError('pad', `expected [before, after] for each axis: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
  }
  widths.forEach((pair, i) => checkIntegers('pad', `widths[${i}]`, pair, 0, 2));
}

/** [before, after] new elements around each axis. */
export function pad(
  x: TensorLike,
  widths: readonly (readonly [number, number])[],
  { mode, value }: Required<PadOptions>,
): Tensor {
  checkChoice('pad', 'mode', mode, PAD_MODES);
  return tidy(() => {
    const t = asTensor(x, 'pad');
    checkWidths(t, widths);
    if (mode === 'constant') {
      const rt = runtime();
      rt.send([...widths.map(([before]) => before), ...widths.map(([, after]) => after)]);
      return wrap(rt.exports.sinter_pad(t.use('pad'), value));
    }
    return widths.reduce((padded: Tensor, [before, after], axis) => {
      const n = t.shape[axis]!;
      if (before + after === 0) return padded;
      if (n === 0) throw new ShapeError('pad', `nothing to repeat along axis ${axis}: a ${shapeText(t.shape)}`, { shapes: [t.shape] });
      return take(padded, PLACES[mode](iota([n + before + after], 0).sub(before), n), { axis });
    }, t);
  });
}
