// debug.checkNumerics(f): f, which throws at the first value that is not finite. A call runs as usual, and only its results
// are checked. If one is not finite, the program runs once more, op by op, under the core's watch, which finds where that
// began. So values that are masked out, such as the -Infinity of an attention's mask, are no fault.

import { asTensor } from './apply.js';
import { recordingCalls, type SourcePlace } from './calls.js';
import { checkFunction } from './check.js';
import { passes } from './core.js';
import { isFloat } from './dtype.js';
import { SinterError, named } from './errors.js';
import { all } from './functions.gen.js';
import { compile, jit } from './jit.js';
import { isfinite, logicalAnd } from './ops.gen.js';
import { derivedFrom } from './origin.js';
import { dispose, flatten, type Flat } from './pytree.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';
import { isTracing } from './trace.js';

/** A value of the program, and a summary of its elements. */
export interface SeenValue {
  op: string;
  /** 'float32(2, 3)' */
  type: string;
  /** Whether a derivative made it; places are then those of the call that was differentiated. */
  derivative: boolean;
  /** The least and the largest finite element; null if no element is finite. */
  least: number | null;
  most: number | null;
  nans: number;
  infinities: number;
  /** The places of its call in the source, innermost first. */
  places: SourcePlace[];
}

/** A value that a result depends on is not finite. */
export class NumericsError extends SinterError {
  static {
    named(this, 'NumericsError');
  }

  /** value: the first value that is not finite; inputs: what its op read; path: the ops that led to it, nearest first. */
  constructor(
    readonly value: SeenValue,
    readonly inputs: readonly SeenValue[],
    readonly path: readonly Pick<SeenValue, 'op' | 'places'>[],
  ) {
    super('numerics', 'checkNumerics', `${told(value)}${inputs.map((x, i) => `, ${i ? 'and ' : 'of '}${x.op} ${x.type} ${within(x)}`).join('')}`);
  }
}

const at = ([place]: readonly SourcePlace[]): string => (place ? ` at ${place.file}:${place.line}:${place.column}` : '');

function told({ op, type, derivative, nans, infinities, places }: SeenValue): string {
  const what = [nans > 0 ? `${nans} NaN` : '', infinities > 0 ? `${infinities} infinite` : ''].filter(Boolean).join(' and ');
  return `${op} makes ${what} in ${type}${derivative ? ', in the derivative' : ''}${at(places)}`;
}

function within({ least, most, nans, infinities }: SeenValue): string {
  const parts = least === null ? [] : [`from ${least} to ${most}`];
  if (nans > 0) parts.push(`${nans} NaN`);
  if (infinities > 0) parts.push(`${infinities} infinite`);
  return `(${parts.join(', ')})`;
}

/** A value as the core writes it: with numbers of its node and call in place of the places. */
type Watched = Omit<SeenValue, 'places'> & { node: number; call: number };
interface Found {
  written: Watched;
  reads: Watched[];
}

const PATH = 8;

/** Runs f op by op, first without passes, then with them, until a run shows where the fault began. Null if neither does. */
function hunt<A extends readonly unknown[]>(f: (...args: A) => unknown, flat: Flat): NumericsError | null {
  const none = Object.fromEntries(passes().map((name) => [name, false]));
  for (const options of [{ passes: none }, {}]) {
    const [{ program }, calls] = recordingCalls(() =>
      compile('checkNumerics', (list) => f(...(list as unknown as A)), flat, {
        ...options,
        fusion: false,
        jit: false,
        donate: flat.tensors.map(() => false),
        record: true,
      }),
    );
    try {
      const text = program.watch(flat.tensors);
      if (text !== null) return errorOf(JSON.parse(text) as Found, JSON.parse(program.inspection()) as Recorded, calls());
    } finally {
      program.release();
    }
  }
  return null;
}

interface Recorded {
  stages: { name: string; nodes: { id: number; op: string; call?: number }[]; edges: { from: number; to: number }[] }[];
}

function errorOf({ written, reads }: Found, { stages }: Recorded, calls: readonly SourcePlace[][]): NumericsError {
  const seen = ({ node: _node, call, ...value }: Watched): SeenValue => ({
    ...value,
    type: value.type.replace(',)', ')'),
    places: calls[call] ?? [],
  });
  const { nodes, edges } = stages.find(({ name }) => name === 'groups')!;
  const path: Pick<SeenValue, 'op' | 'places'>[] = [];
  // If the value is in a region, its number is of another graph: there is a path only if the op agrees.
  for (let id = written.node; path.length < PATH && nodes[id]?.op === (path.length === 0 ? written.op : nodes[id]?.op); ) {
    const { op, call = 0 } = nodes[id]!;
    path.push({ op, places: calls[call] ?? [] });
    const edge = edges.find(({ to }) => to === id);
    if (!edge) break;
    id = edge.from;
  }
  return new NumericsError(seen(written), reads.map(seen), path);
}

const areFinite = jit((values: readonly Tensor[]) => values.map((x) => all(isfinite(x))).reduce((a, b) => logicalAnd(a, b)));

/**
 * f, which throws a NumericsError at the first value that is not finite among those that its results come from. The error
 * names the op, where it was called, the ranges of what it read, and the path to it. f is compiled as by jit. Values that
 * no result depends on are not checked.
 */
export function checkNumerics<A extends readonly unknown[], R>(f: (...args: A) => R): (...args: A) => R {
  checkFunction('checkNumerics', f, 'checkNumerics(f) is f, which throws at the first value that is not finite');
  const run = jit(f);
  return derivedFrom(f, (...args: A): R => {
    if (isTracing()) return f(...args);
    const result = run(...args);
    tidy(() => {
      const floats = flatten(result, 'checkNumerics').tensors.filter(({ dtype }) => isFloat(dtype));
      if (floats.length === 0 || areFinite(floats).item()) return;
      const fault = hunt(f, flatten(args, 'checkNumerics', (array) => asTensor(array, 'checkNumerics')));
      if (fault === null) return;
      dispose(result);
      throw fault;
    });
    return result;
  });
}
