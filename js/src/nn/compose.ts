// Modules made of modules, applied one after the other. If one of them has a state, so has the whole: an array with the
// state of each.

import { asTensor, type TensorLike } from '../apply.js';
import * as random from '../random.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';
import {
  applyBoth,
  checkModule,
  checkModuleState,
  checkParams,
  initBoth,
  readApply,
  type AnyModule,
  type ApplyOptions,
  type Module,
  type NoParams,
  type StatefulModule,
} from './module.js';

type ParamsOf<L extends readonly AnyModule[]> = {
  -readonly [K in keyof L]: L[K] extends StatefulModule<infer P, unknown> ? P : L[K] extends Module<infer P> ? P : never;
};
type StatesOf<L extends readonly AnyModule[]> = {
  -readonly [K in keyof L]: L[K] extends StatefulModule<never, infer S> ? S : NoParams;
};
type HasState<L extends readonly AnyModule[]> = true extends { [K in keyof L]: L[K] extends { hasState: true } ? true : false }[number] ? true : false;

/** The module made of these: its parameters, and its states if it has any, are arrays with those of each. */
export type Composed<L extends readonly AnyModule[]> =
  HasState<L> extends true ? StatefulModule<ParamsOf<L>, StatesOf<L>> : Module<ParamsOf<L>>;

function checkModules(op: string, layers: readonly unknown[]): void {
  layers.forEach((layer, i) => checkModule(op, `layer ${i}`, layer));
}

/** Applies modules one after the other. finish makes the result from the input and the result of the last module. */
function chain(name: string, layers: readonly AnyModule[], finish: (x: Tensor, y: Tensor) => Tensor): AnyModule {
  const op = `nn.${name}`;
  checkModules(op, layers);
  const count = layers.length;
  const keysOf = (key: Tensor): Tensor[] => (count > 0 ? random.splitKeys(key, count) : []);
  const init = (key: Tensor): { params: unknown[]; state: unknown[] } =>
    tidy(() => {
      const keys = keysOf(key);
      const made = layers.map((layer, i) => initBoth(layer, keys[i]!));
      return { params: made.map(({ params }) => params), state: made.map(({ state }) => state) };
    });
  const apply = (params: unknown, x: TensorLike, given: ApplyOptions | undefined, states: readonly unknown[]): [Tensor, unknown[]] => {
    if (!Array.isArray(params) || params.length !== count) checkParams(name, null);
    const own = params as readonly unknown[];
    const options = readApply(op, given);
    const keys = options.key ? keysOf(options.key) : [];
    const first = asTensor(x, op);
    const next: unknown[] = [];
    const last = layers.reduce((value, layer, i) => {
      const [y, state] = applyBoth(layer, own[i], value, { ...options, key: keys[i], state: states[i] });
      next.push(state);
      return y;
    }, first);
    return [finish(first, last), next];
  };
  if (!layers.some(({ hasState }) => hasState)) {
    return { name, layers, init: (key) => init(key).params, apply: (params, x, options) => tidy(() => apply(params, x, options, [])[0]) };
  }
  return {
    hasState: true,
    name,
    layers,
    init,
    apply: (params, x, options) =>
      tidy(() => {
        const state: unknown = options?.state;
        checkModuleState(name, state, Array.isArray(state) && state.length === count);
        return apply(params, x, options, state as unknown[]);
      }),
  };
}

/** Applies modules one after the other. Parameters are an array with those of each, and so is the state if one has a state. */
export function sequential<L extends readonly AnyModule[]>(...layers: L): Composed<L> {
  return chain('sequential', layers, (_, y) => y) as Composed<L>;
}

/** x plus the result of applying the modules to it, one after the other. */
export function residual<L extends readonly AnyModule[]>(...layers: L): Composed<L> {
  return chain('residual', layers, (x, y) => x.add(y)) as Composed<L>;
}
