// Training steps as bytes: step.export(state, ...batch) and importStep(bytes). The core saves the program, the values of
// the state and the paths of all inputs (sn_step_save); the trees of state, batch and aux are added here as its note.
//
// As in saved.ts nothing that is loaded is trusted: trees must be trees, with as many tensors as the program has.

import { asTensor } from './apply.js';
import { SinterError, UnsupportedError, damagedError } from './errors.js';
import type { MadeProgram } from './jit.js';
import type { PrecisionReport } from './optim/masters.js';
import type { Precision } from './precision.js';
import type { LoadedProgram, Program } from './program.js';
import { flatten, rebuild, shapeKey, tensorCount, tensorPaths, type TreeShape } from './pytree.js';
import { parseNote, readProgram } from './saved.js';
import { loadTree, saveTree } from './savedtree.js';
import { keep, tidy } from './scope.js';
import type { Tensor } from './tensor.js';
import { isTracing } from './trace.js';
import { READERS, checkState, unlessUsedUp, type StepResult, type TrainState } from './trainstate.js';

/** A training step that was exported: for batches of the same structure and shapes. */
export interface ImportedStep<P, B extends readonly unknown[], S = unknown, A = unknown> {
  /** One step. The tensors of the given state are used up; loss is the one before the update. */
  (state: TrainState<P, S>, ...batch: B): StepResult<P, S, A>;
  /** The state that it was exported with. */
  init(): TrainState<P, S>;
  /** The parameters of a state, not copied: valid until the next step uses them up. */
  params(state: TrainState<P, S>): P;
  /** The state of the modules, not copied: valid until the next step uses it up. */
  state(state: TrainState<P, S>): S;
  /** For a step with option precision: the scale of the loss, how many steps were skipped for a gradient that was not
   *  finite, and the number of all steps. */
  precision(state: TrainState<P, S>): PrecisionReport;
  /** Releases the program; calls then fail. */
  dispose(): void;
}

/* ---- writing ---- */

/** Trees of the arguments and results of a step, by their names in its program. */
interface Trees {
  state: TreeShape;
  rates: TreeShape;
  batch: TreeShape;
  aux: TreeShape;
}

/** The trees of a step as train.ts makes it: of (state, rates, schedule, ...batch) it makes { aux, loss, state }. */
function treesOf(args: TreeShape, result: TreeShape): Trees {
  const [state, rates, , ...batch] = (args as { items: TreeShape[] }).items;
  const [aux, , next] = (result as { items: TreeShape[] }).items;
  if (shapeKey(next!) !== shapeKey(state!))
    throw new SinterError('argument', 'export', 'the step returns a state of another structure than it is given');
  return { state: state!, rates: rates!, batch: { kind: 'array', items: batch }, aux: aux! };
}

/** The bytes of a step that was made for a state and a batch. */
export function exportStep({ program, tensors, args, result }: MadeProgram, precision: Precision): Uint8Array<ArrayBuffer> {
  const { state, rates, batch, aux } = treesOf(args, result);
  const paths = [...tensorPaths(state), ...tensorPaths(rates, 'lr'), ...tensorPaths(batch, 'batch')];
  if (paths.some((path) => path.includes('\0'))) throw new SinterError('argument', 'export', 'a key of the state has a NUL in it');
  const [states, all] = [tensorCount(state), tensorCount(state) + tensorCount(rates)];
  const save = (tree: TreeShape): unknown => saveTree('export', tree);
  const note = JSON.stringify({ state: save(state), batch: save(batch), aux: save(aux) });
  return program.saveStep({ values: tensors.slice(0, all), states, paths, precision }, note);
}

/* ---- reading ---- */

interface Imported extends Omit<Trees, 'rates'> {
  program: Program;
  /** How many tensors the state has; all: the state and the rates. */
  states: number;
  all: number;
}

function readStep({ program, note, inputs, outputs, states, rates }: LoadedProgram): Imported {
  const op = 'importStep';
  if (states === null)
    throw new SinterError('argument', op, 'these bytes are no training step', { hint: 'sn.load(bytes) loads a function that was saved' });
  const saved = parseNote(op, note);
  const [state, batch, aux] = [saved['state'], saved['batch'], saved['aux']].map((tree) => loadTree(op, tree)) as [TreeShape, TreeShape, TreeShape];
  if (tensorCount(state) !== states || tensorCount(batch) !== inputs - states - rates || tensorCount(aux) !== outputs - states - 1)
    throw damagedError(op, 'the trees are those of another program');
  return { program, states, all: states + rates, state, batch, aux };
}

/** What an imported step holds. */
interface Held {
  program: Program;
  rates: readonly Tensor[];
}

function release({ program, rates }: Held): void {
  program.release();
  for (const rate of rates) rate.dispose();
}

const collected = new FinalizationRegistry<Held>(release);

/**
 * The step that step.export(state, ...batch) has made bytes of, in this process or another one. Nothing is traced, and no
 * pass runs. In the same numeric mode it trains to the same bits. Throws a SinterError for bytes that are damaged, or of
 * another version of Sinter.
 */
export function importStep<P = unknown, B extends readonly unknown[] = unknown[], S = unknown, A = unknown>(
  bytes: Uint8Array | ArrayBuffer,
): ImportedStep<P, B, S, A> {
  const op = 'importStep';
  const { program, states, all, ...trees } = readProgram(op, bytes, readStep);
  const rates = tidy(() => program.stepValues(all).slice(states)).map(keep);
  const [ofState, ofBatch] = [shapeKey(trees.state), shapeKey(trees.batch)];

  const run = (state: TrainState<P, S>, batch: B, own: Tensor[]): StepResult<P, S, A> => {
    const given = flatten(state, op);
    const items = flatten(batch, op, (array) => {
      own.push(asTensor(array, op));
      return own.at(-1)!;
    });
    for (const [name, shape, expected] of [['state', given.shape, ofState], ['batch', items.shape, ofBatch]] as const) {
      if (shapeKey(shape) !== expected)
        throw new SinterError('argument', op, `the ${name} differs in structure or static values from the exported one`);
    }
    const made = program.run([...given.tensors, ...rates, ...items.tensors]);
    for (const t of given.tensors) t.donated();
    const [aux, [loss, ...next]] = [made.slice(0, -states - 1), made.slice(-states - 1)];
    return { state: rebuild(trees.state, next) as TrainState<P, S>, loss: loss!, aux: rebuild(trees.aux, aux) as A };
  };
  const step = (state: TrainState<P, S>, ...batch: B): StepResult<P, S, A> => {
    if (isTracing()) throw new UnsupportedError(op, 'an imported step cannot be part of a function that is traced');
    checkState(op, state);
    const own: Tensor[] = [];
    try {
      return unlessUsedUp(op, state, () => run(state, batch, own));
    } finally {
      for (const t of own) t.dispose();
    }
  };
  const held = { program, rates };
  const imported = Object.defineProperties(step, {
    init: { value: () => tidy(() => rebuild(trees.state, program.stepValues(all).slice(0, states))) },
    ...READERS,
    dispose: { value: () => release(held) },
  }) as ImportedStep<P, B, S, A>;
  collected.register(imported, held);
  return imported;
}
