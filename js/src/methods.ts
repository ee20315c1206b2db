// Functions with a hand-written front as methods of Tensor. The elementwise methods come from the op
// table; both are put on the prototype here, so that tensor.ts needs to know neither.

import * as activations from './activations.js';
import type { AlphaOptions, GeluOptions } from './activations.js';
import type { TensorLike } from './apply.js';
import type { Axes } from './axes.js';
import type { DTypeName } from './dtype.js';
import { repeat, roll, split, tile } from './arrange.js';
import * as indexing from './indexing.js';
import * as convolutions from './conv.js';
import type { ConvOptions, ConvTransposeOptions } from './conv.js';
import * as integers from './integers.js';
import { dot, matmul, outer } from './linalg.js';
import { logSoftmax, softmax, type SoftmaxOptions } from './normalize.js';
import { elementwise } from './elementwise.js';
import { pad, type PadOptions } from './pad.js';
import * as pools from './pool.js';
import type { AvgPoolOptions, LpPoolOptions, PoolOptions } from './pool.js';
import * as reductions from './reduce.js';
import type { ArgOptions, NormOptions, ReduceOptions, VarianceOptions } from './reduce.js';
import { resize, type ResizeOptions } from './resize.js';
import * as scatters from './scatter.js';
import type { ScatterNdOptions, ScatterOptions } from './scatter.js';
import * as shapes from './shape.js';
import { Tensor } from './tensor.js';

export interface FrontMethods {
  clip(lo: TensorLike | null, hi?: TensorLike | null): Tensor;
  leakyRelu(options?: AlphaOptions): Tensor;
  elu(options?: AlphaOptions): Tensor;
  selu(): Tensor;
  hardswish(): Tensor;
  gelu(options?: GeluOptions): Tensor;
  sum(options?: ReduceOptions | Axes): Tensor;
  prod(options?: ReduceOptions | Axes): Tensor;
  mean(options?: ReduceOptions | Axes): Tensor;
  max(options?: ReduceOptions | Axes): Tensor;
  min(options?: ReduceOptions | Axes): Tensor;
  argmax(options?: ArgOptions | number): Tensor;
  argmin(options?: ArgOptions | number): Tensor;
  matmul(y: TensorLike): Tensor;
  any(options?: ReduceOptions | Axes): Tensor;
  all(options?: ReduceOptions | Axes): Tensor;
  var(options?: VarianceOptions | Axes): Tensor;
  std(options?: VarianceOptions | Axes): Tensor;
  logsumexp(options?: ReduceOptions | Axes): Tensor;
  norm(options?: NormOptions | Axes): Tensor;
  dot(y: TensorLike): Tensor;
  outer(y: TensorLike): Tensor;
  conv1d(filter: TensorLike, options?: ConvOptions): Tensor;
  conv2d(filter: TensorLike, options?: ConvOptions): Tensor;
  conv3d(filter: TensorLike, options?: ConvOptions): Tensor;
  convTranspose1d(filter: TensorLike, options?: ConvTransposeOptions): Tensor;
  convTranspose2d(filter: TensorLike, options?: ConvTransposeOptions): Tensor;
  convTranspose3d(filter: TensorLike, options?: ConvTransposeOptions): Tensor;
  maxPool1d(options: PoolOptions): Tensor;
  maxPool2d(options: PoolOptions): Tensor;
  maxPool3d(options: PoolOptions): Tensor;
  avgPool1d(options: AvgPoolOptions): Tensor;
  avgPool2d(options: AvgPoolOptions): Tensor;
  avgPool3d(options: AvgPoolOptions): Tensor;
  lpPool1d(options: LpPoolOptions): Tensor;
  lpPool2d(options: LpPoolOptions): Tensor;
  softmax(options?: SoftmaxOptions): Tensor;
  logSoftmax(options?: SoftmaxOptions): Tensor;
  take(indices: TensorLike, options?: shapes.AxisOptions): Tensor;
  takeAlongAxis(indices: TensorLike, options?: shapes.AxisOptions): Tensor;
  scatterAdd(indices: TensorLike, updates: TensorLike, options?: shapes.AxisOptions): Tensor;
  scatter(indices: TensorLike, updates: TensorLike, options?: ScatterOptions): Tensor;
  gatherNd(indices: TensorLike): Tensor;
  scatterNd(indices: TensorLike, updates: TensorLike, options?: ScatterNdOptions): Tensor;
  at(index: indexing.RowIndex): indexing.Rows;
  sort(options?: indexing.SortOptions): Tensor;
  argsort(options?: indexing.SortOptions): Tensor;
  topk(k: number, options?: shapes.AxisOptions): { values: Tensor; indices: Tensor };
  cumsum(options?: indexing.ScanOptions | number): Tensor;
  cumprod(options?: indexing.ScanOptions | number): Tensor;
  reshape(shape: readonly number[]): Tensor;
  transpose(perm?: readonly number[]): Tensor;
  swapaxes(a: number, b: number): Tensor;
  moveaxis(from: number, to: number): Tensor;
  roll(shift: number | readonly number[], options?: { axis?: Axes }): Tensor;
  split(parts: number | readonly number[], options?: shapes.AxisOptions): Tensor[];
  tile(reps: number | readonly number[]): Tensor;
  repeat(count: number, options?: shapes.AxisOptions): Tensor;
  expandDims(axis: Axes): Tensor;
  squeeze(axis?: Axes): Tensor;
  broadcastTo(shape: readonly number[]): Tensor;
  slice(begin: readonly number[], size: readonly number[], options?: shapes.SliceOptions): Tensor;
  flip(axis?: Axes): Tensor;
  pad(widths: readonly (readonly [number, number])[], options?: PadOptions): Tensor;
  resize(shape: readonly number[], options?: ResizeOptions): Tensor;
  pow(y: TensorLike): Tensor;
  floorDivide(y: TensorLike): Tensor;
  remainder(y: TensorLike): Tensor;
  astype(dtype: DTypeName): Tensor;
}

/** The functions themselves: this tensor is their first argument. */
const fronts: {
  [K in keyof FrontMethods]: (
    x: Tensor,
    ...args: Parameters<FrontMethods[K]>
  ) => ReturnType<FrontMethods[K]>;
} = {
  clip: activations.clip,
  elu: activations.elu,
  gelu: activations.gelu,
  hardswish: activations.hardswish,
  leakyRelu: activations.leakyRelu,
  selu: activations.selu,
  all: reductions.all,
  any: reductions.any,
  argmax: reductions.argmax,
  argmin: reductions.argmin,
  logsumexp: reductions.logsumexp,
  max: reductions.max,
  mean: reductions.mean,
  min: reductions.min,
  norm: reductions.norm,
  prod: reductions.prod,
  std: reductions.std,
  sum: reductions.sum,
  var: reductions.var,
  dot,
  matmul,
  outer,
  avgPool1d: pools.avgPool1d,
  avgPool2d: pools.avgPool2d,
  avgPool3d: pools.avgPool3d,
  lpPool1d: pools.lpPool1d,
  lpPool2d: pools.lpPool2d,
  maxPool1d: pools.maxPool1d,
  maxPool2d: pools.maxPool2d,
  maxPool3d: pools.maxPool3d,
  conv1d: convolutions.conv1d,
  conv2d: convolutions.conv2d,
  conv3d: convolutions.conv3d,
  convTranspose1d: convolutions.convTranspose1d,
  convTranspose2d: convolutions.convTranspose2d,
  convTranspose3d: convolutions.convTranspose3d,
  softmax,
  logSoftmax,
  argsort: indexing.argsort,
  at: indexing.at,
  cumprod: indexing.cumprod,
  cumsum: indexing.cumsum,
  gatherNd: scatters.gatherNd,
  scatter: scatters.scatter,
  scatterNd: scatters.scatterNd,
  scatterAdd: indexing.scatterAdd,
  sort: indexing.sort,
  take: indexing.take,
  takeAlongAxis: indexing.takeAlongAxis,
  topk: indexing.topk,
  astype: shapes.astype,
  broadcastTo: shapes.broadcastTo,
  expandDims: shapes.expandDims,
  flip: shapes.flip,
  moveaxis: shapes.moveaxis,
  pad,
  resize,
  pow: integers.pow,
  floorDivide: integers.floorDivide,
  remainder: integers.remainder,
  reshape: shapes.reshape,
  slice: shapes.slice,
  squeeze: shapes.squeeze,
  swapaxes: shapes.swapaxes,
  transpose: shapes.transpose,
  repeat,
  roll,
  split,
  tile,
};

type Front = (x: Tensor, ...args: unknown[]) => unknown;

for (const [name, front] of Object.entries({ ...elementwise, ...fronts }) as [string, Front][]) {
  // No front has more arguments; gathering them would cost as much as a small op.
  const value = function (this: Tensor, a?: unknown, b?: unknown, c?: unknown) {
    return front(this, a, b, c);
  };
  Object.defineProperty(Tensor.prototype, name, { value, configurable: true, writable: true });
}
