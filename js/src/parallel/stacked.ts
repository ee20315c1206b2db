// Parameters of n modules of one form, stacked along a new first axis; and a loop that applies each module to its own
// input.

import { SinterError, UnsupportedError, arange, internals, random, scan, stack, tidy, tree, type Tensor } from '../index.js';

const { checkInteger, shown } = internals;

/** A module that can be stacked: any of sn.nn without a state, or one that is made of such here. */
export interface Member<P> {
  readonly name?: string;
  readonly hasState?: false;
  init(key: Tensor): P;
  apply(params: P, x: Tensor, options?: MemberOptions): Tensor;
}

/** What modules get besides parameters and input. Each of the n modules draws its own random numbers from the key. */
export interface MemberOptions {
  key?: Tensor | undefined;
  train?: boolean;
  mask?: unknown;
}

export function checkMember(op: string, n: number, module: unknown): void {
  checkInteger(op, 'n', n, 1);
  const { init, apply, hasState } = (module ?? {}) as { init?: unknown; apply?: unknown; hasState?: unknown };
  if (typeof init !== 'function' || typeof apply !== 'function')
    throw new SinterError('argument', op, `the module is ${shown(module)}, expected one of sn.nn`, { hint: 'a module has init(key) and apply(params, x)' });
  if (hasState === true)
    throw new UnsupportedError(op, 'a module with a state', { hint: 'batchNorm has one; layerNorm, rmsNorm and groupNorm have none' });
}

/** Fresh parameters of n modules, stacked. */
export const initStacked = <P>(module: Member<P>, n: number, key: Tensor): P =>
  tidy(() => {
    const [first, ...others] = random.splitKeys(key, n).map((own) => module.init(own));
    return tree.map((...tensors) => stack(tensors), first, ...others) as P;
  });

function checkStack(op: string, n: number, params: unknown): void {
  tree.map((t) => {
    if (t.shape[0] === n) return;
    throw new SinterError('argument', op, `these are not the parameters of ${n} modules: one is (${t.shape.join(', ')})`, {
      hint: 'params = module.init(key), then module.apply(params, x)',
    });
  }, params);
}

type Round<P> = (_: null, own: [P, Tensor, Tensor]) => [null, Tensor];
type Loop = <P>(round: Round<P>, init: null, xs: unknown) => [null, Tensor];

/** Applies each of n modules to its own x, stacked in xs, and stacks the results. apply also gets the module's number. */
export function each<P>(
  op: string,
  n: number,
  params: P,
  xs: Tensor,
  options: MemberOptions,
  apply: (params: P, x: Tensor, number: Tensor, options: MemberOptions) => Tensor,
): Tensor {
  checkStack(op, n, params);
  const numbers = arange(0, n, 1, { dtype: 'int32' });
  const round: Round<P> = (_, [own, x, number]) => {
    const key = options.key && random.foldIn(options.key, number);
    return [null, apply(own, x, number, { ...options, key })];
  };
  const shared = [tree.map((t) => t.shard(), params), xs.shard(), numbers.shard()];
  return (scan as unknown as Loop)(round, null, shared)[1];
}
