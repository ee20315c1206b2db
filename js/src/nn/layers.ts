import * as ops from '../ops.gen.js';
import { SinterError } from '../errors.js';
import { matmul } from '../linalg.js';
import { zeros } from '../creation.js';
import * as random from '../random.js';
import { tidy } from '../scope.js';
import { asTensor, type TensorLike } from '../apply.js';
import type { Tensor } from '../tensor.js';
import { stateless, type Module } from './module.js';

export interface LinearParams {
  /** (in, out) */
  weight: Tensor;
  /** (out) */
  bias?: Tensor;
}

export interface LinearOptions {
  /** Default true. */
  bias?: boolean;
}

/**
 * x (..., in) -> x * weight + bias (..., out). Weights start uniform within sqrt(3 / in), so that they have
 * variance 1 / in (LeCun et al. 1998, Efficient BackProp, section 4.6); biases at 0.
 */
export function linear(
  inputs: number,
  outputs: number,
  { bias = true }: LinearOptions = {},
): Module<LinearParams> {
  if (!(Number.isInteger(inputs) && Number.isInteger(outputs) && inputs > 0 && outputs > 0)) {
    throw new SinterError(
      'argument',
      `nn.linear: sizes ${inputs} and ${outputs}, expected whole numbers above 0`,
    );
  }
  const bound = Math.sqrt(3 / inputs);
  const range = { minval: -bound, maxval: bound };
  return {
    init: (key) =>
      tidy(() => {
        const weight = random.uniform(key, [inputs, outputs], range);
        return bias ? { weight, bias: zeros([outputs]) } : { weight };
      }),
    apply: (params, x) =>
      tidy(() => {
        const product = matmul(x, params.weight);
        return params.bias ? product.add(params.bias) : product;
      }),
  };
}

export const relu = () => stateless(ops.relu);
export const tanh = () => stateless(ops.tanh);
export const sigmoid = () => stateless(ops.sigmoid);

type ParamsOf<L extends readonly Module[]> = {
  -readonly [K in keyof L]: L[K] extends Module<infer P> ? P : never;
};

/** Modules one after the other; parameters are an array with those of each. */
export function sequential<L extends readonly Module[]>(...layers: L): Module<ParamsOf<L>> {
  return {
    init: (key) =>
      tidy(() => {
        const keys = layers.length > 0 ? random.splitKeys(key, layers.length) : [];
        return layers.map((layer, i) => layer.init(keys[i]!)) as ParamsOf<L>;
      }),
    apply: (params, x: TensorLike) =>
      tidy(() => {
        const all = params as readonly unknown[];
        return layers.reduce((value, layer, i) => layer.apply(all[i], value), asTensor(x, 'nn.sequential'));
      }),
  };
}
