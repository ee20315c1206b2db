// Layers of gates in sequence.

import * as sn from '../index.js';
import type { Tensor } from '../index.js';
import type { CoefficientOptions, Gate, GateCoefficients, GateParams, Gates } from './gates.js';

/** Refuses layers whose number of inputs is not the number of outputs of the layer before. */
export function checkChain(op: string, layers: readonly Gates[]): void {
  layers.forEach(({ inputs }, i) => {
    if (i === 0 || inputs === layers[i - 1]!.outputs) return;
    throw new sn.ShapeError(op, `layer ${i} has ${inputs} inputs, the one before it ${layers[i - 1]!.outputs} outputs`);
  });
}

export function initChain(layers: readonly Gates[], key: Tensor): GateParams[] {
  const keys = layers.length > 0 ? sn.random.splitKeys(key, layers.length) : [];
  return layers.map((layer, i) => layer.init(keys[i]!));
}

/** Refuses parameters for another number of layers. */
export function checkChainParams(op: string, layers: readonly Gates[], params: unknown): asserts params is GateParams[] {
  if (Array.isArray(params) && params.length === layers.length) return;
  throw new sn.SinterError('argument', op, `these are not the parameters of ${layers.length} layers`, {
    hint: 'params = model.init(key)',
  });
}

export const chainCoefficients = (layers: readonly Gates[], params: readonly GateParams[], options: CoefficientOptions): GateCoefficients[] =>
  layers.map((layer, i) => layer.coefficients(params[i]!, options));

export const runChain = (layers: readonly Gates[], coefficients: readonly GateCoefficients[], x: Tensor): Tensor =>
  layers.reduce((rows, layer, i) => layer.run(coefficients[i]!, rows), x);

/** Appends the hard gates of all layers to a circuit; returns the output signals of the last layer. */
export function addGates(circuit: Gate[], inputs: number, layers: readonly (readonly Gate[])[], signals: readonly number[]): number[] {
  return layers.reduce<number[]>(
    (from, layer) => layer.map(([f, a, b]) => circuit.push([f, from[a]!, from[b]!]) - 1 + inputs),
    [...signals],
  );
}
