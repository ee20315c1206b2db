// Cellular automata whose rule is a circuit of gates, trained through many steps.
//
// Grids are (channels, batch, height, width). Perception kernels see the 3 x 3 neighbourhood of one channel each time: in
// their first layer the cell itself is paired with each of its 8 neighbours. All of them are one chain of layers over rows
// (9, channels x cells) with wires that stay within a kernel. The update circuits have the channels of the cell itself as
// inputs, then what kernels say: row (kernel output, channel). The result is the next state of the cell.
//
// Through the steps the grids of a batch lie one after the other, and each has gates of its own beside those of the others:
// rows (grid, 9), (grid, gate). Grids know nothing of each other, so a worker that has the same rows in each layer, and
// that is how the core gives them out, has grids to itself, and finds their layers in its own cache.

import * as sn from '../index.js';
import { ShapeError, SinterError, internals, type Tensor } from '../index.js';
import { chainCoefficients, initChain, runChain } from './chain.js';
import { gates, type CoefficientOptions, type GateCoefficients, type GateForm, type GateParams, type Gates, type GatesOptions, type HardOptions } from './gates.js';
import { randomWires, repeatedWires, type Wires } from './wires.js';

export type Boundary = 'zero' | 'wrap';

export interface Perception {
  /** How many circuits look at the neighbourhood. */
  kernels: number;
  /** Gates of a circuit's layers, the first 8: the cell with each neighbour. */
  layers: readonly number[];
}

export interface AutomatonOptions {
  channels: number;
  /** Default 16 kernels with [8, 4, 2] gates. */
  perception?: Perception;
  /** Gates of each layer; the last has one for each channel. */
  update: readonly number[];
  /** [height, width] in training. */
  grid: readonly [number, number];
  /** What lies outside: 'zero' (default), or the other side: 'wrap'. */
  boundary?: Boundary;
  /** Steps from a start to the target. */
  steps: number;
  /** Only some cells, by chance, change in a step: true for 60 %, or their share. Default false. */
  asynchronous?: boolean | number;
  /** Grids in an epoch. Default 1. */
  batch?: number;
  form?: GateForm;
  /** Of the wires. Default 0. */
  seed?: number;
  /** How sure fresh gates are to pass their first input on, as of logic.gates. */
  residual?: number;
  /** Below which loss gates harden: they compute values on the way from their soft to their hard ones, the further the lower
   *  the last loss was, with the gradients of soft ones. So at the end both do the same. Default 0.01. */
  harden?: number;
  /** In training cells are wrong by up to so much after each step, by chance: what gates hide in values that are not quite 0
   *  or 1 is lost, and would be with hard gates. Default 0. */
  noise?: number;
  /** Grids to start from, (channels, batch, height, width), from a key and their shape. Default: random bits. */
  start?: (key: Tensor, shape: readonly number[]) => Tensor;
  /** What the first channels are to be after the steps, (known channels, batch, height, width), from the start. */
  target?: (start: Tensor) => Tensor;
  /** What happens to grids after the steps, after which as many more steps lead to the target again. */
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

/** What an automaton remembers of its training. */
export interface Progress {
  /** Of the last epoch. */
  loss: Tensor;
}

export type AutomatonState = sn.TrainState<AutomatonParams, Progress>;

export interface RunOptions extends HardOptions {
  steps: number;
  /** Chance of an asynchronous automaton. Default random.key(0). */
  key?: Tensor;
}

export interface AccuracyOptions extends HardOptions {
  /** Starts, and chance. Default random.key(0). */
  key?: Tensor;
  /** How many grids. Default: as in an epoch. */
  grids?: number;
}

export interface Automaton {
  readonly channels: number;
  readonly boundary: Boundary;
  /** Share of the cells that change in a step. */
  readonly fire: number;
  readonly steps: number;
  readonly grid: readonly [number, number];
  readonly batch: number;
  /** Whether there is a target. */
  readonly hasTask: boolean;
  readonly perception: readonly Gates[];
  readonly update: readonly Gates[];
  /** A state of training. */
  init(key: Tensor): AutomatonState;
  /** One epoch: fresh grids, their steps, and an update. Uses the state up. */
  step(state: AutomatonState, key: Tensor): { state: AutomatonState; loss: Tensor };
  /** Share of the known cells that are right after the steps, on fresh grids. */
  accuracy(state: AutomatonState, options?: AccuracyOptions): Promise<number>;
  /** A grid (channels, height, width) of any size, and what becomes of it: (steps + 1, channels, height, width), the grid
   *  itself first. */
  run(state: AutomatonState, grid: Tensor, options: RunOptions): Tensor;
  /** Fresh grids to start from, (channels, count, height, width), and what their first channels are to become. */
  examples(key: Tensor, count: number): { start: Tensor; target: Tensor };
}

/** What fresh gates are. */
type Fresh = Pick<GatesOptions, 'form' | 'residual'>;

/** A layer's gates, yet without parameters. */
interface Wired {
  /** Its inputs, in the parts that lie together where there are several such layers. */
  parts: readonly number[];
  outputs: number;
  wires: Wires;
}

const AROUND = [0, 1, 2, 3, 5, 6, 7, 8];

/** The first layer of all kernels, rows of a neighbourhood as inputs. */
function firstLayer(kernels: number): Wired {
  const outputs = kernels * AROUND.length;
  return { parts: [9], outputs, wires: [Int32Array.from({ length: outputs }, () => 4), Int32Array.from({ length: outputs }, (_, i) => AROUND[i % 8]!)] };
}

/** Kernels' layers, each kernel with wires of its own. */
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

/** Layers of so many gates, one after the other. */
const updateOf = (op: string, seen: readonly number[], widths: readonly number[], seed: number): Wired[] =>
  widths.map((outputs, i) => {
    const parts = i === 0 ? seen : [widths[i - 1]!];
    return { parts, outputs, wires: randomWires(op, sumOf(parts), outputs, seed + i) };
  });

const sumOf = (list: readonly number[]): number => list.reduce((sum, n) => sum + n, 0);

/** The layers, so many times beside each other. */
const layersOf = (chain: readonly Wired[], copies: number, fresh: Fresh): Gates[] =>
  chain.map(({ parts, outputs, wires }) =>
    gates({ ...fresh, inputs: copies * sumOf(parts), outputs: copies * outputs, wires: repeatedWires(wires, parts, copies) }));

/** The same coefficients for each of the copies. */
const repeated = (coefficients: readonly GateCoefficients[], copies: number): GateCoefficients[] =>
  coefficients.map(({ gates: four }) => ({ gates: four.map((c) => sn.concat(Array.from({ length: copies }, () => c))) }));

/** A grid with its last cells along an axis before the first, and its first after the last. */
function wrapped(grids: Tensor, axis: number): Tensor {
  const last = grids.shape[axis]! - 1;
  const at = (place: number): Tensor => grids.take([place], { axis });
  return sn.concat([at(last), grids, at(0)], { axis });
}

/** The cells around each, and itself: (batch, channels, height, width) -> (batch x 9, channels x cells), row-major in the
 *  window. */
function windowsOf(grids: Tensor, boundary: Boundary): Tensor {
  const framed = boundary === 'zero' ? grids.pad([[0, 0], [0, 0], [1, 1], [1, 1]]) : wrapped(wrapped(grids, 2), 3);
  // One copy, where nine slices put together are nine steps of a program.
  return sn.windows(sn.windows(framed, 2, 3), 4, 3).transpose([0, 3, 5, 1, 2, 4]).reshape([9 * grids.shape[0]!, -1]);
}

/** What a batch of grids goes through in a step. */
interface Rule {
  perception: { layers: Gates[]; coefficients: GateCoefficients[] };
  update: { layers: Gates[]; coefficients: GateCoefficients[] };
}

/** What chance does in a step: which cells change (batch, 1, height, width), what is added to each (batch, channels, height,
 *  width). */
interface Chance {
  fires?: Tensor;
  noise?: Tensor;
}

const batchFirst = (grids: Tensor): Tensor => grids.transpose([1, 0, 2, 3]);

/** Share of cells that fire. */
function fireOf(op: string, asynchronous: unknown): number {
  if (typeof asynchronous === 'boolean') return asynchronous ? 0.6 : 1;
  if (typeof asynchronous === 'number' && asynchronous > 0 && asynchronous <= 1) return asynchronous;
  throw new SinterError('argument', op, `option asynchronous is ${internals.shown(asynchronous)}, expected true, false, or a share above 0, at most 1`);
}

/** How far gates are on the way to hard ones, from 0 to 1: as far as a 36th of where they begin to harden. Where they harden
 *  too early the loss rises, and they go back. */
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
  /** Of each step, so many of them: it takes no part in derivatives, which would draw it again. */
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
    // A derivative keeps the grids of all steps, which are little, and makes the layers of each step again.
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
  /** The known channels at the end, wrong by how much: of each time they are to be right. */
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

/** A loss above all. */
const NOTHING_LEARNT = 1e30;

/** Grids of random bits. */
const randomBits = (key: Tensor, shape: readonly number[]): Tensor => sn.random.bernoulli(key, 0.5, shape).astype('float32');
