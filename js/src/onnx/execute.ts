// Runs a plan: each step on its values. Steps on small values known to JavaScript run there at once (fold.ts).

import { internals, SinterError, Tensor } from '../index.js';
import { fold } from './fold.js';
import type { Machine, Plan, Step } from './plan.js';
import { readElements } from './tensors.js';
import { known, made, UnknownElements, type Value } from './value.js';

const { shapeText } = internals;

/** Wraps an error of an op with the name of its node. */
function inNode({ node }: Step, args: readonly (Value | undefined)[], cause: unknown): unknown {
  // A missing input or attribute becomes an error only where the op uses it.
  const isLack = cause instanceof TypeError || cause instanceof RangeError;
  if (isLack) return new SinterError('argument', 'onnx', `${node.where}: its inputs and attributes do not fit`, { cause });
  if (!(cause instanceof SinterError) || cause.op === 'onnx' || cause.code === 'memory') return cause;
  const shapes = args.map((x) => (x ? shapeText(x.shape) : 'none')).join(', ');
  return new SinterError(cause.code, 'onnx', `${node.where} of ${shapes}: ${cause.message}`, { shapes: cause.shapes, cause });
}

function runStep(step: Step, values: (Value | undefined)[]): void {
  const args = step.inputs.map((slot) => values[slot]);
  try {
    const result = fold(step.node, args as Value[]) ?? step.op.run(step.node, ...(args as Value[]));
    const results = Array.isArray(result) ? (result as readonly (Value | Tensor)[]) : [result as Value | Tensor];
    let from = 0n;
    for (const x of args) if (x) from |= x.from;
    for (const slot of step.captures) from |= values[slot]?.from ?? 0n;
    step.outputs.forEach((slot, i) => {
      if (slot < 0) return;
      const found = results[i];
      if (!found) throw step.node.fail(`output ${i} is not computed`);
      const value = found instanceof Tensor ? made(args[0]!.type, found) : found;
      value.from |= from;
      values[slot] = value;
    });
  } catch (cause) {
    throw cause instanceof UnknownElements ? cause : inNode(step, args, cause);
  }
}

/** Runs the steps and returns the values of the plan's outputs. after: called after each step. */
export function execute(machine: Machine, plan: Plan, args: readonly Value[], after?: (step: Step) => void): Value[] {
  const { values, source } = machine;
  plan.inputs.forEach((slot, i) => (values[slot] = args[i]));
  for (const { slot, proto } of plan.initials) values[slot] ??= known(proto.type, proto.dims, readElements(proto, source));
  for (const step of plan.steps) {
    runStep(step, values);
    after?.(step);
  }
  return plan.outputs.map((slot) => values[slot]!);
}
