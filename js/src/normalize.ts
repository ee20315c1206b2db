// Cross-entropy and layer norm, with what their arguments may be besides what the core takes.

import { asTensor, withTensors, type TensorLike } from './apply.js';
import { resolveAxes, type Axes } from './axes.js';
import { DTypeError } from './errors.js';
import { asIndices } from './indexing.js';
import { equal, where } from './ops.gen.js';
import { tidy } from './scope.js';
import { normalizeOver } from './standardize.js';
import { Tensor } from './tensor.js';
import { readElements } from './upload.js';

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
export function softmaxCrossEntropy(logits: TensorLike, labels: TensorLike, { ignoreIndex }: { ignoreIndex: number | undefined }): Tensor {
  const op = 'softmaxCrossEntropy';
  const loss = (x: Tensor, y: Tensor): Tensor =>
    withTensors(op, [x, y], (core, [a, b]) => core.sinter_softmax_cross_entropy(a!, b!));
  return tidy(() => {
    const x = asTensor(logits, op);
    const y = readLabels(op, labels, x, ignoreIndex);
    if (ignoreIndex === undefined) return loss(x, y);
    if (y.dtype !== 'int32') throw new DTypeError(op, `ignoreIndex needs classes as int32, labels are ${y.dtype}`);
    const ignored = equal(y, ignoreIndex);
    return where(ignored, 0, loss(x, where(ignored, 0, y)));
  });
}

interface LayerNorm {
  axis: Axes | null;
  weight: TensorLike | undefined;
  bias: TensorLike | undefined;
  eps: number;
}

/** (x - mean) / sqrt(var + eps) over the last axis or the given ones, times weight, plus bias. */
export function layerNorm(x: TensorLike, { axis, weight, bias, eps }: LayerNorm): Tensor {
  if (axis === -1)
    return withTensors('layerNorm', [x], (core, [a, w, b]) => core.sinter_layer_norm(a!, w!, b!, eps), [weight, bias]);
  return tidy(() => {
    const t = asTensor(x, 'layerNorm');
    const axes = resolveAxes('layerNorm', axis as Axes, t.shape).sort();
    return normalizeOver('layerNorm', t, { axes, scaled: axes, eps }, { weight, bias });
  });
}
