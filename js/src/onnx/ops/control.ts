// If, Loop and Scan. In a compiled program they become the package's own control flow, which has derivatives and allows any
// number of rounds. They run in JavaScript if conditions and counts are known, or if the model runs op by op.

import * as sn from '../../index.js';
import { SinterError, type Tensor } from '../../index.js';
import type { Node, Op, Plan } from '../plan.js';
import { BOOL, INT64 } from '../types.js';
import { inRegion, known, made, sequence, UnknownElements, type Value } from '../value.js';
import { axisOf } from './shape.js';

/** Loops of more rounds become a step of the program; shorter ones are unrolled. */
const MOST_UNROLLED = 16;
/** The most rounds of a loop that runs op by op, and of one that only its count can end. */
const MOST_ROUNDS = 100_000;

/** The only element of x, or null if it is not known. */
function scalarOf(x: Value): number | null {
  try {
    return Number(x.elements[0]);
  } catch (cause) {
    if (cause instanceof UnknownElements) return null;
    throw cause;
  }
}

/** Runs a graph inside a traced function, and writes the types of its results to types. */
function tracedCall(n: Node, plan: Plan, args: readonly Value[], types: number[]): Tensor[] {
  return inRegion(() => {
    const results = n.call(plan, args);
    results.forEach((value, i) => (types[i] = value.type));
    return results.map((value) => value.t);
  });
}

/** Runs f. If that cannot become a step of a program, throws UnknownElements for the value, so that the model runs op by op instead. */
function orUnknown<T>(value: Value, f: () => T): T {
  try {
    return f();
  } catch (cause) {
    if (cause instanceof SinterError && cause.code !== 'memory') throw new UnknownElements(value);
    throw cause;
  }
}

const choose: Op = {
  since: 1,
  run: (n, condition) => {
    const [yes, no] = [n.plan('then_branch'), n.plan('else_branch')];
    const holds = scalarOf(condition!);
    if (holds !== null) return n.call(holds ? yes : no, []);
    const types: number[] = [];
    const results = orUnknown(condition!, () => {
      const pred = sn.reshape(condition!.t, []);
      return sn.cond(pred, () => tracedCall(n, yes, [], types), () => tracedCall(n, no, [], types));
    });
    return results.map((t, i) => made(types[i]!, t));
  },
};

/** Stacks the values of all rounds along a new axis. */
const stacked = (rounds: readonly Value[], axis: number): Value => made(rounds[0]!.type, sn.stack(rounds.map((x) => x.t), { axis }));

/** The stacked outputs of a loop of no rounds: their types and shapes come from one call whose results are dropped. */
function noRounds(n: Node, plan: Plan, carried: number, count: number, args: readonly Value[]): Value[] {
  const results = n.call(plan, args).slice(carried);
  return Array.from({ length: count }, (_, i) => made(results[i]!.type, sn.zeros([0, ...results[i]!.shape], { dtype: results[i]!.t.dtype })));
}

/** Runs a loop in JavaScript; returns null if a condition is not known. */
function loopHere(n: Node, plan: Plan, limit: number, first: Value | undefined, init: readonly Value[]): Value[] | null {
  const outputs = plan.outputs.length - 1 - init.length;
  const rounds: Value[][] = Array.from({ length: outputs }, () => []);
  let carried = [...init];
  let condition = first;
  for (let i = 0; i < limit; i++) {
    const holds = condition ? scalarOf(condition) : 1;
    if (holds === null) return null;
    if (!holds) break;
    if (i >= MOST_ROUNDS) throw n.fail(`more than ${MOST_ROUNDS} rounds`);
    const results = n.call(plan, [known(INT64, [], [i]), condition ?? known(BOOL, [], [1]), ...carried]);
    condition = results[0]!;
    carried = results.slice(1, 1 + init.length);
    results.slice(1 + init.length).forEach((value, k) => rounds[k]!.push(value));
  }
  if (outputs > 0 && rounds[0]!.length === 0) return [...carried, ...noRounds(n, plan, 1 + init.length, outputs, [known(INT64, [], [0]), known(BOOL, [], [1]), ...init])];
  return [...carried, ...rounds.map((list) => stacked(list, 0))];
}

/** Thrown if a loop's body computes its condition, so that the loop may exit before its count. */
class EarlyExit extends Error {}
/** Thrown if a loop can only end by its count, and that exceeds MOST_ROUNDS. */
class Unbounded extends Error {}

/** Runs a loop of a known count as a scan. Throws EarlyExit if the body's condition is not the constant true. */
function loopAsScan(n: Node, plan: Plan, limit: number, init: readonly Value[]): Value[] {
  const types: number[] = [];
  const counts = sn.iota([limit], 0);
  const [last, ys] = sn.scan(
    (carry: Tensor[], i: Tensor): [Tensor[], Tensor[]] => {
      const args = [made(INT64, i), known(BOOL, [], [1]), ...carry.map((t, k) => made(init[k]!.type, t))];
      return inRegion(() => {
        const results = n.call(plan, args);
        if (results[0]!.host === null || !results[0]!.host[0]) throw new EarlyExit();
        results.slice(1).forEach((value, k) => (types[k] = value.type));
        const tensors = results.slice(1).map((value) => value.t);
        return [tensors.slice(0, init.length), tensors.slice(init.length)];
      });
    },
    init.map((value) => value.t),
    counts,
  );
  return [...last, ...ys].map((t, i) => made(types[i]!, t));
}

/** Runs a loop that its condition ends. Outputs that collect a value per round are not supported. */
function loopAsWhile(n: Node, plan: Plan, limit: Tensor | number, first: Tensor, init: readonly Value[]): Value[] {
  let ends = true;
  const [, , ...last] = sn.whileLoop(
    (carry: Tensor[]) => sn.logicalAnd(carry[1]!, sn.less(carry[0]!, limit)),
    (carry: Tensor[]) => {
      const [i, condition, ...carried] = carry as [Tensor, Tensor, ...Tensor[]];
      const args = [made(INT64, i), made(BOOL, condition), ...carried.map((t, k) => made(init[k]!.type, t))];
      return inRegion(() => {
        const results = n.call(plan, args);
        ends = results[0] !== args[1] && !results[0]!.host?.[0];
        return [sn.add(i, 1), sn.reshape(results[0]!.t, []), ...results.slice(1).map((value) => value.t)];
      });
    },
    [sn.tensor(0, { dtype: 'int32' }), first, ...init.map((value) => value.t)],
  );
  if (!ends && typeof limit === 'number' && limit > MOST_ROUNDS) throw new Unbounded();
  return last.map((t, i) => made(init[i]!.type, t));
}

const loop: Op = {
  since: 1,
  run: (n, count, condition, ...init) => {
    const plan = n.plan('body');
    const limit = count ? scalarOf(count) : Infinity;
    const begins = condition ? scalarOf(condition) : 1;
    const isSequence = init.some((value) => value.items !== undefined);
    const known = limit !== null && begins !== null;
    if (known && (n.machine.isEager || isSequence || limit <= MOST_UNROLLED)) {
      const results = loopHere(n, plan, limit, condition, init);
      if (results) return results;
    }
    const asked = count ?? condition ?? init[0]!;
    if (n.machine.isEager || isSequence) throw new UnknownElements(asked);
    if (known && begins === 1 && limit < Infinity) {
      try {
        if (limit > MOST_ROUNDS) throw new EarlyExit();
        return loopAsScan(n, plan, limit, init);
      } catch (cause) {
        if (!(cause instanceof EarlyExit)) throw cause instanceof SinterError ? new UnknownElements(asked) : cause;
      }
    }
    if (plan.outputs.length > 1 + init.length) throw new UnknownElements(asked);
    const first = condition ? sn.reshape(condition.t, []) : sn.tensor(true);
    try {
      return orUnknown(asked, () => loopAsWhile(n, plan, limit === null ? sn.reshape(count!.t, []) : Math.min(limit, 0x7fffffff), first, init));
    } catch (cause) {
      throw cause instanceof Unbounded ? n.fail(`more than ${MOST_ROUNDS} rounds`) : cause;
    }
  },
};

/** Before opset 9 all values have a batch axis in front. */
const scan: Op = {
  since: 8,
  run: (n, ...x) => {
    const plan = n.plan('body');
    const isBatched = n.opset < 9;
    const given = isBatched ? x.slice(1) : x;
    const count = n.int('num_scan_inputs');
    const [init, xs] = [given.slice(0, given.length - count), given.slice(given.length - count)];
    if (!isBatched) return scanned(n, plan, init, xs);
    if (x[0]) throw n.fail('lengths of sequences are not read');
    const batch = xs[0]!.shape[0]!;
    const part = (value: Value, i: number): Value => made(value.type, sn.squeeze(sn.slice(value.t, value.shape.map((_, k) => (k ? 0 : i)), value.shape.map((size, k) => (k ? size : 1))), 0));
    const each = Array.from({ length: batch }, (_, i) => scanned(n, plan, init.map((v) => part(v, i)), xs.map((v) => part(v, i))));
    return each[0]!.map((_, k) => stacked(each.map((results) => results[k]!), 0));
  },
};

function scanned(n: Node, plan: Plan, init: readonly Value[], xs: readonly Value[]): Value[] {
  const [axes, ends] = [n.ints('scan_input_axes') ?? [], n.ints('scan_output_axes') ?? []];
  const [flippedInputs, flippedOutputs] = [n.ints('scan_input_directions') ?? n.ints('directions') ?? [], n.ints('scan_output_directions') ?? []];
  const slices = xs.map((value, i) => {
    const front = sn.moveaxis(value.t, axisOf(axes[i] ?? 0, value.rank), 0);
    return flippedInputs[i] ? sn.flip(front, 0) : front;
  });
  const types: number[] = [];
  const [last, ys] = sn.scan(
    (carry: Tensor[], parts: Tensor[]): [Tensor[], Tensor[]] => {
      const args = [...carry.map((t, i) => made(init[i]!.type, t)), ...parts.map((t, i) => made(xs[i]!.type, t))];
      const results = tracedCall(n, plan, args, types);
      return [results.slice(0, init.length), results.slice(init.length)];
    },
    init.map((value) => value.t),
    slices,
  );
  const outputs = ys.map((t, i) => {
    const ordered = flippedOutputs[i] ? sn.flip(t, 0) : t;
    return sn.moveaxis(ordered, 0, axisOf(ends[i] ?? 0, t.ndim));
  });
  return [...last, ...outputs].map((t, i) => made(types[i]!, t));
}

/** Runs a graph for each value of one or more sequences. */
const sequenceMap: Op = {
  since: 17,
  run: (n, first, ...others) => {
    const plan = n.plan('body');
    const rounds = first!.list.map((value, i) => n.call(plan, [value, ...others.map((each) => (each.items ? each.items[i]! : each))]));
    return plan.outputs.map((_, k) => sequence(rounds.map((results) => results[k]!)));
  },
};

export const CONTROL: Readonly<Record<string, Op>> = { If: choose, Loop: loop, Scan: scan, SequenceMap: sequenceMap };
