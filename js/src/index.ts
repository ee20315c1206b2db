// The public names of the package.

import './methods.js';
import './show.js';

export { init, info, type Info, type InitOptions } from './init.js';
export type { WasmSource } from './runtime/loader.js';
export {
  SinterError,
  ShapeError,
  DTypeError,
  OutOfMemoryError,
  DisposedError,
  UnsupportedError,
  WorkerError,
  type ErrorCode,
} from './errors.js';

export { Tensor, type NestedArray } from './tensor.js';
export type { TensorLike } from './apply.js';
export type { DType, DTypeName, TensorData } from './dtype.js';
export type { NumericArray } from './upload.js';
export type { Axes } from './axes.js';
export {
  arange,
  eye,
  full,
  iota,
  linspace,
  ones,
  onesLike,
  tensor,
  zeros,
  zerosLike,
  type CreationOptions,
  type TensorOptions,
} from './creation.js';

export * from './ops.gen.js';
export {
  clip,
  elu,
  gelu,
  hardswish,
  leakyRelu,
  selu,
  type AlphaOptions,
  type GeluOptions,
} from './activations.js'; // its gelu, which takes options, before that of the table
export {
  all,
  any,
  argmax,
  argmin,
  logsumexp,
  max,
  mean,
  min,
  norm,
  prod,
  std,
  sum,
  var,
  type ArgOptions,
  type NormOptions,
  type ReduceOptions,
  type VarianceOptions,
} from './reduce.js';
export {
  astype,
  bitcast,
  broadcastTo,
  concat,
  expandDims,
  flip,
  moveaxis,
  permuteDims,
  reshape,
  slice,
  squeeze,
  stack,
  swapaxes,
  transpose,
} from './shape.js';
export { pad, type PadMode, type PadOptions } from './pad.js';
export { resize, type ResizeOptions } from './resize.js';
export { floorDivide, pow, remainder } from './integers.js'; // its pow, exact for integers, before that of the table
export { repeat, roll, split, tile, tril, triu, type TriangleOptions } from './arrange.js';
export {
  argsort,
  at,
  cumprod,
  cumsum,
  oneHot,
  scatterAdd,
  sort,
  take,
  takeAlongAxis,
  topk,
  type RowIndex,
  type RowRange,
  type Rows,
  type ScanOptions,
  type ScatterMode,
  type SortOptions,
} from './indexing.js';
export { gatherNd, scatter, scatterNd, type ScatterNdOptions, type ScatterOptions } from './scatter.js';
export {
  conv1d,
  conv2d,
  conv3d,
  convTranspose1d,
  convTranspose2d,
  convTranspose3d,
  type ConvOptions,
  type ConvTransposeOptions,
  type Padding,
  type PerAxis,
  type WindowOptions,
} from './conv.js';
export {
  avgPool1d,
  avgPool2d,
  avgPool3d,
  lpPool1d,
  lpPool2d,
  maxPool1d,
  maxPool2d,
  maxPool3d,
  type AvgPoolOptions,
  type LpPoolOptions,
  type PoolOptions,
} from './pool.js';
export { attention, rope, type AttentionOptions, type RopeOptions } from './attention.js';
export { dot, einsum, matmul, outer } from './linalg.js';
export {
  batchNorm,
  layerNorm,
  logSoftmax,
  rmsNorm,
  softmax,
  softmaxCrossEntropy,
  type CrossEntropyOptions,
  type LayerNormOptions,
  type RmsNormOptions,
  type SoftmaxOptions,
} from './normalize.js';

export { groupNorm, instanceNorm, type GroupNormOptions } from './standardize.js';
export {
  dequantize,
  packInt4,
  quantize,
  unpackInt4,
  type DequantizeOptions,
  type PackOptions,
  type Quantized,
  type QuantizeOptions,
} from './quantize.js';

export { keep, scope, tidy, type Scope } from './scope.js';
export { dispose } from './pytree.js';
export { evaluate as eval, memory, passes, setDebug, setPass, type MemoryInfo } from './core.js';

export { grad, valueAndGrad, type GradOf, type GradOptions, type Grads } from './transforms.js';
export { jit, type JitOptions, type Jitted } from './jit.js';
export type { Trace } from './traces.js';
export { trainStep, type TrainState, type TrainStep } from './train.js';
export type { CompileOptions } from './program.js';
export {
  inspect,
  type Cut,
  type InspectedKernel,
  type InspectedMemory,
  type Inspection,
  type MemoryBlock,
  type Stage,
  type StageEdge,
  type StageNode,
} from './inspect.js';
export {
  profile,
  type ChromeTrace,
  type Gaps,
  type Interval,
  type KernelProfile,
  type LaneProfile,
  type Profile,
  type Span,
} from './profile.js';

export * as nn from './nn/index.js';
export * as optim from './optim/index.js';
export * as random from './random.js';
export * as tree from './tree.js';
