// Learning rates that change: functions of the number of steps done, in graph ops, so that a program computes its own rate.

import { checkFunction, checkInteger, shown } from '../check.js';
import { SinterError } from '../errors.js';
import { cos, full, minimum, pow, where } from '../functions.gen.js';
import { readOptions, type OptionSchema } from '../options.js';
import type { Tensor } from '../tensor.js';

/** The rate after `count` steps, int32. */
export type Schedule = (count: Tensor) => Tensor;

/** Options with these names are whole numbers from 1 on, others any number. */
const STEPS = ['steps', 'warmup', 'every'];

/** Reads options that are all numbers. defaults: null for one that must be given. */
function read<O extends { [name in keyof O]?: number }>(name: string, given: O, defaults: { [K in keyof O]-?: number | null }): Required<O> {
  const op = `optim.schedules.${name}`;
  const names = Object.keys(defaults) as (keyof O & string)[];
  const schema = Object.fromEntries(names.map((each) => [each, 'number'])) as OptionSchema<O>;
  const options = { ...defaults, ...readOptions<O>(op, given, schema) } as Record<string, number | null>;
  for (const each of names) {
    if (options[each] === null) throw new SinterError('argument', op, `option ${each} is missing`, { hint: `the options are ${names.join(', ')}` });
    if (STEPS.includes(each)) checkInteger(op, each, options[each], 1);
  }
  return options as Required<O>;
}

const floats = (count: Tensor): Tensor => count.astype('float32');

/** count as a share of steps, at most 1. */
const share = (count: Tensor, steps: number): Tensor => minimum(floats(count).div(steps), 1);

/** From a at t = 0 to b at t = 1 along half a cosine wave. */
const wave = (a: number, b: number, t: Tensor): Tensor => cos(t.mul(Math.PI)).add(1).mul((a - b) / 2).add(b);

/** The same rate at all steps. */
export const constant = (lr: number): Schedule => () => full([], lr);

/** Changes evenly from one rate to another in so many steps, then stays there. */
export function linear(given: { from: number; to: number; steps: number }): Schedule {
  const { from, to, steps } = read('linear', given, { from: null, to: null, steps: null });
  return (count) => share(count, steps).mul(to - from).add(from);
}

/** Changes from lr to another rate, 0 by default, along half a cosine wave in so many steps, then stays there. */
export function cosine(given: { lr: number; to?: number; steps: number }): Schedule {
  const { lr, to, steps } = read('cosine', given, { lr: null, to: 0, steps: null });
  return (count) => wave(lr, to, share(count, steps));
}

/** Rises evenly from a rate, 0 by default, to lr in the steps of warmup; then goes on as cosine to the end of all steps. */
export function warmupCosine(given: { lr: number; warmup: number; steps: number; from?: number; to?: number }): Schedule {
  const { lr, warmup, steps, from, to } = read('warmupCosine', given, { lr: null, warmup: null, steps: null, from: 0, to: 0 });
  checkInteger('optim.schedules.warmupCosine', 'steps', steps, warmup + 1);
  return join([linear({ from, to: lr, steps: warmup }), cosine({ lr, to, steps: steps - warmup })], [warmup]);
}

/** Multiplies lr by factor, 0.1 by default, each time so many steps are done. */
export function step(given: { lr: number; every: number; factor?: number }): Schedule {
  const { lr, every, factor } = read('step', given, { lr: null, every: null, factor: 0.1 });
  return (count) => pow(factor, floats(count).div(every).floor()).mul(lr);
}

/** lr times factor to the power of steps done / every; every is 1 by default. */
export function exponential(given: { lr: number; factor: number; every?: number }): Schedule {
  const { lr, factor, every } = read('exponential', given, { lr: null, factor: null, every: 1 });
  return (count) => pow(factor, floats(count).div(every)).mul(lr);
}

/** Rises along half a cosine wave from lr / 25 to lr in a share of the steps, 0.3 by default, and falls to lr / 250000
 *  in the others (Smith and Topin 2018), as in PyTorch. */
export function oneCycle(given: { lr: number; steps: number; share?: number }): Schedule {
  const { lr, steps, share: rising } = read('oneCycle', given, { lr: null, steps: null, share: 0.3 });
  const top = rising * steps - 1;
  return (count) => {
    const at = floats(count);
    const down = minimum(at.sub(top).div(Math.max(steps - 1 - top, 1)), 1);
    return top > 0 ? where(at.less(top), wave(lr / 25, lr, at.div(top)), wave(lr, lr / 25e4, down)) : wave(lr, lr / 25e4, down);
  };
}

/** One schedule after the other: from boundaries[i] steps on schedules[i + 1] holds, which counts its steps from there. */
export function join(schedules: readonly Schedule[], boundaries: readonly number[]): Schedule {
  const op = 'optim.schedules.join';
  if (!Array.isArray(schedules) || !Array.isArray(boundaries) || boundaries.length !== schedules.length - 1)
    throw new SinterError('argument', op, `${shown(schedules)} and ${shown(boundaries)}: expected schedules, and one boundary fewer`);
  schedules.forEach((each) => checkFunction(op, each, 'join([(count) => rate, ...], [steps, ...])'));
  boundaries.forEach((each, i) => checkInteger(op, `boundaries[${i}]`, each, i > 0 ? (boundaries[i - 1] as number) : 0));
  return (count) => {
    const rates = schedules.map((each, i) => (each as Schedule)(i > 0 ? count.sub(boundaries[i - 1] as number) : count));
    return rates.reduce((rate, next, i) => where(count.less(boundaries[i - 1] as number), rate, next));
  };
}
