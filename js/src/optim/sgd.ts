import { readOptions, type OptionSchema } from '../options.js';
import { flatten, rebuild } from '../pytree.js';
import { zeros } from '../functions.gen.js';
import type { Tensor } from '../tensor.js';
import { clipByGlobalNorm } from './clip.js';
import { checkRate, rateOf, readUpdate, running, type LearningRate, type Optimizer } from './optimizer.js';

export interface SgdOptions {
  lr: LearningRate;
  /** Share of the last step that the next one keeps; default 0. */
  momentum?: number;
  /** Longest gradient; longer ones are scaled down. Default: none. */
  clipNorm?: number;
}

const SGD: OptionSchema<SgdOptions> = { lr: 'any', momentum: 'number', clipNorm: 'number' };

/** Stochastic gradient descent: v = momentum * v + g, p = p - lr * v. */
export function sgd(options: SgdOptions): Optimizer {
  const { lr, momentum = 0, clipNorm } = readOptions('optim.sgd', options, SGD);
  checkRate('optim.sgd', lr);
  const usesMomentum = momentum !== 0;
  return {
    lr,
    init: (params) => ({
      count: zeros([], { dtype: 'int32' }),
      velocity: usesMomentum ? flatten(params, 'optim.sgd').tensors.map(running) : [],
    }),
    update(grads, state, params, given) {
      const update = readUpdate('optim.sgd', grads, state, params, usesMomentum ? ['velocity'] : []);
      const rate = rateOf(this.lr, given, state.count);
      const g = clipNorm === undefined ? update.grads : clipByGlobalNorm(update.grads, clipNorm);
      const velocity = usesMomentum
        ? (state['velocity'] as readonly Tensor[]).map((v, i) => v.mul(momentum).add(g[i]!))
        : g;
      const next = update.params.map((p, i) => p.sub(velocity[i]!.mul(rate)).astype(p.dtype));
      return {
        params: rebuild(update.shape, next) as typeof params,
        state: { count: state.count.add(1), velocity: usesMomentum ? velocity : [] },
      };
    },
  };
}
