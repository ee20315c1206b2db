// The sum of n modules side by side. A multi-layer perceptron of h hidden units is such a sum of n of h / n units, each with
// its columns of the first product and its rows of the second; attention of k heads one of n of k / n heads, each with its
// columns of queries, keys and values and its rows of the result (Shoeybi et al. 2019, Megatron-LM). So between products
// nothing travels, and behind them one sum, forward and backward.

import { customVjp, internals, tidy, type Tensor, type TensorLike } from '../index.js';
import { checkMember, each, initStacked, type Member, type MemberOptions } from './stacked.js';

const { asTensor } = internals;
const OP = 'tensorParallel';

/** x for each of n modules; its derivative is the sum of theirs, in pairs as every sum over processes. */
function forEach(x: Tensor, n: number): Tensor {
  const repeat = (t: Tensor): Tensor => t.reshape([1, ...t.shape]).broadcastTo([n, ...t.shape]);
  return customVjp(repeat, { forward: (t: Tensor) => [repeat(t), null] as const, backward: (_, dy) => [asTensor(dy, OP).allReduce()] })(x);
}

/**
 * The sum of what n modules of one form, with parameters of their own, make of x. Parameters are those of one module with a
 * new first axis of n. Processes of sinter-train, up to n, share them: each computes some that follow each other.
 */
export function tensorParallel<P>(n: number, module: Member<P>): Member<P> {
  checkMember(OP, n, module);
  return {
    name: OP,
    init: (key) => initStacked(module, n, key),
    apply: (params, x: TensorLike, options: MemberOptions = {}) =>
      tidy(() => {
        const xs = forEach(asTensor(x, OP), n);
        return each(OP, n, params, xs, options, (own, y, _, rest) => module.apply(own, y, rest)).allReduce();
      }),
  };
}
