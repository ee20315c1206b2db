// A finished circuit: gates as data, checked and simplified, and everything that can be done with them.

import * as sn from '../../index.js';
import type { AutomatonFacts, RawCircuit } from '../extract.js';
import type { Gate } from '../gates.js';
import { NAMES } from '../gates16.js';
import { toC, toGraphviz, toJavaScript, toVerilog } from './export.js';
import { Evaluator } from './evaluate.js';
import { toSvg } from './drawing.js';
import { liveChannels, simplify, type Wiring } from './simplify.js';
import { Runner, readRun, type GridOptions, type GridRunOptions } from './run.js';

const { checkInteger, isPlainObject, readOptions, shown } = sn.internals;

/**
 * Signals 0 .. inputs - 1 are the inputs, and inputs + i is gate i, which only reads earlier signals. Input channel * 9 + place
 * of an automaton is a bit of the 3 x 3 window, row-major, so that 4 is the cell itself; its outputs are the channels' next
 * state.
 */
export type CircuitData = RawCircuit;

/** The form for JSON. */
export interface CircuitJson extends CircuitData {
  format: 'sinter.circuit';
  version: 1;
  gateCount: number;
}

export interface CircuitOptions {
  /** Removes channels of an automaton that its first channel never depends on: they keep their state. Default false. */
  dropDeadChannels?: boolean;
}

const FORMAT = 'sinter.circuit';
const VERSION = 1;
/** The most signals of a circuit: as many as a page can hold, and far more than can be trained. */
const MOST = 1 << 24;
const OPTIONS: sn.internals.OptionSchema<CircuitOptions> = { dropDeadChannels: 'boolean' };

function checkList(op: string, what: string, list: unknown): readonly unknown[] {
  if (!Array.isArray(list)) throw new sn.SinterError('argument', op, `${what} is ${shown(list)}, expected an array`);
  if (list.length <= MOST) return list as readonly unknown[];
  throw new sn.SinterError('argument', op, `${list.length} ${what}, at most ${MOST} are possible`);
}

function checkGate(op: string, gate: unknown, i: number, inputs: number): Gate {
  if (!Array.isArray(gate) || gate.length !== 3)
    throw new sn.SinterError('argument', op, `gates[${i}] is ${shown(gate)}, expected [function, signal, signal]`);
  const [f, a, b] = gate as unknown[];
  checkInteger(op, `the function of gates[${i}]`, f, 0, NAMES.length - 1);
  for (const signal of [a, b]) {
    checkInteger(op, `an input of gates[${i}]`, signal, 0);
    if ((signal as number) < inputs + i) continue;
    throw new sn.SinterError('argument', op, `gates[${i}] is signal ${inputs + i} and reads ${shown(signal)}`, {
      hint: 'a gate reads signals before its own, so that there are no cycles',
    });
  }
  return [f, a, b] as Gate;
}

function checkFacts(op: string, facts: unknown, inputs: number, outputs: number): AutomatonFacts | null {
  if (facts === null || facts === undefined) return null;
  if (!isPlainObject(facts)) throw new sn.SinterError('argument', op, `automaton is ${shown(facts)}, expected an object or null`);
  const { channels, boundary, fire } = facts;
  checkInteger(op, 'channels', channels, 1, MOST / 9);
  if (boundary !== 'zero' && boundary !== 'wrap')
    throw new sn.SinterError('argument', op, `no boundary ${shown(boundary)}`, { hint: "there are 'zero' and 'wrap'" });
  if (typeof fire !== 'number' || !(fire > 0 && fire <= 1))
    throw new sn.SinterError('argument', op, `fire is ${shown(fire)}, expected a share above 0, at most 1`);
  if (inputs !== 9 * (channels as number) || outputs !== channels)
    throw new sn.ShapeError(op, `${inputs} inputs and ${outputs} outputs, but ${shown(channels)} channels have 9 inputs and an output each`);
  return { channels: channels as number, boundary, fire };
}

/** The data, after all of it is checked. */
function checked(op: string, data: unknown): CircuitData {
  if (!isPlainObject(data)) throw new sn.SinterError('argument', op, `expected a circuit, not ${shown(data)}`);
  const inputs = checkInteger(op, 'inputs', data['inputs'], 1, MOST);
  const gates = checkList(op, 'gates', data['gates']);
  const outputs = checkList(op, 'outputs', data['outputs']);
  const facts = checkFacts(op, data['automaton'], inputs, outputs.length);
  const right: Gate[] = [];
  for (let i = 0; i < gates.length; i++) right.push(checkGate(op, gates[i], i, inputs)); // not map, which skips holes
  const signals: number[] = [];
  for (let i = 0; i < outputs.length; i++)
    signals.push(checkInteger(op, `outputs[${i}]`, outputs[i], 0, inputs + gates.length - 1));
  return { inputs, gates: right, outputs: signals, automaton: facts };
}

/** Channels that the first one never depends on keep their state, so they need no gate. */
function withoutDeadChannels(wiring: Wiring): Wiring {
  const live = liveChannels(wiring);
  return { ...wiring, outputs: wiring.outputs.map((signal, channel) => (live[channel] ? signal : 9 * channel + 4)) };
}

/** A circuit without redundant gates. Immutable. */
export class Circuit {
  readonly #data: CircuitData;
  #evaluator: Evaluator | null = null;

  /** @internal */
  constructor(data: CircuitData) {
    this.#data = data;
  }

  get inputs(): number {
    return this.#data.inputs;
  }

  get outputs(): number {
    return this.#data.outputs.length;
  }

  /** The number of gates. */
  get gates(): number {
    return this.#data.gates.length;
  }

  get automaton(): AutomatonFacts | null {
    return this.#data.automaton && { ...this.#data.automaton };
  }

  /** A copy of the gates and wires. */
  get data(): CircuitData {
    const { inputs, gates, outputs } = this.#data;
    return { inputs, gates: gates.map(([f, a, b]): Gate => [f, a, b]), outputs: [...outputs], automaton: this.automaton };
  }

  /** The number of gates of each function, by its name; functions without gates are left out. */
  get counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const [f] of this.#data.gates) counts[NAMES[f]!] = (counts[NAMES[f]!] ?? 0) + 1;
    return counts;
  }

  /** The number of gates on the longest path. */
  get depth(): number {
    const { inputs, gates } = this.#data;
    const depth = new Int32Array(inputs + gates.length);
    gates.forEach(([, a, b], i) => (depth[inputs + i] = 1 + Math.max(depth[a]!, depth[b]!)));
    return depth.reduce((most, d) => Math.max(most, d), 0);
  }

  /**
   * The cells (channels, height, width), each 0 or 1, of an automaton after so many steps, on a grid of any size. If not all
   * cells change in each step, the key decides which.
   */
  run(cells: Uint8Array, options: GridRunOptions): Uint8Array {
    const op = 'circuit.run';
    const { width, height, steps, key } = readRun(op, options);
    const runner = new Runner(op, this.#data, { width, height, key });
    try {
      runner.write(cells);
      runner.step(steps);
      return runner.read();
    } finally {
      runner.dispose();
    }
  }

  /** An automaton whose cells stay where they are computed, to be stepped, edited and read. The caller disposes it. */
  runner(options: GridOptions): Runner {
    return new Runner('circuit.runner', this.#data, options);
  }

  /** The outputs (count, outputs) for bits (count, inputs), all 0 or 1. Computes 32 examples per word, one level of gates at
   *  a time. */
  evaluate(bits: Uint8Array): Uint8Array {
    return this.evaluator.evaluate(bits);
  }

  /** The evaluator behind evaluate, for bits that are packed already. */
  get evaluator(): Evaluator {
    return (this.#evaluator ??= new Evaluator(this.#data));
  }

  /** Standalone C: a function over words of 64 cells or examples, and for an automaton a step of a grid. */
  toC(): string {
    return toC(this.#data);
  }

  /** A JavaScript module with the same functions, over words of 32. */
  toJavaScript(): string {
    return toJavaScript(this.#data);
  }

  /** A Verilog module of combinational logic. */
  toVerilog(): string {
    return toVerilog(this.#data);
  }

  /** A graph in the language of Graphviz's dot. */
  toGraphviz(): string {
    return toGraphviz(this.#data);
  }

  /** A drawing as SVG: inputs on the left, then gates by depth, outputs on the right. */
  toSvg(): string {
    return toSvg(this.#data);
  }

  /** JSON that logic.circuit reads again; JSON.stringify(circuit) uses it. */
  toJSON(): CircuitJson {
    return { format: FORMAT, version: VERSION, gateCount: this.gates, ...this.data };
  }
}

/** Makes a circuit of these gates, after checking and simplifying them. */
export function circuitOf(data: CircuitData, options?: CircuitOptions): Circuit {
  const op = 'logic.circuitOf';
  const { dropDeadChannels = false } = readOptions(op, options, OPTIONS);
  const { automaton, ...wiring } = checked(op, data);
  const live = automaton && dropDeadChannels ? withoutDeadChannels(simplify(wiring)) : wiring;
  const { inputs, gates, outputs } = simplify(live);
  return new Circuit({ inputs, gates: [...gates], outputs: [...outputs], automaton });
}

function parsed(op: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new sn.SinterError('argument', op, 'the text is no JSON', { cause });
  }
}

/** Reads a circuit from the result of toJSON, or from its text, which are untrusted. */
export function circuit(json: unknown): Circuit {
  const op = 'logic.circuit';
  const given = typeof json === 'string' ? parsed(op, json) : json;
  if (!isPlainObject(given)) throw new sn.SinterError('argument', op, `expected a circuit's JSON, not ${shown(given)}`);
  if (given['format'] !== FORMAT)
    throw new sn.SinterError('argument', op, `format is ${shown(given['format'])}, expected '${FORMAT}'`);
  if (given['version'] !== VERSION)
    throw new sn.SinterError('argument', op, `version is ${shown(given['version'])}; this reads version ${VERSION}`);
  const data = checked(op, given);
  if (given['gateCount'] !== data.gates.length)
    throw new sn.SinterError('argument', op, `gateCount is ${shown(given['gateCount'])}, but there are ${data.gates.length} gates`);
  return circuitOf(data);
}
