// Softmax and its losses, and the norms that networks use. Each is one call into the core, which
// writes the formula as graph; fusion makes few kernels of it.

import { asTensor, withAddresses, type TensorLike } from './apply.js';
import { AXIS, resolveAxes, resolveAxis, type Axes } from './axes.js';
import { readOptions, type OptionSchema } from './options.js';
import { runtime, type Runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { normalizeOver } from './standardize.js';
import { wrap, type Tensor } from './tensor.js';

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

/**
 * One loss per row: logsumexp(logits) - logits[label], stable for large logits. labels are int32
 * classes (...), or a distribution (..., classes).
 */
export function softmaxCrossEntropy(logits: TensorLike, labels: TensorLike): Tensor {
  return withAddresses('softmaxCrossEntropy', [logits, labels], (rt, [a, b]) =>
    rt.exports.sinter_softmax_cross_entropy(a!, b!),
  );
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
