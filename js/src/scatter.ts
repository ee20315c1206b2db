// gatherNd and scatterNd: elements at indices of several axes at once. Indices given as numbers are checked here.

import { asTensor, withTensors, type TensorLike } from './apply.js';
import { checkChoice } from './check.js';
import { asIndices, checkAllowed, knownIndices, ofAxis, type ScatterMode } from './indexing.js';
import { SCATTER_MODES } from './options.gen.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';

const everyNth = (values: ArrayLike<number>, first: number, step: number): number[] =>
  Array.from({ length: Math.ceil((values.length - first) / step) }, (_, i) => values[first + i * step]!);

/** indices (..., axes) as a tensor; those that are known are checked axis by axis. */
function readIndices(op: string, t: Tensor, indices: TensorLike): Tensor {
  const index = asIndices(indices, op);
  const axes = index.shape.at(-1) ?? 0;
  const known = knownIndices(indices, op);
  if (known) t.shape.slice(0, axes).forEach((size, axis) => checkAllowed(op, 'indices', everyNth(known, axis, axes), ofAxis(size)));
  return index;
}

export const gatherNd = (x: TensorLike, indices: TensorLike): Tensor =>
  tidy(() => {
    const t = asTensor(x, 'gatherNd');
    return withTensors('gatherNd', [t, readIndices('gatherNd', t, indices)], (core, [a, i]) => core.sinter_gather_nd(a!, i!));
  });

export const scatterNd = (x: TensorLike, indices: TensorLike, updates: TensorLike, { mode }: { mode: ScatterMode }): Tensor =>
  tidy(() => {
    const number = checkChoice('scatterNd', 'mode', mode, SCATTER_MODES);
    const t = asTensor(x, 'scatterNd');
    const list = [t, readIndices('scatterNd', t, indices), updates];
    return withTensors('scatterNd', list, (core, [a, i, u]) => core.sinter_scatter_nd(a!, i!, u!, number));
  });
