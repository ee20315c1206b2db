// Writes text letter by letter.

import * as sn from 'sinter';

const { nn, optim, random } = sn;

/** Adds a learnt vector for each place of the context. */
function places(context: number, width: number): sn.nn.Module<sn.Tensor> {
  const most = 1 / Math.sqrt(width);
  return {
    init: (key) => random.uniform(key, [context, width], { minval: -most, maxval: most }),
    apply: (table, x) => sn.add(x, table),
  };
}

/** Letters, int32 (n, context) -> scores of the letter after each (n, context, letters). */
export function network(blocks: number, width: number, context: number, heads: number, letters: number): sn.nn.AnyModule {
  return nn.sequential(
    nn.embedding(letters, width),
    places(context, width),
    ...Array.from({ length: blocks }, () => nn.transformerBlock(width, heads)),
    nn.layerNorm(width),
    nn.linear(width, letters),
  );
}

/** Up from a hundredth in 100 steps, down along half a wave to a tenth until step 3,000, and that from then on. */
export const rate = (lr: number): sn.optim.LearningRate =>
  optim.schedules.warmupCosine({ from: lr / 100, lr, to: lr / 10, warmup: 100, steps: 3000 });

export const optimizer = (learningRate: number): sn.optim.Optimizer => optim.adamw({ lr: rate(learningRate) });
