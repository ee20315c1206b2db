// A module is a pair of functions: init makes parameters from a key, and apply a result from parameters and an input. It
// holds no tensors itself. If it has a state, init makes { params, state }, and apply returns [result, next state].

import type { TensorLike } from '../apply.js';
import { shown } from '../check.js';
import { SinterError } from '../errors.js';
import { readOptions, type OptionSchema } from '../options.js';
import type { Tensor } from '../tensor.js';

/** What a module may get besides parameters and input. Each module uses what it needs. */
export interface ApplyOptions<S = unknown> {
  /** The state of a module that has one. */
  state?: S;
  /** A key, for layers that draw random numbers in training. */
  key?: Tensor | undefined;
  /** Whether layers do what they only do in training: use the statistics of the batch, drop units. Default false. */
  train?: boolean;
  /** What attention sees, as in sn.attention. */
  mask?: TensorLike | undefined;
}

/** A module without state. */
export interface Module<P = unknown> {
  readonly hasState?: false;
  /** Its name in a summary. */
  readonly name?: string;
  /** The modules that it applies one after the other, if it is made of some. */
  readonly layers?: readonly AnyModule[];
  /** Fresh parameters; key as from random.key. */
  init(key: Tensor): P;
  /** The result for an input. */
  apply(params: P, x: TensorLike, options?: ApplyOptions): Tensor;
}

/** A module that has a state, such as running statistics. apply gets it as an option. */
export interface StatefulModule<P = unknown, S = unknown> {
  readonly hasState: true;
  readonly name?: string;
  readonly layers?: readonly AnyModule[];
  /** Fresh parameters and the first state. */
  init(key: Tensor): { params: P; state: S };
  /** The result and the next state, which equals the given one unless train is set. */
  apply(params: P, x: TensorLike, options?: ApplyOptions<S>): [Tensor, S];
}

/** A module with parameters of any kind. */
export type AnyModule = Module<any> | StatefulModule<any, any>;

/** The parameters of a module that has none; also the state of one that has none. */
export type NoParams = Readonly<Record<never, never>>;

/** A module without parameters and state. */
export const stateless = (name: string, f: (x: TensorLike) => Tensor): Module<NoParams> => ({
  name,
  init: () => ({}),
  apply: (_, x) => f(x),
});

const APPLY: OptionSchema<ApplyOptions> = { state: 'any', key: 'any', train: 'boolean', mask: 'any' };

/** The options of apply, checked. */
export const readApply = (op: string, options: ApplyOptions | undefined): ApplyOptions => readOptions(op, options, APPLY);

/** Refuses what init did not make. */
export function checkParams(op: string, params: unknown): void {
  if (typeof params === 'object' && params !== null) return;
  throw new SinterError('argument', `nn.${op}`, 'these are not its parameters', {
    hint: 'params = module.init(key), then module.apply(params, x)',
  });
}

/** Refuses what is no module. */
export function checkModule(op: string, what: string, given: unknown): void {
  const { init, apply } = (given ?? {}) as Partial<Module>;
  if (typeof init === 'function' && typeof apply === 'function') return;
  const hint = Array.isArray(given)
    ? 'give the modules one by one, not in an array'
    : typeof given === 'function'
      ? 'call the function that makes it: nn.relu()'
      : 'a module has init(key) and apply(params, x)';
  throw new SinterError('argument', op, `${what} is ${shown(given)}, expected a module`, { hint });
}

/** Refuses a state that is not one of this module. */
export function checkModuleState(op: string, state: unknown, isOwn: boolean): void {
  if (isOwn) return;
  throw new SinterError('argument', `nn.${op}`, `${state === undefined ? 'there is no state' : 'that is not its state'}`, {
    hint: 'const { params, state } = module.init(key), then [y, next] = module.apply(params, x, { state })',
  });
}

/** Parameters and state that init of any module makes; the state is {} if it has none. */
export function initBoth(module: AnyModule, key: Tensor): { params: unknown; state: unknown } {
  return module.hasState === true ? module.init(key) : { params: module.init(key), state: {} };
}

/** Applies any module; returns its result and the next state. */
export function applyBoth(module: AnyModule, params: unknown, x: TensorLike, options: ApplyOptions): [Tensor, unknown] {
  return module.hasState === true ? module.apply(params, x, options) : [module.apply(params, x, options), {}];
}
