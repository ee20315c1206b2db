// The state of a training: what a step uses up and returns anew.

import { shown } from './check.js';
import { DisposedError, SinterError } from './errors.js';
import { reportOf, type PrecisionReport } from './optim/masters.js';
import type { OptimizerState } from './optim/optimizer.js';
import { tensorsWithin } from './pytree.js';
import type { Tensor } from './tensor.js';

/** The state of a training: the parameters, the optimizer's state, and that of the modules. A step uses it up and
 *  returns the next one. */
export interface TrainState<P, S = unknown> {
  readonly params: P;
  readonly optimizer: OptimizerState;
  /** State of modules that have one, such as running statistics. */
  readonly state?: S;
  /** A key from which each step derives its own. */
  readonly key?: Tensor;
}

export interface StepResult<P, S, A> {
  /** The next state. */
  state: TrainState<P, S>;
  /** The loss before the update; if the batch was cut into parts, the mean over these. */
  loss: Tensor;
  /** What the loss returned as aux; if the batch was cut into parts, stacked over these. */
  aux: A;
}

export function checkState(op: string, state: unknown): void {
  const { params, optimizer } = (state ?? {}) as Partial<TrainState<unknown>>;
  if (params !== undefined && optimizer?.count !== undefined) return;
  throw new SinterError('argument', op, `${shown(state)} is no training state`, {
    hint: 'the first state is step.init(params), the next ones are returned by the step',
  });
}

/** Returns f(). If that fails since an earlier step has used up the state, the error says so. */
export function unlessUsedUp<R>(op: string, state: unknown, f: () => R): R {
  try {
    return f();
  } catch (error) {
    if (!(error instanceof DisposedError && tensorsWithin(state).some((t) => t.isDonated))) throw error;
    throw new DisposedError(op, 'this training state was used up by an earlier step', {
      hint: 'go on with the state that the step returned',
      cause: error,
    });
  }
}

/** The readers of a state that all steps have, as property descriptors. */
export const READERS = {
  params: { value: (state: TrainState<unknown>): unknown => state.params },
  state: { value: (state: TrainState<unknown>): unknown => state.state },
  precision: {
    value: (state: TrainState<unknown>): PrecisionReport => {
      checkState('trainStep.precision', state);
      return reportOf(state.optimizer);
    },
  },
};
