// vmap: f is recorded once, on placeholders for one example, and the core turns that into one graph for all examples. No
// loop over examples runs, in JavaScript or anywhere else.

import { asTensor } from './apply.js';
import { checkFunction, fitsInt32, shown } from './check.js';
import { ShapeError, SinterError, shapeText } from './errors.js';
import { readOptions, type OptionSchema } from './options.js';
import { derivedFrom } from './origin.js';
import { broadcastPrefix } from './prefix.js';
import { argumentName, flatten, rebuild, resultName, tensorNames, type TreeShape } from './pytree.js';
import { placeholder } from './program.js';
import { refusePromise, tidyTraced } from './scope.js';
import { makeMeta, type Tensor } from './tensor.js';
import { compiling, replacing } from './trace.js';
import { handOut, mapExamples, type Mapped } from './variables.js';

/** An axis for all tensors of a tree, null for none, or a prefix tree of these, which may end early. */
export type MappedAxes = number | null | readonly MappedAxes[] | { readonly [key: string]: MappedAxes };

export interface VmapOptions {
  /** The axis of each argument that has the examples: one number for all arguments, or an array with an entry per
   *  argument, which is a number, null for an argument that all examples share, or a tree of these. Default 0. */
  inAxes?: MappedAxes;
  /** The axis of each result that has the examples: a number or a tree of these; null for a result that does not depend
   *  on the example. Default 0. */
  outAxes?: MappedAxes;
}

const VMAP: OptionSchema<VmapOptions> = { inAxes: 'any', outAxes: 'any' };

const isAxis = (value: unknown): value is number | null => value === null || typeof value === 'number';

/** The axis of each tensor of a tree, counted from 0. ranks: of the tensors, with this axis. */
function axesOf(
  option: string,
  shape: TreeShape,
  axes: unknown,
  ranks: readonly number[],
  nameOf: (path: string) => string,
): { axes: (number | null)[]; names: string[] } {
  const names = tensorNames(shape, nameOf);
  const placed = broadcastPrefix('vmap', option, shape, axes, isAxis).map((axis, i) => {
    if (axis === null) return null;
    const rank = ranks[i]!;
    if (!fitsInt32(axis) || axis < -rank || axis >= rank) {
      throw new ShapeError('vmap', `${option} for ${names[i]} is ${shown(axis)}, out of range for ${rank} dimensions`);
    }
    return axis < 0 ? axis + rank : axis;
  });
  return { axes: placed, names };
}

function refuseSizes(tensors: readonly Tensor[], axes: readonly (number | null)[], names: readonly string[]): void {
  const first = axes.findIndex((axis) => axis !== null);
  if (first < 0) {
    throw new SinterError('argument', 'vmap', 'no tensor is mapped', { hint: 'inAxes names an axis for at least one' });
  }
  const size = (i: number): number => tensors[i]!.shape[axes[i]!]!;
  const other = axes.findIndex((axis, i) => axis !== null && size(i) !== size(first));
  if (other < 0) return;
  const said = (i: number): string => `${names[i]} ${shapeText(tensors[i]!.shape)} has ${size(i)} along axis ${axes[i]}`;
  throw new ShapeError('vmap', `mapped sizes differ: ${said(first)}, ${said(other)}`, { shapes: [tensors[first]!.shape, tensors[other]!.shape] });
}

function exampleOf(batch: Tensor, axis: number): Mapped {
  const shape = batch.shape.filter((_, i) => i !== axis);
  return { example: placeholder(makeMeta(batch.dtype, shape)), batch, axis };
}

function mapped(f: (...args: unknown[]) => unknown, args: readonly unknown[], inAxes: unknown, outAxes: unknown): unknown {
  return tidyTraced(() => {
    const { tensors, bound, shape } = flatten(args, 'vmap', (array) => asTensor(array, 'vmap'));
    const { axes, names } = axesOf('inAxes', shape, inAxes, tensors.map((t) => t.ndim), argumentName);
    refuseSizes(tensors, axes, names);
    const examples = compiling(() => tensors.map((t, i) => (axes[i] === null ? null : exampleOf(t, axes[i]!))));
    const leaves = tensors.map((t, i) => examples[i]?.example ?? t);
    const replaced = bound.filter((t) => !leaves.includes(t));
    const value = replacing(replaced, () => compiling(() => f(...(rebuild(shape, leaves) as unknown[]))));
    refusePromise('vmap', value, 'the function to map must be synchronous');
    const made = flatten(value, 'vmap');
    const out = axesOf('outAxes', made.shape, outAxes, made.tensors.map((t) => t.ndim + 1), resultName);
    const results = mapExamples('vmap', made.tensors, out.axes, examples.filter((m) => m !== null));
    return rebuild(made.shape, results.map((t) => handOut('vmap', t)));
  });
}

/**
 * Returns f for many examples at once: a function that takes batches, with one more axis, where f takes one example, and
 * returns results with one more axis. inAxes says where that axis is in the arguments, null for those that all examples
 * share; outAxes says where it is to be in the results. `vmap(grad(loss), { inAxes: [null, 0, 0] })` gives gradients per
 * example. While f is recorded its tensors have no values.
 */
export function vmap<A extends readonly unknown[], R>(f: (...args: A) => R, options?: VmapOptions): (...args: A) => R {
  checkFunction('vmap', f, 'vmap(f) is a function of batches');
  const { inAxes = 0, outAxes = 0 } = readOptions('vmap', options, VMAP);
  return derivedFrom(f, (...args: A) => mapped(f as unknown as (...args: unknown[]) => unknown, args, inAxes, outAxes) as R);
}
