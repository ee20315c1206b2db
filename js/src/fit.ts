// fit: a training loop that does not block a page, can be stopped at any time, and can be continued anywhere.
//
// A step is handed to the workers, and while it runs the loop has its next batch loaded; the loss of a step is read when
// the next one is under way. Invariant: the state at hand is the one after the last step that was handed over, and the
// place beside it is that of the next batch. Both leave the loop in every case, by the result or in a FitError.

import { checkFunction, checkInteger, shown } from './check.js';
import { Dataset, from, type ItemSource, type Pass, type Place } from './data/dataset.js';
import { OutOfMemoryError, SinterError, named, type ErrorCode } from './errors.js';
import { zeros } from './functions.gen.js';
import { inspect } from './inspect.js';
import { itemBytes } from './io/elements.js';
import { snapshot } from './io/snapshot.js';
import { readOptions, type OptionSchema } from './options.js';
import { dispose, flatten, rebuild, tensorsWithin } from './pytree.js';
import { runtime } from './runtime/runtime.js';
import { nextTurn } from './runtime/turns.js';
import { tidy } from './scope.js';
import { Tensor } from './tensor.js';
import type { Global } from './runtime/loader.js';

/** How far a run has come: plain numbers, which saveState carries. */
export interface FitPlace extends Place {
  /** Steps so far. */
  steps: number;
  /** The sum of the losses of this pass's steps so far. */
  lossSum: number;
  /** For earlyStopping: the best loss so far, and the epochs since. */
  best: number;
  waited: number;
}

/** All that a run needs to be continued. `checkpoint` saves it; it is loaded in the form of { state: step.init(...),
 *  place: fitStart }. */
export interface FitCheckpoint<S> {
  state: S;
  place: FitPlace;
}

export interface StepReport<A = unknown> {
  /** Steps so far, this one included. */
  step: number;
  epoch: number;
  loss: number;
  /** What the step returned besides state and loss; disposed of when onStep has ended. */
  aux: A;
  stepsPerSecond: number;
  /** Estimated seconds to the end of all epochs; null where the size of the data is not known. */
  timeLeft: number | null;
}

export interface EpochReport<S> {
  epoch: number;
  /** The mean loss of its steps. */
  loss: number;
  validationLoss: number | null;
  /** The state after the epoch. To be read only: the next step uses it up. */
  state: S;
}

type Result<S> = { state: S; loss: Tensor; aux?: unknown };

export interface FitOptions<S> {
  /** How many times the run goes through the data; default 1. */
  epochs?: number;
  /** Runs after each epoch: step(state, ...batch) returns the loss of a batch, or { loss }, and does not change the state. */
  validation?: { data: Dataset<unknown> | ItemSource<unknown>; step: (state: S, ...batch: any[]) => Tensor | { loss: Tensor } };
  /** Ends the run after the step under way; fit then resolves with the last state. */
  signal?: Global<'AbortSignal'>;
  /** Called after every step, when its loss is known; may be async. */
  onStep?: (report: StepReport) => unknown;
  /** Called after every epoch; may be async. */
  onEpoch?: (report: EpochReport<S>) => unknown;
  /** Ends the run when the validation loss, or without validation the loss of the epoch, was not lower than the best so
   *  far by more than minDelta (default 0) for `patience` epochs. */
  earlyStopping?: { patience: number; minDelta?: number };
  /** Saves state and place to slots or by a function of bytes: after `every` steps, by default after each epoch, and
   *  when the run ends. */
  checkpoint?: { to: { write(bytes: Uint8Array): Promise<void> } | ((bytes: Uint8Array) => unknown); every?: number };
  /** Where to continue: the place of a checkpoint or of an earlier result. */
  place?: Partial<FitPlace>;
}

export interface FitResult<S> {
  /** The state after the last step. */
  state: S;
  place: FitPlace;
  /** The mean loss of the last whole epoch's steps; null if there was none. */
  loss: number | null;
  validationLoss: number | null;
  /** Why the run ended. */
  stopped: 'end' | 'aborted' | 'early';
}

/** A failure in fit, with all that the run had reached. */
export class FitError<S = unknown> extends SinterError {
  static {
    named(this, 'FitError');
  }
  /** The state after the last step that was begun: usable, unless a worker died. */
  readonly state: S;
  readonly place: FitPlace;

  constructor(code: ErrorCode, text: string, { state, place }: FitCheckpoint<S>, cause?: unknown) {
    super(code, 'fit', text, { cause, hint: 'state and place of this error go on' });
    this.state = state;
    this.place = place;
  }
}

/** Where a run begins. */
export const fitStart: Readonly<FitPlace> = Object.freeze({ pass: 0, index: 0, steps: 0, lossSum: 0, best: Infinity, waited: 0 });

const FIT: OptionSchema<FitOptions<unknown>> = {
  epochs: 'integer', validation: 'object', signal: 'any', onStep: 'function', onEpoch: 'function',
  earlyStopping: 'object', checkpoint: 'object', place: 'object',
};
const EARLY: OptionSchema<NonNullable<FitOptions<unknown>['earlyStopping']>> = { patience: 'integer', minDelta: 'number' };
const CHECKPOINT: OptionSchema<NonNullable<FitOptions<unknown>['checkpoint']>> = { to: 'any', every: 'integer' };
const PLACE = Object.fromEntries(Object.keys(fitStart).map((name) => [name, 'number'])) as OptionSchema<FitPlace>;
const VALIDATION: OptionSchema<NonNullable<FitOptions<unknown>['validation']>> = { data: 'any', step: 'function' };

const BATCH_SIZE: OptionSchema<BatchSizeOptions<unknown>> = { state: 'any', batch: 'any', most: 'integer', multipleOf: 'integer' };

/** Milliseconds after which the event loop has a turn, even where nothing has to be waited for. */
const TURN_MS = 8;
/** The run fails after so many losses of NaN in a row: they do not become better. */
const NANS = 2;

const asDataset = (data: unknown): Dataset<unknown> => (data instanceof Dataset ? data : from(data as ItemSource<unknown>));
const batchOf = (item: unknown): unknown[] => (Array.isArray(item) ? item : [item]);

const hasLoss = (made: unknown): made is { loss: Tensor } => (made as { loss?: unknown } | undefined)?.loss instanceof Tensor;

/** Has a step compiled for a batch, in slices between turns of the event loop, when a kind of batch is met first. Null
 *  if there is nothing to wait for. */
function compileFor(step: unknown, state: unknown, batch: readonly unknown[], kinds: Set<string>): Promise<void> | null {
  const { compile } = step as { compile?: (state: unknown, ...batch: unknown[]) => Promise<void> };
  const kind = tensorsWithin(batch).map((t) => t.meta.key).join();
  if (!compile || kinds.has(kind)) return null;
  kinds.add(kind);
  return compile(state, ...batch);
}

/** Returns what a step made. Throws if it is not what is expected of a step, and disposes of it then. */
function checkMade<T>(made: T, isExpected: boolean, expected: string): T {
  if (isExpected) return made;
  dispose(made);
  throw new SinterError('argument', 'fit', `the step returned ${shown(made)}, expected ${expected}`);
}

/** The part of an AbortSignal that is used here. */
interface Signal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options?: { once: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** The next item, or null if the signal comes first; then the item is disposed of when it comes. */
async function nextItem(items: Pass<unknown>, signal: Signal | undefined): Promise<IteratorResult<unknown, undefined> | null> {
  if (signal?.aborted) return null;
  const next = items.next();
  if (!signal) return next;
  let stop = (): void => {};
  const aborted = new Promise<null>((resolve) => signal.addEventListener('abort', (stop = () => resolve(null)), { once: true }));
  try {
    const first = await Promise.race([next, aborted]);
    if (first === null) void next.then(({ value }) => dispose(value), () => {});
    return first;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A step under way, of which the loss was not read yet. */
interface Pending {
  loss: Tensor;
  aux: unknown;
  step: number;
}

class Run<S> {
  state: S;
  readonly place: FitPlace;
  loss: number | null = null;
  validationLoss: number | null = null;
  readonly #step: (state: S, ...batch: unknown[]) => Result<S>;
  readonly #options: FitOptions<S>;
  readonly #data: Dataset<unknown>;
  readonly #epochs: number;
  /** Kinds of batches (dtypes and shapes) met so far. */
  readonly #kinds = new Set<string>();
  readonly #validationKinds = new Set<string>();
  #pending: Pending | null = null;
  #nans = 0;
  /** Settles when the last checkpoint is written. */
  #writing: Promise<unknown> = Promise.resolve();
  /** Steps of the checkpoint saved last. */
  #saved = -1;
  #turn = performance.now();
  readonly #begin = performance.now();
  readonly #first: number;

  constructor(step: (state: S, ...batch: unknown[]) => Result<S>, state: S, data: Dataset<unknown>, options: FitOptions<S>) {
    this.#step = step;
    this.state = state;
    this.#data = data;
    this.#options = options;
    this.#epochs = options.epochs ?? 1;
    this.place = { ...fitStart, ...options.place };
    this.#first = this.place.steps;
  }

  get #isAborted(): boolean {
    return (this.#options.signal as Signal | undefined)?.aborted ?? false;
  }

  async run(): Promise<FitResult<S>['stopped']> {
    const { place } = this;
    while (place.pass < this.#epochs) {
      if (!(await this.#pass())) return 'aborted';
      const validationLoss = await this.#validate();
      if (this.#isAborted) return 'aborted'; // a run that goes on from here begins with the validation
      const loss = place.lossSum / place.index;
      [this.loss, this.validationLoss] = [loss, validationLoss];
      [place.pass, place.index, place.lossSum] = [place.pass + 1, 0, 0];
      const stops = this.#notBetter();
      await this.#options.onEpoch?.({ epoch: place.pass - 1, loss, validationLoss: this.validationLoss, state: this.state });
      if (this.#options.checkpoint && this.#options.checkpoint.every === undefined) await this.#save();
      if (stops) return 'early';
    }
    return 'end';
  }

  /** Ends the run: waits for the step under way, then saves a last checkpoint. */
  async finish(): Promise<void> {
    await this.#settle();
    if (this.#options.checkpoint && this.#saved !== this.place.steps) await this.#save();
    await this.#writing;
  }

  /** After a failure: adds the loss of the step under way to the place, but does not report it. */
  async abandon(): Promise<void> {
    const last = this.#pending;
    this.#pending = null;
    if (!last) return;
    await last.loss.data().then(([value]) => (this.place.lossSum += value!), () => {});
    dispose([last.loss, last.aux]);
  }

  /** Trains on the rest of a pass. Returns false if the signal ended it. */
  async #pass(): Promise<boolean> {
    const { place } = this;
    const items = this.#data.start({ pass: place.pass, index: place.index });
    const every = this.#options.checkpoint?.every;
    try {
      for (;;) {
        const next = await nextItem(items, this.#options.signal as Signal | undefined);
        if (!next) return false;
        if (next.done) break;
        await this.#take(next.value);
        if (every && place.steps % every === 0) await this.#save();
        if (performance.now() - this.#turn > TURN_MS) {
          await nextTurn();
          this.#turn = performance.now();
        }
      }
      await this.#settle();
      return !this.#isAborted;
    } finally {
      void items.return().catch(() => {});
    }
  }

  /** Starts a step on an item, and reports the step before, which it waits for. */
  async #take(item: unknown): Promise<void> {
    const { place } = this;
    const batch = batchOf(item);
    let made: Result<S>;
    try {
      await compileFor(this.#step, this.state, batch, this.#kinds);
      made = runtime().asynchronously(() => this.#step(this.state, ...batch));
    } finally {
      dispose(item);
    }
    checkMade(made, hasLoss(made) && 'state' in made, '{ state, loss }, the loss a tensor');
    this.state = made.state;
    place.index++;
    place.steps++;
    const before = this.#pending;
    this.#pending = { loss: made.loss, aux: made.aux, step: place.steps };
    await this.#report(before);
  }

  async #settle(): Promise<void> {
    const last = this.#pending;
    this.#pending = null;
    await this.#report(last);
  }

  /** Waits for the loss of a step and passes it to onStep. */
  async #report(pending: Pending | null): Promise<void> {
    if (!pending) return;
    const { loss, aux, step } = pending;
    const { place } = this;
    try {
      const value = (await loss.data())[0]!;
      place.lossSum += value;
      this.#nans = Number.isNaN(value) ? this.#nans + 1 : 0;
      if (this.#nans === NANS) throw new SinterError('argument', 'fit', `the loss is NaN in ${NANS} steps running`);
      if (!this.#options.onStep) return;
      const stepsPerSecond = ((step - this.#first) / (performance.now() - this.#begin)) * 1000;
      const { size } = this.#data;
      const timeLeft = size === null ? null : (this.#epochs * size - (place.pass * size + place.index)) / stepsPerSecond;
      await this.#options.onStep({ step, epoch: place.pass, loss: value, aux, stepsPerSecond, timeLeft });
    } finally {
      dispose([loss, aux]);
    }
  }

  async #validate(): Promise<number | null> {
    const { validation } = this.#options;
    if (!validation) return null;
    let [sum, count] = [0, 0];
    const items = asDataset(validation.data).start();
    try {
      for (let next = await items.next(); !next.done; next = await items.next()) {
        if (this.#isAborted) break;
        const batch = batchOf(next.value);
        await compileFor(validation.step, this.state, batch, this.#validationKinds);
        const made = runtime().asynchronously(() => tidy(() => validation.step(this.state, ...batch)));
        dispose(next.value);
        checkMade(made, made instanceof Tensor || hasLoss(made), 'the loss, a tensor, or { loss }');
        const loss = made instanceof Tensor ? made : made.loss;
        try {
          sum += (await loss.data())[0]!;
          count++;
        } finally {
          dispose(made);
        }
      }
    } finally {
      void items.return().catch(() => {});
    }
    return count ? sum / count : null;
  }

  #notBetter(): boolean {
    const { earlyStopping } = this.#options;
    if (!earlyStopping) return false;
    const { place } = this;
    const now = this.validationLoss ?? this.loss!;
    const isBetter = now < place.best - (earlyStopping.minDelta ?? 0);
    [place.best, place.waited] = isBetter ? [now, 0] : [place.best, place.waited + 1];
    return place.waited >= earlyStopping.patience;
  }

  /** Copies state and place to bytes, which are written while training goes on, one checkpoint after the other. After a
   *  loss of NaN nothing is saved, so that the last good checkpoint stays. */
  async #save(): Promise<void> {
    await this.#settle();
    if (this.#nans) return;
    await this.#writing;
    this.#saved = this.place.steps;
    const bytes = await snapshot({ state: this.state, place: this.place });
    const { to } = this.#options.checkpoint!;
    this.#writing = Promise.resolve(typeof to === 'function' ? to(bytes) : to.write(bytes));
    this.#writing.catch(() => {}); // the next save, or finish, throws it
  }
}

function checkOptions<S>(given: FitOptions<S> | undefined): FitOptions<S> {
  const op = 'fit';
  const options = readOptions<FitOptions<S>>(op, given, FIT as OptionSchema<FitOptions<S>>);
  checkInteger(op, 'epochs', options.epochs ?? 1, 0);
  if (options.earlyStopping) checkInteger(op, 'earlyStopping.patience', readOptions(`${op}.earlyStopping`, options.earlyStopping, EARLY).patience, 1);
  if (options.checkpoint) {
    const { to, every = 1 } = readOptions(`${op}.checkpoint`, options.checkpoint, CHECKPOINT as OptionSchema<NonNullable<FitOptions<S>['checkpoint']>>);
    checkInteger(op, 'checkpoint.every', every, 1);
    if (typeof to !== 'function' && typeof (to as { write?: unknown } | undefined)?.write !== 'function')
      throw new SinterError('argument', op, `checkpoint.to is ${shown(to)}, expected slots or a function of bytes`, { hint: "await sn.io.openSlots('run')" });
  }
  if (options.validation) checkFunction(op, readOptions(`${op}.validation`, options.validation, VALIDATION as OptionSchema<NonNullable<FitOptions<S>['validation']>>).step, 'validation: { data, step }');
  if (options.place) readOptions(`${op}.place`, options.place, PLACE as OptionSchema<Partial<FitPlace>>);
  return options;
}

/**
 * Trains: calls step(state, ...batch) for every batch of the data, in each of the epochs. step: one that trainStep makes,
 * or a function like it. A batch is an array of arguments, or one argument; fit disposes of its tensors. The given state is
 * used up; the last one is in the result, also after an abort, and in the FitError that any failure becomes.
 */
export async function fit<S>(
  step: (state: S, ...batch: any[]) => Result<S>,
  state: S,
  data: Dataset<unknown> | ItemSource<unknown>,
  options?: FitOptions<S>,
): Promise<FitResult<S>> {
  checkFunction('fit', step, 'fit(step, state, data, { epochs })');
  const run = new Run<S>(step, state, asDataset(data), checkOptions(options));
  try {
    const stopped = await run.run();
    await run.finish();
    const { state: last, place, loss, validationLoss } = run;
    return { state: last, place: { ...place }, loss, validationLoss, stopped };
  } catch (cause) {
    await run.abandon();
    const { code } = cause instanceof SinterError ? cause : { code: 'argument' as const };
    const text = `step ${run.place.steps + 1}: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new FitError(code, text, { state: run.state, place: { ...run.place } }, cause);
  }
}

export interface BatchSizeOptions<S> {
  /** A training state, of which only structure, shapes and dtypes count. */
  state: S;
  /** A batch of any size, as the step takes it. Its tensors may differ from those of other sizes along the first axis only. */
  batch: readonly unknown[];
  /** The largest size to consider; default 65536. */
  most?: number;
  /** The size will be a multiple of this number: for a step with `accumulate`, of its number of parts. Default 1. */
  multipleOf?: number;
}

/**
 * How many items a batch may have so that a step takes at most `memory` bytes: for its intermediate results, as the
 * compiler plans them, and for the batch itself. Nothing is run. The step is compiled for up to some twenty sizes, and the
 * answer is at most 6 % below the largest that fits. Throws an OutOfMemoryError if the least batch does not fit.
 */
export function fitBatchSize<S>(step: (state: S, ...batch: any[]) => unknown, memory: number, options: BatchSizeOptions<S>): number {
  const op = 'fitBatchSize';
  checkFunction(op, step, 'fitBatchSize(step, bytes, { state, batch })');
  const { state, batch, most = 65536, multipleOf: part = 1 } = readOptions<BatchSizeOptions<S>>(op, options, BATCH_SIZE as OptionSchema<BatchSizeOptions<S>>);
  checkInteger(op, 'multipleOf', part, 1);
  checkInteger(op, 'most', most, part);
  if (!(memory >= 1)) throw new SinterError('argument', op, `${shown(memory)}, expected a number of bytes`);
  if (!Array.isArray(batch)) throw new SinterError('argument', op, `batch is ${shown(batch)}, expected an array of arguments`);
  const { tensors, shape } = flatten(batch, op);
  const bytesFor = (parts: number): number => tidy(() => {
    const sized = tensors.map((t) => (t.ndim ? zeros([parts * part, ...t.shape.slice(1)], { dtype: t.dtype }) : t));
    const inspection = inspect((...args: unknown[]) => step(...(args as [S])))(state, ...(rebuild(shape, sized) as unknown[]));
    inspection.dispose();
    return inspection.memory.arenaBytes + sized.reduce((sum, t) => sum + t.size * itemBytes(t.dtype), 0);
  });
  const last = Math.floor(most / part);
  const least = bytesFor(1);
  if (least > memory) throw new OutOfMemoryError(op, `a batch of ${part === 1 ? 'one' : part} takes ${least} bytes, more than ${memory}`);
  let fits = 1;
  let beyond = last + 1;
  while (fits < last && beyond > last) {
    const next = Math.min(2 * fits, last);
    if (bytesFor(next) <= memory) fits = next;
    else beyond = next;
  }
  while (beyond - fits > Math.max(1, fits / 16)) {
    const middle = (fits + beyond) >> 1;
    if (bytesFor(middle) <= memory) fits = middle;
    else beyond = middle;
  }
  return fits * part;
}
