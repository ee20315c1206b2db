// The sum of n modules side by side. A multi-layer perceptron of h hidden units is the sum of n ones of h / n units, each
// with its columns of the first product and its rows of the second. Attention of k heads is the sum of n ones of k / n
// heads, each with its columns of queries, keys and values and its rows of the result (Shoeybi et al. 2019, Megatron-LM).
// So nothing is sent between the products, and one sum after them, forward and backward.

import { customVjp, internals, tidy, type Tensor, type TensorLike } from '../index.js';
import { checkMember, each, initStacked, type Member, type MemberOptions } from './stacked.js';

const { asTensor } = internals;
const OP = 'tensorParallel';

/** x repeated for each of n modules; its derivative is the sum of theirs, in pairs like every sum over processes. */
function forEach(x: Tensor, n: number): Tensor {
  const repeat = (t: Tensor): Tensor => t.reshape([1, ...t.shape]).broadcastTo([n, ...t.shape]);
  return customVjp(repeat, { forward: (t: Tensor) => [repeat(t), null] as const, backward: (_, dy) => [asTensor(dy, OP).allReduce()] })(x);
}

/**
 * The sum of n modules of one form, with parameters of their own, applied to x. Parameters are those of one module with a
 * new first axis of n. Up to n processes of sinter-train share them: each computes some consecutive modules.
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
