// The loss of a model with a large vocabulary. The logits are its largest tensor by far, so only those of some rows exist at a
// time. Their derivative is made together with them, and only what it becomes for the rows of x is kept.

import { customVjp, pad, scan, softmaxCrossEntropy, tidy, valueAndGrad, zeros, type Tensor, type TensorLike } from '../index.js';
import type { Config } from './config.js';
import { logitsOf, type Weights } from './forward.js';

/** Rows whose logits exist at once. Fewer take less memory and more time: the weights are unpacked once per part. */
export const ROWS = 64;

/** The ignored label if the caller has none. */
const NONE = -1;

/** x (n, width) and labels (n) as parts of ROWS rows each, padded with rows whose label is ignored. */
function inParts(x: Tensor, labels: Tensor, ignored: number): [Tensor, Tensor] {
  const [n, width] = x.shape as [number, number];
  const more = (ROWS - (n % ROWS)) % ROWS;
  const parts = (n + more) / ROWS;
  if (more === 0) return [x.reshape([parts, ROWS, width]), labels.reshape([parts, ROWS])];
  return [pad(x, [[0, more], [0, 0]]).reshape([parts, ROWS, width]), pad(labels, [[0, more]], { value: ignored }).reshape([parts, ROWS])];
}

/** The summed loss of rows x (n, width), an output of hidden, by labels (n), int32; ignored labels add 0. The weights get no
 *  derivative. */
export function lossOfRows(config: Config, weights: Weights, x: Tensor, labels: Tensor, ignored = NONE): Tensor {
  type Part = [Tensor, Tensor];
  const lossOf = (rows: Tensor, own: Tensor): Tensor => softmaxCrossEntropy(logitsOf(config, weights, rows), own, { ignoreIndex: ignored }).sum();
  const both = valueAndGrad(lossOf);
  const plain = (rows: Tensor, own: Tensor): Tensor =>
    scan((sum: Tensor, [r, l]: Part) => [sum.add(lossOf(r, l)), null], zeros([]), inParts(rows, own, ignored))[0];
  const forward = (rows: Tensor, own: Tensor): readonly [Tensor, Tensor] => {
    const each = (before: Tensor, [r, l]: Part): [Tensor, Tensor] => {
      const [loss, slope] = both(r, l);
      return [before.add(loss), slope];
    };
    const [sum, slopes] = scan(each, zeros([]), inParts(rows, own, ignored));
    return [sum, slopes.reshape([-1, rows.shape[1]!]).slice([0, 0], [rows.shape[0]!, -1])];
  };
  const backward = (slopes: Tensor, cotangent: TensorLike): [Tensor, null] => [slopes.mul(cotangent), null];
  return tidy(() => customVjp(plain, { forward, backward })(x, labels));
}
