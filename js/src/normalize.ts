// softmaxCrossEntropy with the labels that users give: class numbers, also as plain numbers, or a distribution.

import { asTensor, withTensors, type TensorLike } from './apply.js';
import { NOT_GIVEN } from './check.js';
import { asIndices } from './indexing.js';
import { tidy } from './scope.js';
import { Tensor } from './tensor.js';
import { readElements } from './upload.js';

/** Labels as checked class indices, or unchanged where they are a distribution over the classes. */
function readLabels(op: string, labels: TensorLike, logits: Tensor, ignoreIndex: number | undefined): Tensor {
  const areClasses =
    labels instanceof Tensor
      ? labels.dtype === 'int32'
      : readElements(op, labels).shape.length < logits.ndim;
  if (!areClasses) return asTensor(labels, op);
  return asIndices(labels, op, { least: 0, most: (logits.shape.at(-1) ?? 0) - 1, also: ignoreIndex }, 'labels');
}

export function softmaxCrossEntropy(logits: TensorLike, labels: TensorLike, { ignoreIndex }: { ignoreIndex: number | undefined }): Tensor {
  const op = 'softmaxCrossEntropy';
  return tidy(() => {
    const x = asTensor(logits, op);
    const y = readLabels(op, labels, x, ignoreIndex);
    return withTensors(op, [x, y], (core, [a, b]) => core.sinter_softmax_cross_entropy(a!, b!, ignoreIndex ?? NOT_GIVEN));
  });
}
