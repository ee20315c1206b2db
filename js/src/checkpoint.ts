// checkpoint and saveAs: which values derivatives compute again instead of keeping them (rematerialisation).

import { checkFunction, shown } from './check.js';
import { SinterError } from './errors.js';
import { readOptions, type OptionSchema } from './options.js';
import { derivedFrom } from './origin.js';
import { rebuild } from './pytree.js';
import { callCore, flattenWithNumbers, returned, traceCall, withDTypes, type FlatWithNumbers, type TensorsOf } from './regions.js';
import { runtime } from './runtime/runtime.js';
import { tidyTraced } from './scope.js';
import { Tensor, wrap } from './tensor.js';
import { isTracing } from './trace.js';

export interface CheckpointOptions {
  /** The values kept for the derivative besides the arguments: none ('nothing', the default), the results of matrix
   *  products and convolutions ('products'), or those that saveAs gave one of these names. */
  policy?: 'nothing' | 'products' | readonly string[];
}

const CHECKPOINT: OptionSchema<CheckpointOptions> = { policy: 'any' };

/** Names -> the numbers that stand for them in the core. */
const names = new Map<string, number>();

function numberOf(op: string, name: unknown): number {
  if (typeof name !== 'string') throw new SinterError('argument', op, `the name is ${shown(name)}, expected a string`);
  const number = names.get(name) ?? names.size;
  names.set(name, number);
  return number;
}

/** Returns x under a name: a checkpoint around it whose policy lists the name keeps its value for the derivative. */
export function saveAs(x: Tensor, name: string): Tensor {
  if (!(x instanceof Tensor)) throw new SinterError('argument', 'saveAs', `the argument is ${shown(x)}, expected a tensor`);
  const number = numberOf('saveAs', name);
  return isTracing() ? wrap(runtime().exports.sinter_named(x.use('saveAs'), number), x.meta) : x;
}

type Policy = CheckpointOptions['policy'];

/** What a policy keeps: products or not, and the values with these numbers. */
function keptBy(op: string, policy: Policy): { products: boolean; kept: number[] } {
  if (Array.isArray(policy)) return { products: false, kept: policy.map((name) => numberOf(op, name)) };
  if (policy === 'nothing' || policy === 'products') return { products: policy === 'products', kept: [] };
  throw new SinterError('argument', op, `option policy is ${shown(policy)}, expected 'nothing', 'products' or names in an array`);
}

/** Records f of the operands as one checkpoint node; returns f's result. */
export function recordCheckpoint(op: string, f: (...list: unknown[]) => unknown, operands: FlatWithNumbers, policy: Policy = 'nothing'): unknown {
  const { products, kept } = keptBy(op, policy);
  const { inputs, given, made } = traceCall(op, operands, f, true);
  const outputs = withDTypes(made);
  const [n, count] = [inputs.length, outputs.length];
  const words = [...inputs, ...outputs, ...given, Number(products), ...kept];
  const results = count === 0 ? [] : callCore(op, words, count, (core) => core.sinter_checkpoint(n, count, kept.length));
  return rebuild(made.shape, results);
}

/** Calls f directly, for calls outside of a trace, which no derivative can go through. */
export function callDirectly(op: string, f: (...list: unknown[]) => unknown, operands: FlatWithNumbers): unknown {
  const made = flattenWithNumbers(op, returned(op, f(...(rebuild(operands.shape, operands.tensors) as unknown[]))));
  return rebuild(made.shape, withDTypes(made));
}

/**
 * Returns a function that computes the same as f, but of which derivatives do not keep the intermediate values: they
 * compute them again from the arguments, which takes less memory and more time. Arguments and results are trees of tensors.
 * Tensors that f captures are differentiated as well. Where no derivative is taken it behaves as f.
 */
export function checkpoint<A extends readonly unknown[], R>(
  f: (...args: A) => R,
  options?: CheckpointOptions,
): (...args: A) => TensorsOf<R> {
  checkFunction('checkpoint', f, 'checkpoint((x) => y)');
  const { policy = 'nothing' } = readOptions('checkpoint', options, CHECKPOINT);
  keptBy('checkpoint', policy);
  const call = f as unknown as (...list: unknown[]) => unknown;
  return derivedFrom(f, (...args: A) =>
    tidyTraced(() => {
      const operands = flattenWithNumbers('checkpoint', args);
      return (isTracing() ? recordCheckpoint('checkpoint', call, operands, policy) : callDirectly('checkpoint', call, operands)) as TensorsOf<R>;
    }),
  );
}
