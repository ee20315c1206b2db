// Cellular automata whose rule is a circuit of gates, trained through many steps.
//
// Grids are (channels, batch, height, width). Each perception kernel sees the 3 x 3 neighbourhood in one channel; its first
// layer pairs the cell itself with each of its 8 neighbours. All kernels are one chain of layers over rows (9, channels x
// cells), whose wires stay within a kernel. The update circuit reads the cell's own channels, then the kernels' outputs in rows
// (kernel output, channel). Its outputs are the next state of the cell.
//
// During the steps the grids of a batch are concatenated as rows, and each grid has its own copy of the gates: rows (grid, 9),
// (grid, gate). Grids do not depend on each other. The core gives a worker the same rows in each layer, so each worker has
// grids of its own, whose layers stay in its cache.

import * as sn from '../index.js';
import { ShapeError, SinterError, internals, type Tensor } from '../index.js';
import { chainCoefficients, initChain, runChain } from './chain.js';
import { gates, type CoefficientOptions, type GateCoefficients, type GateForm, type GateParams, type Gates, type GatesOptions, type HardOptions } from './gates.js';
import { randomWires, repeatedWires, type Wires } from './wires.js';

export type Boundary = 'zero' | 'wrap';

export interface Perception {
  /** How many kernels look at the neighbourhood. */
  kernels: number;
  /** The number of gates in each layer of a kernel. The first is 8: the cell with each neighbour. */
  layers: readonly number[];
}

export interface AutomatonOptions {
  channels: number;
  /** Default 16 kernels with [8, 4, 2] gates. */
  perception?: Perception;
  /** The number of gates in each layer; the last has one per channel. */
  update: readonly number[];
  /** [height, width] in training. */
  grid: readonly [number, number];
  /** What lies beyond the border: 'zero' (default), or the opposite side: 'wrap'. */
  boundary?: Boundary;
  /** Steps from the start to the target. */
  steps: number;
  /** Only a random share of the cells changes in each step: true for 60 %, or the share. Default false. */
  asynchronous?: boolean | number;
  /** Grids in an epoch. Default 1. */
  batch?: number;
  form?: GateForm;
  /** Seed of the wires. Default 0. */
  seed?: number;
  /** How strongly fresh gates tend to pass their first input on; see logic.gates. */
  residual?: number;
  /** The loss below which gates harden: they compute values between those of soft and of hard gates, the closer to hard ones
   *  the lower the last loss was, with the gradients of soft gates. So in the end soft and hard gates do the same. Default
   *  0.01. */
  harden?: number;
  /** In training, a random error of up to this size is added to each cell after each step. Information that gates would hide
   *  in values near 0 or 1, and that hard gates would lose, is lost at once. Default 0. */
  noise?: number;
  /** Makes the grids to start from, (channels, batch, height, width), from a key and their shape. Default: random bits. */
  start?: (key: Tensor, shape: readonly number[]) => Tensor;
  /** What the first channels should be after the steps, (known channels, batch, height, width), given the start. */
  target?: (start: Tensor) => Tensor;
  /** What happens to grids after the steps. As many further steps have to lead to the target again. */
  damage?: (grids: Tensor, key: Tensor) => Tensor;
  /** Default: AdamW as in the published automata. */
  optimizer?: sn.optim.Optimizer;
}

const SCHEMA: sn.internals.OptionSchema<AutomatonOptions> = {
  channels: 'integer',
  perception: 'object',
  update: 'any',
  grid: 'any',
  boundary: 'string',
  steps: 'integer',
  asynchronous: 'any',
  batch: 'integer',
  form: 'string',
  seed: 'integer',
  residual: 'number',
  harden: 'number',
  noise: 'number',
  start: 'function',
  target: 'function',
  damage: 'function',
  optimizer: 'any',
};

const ACCURACY: sn.internals.OptionSchema<AccuracyOptions> = { hard: 'boolean', key: 'tensor', grids: 'integer' };

export interface AutomatonParams {
  perception: GateParams[];
  update: GateParams[];
}

/** What an automaton keeps from its training. */
export interface Progress {
  /** The loss of the last epoch. */
  loss: Tensor;
}

export type AutomatonState = sn.TrainState<AutomatonParams, Progress>;

export interface RunOptions extends HardOptions {
  steps: number;
  /** Decides which cells of an asynchronous automaton change. Default random.key(0). */
  key?: Tensor;
}

export interface AccuracyOptions extends HardOptions {
  /** Decides the starts, and which cells change. Default random.key(0). */
  key?: Tensor;
  /** The number of grids. Default: as in an epoch. */
  grids?: number;
}

export interface Automaton {
  readonly channels: number;
  readonly boundary: Boundary;
  /** The share of the cells that change in a step. */
  readonly fire: number;
  readonly steps: number;
  readonly grid: readonly [number, number];
  readonly batch: number;
  /** Whether it has a target. */
  readonly hasTask: boolean;
  readonly perception: readonly Gates[];
  readonly update: readonly Gates[];
  /** A fresh state of training. */
  init(key: Tensor): AutomatonState;
  /** One epoch: makes fresh grids, runs the steps and updates the parameters. Consumes the state. */
  step(state: AutomatonState, key: Tensor): { state: AutomatonState; loss: Tensor };
  /** The share of the known cells that are right after the steps, on fresh grids. */
  accuracy(state: AutomatonState, options?: AccuracyOptions): Promise<number>;
  /** The history (steps + 1, channels, height, width) of a grid (channels, height, width) of any size, starting with the
   *  grid itself. */
  run(state: AutomatonState, grid: Tensor, options: RunOptions): Tensor;
  /** Fresh grids to start from, (channels, count, height, width), and the target for their first channels. */
  examples(key: Tensor, count: number): { start: Tensor; target: Tensor };
}

/** Options of fresh gates. */
type Fresh = Pick<GatesOptions, 'form' | 'residual'>;

/** The shape and wires of a layer, before its gates have parameters. */
interface Wired {
  /** Sizes of the parts that its inputs consist of. If there are several copies of the layer, equal parts of all copies lie
   *  together. */
  parts: readonly number[];
  outputs: number;
  wires: Wires;
}

const AROUND = [0, 1, 2, 3, 5, 6, 7, 8];

/** The first layer of all kernels. Its inputs are the rows of a neighbourhood. */
function firstLayer(kernels: number): Wired {
  const outputs = kernels * AROUND.length;
  return { parts: [9], outputs, wires: [Int32Array.from({ length: outputs }, () => 4), Int32Array.from({ length: outputs }, (_, i) => AROUND[i % 8]!)] };
}

/** The layers of all kernels, each kernel with its own wires. */
function perceptionOf(op: string, { kernels, layers }: Perception, seed: number): Wired[] {
  internals.checkInteger(op, 'perception.kernels', kernels, 1);
  const widths = internals.checkIntegers(op, 'perception.layers', layers, 1);
  if (widths[0] !== AROUND.length)
    throw new SinterError('argument', op, `perception.layers begins with ${widths[0]}, expected 8: the cell with each neighbour`);
  return widths.map((width, i) => {
    if (i === 0) return firstLayer(kernels);
    const inputs = widths[i - 1]!;
    const own = Array.from({ length: kernels }, (_, k) => randomWires(op, inputs, width, seed + 1000 * i + k));
    const side = (at: 0 | 1): Int32Array => Int32Array.from(own.flatMap((wires, k) => Array.from(wires[at], (wire) => k * inputs + wire)));
    return { parts: [kernels * inputs], outputs: kernels * width, wires: [side(0), side(1)] };
  });
}

/** The layers of the update circuit, with so many gates each. */
const updateOf = (op: string, seen: readonly number[], widths: readonly number[], seed: number): Wired[] =>
  widths.map((outputs, i) => {
    const parts = i === 0 ? seen : [widths[i - 1]!];
    return { parts, outputs, wires: randomWires(op, sumOf(parts), outputs, seed + i) };
  });

const sumOf = (list: readonly number[]): number => list.reduce((sum, n) => sum + n, 0);

/** Gates of the layers, with so many copies side by side. */
const layersOf = (chain: readonly Wired[], copies: number, fresh: Fresh): Gates[] =>
  chain.map(({ parts, outputs, wires }) =>
    gates({ ...fresh, inputs: copies * sumOf(parts), outputs: copies * outputs, wires: repeatedWires(wires, parts, copies) }));

/** The coefficients repeated for each copy. */
const repeated = (coefficients: readonly GateCoefficients[], copies: number): GateCoefficients[] =>
  coefficients.map(({ gates: four }) => ({ gates: four.map((c) => sn.concat(Array.from({ length: copies }, () => c))) }));

/** Frames a grid along an axis: the last cells before the first ones, and the first after the last. */
function wrapped(grids: Tensor, axis: number): Tensor {
  const last = grids.shape[axis]! - 1;
  const at = (place: number): Tensor => grids.take([place], { axis });
  return sn.concat([at(last), grids, at(0)], { axis });
}

/** The 3 x 3 neighbourhood of each cell, row-major: (batch, channels, height, width) -> (batch x 9, channels x cells). */
function windowsOf(grids: Tensor, boundary: Boundary): Tensor {
  const framed = boundary === 'zero' ? grids.pad([[0, 0], [0, 0], [1, 1], [1, 1]]) : wrapped(wrapped(grids, 2), 3);
  // This is one copy; nine slices and a concat would be nine steps of a program.
  return sn.windows(sn.windows(framed, 2, 3), 4, 3).transpose([0, 3, 5, 1, 2, 4]).reshape([9 * grids.shape[0]!, -1]);
}

/** The gates and coefficients for a step of a batch of grids. */
interface Rule {
  perception: { layers: Gates[]; coefficients: GateCoefficients[] };
  update: { layers: Gates[]; coefficients: GateCoefficients[] };
}

/** The random part of a step: which cells change (batch, 1, height, width), and the noise added to each (batch, channels,
 *  height, width). */
interface Chance {
  fires?: Tensor;
  noise?: Tensor;
}

const batchFirst = (grids: Tensor): Tensor => grids.transpose([1, 0, 2, 3]);

/** The share of cells that change in a step. */
function fireOf(op: string, asynchronous: unknown): number {
  if (typeof asynchronous === 'boolean') return asynchronous ? 0.6 : 1;
  if (typeof asynchronous === 'number' && asynchronous > 0 && asynchronous <= 1) return asynchronous;
  throw new SinterError('argument', op, `option asynchronous is ${internals.shown(asynchronous)}, expected true, false, or a share above 0, at most 1`);
}

/** How hard gates are, from 0 (soft) to 1: 0 from the loss `harden` up, 1 at a 36th of it. If they harden too early the loss
 *  rises, and they soften again. */
const hardnessAt = (loss: Tensor, harden: number): Tensor => sn.sub(1, loss.div(harden).sqrt()).mul(1.2).maximum(0).minimum(1);

/** An automaton of gates, with its training. */
export function automaton(options: AutomatonOptions): Automaton {
  const op = 'logic.automaton';
  const given = internals.readOptions(op, options, SCHEMA);
  const { channels, steps, boundary = 'zero', asynchronous = false, batch = 1, form = 'softmax', seed = 0, residual, harden = 0.01, noise = 0 } = given;
  if (!(harden > 0)) throw new SinterError('argument', op, `harden is ${harden}, expected a loss above 0`);
  if (!(noise >= 0 && noise < 0.5)) throw new SinterError('argument', op, `noise is ${noise}, expected 0 or more, below 0.5`);
  const fresh: Fresh = residual === undefined ? { form } : { form, residual };
  internals.checkInteger(op, 'channels', channels, 1);
  internals.checkInteger(op, 'steps', steps, 1);
  internals.checkInteger(op, 'batch', batch, 1);
  internals.checkChoice(op, 'boundary', boundary, ['zero', 'wrap']);
  const [height, width] = internals.checkIntegers(op, 'grid', given.grid, 1, 2) as [number, number];
  const fire = fireOf(op, asynchronous);
  const seers = perceptionOf(op, given.perception ?? { kernels: 16, layers: [8, 4, 2] }, seed);
  const widths = internals.checkIntegers(op, 'update', given.update, 1);
  if (widths.at(-1) !== channels)
    throw new ShapeError(op, `update ends with ${widths.at(-1)} gates, expected one for each of ${channels} channels`);
  const deciders = updateOf(op, [channels, channels * seers.at(-1)!.outputs], widths, seed + 1_000_000);
  const [perception, update] = [layersOf(seers, 1, fresh), layersOf(deciders, 1, fresh)];
  const { start = randomBits, target, damage } = given;

  const ruleOf = (params: AutomatonParams, copies: number, how: CoefficientOptions): Rule => ({
    perception: { layers: layersOf(seers, copies, fresh), coefficients: repeated(chainCoefficients(perception, params.perception, how), copies) },
    update: { layers: layersOf(deciders, copies, fresh), coefficients: repeated(chainCoefficients(update, params.update, how), copies) },
  });
  /** One step of all grids, (batch, channels, height, width). */
  const next = (rule: Rule, grids: Tensor, { fires }: Chance): Tensor => {
    const cells = grids.shape[2]! * grids.shape[3]!;
    const through = ({ layers, coefficients }: Rule['update'], rows: Tensor): Tensor => runChain(layers, coefficients, rows);
    const views = through(rule.perception, windowsOf(grids, boundary));
    const made = through(rule.update, sn.concat([grids.reshape([-1, cells]), views.reshape([-1, cells])])).reshape(grids.shape);
    return fires ? sn.where(fires, made, grids) : made;
  };
  /** The random part of `count` steps, drawn in advance: derivatives, which compute steps again, need not draw it again. */
  const chanceOf = (key: Tensor, count: number, [, copies, h, w]: readonly number[], isShaken: boolean): Chance => {
    const keys = sn.random.split(key, count);
    const draw = (one: (key: Tensor) => Tensor): Tensor => sn.vmap(one)(keys);
    return {
      ...(fire < 1 && { fires: draw((each) => batchFirst(sn.random.bernoulli(each, fire, [1, copies!, h!, w!]))) }),
      ...(isShaken && {
        noise: draw((each) => batchFirst(sn.random.uniform(sn.random.foldIn(each, 0), [channels, copies!, h!, w!]).sub(0.5).mul(2 * noise))),
      }),
    };
  };
  const advance = (params: AutomatonParams, how: CoefficientOptions, grids: Tensor, key: Tensor, isShaken: boolean): Tensor => {
    const rule = ruleOf(params, grids.shape[1]!, how);
    // Derivatives keep only the grids of all steps, which are small, and compute the layers of each step again.
    const again = sn.checkpoint((now: Tensor, chance: Chance) => {
      const made = next(rule, now, chance);
      return chance.noise ? made.add(chance.noise).maximum(0).minimum(1) : made;
    });
    const chance = chanceOf(key, steps, grids.shape, isShaken);
    const [end] = sn.scan((now: Tensor, each: Chance) => [again(now, each), null], batchFirst(grids), chance, { length: steps });
    return batchFirst(end);
  };
  const examples = (key: Tensor, count: number): { start: Tensor; target: Tensor } => {
    if (!target)
      throw new SinterError('argument', op, 'there is no target to train for', { hint: 'give { target: (start) => grids }, or one of logic.tasks' });
    const grids = start(key, [channels, count, height, width]);
    return { start: grids, target: target(grids) };
  };
  /** The errors of the known channels: after the steps, and, if there is damage, again after the steps that follow it. */
  const errors = (params: AutomatonParams, key: Tensor, count: number, how: CoefficientOptions, isShaken = false): Tensor[] => {
    const [first, chance, blow, chanceAfter] = sn.random.splitKeys(key, 4) as [Tensor, Tensor, Tensor, Tensor];
    const { start: begin, target: wanted } = examples(first, count);
    const error = (grids: Tensor): Tensor => grids.slice([0, 0, 0, 0], wanted.shape).sub(wanted);
    const end = advance(params, how, begin, chance, isShaken);
    return damage ? [error(end), error(advance(params, how, damage(end, blow), chanceAfter, isShaken))] : [error(end)];
  };
  const loss = (params: AutomatonParams, key: Tensor, { state: { loss: last } }: sn.StepContext<Progress>): [Tensor, { state: Progress }] => {
    const wrong = errors(params, key, batch, { straightThrough: hardnessAt(last, harden) }, noise > 0).map((error) => error.square().mean());
    const value = wrong.reduce((sum, each) => sum.add(each));
    return [value, { state: { loss: value } }];
  };
  const train = sn.trainStep(loss, given.optimizer ?? sn.optim.adamw({ lr: 0.05, beta2: 0.99, weightDecay: 0.01, clipNorm: 100 }));
  const rate = sn.jit((params: AutomatonParams, key: Tensor, grids: number, hard: boolean) =>
    sn.stack(errors(params, key, grids, { hard }).map((error) => error.abs().less(0.5).astype('float32').mean())).mean(),
  );
  const history = sn.jit((params: AutomatonParams, grid: Tensor, key: Tensor, count: number, hard: boolean) => {
    const rule = ruleOf(params, 1, { hard });
    const first = grid.astype('float32').expandDims(0);
    const each = (now: Tensor, chance: Chance): [Tensor, Tensor] => {
      const made = next(rule, now, chance);
      return [made, made];
    };
    const [, later] = sn.scan(each, first, chanceOf(key, count, batchFirst(first).shape, false), { length: count });
    return sn.concat([first.expandDims(0), later]).squeeze([1]);
  });

  return {
    channels,
    boundary,
    fire,
    steps,
    grid: [height, width],
    batch,
    hasTask: target !== undefined,
    perception,
    update,
    init: (key) =>
      sn.tidy(() => {
        const [a, b] = sn.random.splitKeys(key, 2) as [Tensor, Tensor];
        const params = { perception: initChain(perception, a), update: initChain(update, b) };
        return train.init(params, { state: { loss: sn.full([], NOTHING_LEARNT) } });
      }),
    step: (state, key) => {
      const made = train(state, key);
      return { state: made.state, loss: made.loss };
    },
    accuracy: async (state, options) => {
      const { hard = false, key, grids = batch } = internals.readOptions<AccuracyOptions>(op, options, ACCURACY);
      internals.checkInteger(op, 'grids', grids, 1);
      const [share] = await sn.tidy(() => rate(train.params(state), key ?? sn.random.key(0), grids, hard)).data();
      return share as number;
    },
    run: (state, grid, options) => {
      const { steps: count, hard = false, key } = internals.readOptions<RunOptions>(op, options, { steps: 'integer', hard: 'boolean', key: 'tensor' });
      internals.checkInteger(op, 'steps', count, 0);
      if (!(grid instanceof sn.Tensor) || grid.ndim !== 3 || grid.shape[0] !== channels)
        throw new ShapeError(op, `the grid is ${grid instanceof sn.Tensor ? `(${grid.shape.join(', ')})` : internals.shown(grid)}, expected (${channels}, height, width)`);
      return sn.tidy(() => history(train.params(state), grid, key ?? sn.random.key(0), count, hard));
    },
    examples: (key, count) => sn.tidy(() => examples(key, internals.checkInteger(op, 'count', count, 1))),
  };
}

/** The loss before the first epoch, above any real one. */
const NOTHING_LEARNT = 1e30;

/** Grids of random bits. */
const randomBits = (key: Tensor, shape: readonly number[]): Tensor => sn.random.bernoulli(key, 0.5, shape).astype('float32');
