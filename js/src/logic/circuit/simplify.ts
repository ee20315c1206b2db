// Makes a circuit smaller without changing its outputs.
//
// Each signal becomes a literal: a constant, or a node and whether it is inverted. Nodes have a normal form: their operands are
// not inverted and in order, and their value is 0 if both operands are 0. So inverters, swapped operands and constants vanish
// into the function, and equal gates are found in a table, even if one is the inverse of the other. A gate over x and over
// another gate that reads x becomes a function of that gate's two operands. At the end, the nodes that outputs reach become
// gates again, in the polarity that saves an inverter. Each pass is linear; passes repeat until one removes nothing.

import type { Gate } from '../gates.js';
import { PASS_A, PASS_B, valueAt } from '../gates16.js';

/** Signals 0 .. inputs - 1 are the inputs, and inputs + i is gate i, which only reads earlier signals. */
export interface Wiring {
  inputs: number;
  gates: readonly Gate[];
  outputs: readonly number[];
}

/** The signals that a gate really depends on, each once; none for a constant. */
export function signalsOf([f, a, b]: Gate): number[] {
  const onA = valueAt(f, 0, 0) !== valueAt(f, 1, 0) || valueAt(f, 0, 1) !== valueAt(f, 1, 1);
  const onB = valueAt(f, 0, 0) !== valueAt(f, 0, 1) || valueAt(f, 1, 0) !== valueAt(f, 1, 1);
  return [...(onA ? [a] : []), ...(onB && !(onA && a === b) ? [b] : [])];
}

const NOT_A = 15 - PASS_A;
const NOT_B = 15 - PASS_B;

/** The function with these values at (0, 0), (0, 1), (1, 0), (1, 1), from the high bit down. */
const table = (value: (a: number, b: number) => number): number =>
  (value(0, 0) << 3) | (value(0, 1) << 2) | (value(1, 0) << 1) | value(1, 1);

/** INVERTED[f][2 inverts a + inverts b] is f after inverting its operands. SWAPPED[f] is f with swapped operands. */
const INVERTED = Array.from({ length: 16 }, (_, f) =>
  [0, 1, 2, 3].map((which) => table((a, b) => valueAt(f, a ^ (which >> 1), b ^ (which & 1)))),
);
const SWAPPED = Array.from({ length: 16 }, (_, f) => table((a, b) => valueAt(f, b, a)));

/** f with one or both operands inverted. */
export const withInverted = (f: number, a: boolean, b: boolean): number => INVERTED[f]![2 * Number(a) + Number(b)]!;

/** A literal is 2 node + inverted. Node 0 is the constant false, so literal 0 is false and 1 is true. */
type Literal = number;
const TRUE = 1;

/** Nodes in normal form: the constant (0), then the inputs, then gates. */
class Nodes {
  readonly f: number[];
  readonly a: number[];
  readonly b: number[];
  readonly #inputs: number;
  readonly #known = new Map<number, Map<number, number>>();

  constructor(inputs: number) {
    this.#inputs = inputs;
    this.f = new Array<number>(inputs + 1).fill(-1);
    this.a = new Array<number>(inputs + 1).fill(-1);
    this.b = new Array<number>(inputs + 1).fill(-1);
  }

  isGate(node: number): boolean {
    return node > this.#inputs;
  }

  /** The literal for f over two literals. */
  gate(f: number, first: Literal, second: Literal): Literal {
    let [g, a, b] = [withInverted(f, (first & 1) === 1, (second & 1) === 1), first >> 1, second >> 1];
    for (;;) {
      // With a constant operand, or the same operand twice, f only depends on the other one.
      if (a === 0) g = table((_, y) => valueAt(g, 0, y));
      if (b === 0) g = table((x) => valueAt(g, x, 0));
      if (a === b) g = table((x) => valueAt(g, x, x));
      if (g === 0) return 0;
      if (g === 15) return TRUE;
      if (g === PASS_A) return 2 * a;
      if (g === NOT_A) return 2 * a + 1;
      if (g === PASS_B) return 2 * b;
      if (g === NOT_B) return 2 * b + 1;
      const smaller = this.#throughInput(g, a, b);
      if (!smaller) return this.#shared(g, a, b);
      [g, a, b] = smaller;
    }
  }

  /** If one operand is a gate that reads the other operand, or both are gates over the same operands, an equal gate over
   *  just these; else null. */
  #throughInput(g: number, a: number, b: number): Gate | null {
    const [la, lb] = [this.isGate(a), this.isGate(b)];
    const [fa, fb] = [this.f[a]!, this.f[b]!];
    if (lb && this.a[b] === a) return [table((x, z) => valueAt(g, x, valueAt(fb, x, z))), a, this.b[b]!];
    if (lb && this.b[b] === a) return [table((z, x) => valueAt(g, x, valueAt(fb, z, x))), this.a[b]!, a];
    if (la && this.a[a] === b) return [table((y, z) => valueAt(g, valueAt(fa, y, z), y)), b, this.b[a]!];
    if (la && this.b[a] === b) return [table((z, y) => valueAt(g, valueAt(fa, z, y), y)), this.a[a]!, b];
    if (la && lb && this.a[a] === this.a[b] && this.b[a] === this.b[b])
      return [table((x, y) => valueAt(g, valueAt(fa, x, y), valueAt(fb, x, y))), this.a[a]!, this.b[a]!];
    return null;
  }

  #shared(f: number, a: number, b: number): Literal {
    const [low, high] = a < b ? [a, b] : [b, a];
    const ordered = a < b ? f : SWAPPED[f]!;
    const inverted = ordered >> 3;
    const normal = inverted ? 15 - ordered : ordered;
    let row = this.#known.get(low);
    if (!row) this.#known.set(low, (row = new Map()));
    const key = 8 * high + normal;
    let node = row.get(key);
    if (node === undefined) {
      node = this.f.push(normal) - 1;
      this.a.push(low);
      this.b.push(high);
      row.set(key, node);
    }
    return 2 * node + inverted;
  }
}

/** Writes the nodes that outputs reach as gates. */
function written({ inputs }: Wiring, nodes: Nodes, outputs: readonly Literal[]): Wiring {
  const needed = new Uint8Array(nodes.f.length);
  const [plain, inverted] = [new Uint8Array(needed.length), new Uint8Array(needed.length)];
  for (const literal of outputs) {
    needed[literal >> 1] = 1;
    (literal & 1 ? inverted : plain)[literal >> 1] = 1;
  }
  for (let node = needed.length - 1; node > inputs; node--) {
    if (!needed[node]) continue;
    needed[nodes.a[node]!] = needed[nodes.b[node]!] = 1;
  }
  const signal = Array.from(needed, (_, node) => node - 1); // right for inputs; gates are set below
  const gates: Gate[] = [];
  const add = (gate: Gate): number => inputs + gates.push(gate) - 1;
  /** Whether a node is written inverted, because outputs only use its inverse. */
  const writesInverse = (node: number): boolean => nodes.isGate(node) && inverted[node] === 1 && plain[node] === 0;
  for (let node = inputs + 1; node < needed.length; node++) {
    if (!needed[node]) continue;
    const [a, b] = [nodes.a[node]!, nodes.b[node]!];
    const f = withInverted(nodes.f[node]!, writesInverse(a), writesInverse(b));
    signal[node] = add([writesInverse(node) ? 15 - f : f, signal[a]!, signal[b]!]);
  }
  const made = new Map<Literal, number>();
  const wire = (literal: Literal): number => {
    const [node, isInverted] = [literal >> 1, (literal & 1) === 1];
    if (node === 0) return add([isInverted ? 15 : 0, 0, 0]);
    return isInverted === writesInverse(node) ? signal[node]! : add([NOT_A, signal[node]!, signal[node]!]);
  };
  for (const literal of outputs) if (!made.has(literal)) made.set(literal, wire(literal));
  return { inputs, gates, outputs: outputs.map((literal) => made.get(literal)!) };
}

function pass(wiring: Wiring): Wiring {
  const nodes = new Nodes(wiring.inputs);
  const literals: Literal[] = Array.from({ length: wiring.inputs }, (_, i) => 2 * (i + 1));
  for (const [f, a, b] of wiring.gates) literals.push(nodes.gate(f, literals[a]!, literals[b]!));
  return written(
    wiring,
    nodes,
    wiring.outputs.map((signal) => literals[signal]!),
  );
}

/** An equal circuit with fewer gates, or as many. */
export function simplify(wiring: Wiring): Wiring {
  for (let now = wiring; ; ) {
    const next = pass(now);
    if (next.gates.length >= now.gates.length && now !== wiring) return now;
    now = next;
  }
}

/**
 * The channels of an automaton that its first one depends on, within any number of steps. Output i is the next state of channel
 * i, and input i belongs to channel floor(i / 9).
 */
export function liveChannels({ inputs, gates, outputs }: Wiring): boolean[] {
  const live = outputs.map((_, channel) => channel === 0);
  for (let found = true; found; ) {
    const needed = new Uint8Array(inputs + gates.length);
    outputs.forEach((signal, channel) => (needed[signal]! |= Number(live[channel])));
    for (let i = gates.length - 1; i >= 0; i--)
      if (needed[inputs + i]) for (const signal of signalsOf(gates[i]!)) needed[signal] = 1;
    found = false;
    for (let i = 0; i < inputs; i++) {
      const channel = Math.floor(i / 9);
      if (!needed[i] || live[channel]) continue;
      live[channel] = found = true;
    }
  }
  return live;
}
