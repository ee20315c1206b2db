// Makes a circuit smaller as long as its task is not affected. One gate after the other, from the last to the first, is
// replaced by a constant or a wire. The change stays if the automaton, from random starts, has no more wrong cells than before.
// This removes gates that only helped soft training.
//
// A word holds one cell of 32 grids. A row of words holds all cells of one channel or of one signal. A step reads shifted rows,
// and computes the gates that outputs depend on.

import * as sn from '../index.js';
import { SinterError, internals, type Tensor } from '../index.js';
import type { Automaton } from './automaton.js';
import { circuitOf, type Circuit } from './circuit/circuit.js';
import type { RawCircuit } from './extract.js';
import type { Gate } from './gates.js';
import { FUNCTIONS, PASS_A, PASS_B, valueAt } from './gates16.js';
import { numbersFrom } from './wires.js';

export interface PruneOptions {
  /** Decides the starts, and which cells change. Default random.key(0). */
  key?: Tensor;
  /** The circuit is tested on this many words of 32 grids each. Default 1. */
  words?: number;
}

/** The test for a circuit: rows of words, cell after cell. */
interface Trial {
  /** A row per channel at the start. */
  start: Int32Array[];
  /** A row per known channel at the end. */
  target: Int32Array[];
  /** Which cells change in each step; null: all. */
  fires: Int32Array[] | null;
  steps: number;
}

/** Packs grids (channels, 32 words, height, width) into rows of words: cell after cell, and the words of a cell side by
 *  side. */
function packed(grids: Tensor, words: number): Int32Array[] {
  const [channels, , height, width] = grids.shape as readonly [number, number, number, number];
  const bits = grids.dataSync();
  const cells = height * width;
  return Array.from({ length: channels }, (_, channel) =>
    Int32Array.from({ length: cells * words }, (_, at) => {
      const [cell, word] = [Math.floor(at / words), at % words];
      let packedBits = 0;
      for (let k = 0; k < 32; k++) packedBits |= Number(Number(bits[((channel * words + word) * 32 + k) * cells + cell]) > 0.5) << k;
      return packedBits;
    }),
  );
}

/** For each of the 9 places of a window and each word, the index of the neighbour's word; -1 if it is outside. */
function neighboursOf(height: number, width: number, words: number, boundary: 'zero' | 'wrap'): Int32Array[] {
  return Array.from({ length: 9 }, (_, place) =>
    Int32Array.from({ length: height * width * words }, (_, at) => {
      const [cell, word] = [Math.floor(at / words), at % words];
      const y = Math.floor(cell / width) + Math.floor(place / 3) - 1;
      const x = (cell % width) + (place % 3) - 1;
      if (boundary === 'zero' && (y < 0 || y >= height || x < 0 || x >= width)) return -1;
      return (((y + height) % height) * width + ((x + width) % width)) * words + word;
    }),
  );
}

/** Runs circuits on rows of words, which are allocated once. */
class Simulator {
  readonly #rows: Int32Array[];
  readonly #neighbours: readonly Int32Array[];
  readonly #length: number;

  constructor(signals: number, neighbours: readonly Int32Array[]) {
    this.#neighbours = neighbours;
    this.#length = neighbours[0]!.length;
    this.#rows = Array.from({ length: signals }, () => new Int32Array(this.#length));
  }

  /** The number of wrong bits in the known channels after all steps. */
  wrong({ inputs, gates, outputs }: RawCircuit, { start, target, fires, steps }: Trial): number {
    const live = liveOf(inputs, gates, outputs);
    const now = start.map((row) => row.slice());
    for (let step = 0; step < steps; step++) {
      this.#look(now, live);
      gates.forEach((gate, i) => live[inputs + i] && this.#compute(gate, this.#rows[inputs + i]!));
      outputs.forEach((signal, channel) => {
        const made = this.#rows[signal]!;
        const kept = now[channel]!;
        const mask = fires?.[step];
        for (let i = 0; i < kept.length; i++) kept[i] = mask ? (made[i]! & mask[i]!) | (kept[i]! & ~mask[i]!) : made[i]!;
      });
    }
    return target.reduce((sum, row, channel) => row.reduce((count, word, i) => count + bitsIn(word ^ now[channel]![i]!), sum), 0);
  }

  /** Fills the rows of the inputs that are read with the neighbours' words. */
  #look(now: readonly Int32Array[], live: Uint8Array): void {
    now.forEach((cells, channel) =>
      this.#neighbours.forEach((from, place) => {
        if (!live[9 * channel + place]) return;
        const row = this.#rows[9 * channel + place]!;
        for (let i = 0; i < row.length; i++) row[i] = from[i]! < 0 ? 0 : cells[from[i]!]!;
      }),
    );
  }

  #compute([f, a, b]: Gate, out: Int32Array): void {
    const [left, right] = [this.#rows[a]!, this.#rows[b]!];
    const [m0, m1, m2, m3] = MASKS[f]!;
    for (let i = 0; i < out.length; i++) {
      const [x, y] = [left[i]!, right[i]!];
      out[i] = m0! ^ (m1! & x) ^ (m2! & y) ^ (m3! & x & y);
    }
  }
}

/** The number of set bits in a word. */
function bitsIn(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/** For each function the masks of 1, a, b and a & b. The function is the xor of these terms. */
const MASKS = Array.from({ length: FUNCTIONS }, (_, f) => {
  const [at00, at01, at10, at11] = [valueAt(f, 0, 0), valueAt(f, 0, 1), valueAt(f, 1, 0), valueAt(f, 1, 1)];
  return [at00, at00 ^ at10, at00 ^ at01, at00 ^ at01 ^ at10 ^ at11].map((bit) => -bit);
});

/** The signals that the outputs depend on. */
function liveOf(inputs: number, gates: readonly Gate[], outputs: readonly number[]): Uint8Array {
  const live = new Uint8Array(inputs + gates.length);
  for (const signal of outputs) live[signal] = 1;
  for (let i = gates.length - 1; i >= 0; i--) {
    if (!live[inputs + i]) continue;
    const [f, a, b] = gates[i]!;
    const [, onA, onB, onBoth] = MASKS[f]!;
    if (onA || onBoth) live[a] = 1;
    if (onB || onBoth) live[b] = 1;
  }
  return live;
}

/** What a gate may become: false, true, its first or its second input. */
const SIMPLER = [0, FUNCTIONS - 1, PASS_A, PASS_B];

/** Tries to simplify every gate once. */
function onePass(data: RawCircuit, isRight: (circuit: RawCircuit) => boolean): RawCircuit {
  const gates = [...data.gates];
  const circuit = { ...data, gates };
  for (let i = gates.length - 1; i >= 0; i--) {
    const own = gates[i]!;
    if (!liveOf(data.inputs, gates, data.outputs)[data.inputs + i]) continue;
    const works = SIMPLER.some((f) => ((gates[i] = [f, own[1], own[2]]), isRight(circuit)));
    if (!works) gates[i] = own;
  }
  return circuit;
}

function trialOf(ca: Automaton, key: Tensor, words: number): Trial {
  return sn.tidy(() => {
    const [first, chance] = sn.random.splitKeys(key, 2) as [Tensor, Tensor];
    const { start, target } = ca.examples(first, 32 * words);
    const below = numbersFrom(Number(chance.dataSync()[0]));
    const [height, width] = ca.grid;
    const mask = (): Int32Array =>
      Int32Array.from({ length: height * width * words }, () => {
        let bits = 0;
        for (let k = 0; k < 32; k++) bits |= Number(below(1e6) < ca.fire * 1e6) << k;
        return bits;
      });
    const fires = ca.fire === 1 ? null : Array.from({ length: ca.steps }, mask);
    return { start: packed(start, words), target: packed(target, words), fires, steps: ca.steps };
  });
}

/** Repeats passes until one removes nothing. A circuit with more than the share mostWrong of wrong cells is returned
 *  unchanged. */
function passes(ca: Automaton, circuit: Circuit, trial: Trial, words: number, mostWrong: number): Circuit {
  const [height, width] = ca.grid;
  const simulator = new Simulator(circuit.inputs + circuit.gates, neighboursOf(height, width, words, ca.boundary));
  const least = simulator.wrong(circuit.data, trial);
  if (least > mostWrong * 32 * trial.target.length * trial.target[0]!.length) return circuit;
  const isRight = (data: RawCircuit): boolean => simulator.wrong(data, trial) <= least;
  let best = circuit;
  for (;;) {
    const next = circuitOf(onePass(best.data, isRight), { dropDeadChannels: true });
    if (next.gates >= best.gates) return best;
    best = next;
  }
}

/** The circuit of an automaton without the gates that its task does not need. */
export function prune(ca: Automaton, circuit: Circuit, options?: PruneOptions): Circuit {
  const op = 'logic.prune';
  const { key, words = 1 } = internals.readOptions<PruneOptions>(op, options, { key: 'tensor', words: 'integer' });
  internals.checkInteger(op, 'words', words, 1, 1000);
  if (circuit.automaton?.channels !== ca.channels)
    throw new SinterError('argument', op, 'the circuit is not one of this automaton', { hint: 'circuit = logic.extract(ca, state)' });
  return passes(ca, circuit, trialOf(ca, key ?? sn.random.key(0), words), words, 1);
}

/** The largest share of wrong cells of a circuit that does its task: chance and rare starts leave some. */
const SOLVED = 0.02;

/** Prunes a circuit, if it does its task. */
export const pruneSolved = (ca: Automaton, circuit: Circuit): Circuit =>
  sn.tidy(() => passes(ca, circuit, trialOf(ca, sn.random.key(0), 1), 1, SOLVED));
