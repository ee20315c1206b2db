import { readOptions, type OptionSchema } from '../options.js';
import { flatten, rebuild } from '../pytree.js';
import { pow, sqrt, square, sub, zeros } from '../functions.gen.js';
import type { Tensor } from '../tensor.js';
import { clipByGlobalNorm } from './clip.js';
import { checkRate, rateOf, readUpdate, running, type LearningRate, type Optimizer } from './optimizer.js';

export interface AdamOptions {
  lr?: LearningRate;
  /** Decay of the mean of the gradients. */
  beta1?: number;
  /** Decay of the mean of their squares. */
  beta2?: number;
  eps?: number;
  /** Longest gradient; longer ones are scaled down. Default: none. */
  clipNorm?: number;
}

const ADAM: OptionSchema<AdamOptions> = {
  lr: 'any',
  beta1: 'number',
  beta2: 'number',
  eps: 'number',
  clipNorm: 'number',
};

/** Adam: p = p - lr * mean / (sqrt(variance) + eps), both corrected for their start at 0. */
export function adam(options?: AdamOptions): Optimizer {
  const given = readOptions('optim.adam', options, ADAM);
  const { lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, clipNorm } = given;
  checkRate('optim.adam', lr);
  return {
    lr,
    init: (params) => {
      const { tensors } = flatten(params, 'optim.adam');
      return { count: zeros([], { dtype: 'int32' }), mean: tensors.map(running), square: tensors.map(running) };
    },
    update(grads, state, params, given) {
      const update = readUpdate('optim.adam', grads, state, params, ['mean', 'square']);
      const rate = rateOf(this.lr, given, state.count);
      const count = state.count.add(1);
      const steps = count.astype('float32');
      const g = clipNorm === undefined ? update.grads : clipByGlobalNorm(update.grads, clipNorm);
      const mean = (state['mean'] as readonly Tensor[]).map((m, i) => m.mul(beta1).add(g[i]!.mul(1 - beta1)));
      const squares = (state['square'] as readonly Tensor[]).map((v, i) =>
        v.mul(beta2).add(square(g[i]!).mul(1 - beta2)),
      );
      const meanScale = sub(1, pow(beta1, steps));
      const squareScale = sub(1, pow(beta2, steps));
      const next = update.params.map((p, i) => {
        const size = sqrt(squares[i]!.div(squareScale)).add(eps);
        return p.sub(mean[i]!.div(meanScale).div(size).mul(rate)).astype(p.dtype);
      });
      return { params: rebuild(update.shape, next) as typeof params, state: { count, mean, square: squares } };
    },
  };
}
