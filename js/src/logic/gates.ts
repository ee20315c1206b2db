// A layer of gates with two inputs each, made soft so that it can be trained.
//
// Features come first: x is (inputs, ...any), the result (outputs, ...any). Each wire is a row, with cells or examples side by
// side, so that a gate is c0 + c1 a + c2 b + c3 a b over rows. The coefficients are computed from the parameters once per step
// (coefficients), and may be used many times (run): an automaton runs its gates in every step of a grid.

import * as sn from '../index.js';
import { ShapeError, SinterError, internals, type Tensor } from '../index.js';
import { COEFFICIENTS, FUNCTIONS, PASS_A, coefficientsOf } from './gates16.js';
import { combined, wiredGates } from './wired.js';
import { candidateWires, givenWires, randomWires, type Wires } from './wires.js';

/** What a gate learns: a mixture of the sixteen functions, or the four entries of its truth table. */
export type GateForm = 'softmax' | 'table';

export interface GatesOptions {
  inputs: number;
  outputs: number;
  /** 'random' (default): pairs of inputs, each pair at most once, by the seed. Two arrays: the inputs a and b of
   *  every gate. { candidates: k }: each wire is learnt among k inputs. */
  wires?: 'random' | readonly [ArrayLike<number>, ArrayLike<number>] | { candidates: number };
  /** Default 'softmax'. */
  form?: GateForm;
  /** Seed of random wires. Default 0. */
  seed?: number;
  /** How strongly fresh gates tend to pass their first input on, as a logit. Default 10 for form 'softmax', 3 for 'table'. */
  residual?: number;
  /** Whether gates compute hard values in the forward pass, with the gradients of soft ones. Default false. */
  straightThrough?: boolean;
}

export interface HardOptions {
  /** Whether each gate is its most likely function, on bits. Default false. */
  hard?: boolean;
}

export interface CoefficientOptions extends HardOptions {
  /** How far values are from soft (0) to hard (1); gradients are always those of soft ones. Default: 0 or 1, as the layer's
   *  option says. */
  straightThrough?: number | Tensor;
}

export interface GateParams {
  /** softmax: (outputs, 16), a logit per function. table: (outputs, 4), the logits of the values at (0, 0), (0, 1), (1, 0),
   *  (1, 1). */
  gates: Tensor;
  /** For learnt wires: (2 outputs, k), a logit per candidate; first the wires of inputs a, then those of inputs b. */
  wires?: Tensor;
}

/** What a layer computes with: made from its parameters once per step. */
export interface GateCoefficients {
  /** c0, c1, c2, c3, each (outputs, 1). */
  gates: Tensor[];
  /** Shares of the candidates, float32 (2 outputs, k), or the chosen inputs, int32 (2 outputs). */
  wires?: Tensor;
}

/** A gate as data: the number of its function, and its inputs a and b. */
export type Gate = readonly [f: number, a: number, b: number];

/** A layer of gates, as a module. It exposes what extraction needs. */
export interface Gates {
  readonly inputs: number;
  readonly outputs: number;
  readonly form: GateForm;
  init(key: Tensor): GateParams;
  apply(params: GateParams, x: Tensor, options?: HardOptions): Tensor;
  coefficients(params: GateParams, options?: CoefficientOptions): GateCoefficients;
  run(coefficients: GateCoefficients, x: Tensor): Tensor;
  /** The hard gates, one per output. */
  gatesOf(params: GateParams): Gate[];
}

const SCHEMA: sn.internals.OptionSchema<GatesOptions> = {
  inputs: 'integer',
  outputs: 'integer',
  wires: 'any',
  form: 'string',
  seed: 'integer',
  residual: 'number',
  straightThrough: 'boolean',
};

/** For gates that pass their first input on: the direction of the logits, and by default their size. */
const PASSING: Readonly<Record<GateForm, { logits: readonly number[]; residual: number }>> = {
  softmax: { logits: Array.from({ length: FUNCTIONS }, (_, f) => Number(f === PASS_A)), residual: 10 },
  table: { logits: [-1, -1, 1, 1], residual: 3 },
};

/** The matrix from the four values of a table to coefficients. */
const OF_TABLE = [0, 1, 2, 3].map((at) => coefficientsOf([0, 1, 2, 3].map((i) => Number(i === at)) as [number, number, number, number]));

/** Values `share` of the way from soft to hard, with the gradients of soft. */
function through(hard: Tensor, soft: Tensor, share: number | Tensor): Tensor {
  if (share === 1) return sn.stopGradient(hard).add(soft.sub(sn.stopGradient(soft)));
  return soft.add(sn.stopGradient(hard.sub(soft)).mul(share));
}

/** The most likely truth table of each gate, as 0 and 1; or, for form softmax, the number of its most likely function. */
const hardest = (form: GateForm, logits: Tensor): Tensor =>
  form === 'table' ? logits.greater(0).astype('float32') : logits.argmax({ axis: 1 });

function coefficientsFrom(form: GateForm, logits: Tensor, hard: boolean, straight: number | Tensor): Tensor[] {
  const soft = (): Tensor =>
    form === 'table' ? logits.sigmoid().matmul(sn.tensor(OF_TABLE)) : logits.softmax().matmul(sn.tensor(COEFFICIENTS));
  const firm = (): Tensor =>
    form === 'table' ? hardest(form, logits).matmul(sn.tensor(OF_TABLE)) : sn.tensor(COEFFICIENTS).take(hardest(form, logits));
  const all = hard ? firm() : straight === 0 ? soft() : through(firm(), soft(), straight);
  return all.split(4, { axis: 1 });
}

const fourOf = (list: readonly Tensor[]): [Tensor, Tensor, Tensor, Tensor] => list as [Tensor, Tensor, Tensor, Tensor];

/** How a layer gets the inputs of its gates. */
interface Wiring {
  /** Initial logits of learnt wires. */
  init(key: Tensor): { wires?: Tensor };
  /** The coefficients of learnt wires for a step. */
  made(params: GateParams, hard: boolean, straight: number | Tensor): { wires?: Tensor };
  /** Rows (inputs, cells) -> (outputs, cells). */
  run(coefficients: GateCoefficients, x: Tensor): Tensor;
  indices(params: GateParams): ArrayLike<number>;
}

function fixedWiring(wires: Wires): Wiring {
  const layer = wiredGates(wires);
  const all = Int32Array.of(...wires[0], ...wires[1]);
  return { init: () => ({}), made: () => ({}), run: ({ gates }, x) => layer(x, ...fourOf(gates)), indices: () => all };
}

function learntWiring(candidates: Int32Array, k: number): Wiring {
  const count = candidates.length / k;
  const table = (): Tensor => sn.tensor(candidates, { shape: [count, k] });
  const chosen = (logits: Tensor): Tensor =>
    table().takeAlongAxis(logits.argmax({ axis: 1, keepdims: true }), { axis: 1 }).reshape([count]);
  /** The rows of all inputs a, then of all inputs b: (2 outputs, cells). */
  const rows = (wires: Tensor, x: Tensor): Tensor => {
    if (wires.ndim === 1) return x.take(wires);
    const among = x.take(sn.tensor(candidates)).reshape([count, k, -1]);
    return among.mul(wires.reshape([count, k, 1])).sum({ axis: 1 });
  };
  return {
    init: (key) => ({ wires: sn.random.normal(key, [count, k]) }),
    made({ wires }, hard, straight) {
      if (hard) return { wires: chosen(wires!) };
      const soft = wires!.softmax();
      return { wires: straight === 0 ? soft : through(sn.oneHot(wires!.argmax({ axis: 1 }), k), soft, straight) };
    },
    run: ({ gates, wires }, x) => combined(fourOf(gates), ...(rows(wires!, x).split(2) as [Tensor, Tensor])),
    indices: ({ wires }) => sn.tidy(() => chosen(wires!).dataSync()) as Int32Array,
  };
}

function wiringOf(op: string, inputs: number, outputs: number, wires: unknown, seed: number): Wiring {
  if (wires === 'random') return fixedWiring(randomWires(op, inputs, outputs, seed));
  if (Array.isArray(wires) && wires.length === 2) return fixedWiring(givenWires(op, inputs, outputs, wires));
  if (internals.isPlainObject(wires)) {
    const { candidates } = internals.readOptions<{ candidates: number }>(op, wires as { candidates: number }, { candidates: 'integer' });
    return learntWiring(candidateWires(op, inputs, outputs, candidates, seed), candidates);
  }
  throw new SinterError('argument', op, `option wires is ${internals.shown(wires)}`, {
    hint: "write 'random', two arrays with the inputs of every gate, or { candidates: 8 }",
  });
}

/** Refuses parameters that do not come from init of such a layer. */
function checkParams(op: string, params: unknown, outputs: number, form: GateForm): void {
  const { gates } = (params ?? {}) as Partial<GateParams>;
  const width = PASSING[form].logits.length;
  if (gates instanceof sn.Tensor && gates.shape[0] === outputs && gates.shape[1] === width && gates.ndim === 2) return;
  throw new SinterError('argument', op, `these are not the parameters of ${outputs} gates of form ${form}`, {
    hint: 'params = gates.init(key), then gates.apply(params, x)',
  });
}

/** A layer of gates: x (inputs, ...any) with values from 0 to 1 -> (outputs, ...any). */
export function gates(options: GatesOptions): Gates {
  const op = 'logic.gates';
  const { inputs, outputs, wires = 'random', form = 'softmax', seed = 0, straightThrough = false } = internals.readOptions(op, options, SCHEMA);
  internals.checkInteger(op, 'inputs', inputs, 1);
  internals.checkInteger(op, 'outputs', outputs, 1);
  internals.checkChoice(op, 'form', form, Object.keys(PASSING));
  const { residual = PASSING[form].residual } = options;
  const wiring = wiringOf(op, inputs, outputs, wires, seed);

  const coefficients: Gates['coefficients'] = (params, given) => {
    const { hard = false, straightThrough: straight = Number(straightThrough) } = given ?? {};
    checkParams(op, params, outputs, form);
    return sn.tidy(() => ({
      gates: coefficientsFrom(form, params.gates, hard, straight),
      ...wiring.made(params, hard, straight),
    }));
  };
  const run: Gates['run'] = (made, x) => {
    if (!(x instanceof sn.Tensor) || x.shape[0] !== inputs)
      throw new ShapeError(op, `x is ${x instanceof sn.Tensor ? `(${x.shape.join(', ')})` : internals.shown(x)}, expected ${inputs} rows`, {
        hint: 'features come first: (inputs, ...any)',
      });
    return sn.tidy(() => wiring.run(made, x.reshape([inputs, -1])).reshape([outputs, ...x.shape.slice(1)]));
  };
  return {
    inputs,
    outputs,
    form,
    init: (key) =>
      sn.tidy(() => ({ gates: sn.tensor(PASSING[form].logits).mul(residual).broadcastTo([outputs, PASSING[form].logits.length]).add(0), ...wiring.init(key) })),
    coefficients,
    run,
    apply: (params, x, given) =>
      sn.tidy(() => run(coefficients(params, internals.readOptions<HardOptions>(op, given, { hard: 'boolean' })), x)),
    gatesOf(params) {
      checkParams(op, params, outputs, form);
      const logits = params.gates.dataSync() as Float32Array;
      const from = wiring.indices(params);
      return Array.from({ length: outputs }, (_, i) => [hardestOf(form, logits, i), from[i]!, from[outputs + i]!]);
    },
  };
}

/** The number of the most likely function of gate i. */
function hardestOf(form: GateForm, logits: ArrayLike<number>, i: number): number {
  const width = PASSING[form].logits.length;
  const own = Array.from({ length: width }, (_, k) => logits[i * width + k]!);
  // The number of a function is its truth table in binary, with the value at (0, 0) first.
  return form === 'table' ? own.reduce((number, logit) => 2 * number + Number(logit > 0), 0) : own.indexOf(Math.max(...own));
}
