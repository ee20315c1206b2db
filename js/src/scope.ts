// Scopes own the tensors made while they are active and give them back together. Ambient scopes are
// synchronous: across an await somebody else's tensors would fall into them, so async code uses an
// explicit scope object.

import { checkFunction } from './check.js';
import { SinterError } from './errors.js';
import type { Tensor } from './tensor.js';
import { tensorsWithin } from './pytree.js';

class Owned {
  readonly #tensors = new Set<Tensor>();

  add(tensor: Tensor): void {
    this.#tensors.add(tensor);
  }

  take(tensor: Tensor): boolean {
    return this.#tensors.delete(tensor);
  }

  /** Hands what is in a tree to outer, or to the garbage collector. */
  letOut(tree: unknown, outer: Owned | null): void {
    for (const tensor of tensorsWithin(tree)) if (this.take(tensor)) handOver(tensor, outer);
  }

  /** Hands over all tensors. */
  letOutAll(outer: Owned | null): void {
    for (const tensor of this.#tensors) handOver(tensor, outer);
    this.#tensors.clear();
  }

  /** Disposes of all tensors. gone: what became of them, for errors. */
  disposeAll(gone?: string): void {
    for (const tensor of this.#tensors) tensor.giveBack(gone);
    this.#tensors.clear();
  }
}

let active: Owned | null = null;

/** The scope that owns what is made now, or null. */
export const activeScope = (): { add(tensor: Tensor): void } | null => active;

/** Hands a tensor to outer, or to the garbage collector. */
function handOver(tensor: Tensor, outer: Owned | null): void {
  if (outer) outer.add(tensor);
  else tensor.unscope();
}

function runIn<T>(scope: Owned, f: () => T): T {
  const outer = active;
  active = scope;
  try {
    return f();
  } finally {
    active = outer;
  }
}

const isPromise = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

/** Refuses async functions where tensors live only as long as the call. */
export function refusePromise(op: string, result: unknown, hint: string): void {
  if (!isPromise(result)) return;
  // The promise itself may fail, often for this very reason; that must not end the process as unhandled.
  void Promise.resolve(result).catch(() => {});
  throw new SinterError('argument', op, 'the function returned a promise', { hint });
}

/**
 * Runs f and disposes every tensor made in it except those in its result (in nested arrays, objects,
 * Maps and Sets). f must not be async; see scope.
 */
export function tidy<T>(f: () => T): T {
  checkFunction('tidy', f, 'write tidy(() => ...)');
  return tidied(f);
}

/** tidy for a function that is traced. If one of its tensors gets out by another way than its result, the error of using
 *  it says so. */
export const tidyTraced = <T>(f: () => T): T =>
  tidied(f, 'made while a function was traced by jit, grad or a loop, and ended with that');

function tidied<T>(f: () => T, gone?: string): T {
  const scope = new Owned();
  const outer = active;
  try {
    const result = runIn(scope, f);
    refusePromise('tidy', result, 'use scope() in async code');
    scope.letOut(result, outer);
    return result;
  } finally {
    scope.disposeAll(gone);
  }
}

/** tidy, unless f turns out to be async: then its tensors go to the outer scope, or to the garbage collector. */
export function tidyUnlessAsync<T>(f: () => T): T {
  const scope = new Owned();
  const outer = active;
  try {
    const result = runIn(scope, f);
    if (isPromise(result)) scope.letOutAll(outer);
    else scope.letOut(result, outer);
    return result;
  } finally {
    scope.disposeAll();
  }
}

/** Takes the tensors of a tree out of the active tidy: they live on until disposed or collected. */
export function keep<T>(tree: T): T {
  for (const tensor of tensorsWithin(tree)) if (active?.take(tensor)) tensor.unscope();
  return tree;
}

/** A scope for async code: owns what is tracked, or made inside run, until it is disposed. */
export interface Scope {
  /** The scope owns the tensors of the tree from now on; returns the tree. */
  track<T>(tree: T): T;
  /** Runs synchronous code whose tensors the scope owns. */
  run<T>(f: () => T): T;
  /** Takes the tensors of the tree out again; returns the tree. */
  keep<T>(tree: T): T;
  /** Disposes all that the scope owns. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Makes a scope for async code. */
export function scope(): Scope {
  const owned = new Owned();
  const dispose = (): void => owned.disposeAll();
  const made = {
    track<T>(tree: T): T {
      for (const tensor of tensorsWithin(tree)) {
        active?.take(tensor);
        owned.add(tensor);
      }
      return tree;
    },
    run<T>(f: () => T): T {
      checkFunction('scope.run', f, 'write scope.run(() => ...)');
      const result = runIn(owned, f);
      refusePromise('scope.run', result, 'await between the calls of run, and track what comes of it');
      return result;
    },
    keep<T>(tree: T): T {
      for (const tensor of tensorsWithin(tree)) if (owned.take(tensor)) handOver(tensor, active);
      return tree;
    },
    dispose,
  };
  const symbol = (Symbol as { dispose?: symbol }).dispose ?? Symbol.for('Symbol.dispose');
  return Object.defineProperty(made, symbol, { value: dispose }) as Scope;
}
