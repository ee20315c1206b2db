// Pooling over the spatial axes of (n, spatial..., channels): one number per window, by one call into the core, which
// checks that the windows fit. Padding is smaller than the window, so that each window has an element of x.

import { withTensor, type TensorLike } from './apply.js';
import { windowWords, type Windows } from './conv.js';
import type { Exports } from './runtime/exports.js';
import { runtime } from './runtime/runtime.js';
import type { Tensor } from './tensor.js';

function pool(op: string, axes: number, x: TensorLike, windows: Windows, run: (core: Exports, x: number) => number): Tensor {
  return withTensor(op, x, (core, t) => {
    runtime().send(windowWords(op, { x: t }, axes, windows));
    return run(core, t.use(op));
  });
}

export const maxPool = (axes: number, x: TensorLike, windows: Windows): Tensor =>
  pool(`maxPool${axes}d`, axes, x, windows, (core, t) => core.sinter_max_pool(t, axes));

export const avgPool = (axes: number, x: TensorLike, windows: Windows): Tensor =>
  pool(`avgPool${axes}d`, axes, x, windows, (core, t) => core.sinter_avg_pool(t, axes));

export const sumPool = (axes: number, x: TensorLike, windows: Windows): Tensor =>
  pool(`sumPool${axes}d`, axes, x, windows, (core, t) => core.sinter_sum_pool(t, axes));

export const lpPool = (axes: number, x: TensorLike, { norm, ...windows }: Windows & { norm: number }): Tensor =>
  pool(`lpPool${axes}d`, axes, x, windows, (core, t) => core.sinter_lp_pool(t, axes, norm));
