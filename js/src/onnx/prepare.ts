// Work on a file's weights that is done once at load time instead of in each call: first, steps are fused where that allows
// more of it; then each step prepares its weights.

import { internals, keep, ShapeError, tidy, type Tensor } from '../index.js';
import { timesDequantized } from './ops/blocks.js';
import type { Plan, Prepared, Step, Weights } from './plan.js';
import { readTensor, type Source } from './tensors.js';

/** If the shapes of weights do not fit, nothing is prepared: run will report that with its node. */
function preparedOf(step: Step, weights: Weights): Prepared | null {
  try {
    return step.op.prepare?.(step, weights) ?? null;
  } catch (cause) {
    if (cause instanceof ShapeError) return null;
    throw cause;
  }
}

/** Fuses each DequantizeLinear of blocks with the MatMul that reads its result as the second operand, if nothing else reads
 *  it. */
function joinDequantized(plans: readonly Plan[], isWeight: (slot: number) => boolean): void {
  const uses = new Map<number, number>();
  const read = plans.flatMap(({ steps, outputs }) => [...steps.flatMap(({ inputs }) => inputs), ...outputs]);
  for (const slot of read) uses.set(slot, (uses.get(slot) ?? 0) + 1);
  const isMaker = ({ node, inputs }: Step): boolean => node.type === 'DequantizeLinear' && node.int('block_size') > 0 && isWeight(inputs[0]!);
  for (const plan of plans) {
    const makers = new Map(plan.steps.filter(isMaker).map((step) => [step.outputs[0]!, step]));
    const joined = new Set<Step>();
    const steps = plan.steps.map((step) => {
      const maker = step.node.type === 'MatMul' && makers.get(step.inputs[1]!);
      if (!maker || uses.get(step.inputs[1]!) !== 1) return step;
      joined.add(maker);
      return timesDequantized(maker, step);
    });
    plan.steps = steps.filter((step) => !joined.has(step));
  }
}

/**
 * Prepares the steps of all plans of a model, and drops the weights that no step uses any more. Returns the tensors that the
 * steps use instead; the caller owns them.
 */
export function prepare(plans: readonly Plan[], source: Source): Tensor[] {
  const protos = new Map(plans.flatMap(({ initials }) => initials.map(({ slot, proto }) => [slot, proto])));
  joinDequantized(plans, (slot) => protos.has(slot));
  const steps = plans.flatMap((plan) => plan.steps);
  const made: Tensor[] = [];
  /** Steps with the same weights, e.g. in both branches of a condition, share what is prepared. */
  const shared = new Map<string, Prepared | null>();
  const done = new Set<number>();
  const make = (step: Step): Prepared | null => {
    const found = preparedOf(step, (i) => {
      const proto = protos.get(step.inputs[i] ?? -1);
      return proto && readTensor(proto, source);
    });
    if (found) {
      internals.evaluate([...found.tensors]);
      made.push(...found.tensors.map(keep));
    }
    return found;
  };
  const replace = (step: Step): void => {
    const key = `${step.node.form} ${step.op.form ?? ''} ${step.inputs.slice(1).join()}`;
    if (!shared.has(key)) shared.set(key, make(step));
    const found = shared.get(key);
    if (!found) return;
    step.op = { ...step.op, run: found.run };
    for (const slot of step.inputs.slice(1, found.behind)) done.add(slot);
    step.inputs.fill(-1, 1, found.behind);
  };
  try {
    for (const step of steps) if (step.op.prepare) tidy(() => replace(step));
  } catch (cause) {
    for (const t of made) t.dispose();
    throw cause;
  }
  const used = new Set([...steps.flatMap(({ inputs }) => inputs), ...plans.flatMap(({ outputs }) => outputs)]);
  for (const plan of plans) plan.initials = plan.initials.filter(({ slot }) => used.has(slot) || !done.has(slot));
  return made;
}
