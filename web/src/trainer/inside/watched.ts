// sinter as programs see it in training: the same library, but the results of modules and activation functions can be observed.
// There is an observer only while the statistics of layers are traced; a compiled program contains nothing of it.

import * as sn from 'sinter';

export type Listener = (kind: string, made: sn.Tensor) => void;

const FUNCTIONS = ['relu', 'tanh', 'sigmoid', 'gelu', 'silu', 'elu', 'selu', 'leakyRelu', 'softplus', 'mish', 'hardswish'] as const;
type Call = (this: unknown, ...args: unknown[]) => unknown;

let listener: Listener | null = null;

function tell<T>(kind: string, made: T): T {
  const y: unknown = Array.isArray(made) ? made[0] : made;
  if (listener !== null && y instanceof sn.Tensor) listener(kind, y);
  return made;
}

const told = (kind: string, f: Call): Call =>
  function (...args) {
    return tell(kind, f.apply(this, args));
  };

/** Wraps a maker of modules. Modules that consist of others are reported by these. */
const toldModules = (make: Call): Call =>
  function (...args) {
    const made = make.apply(this, args) as sn.nn.AnyModule;
    if (typeof made?.apply !== 'function' || made.layers !== undefined) return made;
    return { ...made, apply: told(made.name ?? 'layer', made.apply as Call) };
  };

const isCall = (value: unknown): value is Call => typeof value === 'function';
const functions = Object.fromEntries(FUNCTIONS.map((name) => [name, told(name, sn[name] as Call)]));
const modules = Object.fromEntries(Object.entries(sn.nn).map(([name, made]) => [name, isCall(made) ? toldModules(made) : made]));

export const watchedSinter: typeof sn = { ...sn, ...functions, nn: modules } as never;

/** Runs f, and calls `listen` with each result of modules, functions and methods meanwhile. */
export function listening<T>(listen: Listener, f: () => T): T {
  const prototype = sn.Tensor.prototype as unknown as Record<string, Call>;
  const own = FUNCTIONS.map((name) => [name, prototype[name]] as const);
  for (const [name, method] of own) if (isCall(method)) prototype[name] = told(name, method);
  listener = listen;
  try {
    return f();
  } finally {
    listener = null;
    for (const [name, method] of own) if (isCall(method)) prototype[name] = method;
  }
}
