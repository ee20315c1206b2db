// Elementwise functions with parameters. Each is one call into the core, which writes the formula as
// graph of the op table's functions.

import { withAddresses, type TensorLike } from './apply.js';
import { refuseExtra } from './check.js';
import { gelu as exactGelu } from './ops.gen.js';
import { readOptions } from './options.js';
import type { Tensor } from './tensor.js';

export interface AlphaOptions {
  /** Slope (leakyRelu, default 0.01) or limit (elu, default 1) below 0. */
  alpha?: number;
}

export interface GeluOptions {
  /** By a tanh, within 5e-4, instead of exactly. Default false. */
  approximate?: boolean;
}

const ALPHA = { alpha: 'number' } as const;
const GELU = { approximate: 'boolean' } as const;

/** x kept between lo and hi, which broadcast; null: no bound on that side. */
export function clip(x: TensorLike, lo: TensorLike | null, hi: TensorLike | null = null, ...extra: []): Tensor {
  refuseExtra('clip', extra, 'clip takes a lower and an upper bound');
  const bounds = [lo, hi].filter((bound) => bound !== null);
  return withAddresses('clip', [x, ...bounds], (rt, [a, b = 0, c = 0]) =>
    lo === null ? rt.exports.sinter_clip(a!, 0, b) : rt.exports.sinter_clip(a!, b, c),
  );
}

/** x where x > 0, else alpha x. */
export const leakyRelu = (x: TensorLike, options?: AlphaOptions): Tensor => {
  const { alpha = 0.01 } = readOptions<AlphaOptions>('leakyRelu', options, ALPHA);
  return withAddresses('leakyRelu', [x], (rt, [a]) => rt.exports.sinter_leaky_relu(a!, alpha));
};

/** x where x > 0, else alpha (e^x - 1). */
export const elu = (x: TensorLike, options?: AlphaOptions): Tensor => {
  const { alpha = 1 } = readOptions<AlphaOptions>('elu', options, ALPHA);
  return withAddresses('elu', [x], (rt, [a]) => rt.exports.sinter_elu(a!, alpha));
};

/** elu with the parameters that keep mean 0 and variance 1, scaled. */
export const selu = (x: TensorLike): Tensor =>
  withAddresses('selu', [x], (rt, [a]) => rt.exports.sinter_selu(a!));

/** x min(max(x + 3, 0), 6) / 6. */
export const hardswish = (x: TensorLike): Tensor =>
  withAddresses('hardswish', [x], (rt, [a]) => rt.exports.sinter_hardswish(a!));

/** x Phi(x), Phi the normal distribution: x (1 + erf(x / sqrt 2)) / 2. */
export const gelu = (x: TensorLike, options?: GeluOptions): Tensor =>
  readOptions<GeluOptions>('gelu', options, GELU).approximate
    ? withAddresses('gelu', [x], (rt, [a]) => rt.exports.sinter_gelu_tanh(a!))
    : exactGelu(x);
