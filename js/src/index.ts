// The public names of the package.

import './methods.gen.js';
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
export * from './functions.gen.js';
export type { Padding, PerAxis } from './conv.js';
export type { RowIndex, RowRange, Rows, ScatterMode } from './indexing.js';
export type { PadMode } from './axes.js';
export type { Quantized } from './quantize.js';

export { keep, scope, tidy, type Scope } from './scope.js';
export { dispose } from './pytree.js';
export { evaluate as eval, memory, passes, setDebug, setPass, type MemoryInfo } from './core.js';

export { checkpoint, saveAs, type CheckpointOptions } from './checkpoint.js';
export { customJvp, customVjp, type CustomJvpRule, type CustomVjpRule } from './custom.js';
export { cond, foriLoop, map, scan, switchCase, whileLoop, type ScanOptions } from './control.js';
export { associativeScan, type AssociativeScanOptions } from './associative.js';
export { minimize, type MinimizeOptions, type Minimum } from './minimize.js';
export { odeint, type OdeOptions } from './ode.js';
export type { Returned, SlicesOf, TensorsOf } from './regions.js';
export { grad, valueAndGrad, type GradOptions } from './grad.js';
export type { GradOf, Grads } from './variables.js';
export { jvp, linearize, vjp, type CotangentOf, type Pull, type Push, type TangentOf, type TangentsOf } from './vjp.js';
export { hessian, jacfwd, jacobian, jacrev, type ArgnumsOptions, type JacobianOf, type JacobianOptions } from './jacobian.js';
export { vmap, type MappedAxes, type VmapOptions } from './vmap.js';
export { checkGrads, type CheckGradsOptions } from './checkgrads.js';
export { jit, type JitOptions, type Jitted } from './jit.js';
export { tune, type Trial, type Tuning } from './tune.js';
export { load, type Loaded } from './saved.js';
export { importStep, type ImportedStep } from './savedstep.js';
export type { Trace } from './traces.js';
export {
  evalStep,
  trainStep,
  type EvalStep,
  type InitStateOptions,
  type StepContext,
  type StepOptions,
  type TrainStep,
} from './train.js';
export type { StepResult, TrainState } from './trainstate.js';
export type { CompileOptions } from './program.js';
export type { Choice, ChoiceInfo, Device, DeviceInfo, DeviceName, ShaderChoice } from './device.js';
export type { Precision } from './precision.js';
export type { PrecisionReport } from './optim/masters.js';
export {
  inspect,
  type Cut,
  type InspectedAgain,
  type InspectedKernel,
  type InspectedBudget,
  type InspectedMemory,
  type InspectedPart,
  type Inspection,
  type MemoryBlock,
  type Stage,
  type StageControl,
  type StageEdge,
  type StageGraph,
  type StageNode,
  type StageRegion,
} from './inspect.js';
export type { SourcePlace } from './calls.js';
export {
  profile,
  type ChromeTrace,
  type DeviceKernel,
  type DeviceSpan,
  type Gaps,
  type Interval,
  type KernelProfile,
  type Profile,
  type Span,
  type WorkerProfile,
} from './profile.js';

export {
  FitError,
  fit,
  fitBatchSize,
  fitStart,
  type BatchSizeOptions,
  type EpochReport,
  type FitCheckpoint,
  type FitOptions,
  type FitPlace,
  type FitResult,
  type StepReport,
} from './fit.js';
export * as data from './data/index.js';
export * as debug from './debugging.js';
export * as io from './io/index.js';
export * as losses from './losses/index.js';
export * as metrics from './metrics.js';
export * as nn from './nn/index.js';
export * as optim from './optim/index.js';
export * as random from './random.js';
export * as tree from './tree.js';
export * as tuned from './tuned.js';

/** @internal */
export * as internals from './internals.js';
