// Layers. Weights start uniform with variance 1 / fan, fan being the terms of one output's sum (LeCun et al.
// 1998, Efficient BackProp, section 4.6); biases at 0.

import { asTensor, type TensorLike } from '../apply.js';
import type { PerAxis } from '../conv.js';
import { checkInteger, refuseExtra, shown, shownList } from '../check.js';
import { ShapeError, SinterError, shapeText } from '../errors.js';
import * as functions from '../functions.gen.js';
import { attention, matmul, ones, permuteDims, reshape, take, zeros } from '../functions.gen.js';
import { ATTENTION, CONV, WINDOW, type AttentionOptions, type ConvOptions, type WindowOptions } from '../options.gen.js';
import { readOptions } from '../options.js';
import * as random from '../random.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { stateless, type Module } from './module.js';

export interface LinearParams {
  /** (in, out); of a convolution (kh, kw, in / groups, out) */
  weight: Tensor;
  /** (out) */
  bias?: Tensor;
}

export interface LinearOptions {
  /** Default true. */
  bias?: boolean;
}

export interface Conv2dOptions extends ConvOptions, LinearOptions {}

export function fresh(key: Tensor, shape: readonly number[], fan: number): Tensor {
  const bound = Math.sqrt(3 / fan);
  return random.uniform(key, shape, { minval: -bound, maxval: bound });
}

/** Refuses what init did not make. */
export function checkParams(op: string, params: unknown): void {
  if (typeof params === 'object' && params !== null) return;
  throw new SinterError('argument', `nn.${op}`, 'these are not its parameters', {
    hint: 'params = module.init(key), then module.apply(params, x)',
  });
}

/** A product of x with a weight of this shape, whose last size is that of the bias. */
function weighted(
  op: string,
  shape: readonly number[],
  bias: boolean,
  product: (x: TensorLike, weight: Tensor) => Tensor,
): Module<LinearParams> {
  if (!shape.every((n) => Number.isInteger(n) && n > 0)) {
    throw new SinterError('argument', `nn.${op}`, `sizes ${shownList(shape)}: expected whole numbers above 0`);
  }
  const outputs = shape.at(-1)!;
  const fan = shape.slice(0, -1).reduce((size, n) => size * n);
  return {
    init: (key) =>
      tidy(() => {
        const weight = fresh(key, shape, fan);
        return bias ? { weight, bias: zeros([outputs]) } : { weight };
      }),
    apply: (params, x) =>
      tidy(() => {
        checkParams(op, params);
        const y = product(x, params.weight);
        return params.bias ? y.add(params.bias) : y;
      }),
  };
}

/** x (..., in) -> x * weight + bias (..., out). */
export const linear = (inputs: number, outputs: number, options?: LinearOptions): Module<LinearParams> => {
  const { bias = true } = readOptions<LinearOptions>('nn.linear', options, { bias: 'boolean' });
  return weighted('linear', [inputs, outputs], bias, matmul);
};

/** x (n, h, w, in) -> (n, h', w', out) through windows of size, a number or [kh, kw]. */
export const conv2d = (
  inputs: number,
  outputs: number,
  size: PerAxis,
  given?: Conv2dOptions,
): Module<LinearParams> => {
  const { bias = true, ...options } = readOptions<Conv2dOptions>('nn.conv2d', given, { ...CONV, bias: 'boolean' });
  checkInteger('nn.conv2d', 'inputs', inputs, 1);
  const windows = Array.isArray(size) ? (size as readonly number[]) : [size as number, size as number];
  const shape = [...windows, inputs / (options.groups ?? 1), outputs];
  if (shape.length !== 4) throw new SinterError('argument', 'nn.conv2d', `size ${shownList(windows)}, expected [kh, kw]`);
  return weighted('conv2d', shape, bias, (x, weight) => functions.conv2d(x, weight, options));
};

export const relu = () => stateless(functions.relu);
export const tanh = () => stateless(functions.tanh);
export const sigmoid = () => stateless(functions.sigmoid);
export const gelu = () => stateless((x) => functions.gelu(x));

export const maxPool2d = (window: PerAxis, options?: WindowOptions) =>
  pool('nn.maxPool2d', functions.maxPool2d, window, options);
export const avgPool2d = (window: PerAxis, options?: WindowOptions) =>
  pool('nn.avgPool2d', functions.avgPool2d, window, options);

function pool(op: string, f: typeof functions.maxPool2d, window: PerAxis, given: WindowOptions | undefined) {
  const options = readOptions<WindowOptions>(op, given, WINDOW);
  return stateless((x) => f(x, { ...options, window }));
}

/** x (n, ...) -> (n, all elements of one). */
export const flatten = () =>
  stateless((x) =>
    tidy(() => {
      const t = asTensor(x, 'nn.flatten');
      return reshape(t, [t.shape[0]!, -1]);
    }),
  );

export interface NormParams {
  /** (size) */
  weight: Tensor;
  bias: Tensor;
}

/** Over the last axis, of that size. */
export const layerNorm = (size: number, ...extra: []): Module<NormParams> => {
  checkInteger('nn.layerNorm', 'size', size, 1);
  refuseExtra('nn.layerNorm', extra, 'nn.layerNorm has no options; sn.layerNorm takes { eps }');
  return {
    init: () => ({ weight: ones([size]), bias: zeros([size]) }),
    apply: (params, x) => {
      checkParams('layerNorm', params);
      return functions.layerNorm(x, { weight: params.weight, bias: params.bias });
    },
  };
};

/** x int32 (...) in 0 .. count - 1 -> (..., size), rows of weight (count, size), whose length is about 1. */
export const embedding = (count: number, size: number): Module<LinearParams> => {
  checkInteger('nn.embedding', 'count', count, 1);
  checkInteger('nn.embedding', 'size', size, 1);
  return {
    init: (key) => ({ weight: fresh(key, [count, size], size) }),
    apply: (params, x) => {
      checkParams('embedding', params);
      return take(params.weight, x);
    },
  };
};

/** x (n, tokens, size) -> the same, each token of itself and the others: heads of size / heads numbers each.
 *  Parameters are those of queries, keys, values and results. */
export function selfAttention(
  size: number,
  heads: number,
  given?: AttentionOptions,
): Module<LinearParams[]> {
  const options = readOptions<AttentionOptions>('nn.selfAttention', given, ATTENTION);
  checkInteger('nn.selfAttention', 'heads', heads, 1);
  if (size % heads !== 0)
    throw new SinterError('argument', 'nn.selfAttention', `size ${shown(size)} does not divide into ${heads} heads`);
  const part = linear(size, size, { bias: false });
  return {
    init: (key) => tidy(() => random.splitKeys(key, 4).map(part.init)),
    apply: (params, x) =>
      tidy(() => {
        const given = asTensor(x, 'nn.selfAttention');
        if (given.ndim !== 3)
          throw new ShapeError('nn.selfAttention', `needs (n, tokens, size): x ${shapeText(given.shape)}`, { shapes: [given.shape] });
        if (!Array.isArray(params) || params.length !== 4) checkParams('selfAttention', null);
        const [batch, tokens] = given.shape as readonly [number, number];
        const [q, k, v] = params.slice(0, 3).map((each) =>
          permuteDims(reshape(part.apply(each, given), [batch, tokens, heads, -1]), [0, 2, 1, 3]),
        ) as [Tensor, Tensor, Tensor];
        const mixed = permuteDims(attention(q, k, v, options), [0, 2, 1, 3]);
        return part.apply(params[3]!, reshape(mixed, given.shape));
      }),
  };
}

type ParamsOf<L extends readonly Module[]> = {
  -readonly [K in keyof L]: L[K] extends Module<infer P> ? P : never;
};

function checkModules(op: string, layers: readonly unknown[]): void {
  layers.forEach((layer, i) => {
    const { init, apply } = (layer ?? {}) as Partial<Module>;
    if (typeof init === 'function' && typeof apply === 'function') return;
    const hint = Array.isArray(layer)
      ? 'give the modules one by one, not in an array'
      : typeof layer === 'function'
        ? 'call the function that makes it: nn.relu()'
        : 'a module has init(key) and apply(params, x)';
    throw new SinterError('argument', op, `layer ${i} is ${shown(layer)}, expected a module`, { hint });
  });
}

/** Modules one after the other; parameters are an array with those of each. */
export function sequential<L extends readonly Module[]>(...layers: L): Module<ParamsOf<L>> {
  checkModules('nn.sequential', layers);
  return {
    init: (key) =>
      tidy(() => {
        const keys = layers.length > 0 ? random.splitKeys(key, layers.length) : [];
        return layers.map((layer, i) => layer.init(keys[i]!)) as ParamsOf<L>;
      }),
    apply: (params, x: TensorLike) =>
      tidy(() => {
        const all = params as readonly unknown[];
        if (!Array.isArray(all) || all.length !== layers.length) checkParams('sequential', null);
        return layers.reduce((value, layer, i) => layer.apply(all[i], value), asTensor(x, 'nn.sequential'));
      }),
  };
}

/** x plus what modules one after the other make of it. */
export function residual<L extends readonly Module[]>(...layers: L): Module<ParamsOf<L>> {
  checkModules('nn.residual', layers);
  const inner: Module<ParamsOf<L>> = sequential(...layers);
  return {
    init: inner.init,
    apply: (params, x) =>
      tidy(() => {
        const given = asTensor(x, 'nn.residual');
        return given.add(inner.apply(params, given));
      }),
  };
}
