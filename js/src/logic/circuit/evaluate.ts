// Evaluates a circuit on many examples at once: 32 per word, with any number of gates.
//
// Gates are sorted into levels by depth, and a level is one kernel. Each of its rows of words is computed from two rows of the
// level before, looked up by constant lists, and from four masks, by which one polynomial is any of the sixteen functions
// (words.ts). A signal that a later level reads is handed on by a row that copies it.
//
//   level 0: the inputs     level 1: gates of depth 1, handed-on inputs     ...     the outputs

import * as sn from '../../index.js';
import type { CircuitData } from './circuit.js';
import type { Gate } from '../gates.js';
import { PASS_A } from '../gates16.js';
import { masksOf } from './words.js';

const { shown } = sn.internals;

const BITS = 32;
const INT32 = { dtype: 'int32' } as const;
/** The most words of a row that a level computes at once. With fewer, starting rows takes most of the time. */
const BLOCK_WORDS = 64;

/** The rows of a level: a function each, and the two rows of the level before that it reads. */
type Level = Gate[];

/** For each signal, the level that makes it and the last level that reads it. */
function reachOf({ inputs, gates, outputs }: CircuitData): { made: Int32Array; last: Int32Array; depth: number } {
  const made = new Int32Array(inputs + gates.length);
  const last = new Int32Array(made.length).fill(-1);
  gates.forEach(([, a, b], i) => (made[inputs + i] = 1 + Math.max(made[a]!, made[b]!)));
  const depth = outputs.reduce((most, signal) => Math.max(most, made[signal]!), 0);
  gates.forEach(([, a, b], i) => {
    for (const signal of [a, b]) last[signal] = Math.max(last[signal]!, made[inputs + i]!);
  });
  for (const signal of outputs) last[signal] = depth + 1;
  return { made, last, depth };
}

/** The levels after the inputs, and the rows of the last level that are outputs. */
export function levelsOf(data: CircuitData): { levels: Level[]; outputs: number[] } {
  const { inputs, gates, outputs } = data;
  const { made, last, depth } = reachOf(data);
  const byLevel: number[][] = Array.from({ length: depth + 1 }, () => []);
  gates.forEach((_, i) => byLevel[made[inputs + i]!]!.push(inputs + i));
  let row = new Map(Array.from({ length: inputs }, (_, i): [number, number] => [i, i]));
  const levels: Level[] = [];
  for (let level = 1; level <= depth; level++) {
    const rows: Level = [];
    const next = new Map<number, number>();
    for (const signal of byLevel[level]!) {
      const [f, a, b] = gates[signal - inputs]!;
      next.set(signal, rows.push([f, row.get(a)!, row.get(b)!]) - 1);
    }
    for (const [signal, at] of row) if (last[signal]! > level) next.set(signal, rows.push([PASS_A, at, at]) - 1);
    levels.push(rows);
    row = next;
  }
  return { levels, outputs: outputs.map((signal) => row.get(signal)!) };
}

const ints = (list: readonly number[]): sn.Tensor => sn.keep(sn.tensor(Int32Array.from(list)));

/** The constants that a level's kernel captures. */
interface Tables {
  a: sn.Tensor;
  b: sn.Tensor;
  masks: sn.Tensor[];
}

const tablesOf = (level: Level): Tables => ({
  a: ints(level.map(([, a]) => a)),
  b: ints(level.map(([, , b]) => b)),
  masks: [0, 1, 2, 3].map((k) => sn.keep(sn.tidy(() => sn.tensor(Int32Array.from(level, ([f]) => masksOf(f)[k]!)).reshape([level.length, 1])))),
});

/** Computes the rows of a level from those of the level before. */
function compute(rows: sn.Tensor, { a, b, masks }: Tables): sn.Tensor {
  const [x, y] = [rows.take(a), rows.take(b)];
  const [m0, m1, m2, m3] = masks as [sn.Tensor, sn.Tensor, sn.Tensor, sn.Tensor];
  const withX = x.bitwiseAnd(m1.bitwiseXor(m3.bitwiseAnd(y)));
  return m0.bitwiseXor(withX).bitwiseXor(m2.bitwiseAnd(y));
}

/** Words per row of a block for so many examples: a power of two, so that few programs are compiled. */
function wordsFor(count: number): number {
  let words = 1;
  while (words < BLOCK_WORDS && BITS * words < count) words *= 2;
  return words;
}

export class Evaluator {
  readonly inputs: number;
  readonly outputs: number;
  readonly #run: sn.Jitted<[sn.Tensor], sn.Tensor>;
  readonly #pack: sn.Jitted<[sn.Tensor], sn.Tensor>;
  readonly #unpack: sn.Jitted<[sn.Tensor], sn.Tensor>;
  readonly #tables: Tables[];
  readonly #last: sn.Tensor;

  /** @internal */
  constructor(data: CircuitData) {
    const { levels, outputs } = levelsOf(data);
    this.inputs = data.inputs;
    this.outputs = outputs.length;
    this.#tables = levels.map(tablesOf);
    this.#last = ints(outputs);
    const block = (rows: sn.Tensor): sn.Tensor => this.#tables.reduce(compute, rows).take(this.#last);
    this.#run = sn.jit((words) => sn.map(block, words));
    // Bit b of word w is example b * words + w of its block.
    const numbers = (): sn.Tensor => sn.arange(0, BITS, 1, INT32).reshape([BITS, 1, 1]);
    this.#pack = sn.jit((bits) => {
      const [blocks, examples] = bits.shape as [number, number];
      const apart = bits.reshape([blocks, BITS, examples / BITS, this.inputs]).astype('int32');
      return apart.bitwiseLeftShift(numbers()).bitwiseOrReduce(1).swapaxes(1, 2);
    });
    this.#unpack = sn.jit((words) => {
      const [blocks, outputs, width] = words.shape as [number, number, number];
      const bits = words.swapaxes(1, 2).reshape([blocks, 1, width, outputs]);
      return bits.bitwiseRightShift(numbers()).bitwiseAnd(1).astype('uint8');
    });
  }

  /** Evaluates words (blocks, inputs, words), an example per bit, to words (blocks, outputs, words). How examples lie in
   *  words is up to the caller. */
  run(words: sn.Tensor): sn.Tensor {
    const op = 'evaluator.run';
    if (!(words instanceof sn.Tensor) || words.dtype !== 'int32' || words.shape.length !== 3 || words.shape[1] !== this.inputs)
      throw new sn.ShapeError(op, `expected an int32 tensor (blocks, ${this.inputs}, words), not ${shown(words)}`);
    return this.#run(words);
  }

  /** The outputs (count, outputs) for bits (count, inputs). */
  evaluate(bits: Uint8Array): Uint8Array {
    const op = 'circuit.evaluate';
    const { inputs, outputs } = this;
    if (!(bits instanceof Uint8Array) || bits.length % inputs !== 0)
      throw new sn.ShapeError(op, `expected a Uint8Array of examples of ${inputs} bits, not ${bits instanceof Uint8Array ? `one of ${bits.length}` : shown(bits)}`);
    const wrong = bits.findIndex((bit) => bit > 1);
    if (wrong >= 0) throw new sn.SinterError('argument', op, `bits[${wrong}] is ${bits[wrong]}, expected 0 or 1`);
    const count = bits.length / inputs;
    const size = BITS * wordsFor(count);
    const blocks = Math.ceil(count / size);
    const whole = new Uint8Array(blocks * size * inputs);
    whole.set(bits);
    return sn.tidy(() => {
      const words = this.#pack(sn.tensor(whole, { shape: [blocks, size, inputs] }));
      const all = this.#unpack(this.#run(words)).dataSync() as Uint8Array;
      return all.slice(0, count * outputs);
    });
  }

  /** Frees the compiled programs; the next call compiles them again. */
  dispose(): void {
    for (const f of [this.#run, this.#pack, this.#unpack]) f.dispose();
  }
}
