// From a trained model to a circuit: every gate is the function that it is most, and every wire ends at one input.

import * as sn from '../index.js';
import type { Automaton, AutomatonParams, AutomatonState } from './automaton.js';
import { addGates, checkChainParams } from './chain.js';
import { circuitOf, type Circuit, type CircuitOptions } from './circuit/circuit.js';
import type { Gate, GateParams, Gates } from './gates.js';
import type { Network } from './network.js';
import { pruneSolved } from './prune.js';

/** What runs an automaton's circuit needs to know of it. */
export interface AutomatonFacts {
  channels: number;
  boundary: 'zero' | 'wrap';
  /** Share of the cells that change in a step. */
  fire: number;
}

/** Gates as they were trained, none left out. Signals: 0 .. inputs - 1 are the inputs, inputs + i is gate i. */
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

/** Inputs are channel * 9 + place, row-major in the window. */
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

/** The hard gates of a model with its state of training, or its parameters, none left out. */
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
  /** Leaves out what the task of an automaton does not need (logic.prune), if the circuit does it: by default it does.
   *  false: the circuit computes as the hard model does, in all cells and channels. */
  prune?: boolean;
}

/** The hard circuit of a model with its state of training, or its parameters: simplified, to run and to write. */
export function extract(model: Network | Automaton, state: Trained, options: ExtractOptions = {}): Circuit {
  const { prune: isPruned = true, ...rest } = options;
  const circuit = circuitOf(rawCircuit(model, state), rest);
  return 'layers' in model || !model.hasTask || !isPruned ? circuit : pruneSolved(model, circuit);
}
