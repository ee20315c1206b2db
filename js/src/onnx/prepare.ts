// What is made of a file's weights once, when it is loaded, in the place of work in each call.

import { internals, keep, tidy, type Tensor } from '../index.js';
import type { Plan } from './plan.js';
import { readTensor, type Source } from './tensors.js';

/**
 * Prepares the steps of all plans of a model, and leaves out the weights that these have no more use for. Returns what the steps
 * have in their place: the caller's.
 */
export function prepare(plans: readonly Plan[], source: Source): Tensor[] {
  const steps = plans.flatMap((plan) => plan.steps);
  const weights = new Map(plans.flatMap(({ initials }) => initials.map(({ slot, proto }) => [slot, proto])));
  const made: Tensor[] = [];
  const done = new Set<number>();
  for (const step of steps) {
    if (!step.op.prepare) continue;
    tidy(() => {
      const found = step.op.prepare!(step, (i) => {
        const proto = weights.get(step.inputs[i] ?? -1);
        return proto && readTensor(proto, source);
      });
      if (!found) return;
      internals.evaluate([...found.tensors]);
      made.push(...found.tensors.map(keep));
      step.op = { ...step.op, run: found.run };
      for (const slot of step.inputs.slice(1, found.behind)) done.add(slot);
      step.inputs.fill(-1, 1, found.behind);
    });
  }
  const used = new Set([...steps.flatMap(({ inputs }) => inputs), ...plans.flatMap(({ outputs }) => outputs)]);
  for (const plan of plans) plan.initials = plan.initials.filter(({ slot }) => used.has(slot) || !done.has(slot));
  return made;
}
