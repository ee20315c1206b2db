// Losses for classification: scores (n, classes, ...), labels (n, ...).

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Node, Op } from '../plan.js';
import type { Value } from '../value.js';

/** The loss from log probabilities, reduced as the node says. */
function negativeLogLikelihood(n: Node, logs: Tensor, labels: Value, weight: Value | undefined): Tensor {
  const ignored = n.has('ignore_index') ? sn.equal(labels.t, n.int('ignore_index')) : null;
  const label = ignored ? sn.where(ignored, 0, labels.t) : labels.t;
  const each = sn.squeeze(sn.takeAlongAxis(logs, sn.expandDims(label, 1), { axis: 1 }), 1);
  let share = weight ? sn.take(weight.t, label, { axis: 0 }) : sn.onesLike(each);
  if (ignored) share = sn.where(ignored, 0, share);
  const losses = sn.mul(sn.neg(each), share);
  const reduction = n.text('reduction', 'mean');
  if (reduction === 'none') return losses;
  return reduction === 'sum' ? sn.sum(losses) : sn.div(sn.sum(losses), sn.sum(share));
}

const nll: Op = { since: 12, run: (n, x, labels, weight) => negativeLogLikelihood(n, x!.t, labels!, weight) };

const crossEntropy: Op = {
  since: 12,
  run: (n, x, labels, weight) => {
    const logs = sn.logSoftmax(x!.t, { axis: 1 });
    return [negativeLogLikelihood(n, logs, labels!, weight), logs];
  },
};

export const LOSS: Readonly<Record<string, Op>> = { NegativeLogLikelihoodLoss: nll, SoftmaxCrossEntropyLoss: crossEntropy };
