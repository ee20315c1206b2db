// The wires of a layer of gates: which two inputs each gate has. Random wires are pairs of neighbours on random circles through
// all inputs. So every input is about as often a first as a second input, and gates that pass their first input on lose none of
// the inputs.

import { SinterError, internals } from '../index.js';

/** The first and the second input of every gate. */
export type Wires = readonly [a: Int32Array, b: Int32Array];

/** A generator of whole numbers below n, from a seed (SplitMix32). */
export function numbersFrom(seed: number): (n: number) => number {
  let state = seed | 0;
  return (n) => {
    state = (state + 0x9e3779b9) | 0;
    let z = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return Math.floor((((z ^ (z >>> 15)) >>> 0) / 2 ** 32) * n);
  };
}

/** Shuffles a list in place. */
function shuffle(list: { [i: number]: number; length: number }, below: (n: number) => number): void {
  for (let i = list.length - 1; i > 0; i--) {
    const j = below(i + 1);
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
}

/** The number of pairs of different inputs. */
const pairCount = (inputs: number): number => (inputs * (inputs - 1)) / 2;

/** Distinct random pairs of inputs, from a seed. Throws if there are fewer pairs than gates. */
export function randomWires(op: string, inputs: number, outputs: number, seed: number): Wires {
  if (outputs > pairCount(inputs))
    throw new SinterError('argument', op, `${inputs} inputs have ${pairCount(inputs)} pairs, too few for ${outputs} gates`, {
      hint: 'make fewer gates, or give the wires',
    });
  const below = numbersFrom(seed);
  const wires: Wires = [new Int32Array(outputs), new Int32Array(outputs)];
  const taken = new Set<number>();
  const take = (a: number, b: number): void => {
    const pair = Math.min(a, b) * inputs + Math.max(a, b);
    if (taken.has(pair) || taken.size === outputs) return;
    wires[0][taken.size] = a;
    wires[1][taken.size] = b;
    taken.add(pair);
  };
  const circle = Int32Array.from({ length: inputs }, (_, i) => i);
  for (let before = -1; taken.size > before && taken.size < outputs; ) {
    before = taken.size;
    shuffle(circle, below);
    for (const first of [0, 1])
      for (let i = first; i < inputs; i += 2) take(circle[i]!, circle[(i + 1) % inputs]!);
  }
  if (taken.size < outputs) takeOthers(inputs, below, take);
  return wires;
}

/** The wires of several copies of a layer side by side; gates are ordered by copy. Inputs are ordered by part: the rows of
 *  part 0 of all copies, then those of part 1, and so on. */
export function repeatedWires([a, b]: Wires, parts: readonly number[], copies: number): Wires {
  const places: number[] = [];
  for (let copy = 0; copy < copies; copy++) {
    let before = 0;
    for (const rows of parts) {
      for (let row = 0; row < rows; row++) places.push(copies * before + copy * rows + row);
      before += rows;
    }
  }
  const inputs = places.length / copies;
  const side = (own: Int32Array): Int32Array =>
    Int32Array.from({ length: copies * own.length }, (_, i) => places[Math.floor(i / own.length) * inputs + own[i % own.length]!]!);
  return [side(a), side(b)];
}

/** Offers all pairs in random order, for layers that use nearly all of them. */
function takeOthers(inputs: number, below: (n: number) => number, take: (a: number, b: number) => void): void {
  const pairs: number[] = [];
  for (let a = 0; a < inputs; a++) for (let b = a + 1; b < inputs; b++) pairs.push(a * inputs + b);
  shuffle(pairs, below);
  for (const pair of pairs) take(Math.floor(pair / inputs), pair % inputs);
}

/** k candidate inputs for each wire, first for the wires of inputs a, then of inputs b: (2 outputs, k). */
export function candidateWires(op: string, inputs: number, outputs: number, k: number, seed: number): Int32Array {
  internals.checkInteger(op, 'candidates', k, 1, inputs);
  const below = numbersFrom(seed);
  const made = new Int32Array(2 * outputs * k);
  const circle = Int32Array.from({ length: inputs }, (_, i) => i);
  // Shuffled orders are cut into pieces of k: no wire has an input twice, and all inputs occur about equally often.
  let at = inputs;
  for (let wire = 0; wire < 2 * outputs; wire++) {
    if (at + k > inputs) {
      shuffle(circle, below);
      at = 0;
    }
    made.set(circle.subarray(at, at + k), wire * k);
    at += k;
  }
  return made;
}

/** Checks wires given by the caller. */
export function givenWires(op: string, inputs: number, outputs: number, given: readonly unknown[]): Wires {
  const checked = given.map((list, side) => {
    const what = side === 0 ? 'a' : 'b';
    if (!Array.isArray(list) && !(list instanceof Int32Array))
      throw new SinterError('argument', op, `wires ${what} is ${internals.shown(list)}, expected an Int32Array`);
    if (list.length !== outputs)
      throw new SinterError('argument', op, `wires ${what} has ${list.length} entries for ${outputs} gates`);
    list.forEach((wire, i) => internals.checkInteger(op, `wires ${what}[${i}]`, wire, 0, inputs - 1));
    return Int32Array.from(list as ArrayLike<number>);
  });
  return [checked[0]!, checked[1]!];
}
