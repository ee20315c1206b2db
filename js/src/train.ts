// trainStep: loss, gradient, clipping and update as one compiled program that writes the new state
// into the memory of the old one.

import { checkFunction, checkInteger, isPlainObject } from './check.js';
import { cond, scan } from './control.js';
import { accumulatorOf, isFloat } from './dtype.js';
import { copyToDevice, checkDevice, deviceOf, type DeviceName } from './device.js';
import { ShapeError, SinterError, shapeText } from './errors.js';
import { arange, zeros } from './functions.gen.js';
import { valueAndGrad } from './grad.js';
import { compiledFunction, withProgram, type Jitted } from './jit.js';
import { clipByGlobalNorm } from './optim/clip.js';
import { checkMasters, scaleOf, stepsOf, stored, unlessSkipped, withMasters, type PrecisionReport } from './optim/masters.js';
import { checkOptimizer, lrTensor, perOptimizer, type Optimizer, type PerOptimizer } from './optim/optimizer.js';
import { readOptions, type OptionSchema } from './options.js';
import { checkPrecision, recordedIn, type Precision } from './precision.js';
import { COMPILE, type CompileOptions } from './program.js';
import { argumentName, flatten, map, rebuild, shapeKey, tensorNames } from './pytree.js';
import { foldIn } from './random.js';
import { runtime } from './runtime/runtime.js';
import { exportStep } from './savedstep.js';
import { tidy } from './scope.js';
import { wrap, type Tensor } from './tensor.js';
import { isTracing } from './trace.js';
import type { Tuning } from './tune.js';
import { READERS, checkState, unlessUsedUp, type StepResult, type TrainState } from './trainstate.js';

/** What a loss gets as its last argument, after the batch. */
export interface StepContext<S = unknown> {
  /** State of modules that have one: the one given to step.init(params, { state }), then what the step before returned. */
  state: S;
  /** A key, another one in every step; undefined unless step.init(params, { key }) got one. */
  key: Tensor;
}

export interface StepOptions extends CompileOptions {
  /** How many parts the batch is cut into along axis 0. They are computed one after the other in the memory of one, and
   *  the gradient is their mean. Tensors of rank 0 go to every part. Default 1. */
  accumulate?: number;
  /**
   * How many blocks the batch is cut into along axis 0. Up to so many processes, started as sinter-train under mpirun,
   * share their computation, with equal bits. If the rows do not divide evenly, the first blocks have one row less, and
   * each block is weighted by its rows. Each block gets the state of the modules before the step; the next state is the
   * mean over blocks (where it is no float, that of the last block). The gradient is the mean over blocks, summed in pairs
   * of neighbours, which takes memory for each block of a process. accumulate cuts each block further. Default: no blocks.
   */
  blocks?: number;
  /** Largest norm of the gradient over all parameters together; a longer one is scaled down. Default: no limit. */
  clipNorm?: number;
  /**
   * 'float16' or 'bfloat16': parameters are stored in 16 bits, and products computed as jit(f, { precision }) says; the
   * optimizer works on float32 copies, optimizer.master of the state. For float16 the gradient is that of a scaled loss:
   * the scale is a power of 2 that halves when a gradient is not finite, and doubles after 2,000 steps in a row whose
   * gradients were. A step whose gradient is not finite changes nothing else. Default 'float32'.
   */
  precision?: Precision;
}

export interface InitStateOptions<S> {
  /** The first state of the modules, as net.init(key) gives it. */
  state?: S;
  /** A key that the random numbers of all steps follow from. */
  key?: Tensor;
}

export interface TrainStep<P, B extends readonly unknown[], S = unknown, A = unknown> {
  /** One step. The tensors of the given state are used up; loss is the one before the update. */
  (state: TrainState<P, S>, ...batch: B): StepResult<P, S, A>;
  /** Compiles for arguments like these without blocking a page: see jit. The state is not used up. */
  compile(state: TrainState<P, S>, ...batch: B): Promise<void>;
  /** Makes the first state, with copies of the parameters. */
  init(params: P, options?: InitStateOptions<S>): TrainState<P, S>;
  /** The parameters of a state, not copied: valid until the next step uses them up. */
  params(state: TrainState<P, S>): P;
  /** The state of the modules, not copied: valid until the next step uses it up. */
  state(state: TrainState<P, S>): S;
  /** For a step with option precision: the scale of the loss, how many steps were skipped for a gradient that was not
   *  finite, and the number of all steps. */
  precision(state: TrainState<P, S>): PrecisionReport;
  /**
   * The step for batches like this one as bytes, for importStep and the native program sinter-train: what it computes, the
   * parts of its state, and their present values. Nothing is computed or used up. The learning rate is the one that the
   * optimizer has now, or its schedule.
   */
  export(state: TrainState<P, S>, ...batch: B): Uint8Array<ArrayBuffer>;
  /** What tuning has tried for batches like this one, now or earlier; null without option tune. */
  tuning(state: TrainState<P, S>, ...batch: B): Tuning | null;
  /** Programs compiled so far: one per kind of batch. */
  readonly cacheSize: number;
  /** Releases the programs. */
  dispose(): void;
}

/** A loss's arguments after the parameters, without its last one if that is a StepContext. */
type Batch<R extends readonly unknown[]> = R extends readonly [...infer B, infer C]
  ? unknown extends C
    ? R
    : StepContext<never> extends C
      ? B
      : R
  : R;
type StateOf<R extends readonly unknown[]> = R extends readonly [...unknown[], { state: infer S }] ? S : unknown;
type AuxOf<R> = R extends readonly [Tensor, { aux: infer A }] ? A : undefined;
type AnyLoss = (params: any, ...rest: any[]) => Tensor | readonly [Tensor, { state?: unknown; aux?: unknown }];
type RestOf<L extends AnyLoss> = L extends (params: never, ...rest: infer R) => unknown ? R : never;

/** A copy on a device, in memory of its own, so that donating it leaves the caller's tensor alone. */
function copy(t: Tensor, device: DeviceName): Tensor {
  const address = t.use('trainStep.init');
  if (device === deviceOf(address)) return wrap(runtime().exports.sinter_copy(address), t.meta);
  return wrap(copyToDevice(address, device), t.meta);
}

/** What is computed from a loss for one batch: its value, gradients, next state and aux. */
interface Made {
  loss: Tensor;
  grads: unknown;
  state: unknown;
  aux: unknown;
}

/** A tree and the types of its tensors, as text. */
function typeKey(tree: unknown): string {
  const { tensors, shape } = flatten(tree, 'trainStep');
  return shapeKey(shape) + String(tensors.map((t) => t.meta.key));
}

/** What a loss returned, as [loss, { state, aux }]; state is the one before if it returned none. */
function readMade(result: unknown, before: unknown): [Tensor, { state: unknown; aux: unknown }] {
  if (!Array.isArray(result)) return [result as Tensor, { state: before, aux: undefined }];
  const [loss, more = {}] = result as [Tensor, unknown];
  if (result.length > 2 || !isPlainObject(more))
    throw new SinterError('argument', 'trainStep', 'the loss returned an array, expected a number or [loss, { state, aux }]');
  const { state = before, aux } = readOptions<{ state?: unknown; aux?: unknown }>('trainStep', more, { state: 'any', aux: 'any' });
  if (typeKey(state) !== typeKey(before))
    throw new ShapeError('trainStep', 'the loss returned a state of another kind than it was given', {
      hint: 'structure, shapes and dtypes stay; the first state is given to step.init(params, { state })',
    });
  return [loss, { state, aux }];
}

/** scale: a factor of the loss that is differentiated, but not of the loss that is returned. */
type Differentiate = (params: unknown, batch: readonly unknown[], context: StepContext, scale?: Tensor) => Made;

/** Loss and gradient of the whole batch at once. */
function wholeBatch(loss: AnyLoss): Differentiate {
  const both = valueAndGrad(
    (params: unknown, batch: readonly unknown[], context: StepContext, scale?: Tensor) => {
      const [value, made] = readMade(loss(params, ...batch, context), context.state);
      return [scale ? value.mul(scale) : value, { ...made, loss: value }] as const;
    },
    { hasAux: true },
  );
  return (params, batch, context, scale) => {
    const [[, made], grads] = both(params, batch, context, scale);
    return { ...made, grads };
  };
}

/** A batch in parts. */
interface Cut {
  /** Its tensors except those of rank 0, with a new first axis of parts. */
  parts: Tensor[];
  /** Rows of a part. */
  most: number;
  /** How many parts, the first ones, have one row less; the last row that they have here is the first of the next part. */
  few: number;
  /** Rows of the batch. */
  rows: number;
  join: (parts: readonly Tensor[]) => readonly unknown[];
}

/** Cuts the batch into n parts along axis 0; those of option blocks need not be equal. */
function cut(batch: readonly unknown[], n: number, option: 'accumulate' | 'blocks'): Cut {
  const { tensors, shape } = flatten(batch, 'trainStep');
  const parts: Tensor[] = [];
  const rows = tensors.find((t) => t.ndim)?.shape[0] ?? 0;
  const most = Math.ceil(rows / n);
  const few = option === 'blocks' ? n * most - rows : 0;
  tensors.forEach((t, i) => {
    const [own, ...others] = t.shape;
    if (own === undefined) return;
    if (few ? own !== rows : own % n)
      throw new ShapeError('trainStep', `batch ${tensorNames(shape, argumentName)[i]} ${shapeText(t.shape)} does not divide into ${n} parts`, {
        shapes: [t.shape],
        hint: `option ${option} cuts axis 0 of every tensor of the batch`,
      });
    const all = few ? t.take(Array.from({ length: n * most }, (_, row) => row - Math.min((row / most) | 0, few))) : t;
    parts.push(all.reshape([n, Math.ceil(own / n), ...others]));
  });
  const join = (own: readonly Tensor[]): readonly unknown[] => {
    let next = 0;
    return rebuild(shape, tensors.map((t) => (t.ndim === 0 ? t : own[next++]!))) as unknown[];
  };
  return { parts, most, few, rows, join };
}

/** What the loop over parts carries, and what it returns for each. */
type Carry = { sums: unknown; state: unknown };
type Each = { loss: Tensor; aux: unknown };
type Parts = (round: (carry: Carry, x: [Tensor[], Tensor]) => [Carry, Each], init: Carry, xs: unknown) => [Carry, Each];

/** The means over n parts of a batch, in a loop that has the state and the sums as its carry. */
function byParts(differentiate: Differentiate, n: number): Differentiate {
  return (params, batch, { state, key }, scale) => {
    const { parts, join } = cut(batch, n, 'accumulate');
    const zero = map((p) => zeros(p.shape, { dtype: accumulatorOf(p.dtype) }), params);
    const round = (carry: Carry, [own, i]: [Tensor[], Tensor]): [Carry, Each] => {
      const context = { state: carry.state ?? undefined, key: key && foldIn(key, i) };
      const made = differentiate(params, join(own), context, scale);
      const sums = map((sum, g) => sum.add(g!), carry.sums, made.grads);
      return [{ sums, state: made.state ?? null }, { loss: made.loss, aux: made.aux ?? null }];
    };
    const xs = [parts, arange(0, n, 1, { dtype: 'int32' })];
    const [end, each] = (scan as unknown as Parts)(round, { sums: zero, state: state ?? null }, xs);
    const grads = map((sum, p) => sum.div(n).astype(p!.dtype), end.sums, params);
    return { loss: each.loss.mean(), grads, state: end.state ?? undefined, aux: each.aux ?? undefined };
  };
}

/** sums: gradients and state, weighted by the block's rows if blocks are not equal. */
type Block = { sums: [unknown, unknown]; loss: Tensor; aux: unknown };
type Choice = (pred: Tensor, onTrue: () => Block, onFalse: () => Block) => Block;
type Blocks = (round: (carry: null, x: [Tensor[], Tensor]) => [null, Block], init: null, xs: unknown) => [null, Block];

/**
 * The means over n blocks of a batch. Blocks do not depend on each other, so several processes may share them. Blocks that
 * are not equal are weighted by their rows; one without rows computes a row with weight 0, so that it can be shared as
 * well.
 */
function byBlocks(differentiate: Differentiate, n: number): Differentiate {
  return (params, batch, { state, key }, scale) => {
    const { parts, most, few, rows, join } = cut(batch, n, 'blocks');
    const round = (_: null, [own, i]: [Tensor[], Tensor]): [null, Block] => {
      const block = (count: number) => (): Block => {
        const some = few ? own.map((t) => t.at({ end: count || 1 }).get()) : own;
        const made = differentiate(params, join(some), { state, key: key && foldIn(key, i) }, scale);
        const times = (t: Tensor): Tensor => (few ? t.mul(count) : t);
        const sum = (t: Tensor): Tensor => (isFloat(t.dtype) ? times(t.astype(accumulatorOf(t.dtype))) : t);
        return { sums: map(sum, [made.grads, made.state ?? null]), loss: times(made.loss), aux: made.aux ?? null };
      };
      return [null, few ? (cond as unknown as Choice)(i.less(few), block(most - 1), block(most)) : block(most)()];
    };
    const numbers = arange(0, n, 1, { dtype: 'int32' });
    const [, { sums, loss, aux }] = (scan as unknown as Blocks)(round, null, map((t) => t.shard(), [parts, numbers]));
    const count = few ? rows : n;
    const mean = (t: Tensor, like: Tensor | undefined): Tensor =>
      isFloat(t.dtype) ? t.allReduce().div(count).astype(like!.dtype) : t.allGather().at(-1).get();
    const [grads, next] = map(mean, sums, [params, state ?? null]);
    return { loss: loss.allGather().sum().div(count), grads, state: next ?? undefined, aux: map((t) => t.allGather(), aux) ?? undefined };
  };
}

/** The gradients, scaled so that their common norm is at most limit. */
function clipped(grads: unknown, limit: number): unknown {
  const { tensors, shape } = flatten(grads, 'trainStep');
  return rebuild(shape, clipByGlobalNorm(tensors, limit));
}

const STEP: OptionSchema<StepOptions> = { ...COMPILE, accumulate: 'integer', blocks: 'integer', clipNorm: 'number', precision: 'any' };

/** The optimizer, whose updates clip their gradients first. */
const clippedFirst = (optimizer: Optimizer, limit: number): Optimizer => ({
  lr: optimizer.lr,
  init: (params) => optimizer.init(params),
  update: (grads, state, params, lr) => optimizer.update(clipped(grads, limit), state, params, lr),
});

/**
 * step = trainStep((params, ...batch) => loss, optimizer); state = step.init(params);
 * ({ state, loss } = step(state, ...batch)). The learning rate may change between steps (set optimizer.lr): it is an input
 * of the program, not part of it.
 *
 * After the batch the loss gets { state, key }: the state of modules that have one, and a key of this step. Both begin in
 * step.init(params, { state, key }). The loss function returns the loss, or [loss, { state, aux }] with the state for the
 * next step and anything else that the step is to return: ({ state, loss, aux } = step(state, ...batch)).
 *
 * A loss of NaN is no error: the step returns it, with a state that can be used further, whose parameters are NaN where the
 * gradient was. Keep copies (sn.tree.map) to go back to.
 */
export function trainStep<L extends AnyLoss>(
  loss: L,
  optimizer: Optimizer,
  options?: StepOptions,
): TrainStep<Parameters<L>[0], Batch<RestOf<L>>, StateOf<RestOf<L>>, AuxOf<ReturnType<L>>>;
export function trainStep(loss: AnyLoss, optimizer: Optimizer, options?: StepOptions): unknown {
  checkFunction('trainStep', loss, 'trainStep((params, ...batch) => loss, optimizer)');
  checkOptimizer('trainStep', optimizer);
  const { accumulate = 1, blocks, clipNorm, precision = 'float32', ...compiling } = readOptions('trainStep', options, STEP);
  checkInteger('trainStep', 'accumulate', accumulate, 1);
  if (blocks !== undefined) checkInteger('trainStep', 'blocks', blocks, 1);
  checkPrecision('trainStep', precision);
  const whole = wholeBatch(loss);
  const block = accumulate === 1 ? whole : byParts(whole, accumulate);
  const differentiate = blocks === undefined ? block : byBlocks(block, blocks);
  const updating = clipNorm === undefined ? optimizer : clippedFirst(optimizer, clipNorm);
  const inner = precision === 'float32' ? updating : withMasters(updating, precision);
  const run = compiledFunction(
    'trainStep',
    (given: TrainState<unknown>, lr: PerOptimizer<Tensor>, _schedule: unknown, ...batch: unknown[]) => {
      const { params, optimizer: memory, state, key } = given;
      const context = { state, key: key && foldIn(key, stepsOf(memory)) } as StepContext;
      const made = recordedIn('trainStep', precision, () => differentiate(params, batch, context, scaleOf(memory)));
      const next = inner.update(made.grads, memory, params, lr);
      const kept = state === undefined ? given : { ...given, state: unlessSkipped(memory, next.state, made.state, state) };
      return { state: { ...kept, params: next.params, optimizer: next.state }, loss: made.loss, aux: made.aux };
    },
    { ...compiling, donate: 0, excess: precision !== 'float32' },
    (i) => ['state', 'lr', 'the schedule'][i] ?? `batch argument ${i - 3}`,
  );

  /** Calls f with the arguments of run: state, rates, schedules, batch. Tensors made for the rates are disposed of after it. */
  const given = <T>(state: TrainState<unknown>, batch: unknown[], f: (...args: Parameters<typeof run>) => T): T => {
    checkState('trainStep', state);
    checkMasters(state.optimizer, precision);
    const own: Tensor[] = [];
    try {
      const rates = perOptimizer(optimizer, (lr) => lrTensor(lr, own));
      // A schedule is part of the program, and so of the key under which the program is found again.
      const schedule = perOptimizer(optimizer, (lr) => (typeof lr === 'function' ? lr : null));
      return unlessUsedUp('trainStep', state, () => f(state, rates, schedule, ...batch));
    } finally {
      // A step within a trace may have returned the rate; tensors made there are disposed of when the trace ends.
      if (!isTracing()) for (const rate of own) rate.dispose();
    }
  };
  const step = (state: TrainState<unknown>, ...batch: unknown[]): unknown => given(state, batch, run);

  return Object.defineProperties(step, {
    compile: { value: async (state: TrainState<unknown>, ...batch: unknown[]): Promise<void> => given(state, batch, run.compile) },
    init: {
      value: (params: unknown, options?: InitStateOptions<unknown>): TrainState<unknown> =>
        tidy(() => {
          const { state, key } = readOptions('trainStep.init', options, { state: 'any', key: 'any' });
          if (key !== undefined) foldIn(key, 0); // refuses what is no key
          const more = { ...(state !== undefined && { state }), ...(key && { key }) };
          const { device: where = 'cpu' } = compiling;
          const device = where === 'auto' ? 'cpu' : checkDevice('trainStep', where);
          const there = (t: Tensor): Tensor => copy(t, device);
          const memory = map(there, inner.init(params));
          const own = map((p) => there(stored(p, precision)), params);
          return { params: own, optimizer: memory, ...map(there, more) };
        }),
    },
    ...READERS,
    export: {
      value: (state: TrainState<unknown>, ...batch: unknown[]): Uint8Array<ArrayBuffer> =>
        given(state, batch, (...all) => withProgram('export', run, all, (made) => exportStep(made, precision))),
    },
    tuning: { value: (state: TrainState<unknown>, ...batch: unknown[]): Tuning | null => given(state, batch, run.tuning) },
    cacheSize: { get: () => run.cacheSize },
    dispose: { value: () => run.dispose() },
  });
}

export interface EvalStep<P, B extends readonly unknown[], S, R> {
  /** Calls f on the state and the batch; the state is not used up. */
  (state: TrainState<P, S>, ...batch: B): R;
  /** Compiles for arguments like these without blocking a page: see jit. */
  compile(state: TrainState<P, S>, ...batch: B): Promise<void>;
  /** Programs compiled so far: one per kind of batch. */
  readonly cacheSize: number;
  /** Releases the programs. */
  dispose(): void;
}

/**
 * evaluate = evalStep((params, ...batch, { state }) => metrics): compiles a function of a training state and a batch, which
 * returns what f does, a tree of tensors. evaluate({ ...state, params: state.optimizer.average }, ...batch) evaluates the
 * averages that optim.ema keeps.
 */
export function evalStep<P, R extends readonly unknown[], M>(
  f: (params: P, ...rest: R) => M,
  options?: CompileOptions,
): EvalStep<P, Batch<R>, StateOf<R>, M> {
  checkFunction('evalStep', f, 'evalStep((params, ...batch) => metrics)');
  const run: Jitted<unknown[], M> = compiledFunction(
    'evalStep',
    (params: unknown, state: unknown, ...batch: unknown[]) => f(params as P, ...([...batch, { state }] as unknown as R)),
    readOptions('evalStep', options, COMPILE),
    (i) => ['params', 'state'][i] ?? `batch argument ${i - 2}`,
  );
  const given = <T>(state: TrainState<P>, batch: unknown[], f: (...args: unknown[]) => T): T => {
    checkState('evalStep', state);
    return f(state.params, state.state, ...batch);
  };
  const step = (state: TrainState<P>, ...batch: unknown[]): M => given(state, batch, run);
  return Object.defineProperties(step, {
    compile: { value: async (state: TrainState<P>, ...batch: unknown[]): Promise<void> => given(state, batch, run.compile) },
    cacheSize: { get: () => run.cacheSize },
    dispose: { value: () => run.dispose() },
  }) as unknown as EvalStep<P, Batch<R>, StateOf<R>, M>;
}
