// Recurrent layers: a scan over time. The contribution of x to the gates is one product for all times, before the loop.

import { asTensor, type TensorLike } from '../apply.js';
import { checkInteger } from '../check.js';
import { loopOfParts, scan, treeOf, type Loop, type ScanOptions } from '../control.js';
import { ShapeError, shapeText } from '../errors.js';
import { matmul, permuteDims, sigmoid, split, tanh, zeros } from '../functions.gen.js';
import { readOptions, type OptionSchema } from '../options.js';
import { flattenWithNumbers, type FlatWithNumbers } from '../regions.js';
import * as random from '../random.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { fresh } from './initializers.js';
import { checkParams, type Module } from './module.js';

export interface RecurrentOptions {
  /** Goes from the last time to the first; each result stays at the time of its x. Default false. */
  reverse?: boolean;
  /** Returns only the last state's result (n, size), instead of those of all times. Default false. */
  last?: boolean;
  /** Takes x (time, n, in) and returns (time, n, size), as PyTorch does; then no copy of x is made for the loop. Default
   *  false. */
  timeFirst?: boolean;
  /** As in scan: cuts the loop into parts of so many times, whose states a gradient computes again. The contribution of
   *  x to the gates is then computed part by part, too. */
  checkpoint?: ScanOptions['checkpoint'];
}

const OPTIONS: OptionSchema<RecurrentOptions> = { reverse: 'boolean', last: 'boolean', timeFirst: 'boolean', checkpoint: 'any' };

export interface LstmParams {
  /** (in, 4 size), the gates in the order input, forget, cell, output */
  input: Tensor;
  /** (size, 4 size) */
  hidden: Tensor;
  /** (4 size) */
  bias: Tensor;
}

export interface GruParams {
  /** (in, 3 size), the gates in the order reset, update, new */
  input: Tensor;
  /** (size, 3 size) */
  hidden: Tensor;
  /** (3 size) */
  bias: Tensor;
  /** (size), added to the state's share of the new gate before it is reset */
  newBias: Tensor;
}

/** A module for sequences, x (n, time, in) -> (n, time, size); see timeFirst. */
export interface Recurrent<P, S> extends Module<P> {
  /** As apply, starting from a state (default: zeros); returns [y, state at the end]. */
  run(params: P, x: TensorLike, state?: S): [Tensor, S];
}

interface RecurrentParams {
  input: Tensor;
  hidden: Tensor;
  bias: Tensor;
}

/** The layer of a cell, a function (state, gates of x, params) -> state. A state is a list of tensors (n, size), of
 *  which the first one is the result. */
function recurrent<P extends RecurrentParams>(
  op: string,
  [inputs, size, gates, states]: readonly [number, number, number, number],
  given: RecurrentOptions | undefined,
  more: () => Omit<P, keyof RecurrentParams>,
  cell: (state: readonly Tensor[], x: Tensor, params: P) => Tensor[],
): Recurrent<P, Tensor[]> {
  const name = `nn.${op}`;
  checkInteger(name, 'inputs', inputs, 1);
  checkInteger(name, 'size', size, 1);
  const { reverse = false, last = false, timeFirst = false, checkpoint } = readOptions(name, given, OPTIONS);
  const run = (params: P, given: TensorLike, state?: Tensor[]): [Tensor, Tensor[]] =>
    tidy(() => {
      checkParams(op, params);
      const x = asTensor(given, name);
      const [batch, time, features] = timeFirst ? [x.shape[1], x.shape[0], x.shape[2]] : x.shape;
      if (x.ndim !== 3 || features !== inputs)
        throw new ShapeError(name, `needs (${timeFirst ? 'time, n' : 'n, time'}, ${inputs}): x ${shapeText(x.shape)}`, { shapes: [x.shape] });
      const start = state ?? Array.from({ length: states }, () => zeros([batch!, size], { dtype: params.bias.dtype }));
      const step = (before: Tensor[], share: Tensor): [Tensor[], Tensor | null] => {
        const next = cell(before, share, params);
        return [next, last ? null : next[0]!];
      };
      const loop: Loop = (from, xs) => {
        const shares = matmul(xs.tensors[0]!, params.input).add(params.bias);
        return scan(step, treeOf(from) as Tensor[], shares, { reverse }).map((tree) => flattenWithNumbers(name, tree)) as [FlatWithNumbers, FlatWithNumbers];
      };
      const timeMajor = (t: Tensor): Tensor => (timeFirst ? t : permuteDims(t, [1, 0, 2]));
      const times = flattenWithNumbers(name, timeMajor(x));
      const made = loopOfParts(name, flattenWithNumbers(name, start), times, time!, reverse, checkpoint, loop);
      const [end, ys] = made.map(treeOf) as [Tensor[], Tensor | null];
      return [ys ? timeMajor(ys) : end[0]!, end];
    });
  return {
    name: op,
    init: (key) =>
      tidy(() => {
        const [first, second] = random.splitKeys(key) as [Tensor, Tensor];
        const width = gates * size;
        const fan = inputs + size;
        const shared = { input: fresh(first, [inputs, width], fan), hidden: fresh(second, [size, width], fan), bias: zeros([width]) };
        return { ...shared, ...more() } as unknown as P;
      }),
    apply: (params, x) => tidy(() => run(params, x)[0]),
    run,
  };
}

/** Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000), computed as in
 *  PyTorch; its state is [h, c]. */
export const lstm = (inputs: number, size: number, options?: RecurrentOptions): Recurrent<LstmParams, Tensor[]> =>
  recurrent<LstmParams>('lstm', [inputs, size, 4, 2], options, () => ({}), ([h, c], x, { hidden }) => {
    const [input, forget, cell, output] = split(x.add(matmul(h!, hidden)), 4, { axis: 1 }) as [Tensor, Tensor, Tensor, Tensor];
    const next = sigmoid(forget).mul(c!).add(sigmoid(input).mul(tanh(cell)));
    return [sigmoid(output).mul(tanh(next)), next];
  });

/** Gated recurrent units (Cho et al. 2014), with the reset after the product as in PyTorch; the state is [h]. */
export const gru = (inputs: number, size: number, options?: RecurrentOptions): Recurrent<GruParams, Tensor[]> =>
  recurrent<GruParams>('gru', [inputs, size, 3, 1], options, () => ({ newBias: zeros([size]) }), ([h], x, { hidden, newBias }) => {
    const [xr, xz, xn] = split(x, 3, { axis: 1 }) as [Tensor, Tensor, Tensor];
    const [hr, hz, hn] = split(matmul(h!, hidden), 3, { axis: 1 }) as [Tensor, Tensor, Tensor];
    const fresh = tanh(xn.add(sigmoid(xr.add(hr)).mul(hn.add(newBias))));
    return [fresh.add(sigmoid(xz.add(hz)).mul(h!.sub(fresh)))];
  });
