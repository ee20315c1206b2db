// Turns a trained model into a circuit: each gate becomes its most likely function, and each wire ends at one input.

import * as sn from '../index.js';
import type { Automaton, AutomatonParams, AutomatonState } from './automaton.js';
import { addGates, checkChainParams } from './chain.js';
import { circuitOf, type Circuit, type CircuitOptions } from './circuit/circuit.js';
import type { Gate, GateParams, Gates } from './gates.js';
import type { Network } from './network.js';
import { pruneSolved } from './prune.js';

/** What the circuit of an automaton needs to be run. */
export interface AutomatonFacts {
  channels: number;
  boundary: 'zero' | 'wrap';
  /** The share of the cells that change in a step. */
  fire: number;
}

/** Gates as they were trained, none removed. Signals 0 .. inputs - 1 are the inputs, and inputs + i is gate i. */
export interface RawCircuit {
  inputs: number;
  gates: Gate[];
  outputs: number[];
  automaton: AutomatonFacts | null;
}

const hardLayers = (layers: readonly Gates[], params: readonly GateParams[]): Gate[][] =>
  layers.map((layer, i) => layer.gatesOf(params[i]!));

const count = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

function ofNetwork({ layers }: Network, params: GateParams[]): RawCircuit {
  const { inputs } = layers[0]!;
  const gates: Gate[] = [];
  const outputs = addGates(gates, inputs, hardLayers(layers, params), count(inputs));
  return { inputs, gates, outputs, automaton: null };
}

/** Input channel * 9 + place is the bit at a place in the window, row-major. */
function ofAutomaton(ca: Automaton, params: AutomatonParams): RawCircuit {
  const { channels, boundary, fire } = ca;
  const perception = hardLayers(ca.perception, params.perception);
  const update = hardLayers(ca.update, params.update);
  const inputs = 9 * channels;
  const gates: Gate[] = [];
  const seen = count(channels).map((channel) => addGates(gates, inputs, perception, count(9).map((place) => 9 * channel + place)));
  const cell = count(channels).map((channel) => 9 * channel + 4);
  const views = count(ca.perception.at(-1)!.outputs).flatMap((row) => seen.map((views) => views[row]!));
  const outputs = addGates(gates, inputs, update, [...cell, ...views]);
  return { inputs, gates, outputs, automaton: { channels, boundary, fire } };
}

type Trained = GateParams[] | AutomatonParams | AutomatonState | sn.TrainState<GateParams[]>;

/** The hard gates of a model, none removed. state: the state of its training, or its parameters. */
export function rawCircuit(model: Network | Automaton, state: Trained): RawCircuit {
  const op = 'logic.extract';
  const isState = 'params' in state && 'optimizer' in state;
  const params = isState ? state.params : state;
  if ('layers' in model) {
    checkChainParams(op, model.layers, params);
    return ofNetwork(model, params);
  }
  const { perception, update } = params as AutomatonParams;
  checkChainParams(op, model.perception, perception);
  checkChainParams(op, model.update, update);
  return ofAutomaton(model, { perception, update });
}

export interface ExtractOptions extends CircuitOptions {
  /** Removes what the task of an automaton does not need (logic.prune), if the circuit solves the task. Default true. With
   *  false the circuit computes the same as the hard model, in all cells and channels. */
  prune?: boolean;
}

/** The hard circuit of a model, simplified, to run and to write. state: the state of its training, or its parameters. */
export function extract(model: Network | Automaton, state: Trained, options: ExtractOptions = {}): Circuit {
  const { prune: isPruned = true, ...rest } = options;
  const circuit = circuitOf(rawCircuit(model, state), rest);
  return 'layers' in model || !model.hasTask || !isPruned ? circuit : pruneSolved(model, circuit);
}
