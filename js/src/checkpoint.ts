// checkpoint and saveAs: what derivatives make again instead of keeping it.

import { checkFunction, shown } from './check.js';
import { SinterError } from './errors.js';
import { readOptions, type OptionSchema } from './options.js';
import { derivedFrom } from './origin.js';
import { rebuild } from './pytree.js';
import { control, enter, returned, traceCall, typed, type Entered, type TensorsOf } from './regions.js';
import { runtime } from './runtime/runtime.js';
import { tidyTraced } from './scope.js';
import { Tensor, wrap } from './tensor.js';
import { isTracing } from './trace.js';

export interface CheckpointOptions {
  /** What is kept besides the arguments: nothing (the default), products of matrices and convolutions, or the values
   *  that saveAs gave one of these names. */
  policy?: 'nothing' | 'products' | readonly string[];
}

const CHECKPOINT: OptionSchema<CheckpointOptions> = { policy: 'any' };

/** In the core names are numbers. */
const names = new Map<string, number>();

function numberOf(op: string, name: unknown): number {
  if (typeof name !== 'string') throw new SinterError('argument', op, `the name is ${shown(name)}, expected a string`);
  const number = names.get(name) ?? names.size;
  names.set(name, number);
  return number;
}

/** x; a checkpoint around it whose policy has the name keeps it for the derivative. */
export function saveAs(x: Tensor, name: string): Tensor {
  if (!(x instanceof Tensor)) throw new SinterError('argument', 'saveAs', `the argument is ${shown(x)}, expected a tensor`);
  const number = numberOf('saveAs', name);
  return isTracing() ? wrap(runtime().exports.sinter_named(x.use('saveAs'), number), x.meta) : x;
}

type Policy = CheckpointOptions['policy'];

/** Whether products are kept, and the numbers of the names that are. */
function keptBy(op: string, policy: Policy): { products: boolean; kept: number[] } {
  if (Array.isArray(policy)) return { products: false, kept: policy.map((name) => numberOf(op, name)) };
  if (policy === 'nothing' || policy === 'products') return { products: policy === 'products', kept: [] };
  throw new SinterError('argument', op, `option policy is ${shown(policy)}, expected 'nothing', 'products' or names in an array`);
}

/** f of operands, as one node. */
export function whole(op: string, f: (...list: unknown[]) => unknown, operands: Entered, policy: Policy = 'nothing'): unknown {
  const { products, kept } = keptBy(op, policy);
  const { inputs, given, made } = traceCall(op, operands, f, true);
  const outputs = typed(made);
  const [n, count] = [inputs.length, outputs.length];
  const words = [...inputs, ...outputs, ...given, Number(products), ...kept];
  const results = count === 0 ? [] : control(op, words, count, (core) => core.sinter_checkpoint(n, count, kept.length));
  return rebuild(made.shape, results);
}

/** f as it runs where nothing is recorded. */
export function atOnce(op: string, f: (...list: unknown[]) => unknown, operands: Entered): unknown {
  const made = enter(op, returned(op, f(...(rebuild(operands.shape, operands.tensors) as unknown[]))));
  return rebuild(made.shape, typed(made));
}

/**
 * The function that computes what f computes, and whose values derivatives do not keep but make again from its
 * arguments: less memory for more time. Arguments and results are trees; what f captures is differentiated by as well.
 * Where no derivative is taken it is f itself.
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
      const operands = enter('checkpoint', args);
      return (isTracing() ? whole('checkpoint', call, operands, policy) : atOnce('checkpoint', call, operands)) as TensorsOf<R>;
    }),
  );
}
