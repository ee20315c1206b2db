// Muon (Jordan 2024): the momentum of each matrix is made orthogonal, by five rounds of a Newton-Schulz iteration.

import { reshape } from '../functions.gen.js';
import { readOptions } from '../options.js';
import { MUON_COEFFICIENTS, orthogonal } from '../orthogonal.js';
import { adamw } from './adam.js';
import { groups } from './groups.js';
import type { LearningRate, Optimizer } from './optimizer.js';
import { optimizerOf, type Match } from './rule.js';

export interface MuonOptions {
  /** Learning rate of the matrices; default 0.02. */
  lr?: LearningRate;
  /** Share of the velocity that a step keeps. Default 0.95. */
  momentum?: number;
  /** Uses Nesterov's momentum. Default true. */
  nesterov?: boolean;
  /** Rounds of the iteration. Default 5. */
  rounds?: number;
  weightDecay?: number;
  mask?: Match;
  /** Which parameters count as matrices. Default: those of two axes and more. Embeddings and a network's last layer do
   *  better without. */
  match?: Match;
  /** Optimizer of the other parameters. Default: adamw({ lr: 3e-4, beta2: 0.95, eps: 1e-10, weightDecay: 0 }). */
  rest?: Optimizer;
}

/** Updates matrices by Muon, and other parameters by another optimizer. The kernel of a convolution is a matrix whose
 *  columns are its outputs. lr is the rate of the matrices. */
export function muon(given?: MuonOptions): Optimizer {
  const { lr = 0.02, momentum = 0.95, nesterov = true, rounds = 5, match = (_, p) => p.ndim >= 2, rest, ...decay } =
    readOptions<MuonOptions>('optim.muon', given, {
      lr: 'any',
      momentum: 'number',
      nesterov: 'boolean',
      rounds: 'integer',
      weightDecay: 'number',
      mask: 'function',
      match: 'function',
      rest: 'object',
    });
  const matrices = optimizerOf('optim.muon', { ...decay, lr }, {
    slots: ['velocity'],
    isDecoupled: true,
    formula: () => (g, slots) => {
      const velocity = slots.velocity.mul(momentum).add(g.mul(1 - momentum));
      const x = nesterov ? g.mul(1 - momentum).add(velocity.mul(momentum)) : velocity;
      const columns = g.shape.at(-1)!;
      const rows = g.size / columns;
      const step = orthogonal(reshape(x, [rows, columns]), [[rounds, MUON_COEFFICIENTS]]).mul(Math.sqrt(Math.max(1, columns / rows)));
      return { step: reshape(step, g.shape), velocity };
    },
  });
  const other = rest ?? adamw({ lr: 3e-4, beta2: 0.95, eps: 1e-10, weightDecay: 0 });
  return groups([{ match, optimizer: matrices }, { match: () => true, optimizer: other }]);
}
