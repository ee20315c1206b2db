// Softmax and its losses, and the norms that networks use. Each is one call into the core, which
// writes the formula as graph; fusion makes few kernels of it.

import { asTensor, withAddresses, type TensorLike } from './apply.js';
import { AXIS, resolveAxes, resolveAxis, type Axes } from './axes.js';
import { DTypeError } from './errors.js';
import { asIndices } from './indexing.js';
import { equal, where } from './ops.gen.js';
import { readOptions, type OptionSchema } from './options.js';
import { runtime, type Runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { normalizeOver } from './standardize.js';
import { Tensor, wrap } from './tensor.js';
import { readElements } from './upload.js';

export interface SoftmaxOptions {
  /** Default: the last. */
  axis?: number;
}

function along(
  op: string,
  x: TensorLike,
  options: SoftmaxOptions | undefined,
  call: (rt: Runtime, x: number, axis: number) => number,
): Tensor {
  const { axis = -1 } = readOptions<SoftmaxOptions>(op, options, AXIS);
  return tidy(() => {
    const t = asTensor(x, op);
    return wrap(call(runtime(), t.use(op), resolveAxis(op, axis, t.shape)));
  });
}

/** e^x / sum(e^x) along an axis, stable for large x. */
export const softmax = (x: TensorLike, options?: SoftmaxOptions): Tensor =>
  along('softmax', x, options, (rt, t, axis) => rt.exports.sinter_softmax(t, axis));

/** log(softmax(x)), accurate where softmax is 0. */
export const logSoftmax = (x: TensorLike, options?: SoftmaxOptions): Tensor =>
  along('logSoftmax', x, options, (rt, t, axis) => rt.exports.sinter_log_softmax(t, axis));

export interface CrossEntropyOptions {
  /** Rows with this label have loss 0 and gradient 0. It may be outside of the classes: -1, say. Default: none. */
  ignoreIndex?: number;
}

/** Labels as classes, or as they are where they are a distribution. */
function readLabels(op: string, labels: TensorLike, logits: Tensor, ignoreIndex: number | undefined): Tensor {
  const areClasses =
    labels instanceof Tensor
      ? labels.dtype === 'int32'
      : readElements(op, labels).shape.length < logits.ndim;
  if (!areClasses) return asTensor(labels, op);
  return asIndices(labels, op, { least: 0, most: (logits.shape.at(-1) ?? 0) - 1, also: ignoreIndex }, 'labels');
}

/**
 * One loss per row: logsumexp(logits) - logits[label], stable for large logits. labels are whole numbers 0 to
 * classes - 1 (...), or a distribution (..., classes). A label outside is an error where it is given as a number; in a
 * tensor it is not seen, unless by setDebug(1). ignoreIndex leaves rows out.
 */
export function softmaxCrossEntropy(logits: TensorLike, labels: TensorLike, options?: CrossEntropyOptions): Tensor {
  const op = 'softmaxCrossEntropy';
  const { ignoreIndex } = readOptions<CrossEntropyOptions>(op, options, { ignoreIndex: 'integer' });
  const loss = (x: Tensor, y: Tensor): Tensor =>
    withAddresses(op, [x, y], (rt, [a, b]) => rt.exports.sinter_softmax_cross_entropy(a!, b!));
  return tidy(() => {
    const x = asTensor(logits, op);
    const y = readLabels(op, labels, x, ignoreIndex);
    if (ignoreIndex === undefined) return loss(x, y);
    if (y.dtype !== 'int32') throw new DTypeError(`${op}: ignoreIndex needs classes as int32, labels are ${y.dtype}`);
    const ignored = equal(y, ignoreIndex);
    return where(ignored, 0, loss(x, where(ignored, 0, y)));
  });
}

export interface RmsNormOptions {
  /** Factor for each element of the last axis. */
  weight?: TensorLike;
  /** Added before the root. Default 1e-5. */
  eps?: number;
}

export interface LayerNormOptions extends RmsNormOptions {
  /** Added to each element of the last axis. */
  bias?: TensorLike;
  /** One axis or several, in whose shape weight and bias are then. Default: the last. */
  axis?: Axes;
}

const RMS_NORM: OptionSchema<RmsNormOptions> = { weight: 'tensor', eps: 'number' };
const LAYER_NORM: OptionSchema<LayerNormOptions> = { weight: 'tensor', bias: 'tensor', axis: 'axes', eps: 'number' };

/** The addresses of x and of those of the others that are given, 0 for those that are not. */
function withOptional(
  op: string,
  x: TensorLike,
  others: readonly (TensorLike | undefined)[],
  call: (rt: Runtime, addresses: readonly number[]) => number,
): Tensor {
  const given = others.filter((other) => other !== undefined);
  return withAddresses(op, [x, ...given], (rt, [first, ...rest]) => {
    const left = rest.values();
    return call(rt, [first!, ...others.map((other) => (other === undefined ? 0 : left.next().value!))]);
  });
}

/** (x - mean) / sqrt(var + eps) over the last axis or the given ones, times weight, plus bias. */
export const layerNorm = (x: TensorLike, options?: LayerNormOptions): Tensor => {
  const { weight, bias, axis, eps = 1e-5 } = readOptions('layerNorm', options, LAYER_NORM);
  if (axis !== undefined && axis !== -1) {
    return tidy(() => {
      const t = asTensor(x, 'layerNorm');
      const axes = resolveAxes('layerNorm', axis, t.shape).sort();
      return normalizeOver('layerNorm', t, { axes, scaled: axes, eps }, { weight, bias });
    });
  }
  return withOptional('layerNorm', x, [weight, bias], (rt, [a, w, b]) =>
    rt.exports.sinter_layer_norm(a!, w!, b!, eps),
  );
};

/** x / sqrt(mean(x^2) + eps) over the last axis, times weight. */
export const rmsNorm = (x: TensorLike, options?: RmsNormOptions): Tensor => {
  const { weight, eps = 1e-5 } = readOptions('rmsNorm', options, RMS_NORM);
  return withOptional('rmsNorm', x, [weight], (rt, [a, w]) => rt.exports.sinter_rms_norm(a!, w!, eps));
};

export interface BatchNormOptions extends LayerNormOptions {
  /** That of the channels. Default: the last. */
  axis?: number;
  /** One for each channel, given together; default: those of x. */
  mean?: TensorLike;
  variance?: TensorLike;
}

const BATCH_NORM: OptionSchema<BatchNormOptions> = {
  ...LAYER_NORM,
  axis: 'axis',
  mean: 'tensor',
  variance: 'tensor',
};

/**
 * (x - mean) / sqrt(variance + eps) for each channel, over all other axes, times weight, plus bias, which have an
 * element per channel. To keep running statistics while training, compute mean and variance of x
 * (sn.mean, sn.var) and give them: gradients go through them, and compiled they cost nothing twice.
 */
export const batchNorm = (
  x: TensorLike,
  options?: BatchNormOptions,
): Tensor => {
  const { axis = -1, mean, variance, weight, bias, eps = 1e-5 } = readOptions('batchNorm', options, BATCH_NORM);
  return withOptional('batchNorm', x, [mean, variance, weight, bias], (rt, [a, m, v, w, b]) =>
    rt.exports.sinter_batch_norm(a!, axis, m!, v!, w!, b!, eps),
  );
};
