// Functions with a hand-written front as methods of Tensor. The elementwise methods come from the op
// table; both are put on the prototype here, so that tensor.ts needs to know neither.

import type { TensorLike } from './apply.js';
import type { Axes } from './axes.js';
import type { DTypeName } from './dtype.js';
import { matmul, logSoftmax, softmax, type SoftmaxOptions } from './linalg.js';
import { elementwiseMethods } from './ops.gen.js';
import { argmax, argmin, max, mean, min, sum, type ArgOptions, type ReduceOptions } from './reduce.js';
import * as shapes from './shape.js';
import { Tensor } from './tensor.js';

export interface FrontMethods {
  sum(options?: ReduceOptions | Axes): Tensor;
  mean(options?: ReduceOptions | Axes): Tensor;
  max(options?: ReduceOptions | Axes): Tensor;
  min(options?: ReduceOptions | Axes): Tensor;
  argmax(options?: ArgOptions | number): Tensor;
  argmin(options?: ArgOptions | number): Tensor;
  matmul(y: TensorLike): Tensor;
  softmax(options?: SoftmaxOptions): Tensor;
  logSoftmax(options?: SoftmaxOptions): Tensor;
  reshape(shape: readonly number[]): Tensor;
  transpose(perm?: readonly number[]): Tensor;
  swapaxes(a: number, b: number): Tensor;
  expandDims(axis: Axes): Tensor;
  squeeze(axis?: Axes): Tensor;
  broadcastTo(shape: readonly number[]): Tensor;
  slice(begin: readonly number[], size: readonly number[], options?: shapes.SliceOptions): Tensor;
  flip(axis?: Axes): Tensor;
  pad(widths: readonly (readonly [number, number])[], options?: shapes.PadOptions): Tensor;
  astype(dtype: DTypeName): Tensor;
}

const frontMethods: FrontMethods & ThisType<Tensor> = {
  sum(options) {
    return sum(this, options);
  },
  mean(options) {
    return mean(this, options);
  },
  max(options) {
    return max(this, options);
  },
  min(options) {
    return min(this, options);
  },
  argmax(options) {
    return argmax(this, options);
  },
  argmin(options) {
    return argmin(this, options);
  },
  matmul(y) {
    return matmul(this, y);
  },
  softmax(options) {
    return softmax(this, options);
  },
  logSoftmax(options) {
    return logSoftmax(this, options);
  },
  reshape(shape) {
    return shapes.reshape(this, shape);
  },
  transpose(perm) {
    return shapes.transpose(this, perm);
  },
  swapaxes(a, b) {
    return shapes.swapaxes(this, a, b);
  },
  expandDims(axis) {
    return shapes.expandDims(this, axis);
  },
  squeeze(axis) {
    return shapes.squeeze(this, axis);
  },
  broadcastTo(shape) {
    return shapes.broadcastTo(this, shape);
  },
  slice(begin, size, options) {
    return shapes.slice(this, begin, size, options);
  },
  flip(axis) {
    return shapes.flip(this, axis);
  },
  pad(widths, options) {
    return shapes.pad(this, widths, options);
  },
  astype(dtype) {
    return shapes.astype(this, dtype);
  },
};

for (const [name, value] of Object.entries({ ...elementwiseMethods, ...frontMethods })) {
  Object.defineProperty(Tensor.prototype, name, { value, configurable: true, writable: true });
}
