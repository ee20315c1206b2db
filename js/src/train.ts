// trainStep: loss, gradient, clipping and update as one compiled program that writes the new state
// into the memory of the old one.

import { checkFunction, shown } from './check.js';
import { DisposedError, SinterError } from './errors.js';
import { checkOptimizer, lrTensor, perOptimizer, type Optimizer, type OptimizerState, type PerOptimizer } from './optim/optimizer.js';
import { compiledFunction } from './jit.js';
import { readOptions } from './options.js';
import { COMPILE, type CompileOptions } from './program.js';
import { map, tensorsWithin } from './pytree.js';
import { runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { wrap, type Tensor } from './tensor.js';
import { valueAndGrad } from './grad.js';

/** Parameters and what the optimizer remembers. A step uses it up and returns the next one. */
export interface TrainState<P> {
  readonly params: P;
  readonly optimizer: OptimizerState;
}

export interface TrainStep<P, B extends readonly unknown[]> {
  /** One step. The tensors of the given state are used up; loss is that before the update. */
  (state: TrainState<P>, ...batch: B): { state: TrainState<P>; loss: Tensor };
  /** The first state, with copies of the parameters. */
  init(params: P): TrainState<P>;
  /** The parameters of a state: valid until the next step uses them up. */
  params(state: TrainState<P>): P;
  /** Programs compiled so far: one per kind of batch. */
  readonly cacheSize: number;
  /** Releases the programs. */
  dispose(): void;
}

/** In memory of its own, so that donation leaves the caller's tensor alone. */
function copy(t: Tensor): Tensor {
  return wrap(runtime().exports.sinter_copy(t.use('trainStep.init')), t.meta);
}

function checkState(state: unknown): void {
  const { params, optimizer } = (state ?? {}) as Partial<TrainState<unknown>>;
  if (params !== undefined && optimizer?.count !== undefined) return;
  throw new SinterError('argument', 'trainStep', `${shown(state)} is no training state`, {
    hint: 'the first state is step.init(params), the next ones are returned by the step',
  });
}

/**
 * step = trainStep((params, ...batch) => loss, optimizer); state = step.init(params);
 * ({ state, loss } = step(state, ...batch)). The learning rate may change between steps (set
 * optimizer.lr): it is an input of the program, not part of it.
 */
export function trainStep<P, B extends readonly unknown[]>(
  loss: (params: P, ...batch: B) => Tensor,
  optimizer: Optimizer,
  options?: CompileOptions,
): TrainStep<P, B> {
  checkFunction('trainStep', loss, 'trainStep((params, ...batch) => loss, optimizer)');
  checkOptimizer('trainStep', optimizer);
  const compiling = readOptions('trainStep', options, COMPILE);
  const both = valueAndGrad(loss);
  const run = compiledFunction(
    'trainStep',
    (state: TrainState<P>, lr: PerOptimizer<Tensor>, _schedule: unknown, ...batch: B) => {
      const [value, grads] = both(state.params, ...batch);
      const next = optimizer.update(grads, state.optimizer, state.params, lr);
      return { state: { params: next.params, optimizer: next.state }, loss: value };
    },
    { ...compiling, donate: 0 },
    (i) => ['state', 'lr', 'the schedule'][i] ?? `batch argument ${i - 3}`,
  );

  const step = (state: TrainState<P>, ...batch: B): { state: TrainState<P>; loss: Tensor } => {
    checkState(state);
    const own: Tensor[] = [];
    try {
      const rates = perOptimizer(optimizer, (lr) => lrTensor(lr, own));
      // A schedule is part of the program, and so of the key under which it is found again.
      const schedule = perOptimizer(optimizer, (lr) => (typeof lr === 'function' ? lr : null));
      return run(state, rates, schedule, ...batch) as { state: TrainState<P>; loss: Tensor };
    } catch (error) {
      if (!(error instanceof DisposedError && tensorsWithin(state).some((t) => t.isDonated))) throw error;
      throw new DisposedError('trainStep', 'this training state was used up by an earlier step', {
        hint: 'go on with the state that the step returned',
        cause: error,
      });
    } finally {
      for (const rate of own) rate.dispose();
    }
  };

  return Object.defineProperties(step, {
    init: {
      value: (params: P): TrainState<P> =>
        tidy(() => {
          const own = map(copy, params);
          return { params: own, optimizer: map(copy, optimizer.init(own)) };
        }),
    },
    params: { value: (state: TrainState<P>): P => state.params },
    cacheSize: { get: () => run.cacheSize },
    dispose: { value: () => run.dispose() },
  }) as unknown as TrainStep<P, B>;
}
