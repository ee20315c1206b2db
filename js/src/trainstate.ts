// The state of a training: what a step uses up and returns anew.

import { shown } from './check.js';
import { DisposedError, SinterError } from './errors.js';
import { reportOf, type PrecisionReport } from './optim/masters.js';
import type { OptimizerState } from './optim/optimizer.js';
import { tensorsWithin } from './pytree.js';
import type { Tensor } from './tensor.js';

/** Parameters, what the optimizer remembers of them, and what the modules do. A step uses it up and returns the next one. */
export interface TrainState<P, S = unknown> {
  readonly params: P;
  readonly optimizer: OptimizerState;
  /** Of modules that have one: running statistics. */
  readonly state?: S;
  /** From which each step has a key of its own. */
  readonly key?: Tensor;
}

export interface StepResult<P, S, A> {
  state: TrainState<P, S>;
  /** Before the update; the mean over the parts where there are several. */
  loss: Tensor;
  /** What the loss returned as aux; stacked where the batch was cut in parts. */
  aux: A;
}

export function checkState(op: string, state: unknown): void {
  const { params, optimizer } = (state ?? {}) as Partial<TrainState<unknown>>;
  if (params !== undefined && optimizer?.count !== undefined) return;
  throw new SinterError('argument', op, `${shown(state)} is no training state`, {
    hint: 'the first state is step.init(params), the next ones are returned by the step',
  });
}

/** f(), whose error of a state that is gone says how that comes. */
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

/** What steps say of a state, as properties. */
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
