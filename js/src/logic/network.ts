// Networks of gates on bits, e.g. of pixels, for classification. The outputs of the last layer are split into one group per
// class, and the score of a class is the number of true gates in its group, divided by a temperature.

import * as sn from '../index.js';
import { ShapeError, SinterError, internals, type Tensor } from '../index.js';
import { chainCoefficients, checkChain, checkChainParams, initChain, runChain } from './chain.js';
import { gates, type GateParams, type Gates, type GatesOptions, type HardOptions } from './gates.js';

export interface NetworkOptions extends Pick<GatesOptions, 'form' | 'seed' | 'residual' | 'straightThrough'> {
  inputs: number;
  /** For each layer the number of its gates, or a layer made by the caller. */
  layers: readonly (number | Gates)[];
  /** 'random' (default), or each wire learnt among k inputs. */
  wires?: 'random' | { candidates: number };
  /** How many classes the outputs are grouped into. Default: the outputs are not grouped. */
  classes?: number;
  /** The temperature: sums of groups are divided by it. Default 1. */
  tau?: number;
}

const SCHEMA: sn.internals.OptionSchema<NetworkOptions> = {
  inputs: 'integer',
  layers: 'any',
  wires: 'any',
  classes: 'integer',
  tau: 'number',
  form: 'string',
  seed: 'integer',
  residual: 'number',
  straightThrough: 'boolean',
};

/** A module over bits (n, inputs) -> (n, classes), or (n, outputs) without classes. */
export interface Network {
  readonly layers: readonly Gates[];
  init(key: Tensor): GateParams[];
  apply(params: GateParams[], x: Tensor, options?: HardOptions): Tensor;
}

/** Layers with so many gates each. Their wires use consecutive seeds. */
export function layersOf(inputs: number, widths: readonly (number | Gates)[], options: Omit<GatesOptions, 'inputs' | 'outputs'>): Gates[] {
  const layers: Gates[] = [];
  widths.forEach((width, i) => {
    const from = i === 0 ? inputs : layers[i - 1]!.outputs;
    const seed = (options.seed ?? 0) + i;
    layers.push(typeof width === 'number' ? gates({ ...options, inputs: from, outputs: width, seed }) : width);
  });
  return layers;
}

/** A network of layers of gates. */
export function network(options: NetworkOptions): Network {
  const op = 'logic.network';
  const { inputs, layers: widths, classes, tau = 1, ...rest } = internals.readOptions(op, options, SCHEMA);
  internals.checkInteger(op, 'inputs', inputs, 1);
  if (!Array.isArray(widths) || widths.length === 0)
    throw new SinterError('argument', op, `option layers is ${internals.shown(widths)}, expected the number of gates of each layer in an array`);
  const layers = layersOf(inputs, widths as readonly (number | Gates)[], rest);
  checkChain(op, layers);
  if (layers[0]!.inputs !== inputs) throw new ShapeError(op, `layer 0 has ${layers[0]!.inputs} inputs, the network ${inputs}`);
  const { outputs } = layers.at(-1)!;
  if (classes !== undefined && (internals.checkInteger(op, 'classes', classes, 1), outputs % classes !== 0))
    throw new ShapeError(op, `${outputs} outputs of the last layer do not divide into ${classes} classes`);
  if (!(tau > 0)) throw new SinterError('argument', op, `tau is ${tau}, expected a number above 0`);
  return {
    layers,
    init: (key) => sn.tidy(() => initChain(layers, key)),
    apply: (params, x, given) =>
      sn.tidy(() => {
        checkChainParams(op, layers, params);
        if (!(x instanceof sn.Tensor) || x.ndim !== 2 || x.shape[1] !== inputs)
          throw new ShapeError(op, `x is ${x instanceof sn.Tensor ? `(${x.shape.join(', ')})` : internals.shown(x)}, expected (n, ${inputs})`);
        const rows = runChain(layers, chainCoefficients(layers, params, internals.readOptions<HardOptions>(op, given, { hard: 'boolean' })), x.transpose().astype('float32'));
        const scores = classes === undefined ? rows : rows.reshape([classes, outputs / classes, -1]).sum({ axis: 1 }).div(tau);
        return scores.transpose();
      }),
  };
}
