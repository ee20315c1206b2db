// Layers. Weights start uniform with variance 1 / fan, where fan is the number of terms in one output's sum (LeCun et al.
// 1998, Efficient BackProp, section 4.6), unless an initialiser is named; biases start at 0.

import { asTensor, type TensorLike } from '../apply.js';
import type { PerAxis } from '../conv.js';
import { checkInteger, checkNumber, shown, shownList } from '../check.js';
import { SinterError } from '../errors.js';
import * as functions from '../functions.gen.js';
import { matmul, permuteDims, reshape, take, where, zeros } from '../functions.gen.js';
import { CONV, CONV_TRANSPOSE, WINDOW, type ConvOptions, type ConvTransposeOptions, type WindowOptions } from '../options.gen.js';
import { readOptions, type OptionSchema } from '../options.js';
import * as random from '../random.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { share } from '../variables.js';
import { fresh, initializerOf, type Initializer, type InitializerName } from './initializers.js';
import { checkParams, readApply, stateless, type Module, type NoParams } from './module.js';

export interface LinearParams {
  /** (in, out); of a convolution (kh, kw, in / groups, out), of a transposed one (kh, kw, out / groups, in) */
  weight: Tensor;
  /** (out) */
  bias?: Tensor;
}

export interface LinearOptions {
  /** Adds a bias. Default true. */
  bias?: boolean;
  /** How the weight starts: one of nn.initializers or its name, or (key, shape) => tensor. Default 'lecunUniform'. */
  initializer?: InitializerName | Initializer;
}

const LINEAR: OptionSchema<LinearOptions> = { bias: 'boolean', initializer: 'any' };

export interface Conv1dOptions extends ConvOptions, LinearOptions {}
export interface Conv2dOptions extends ConvOptions, LinearOptions {}
export interface ConvTranspose2dOptions extends ConvTransposeOptions, LinearOptions {}
export interface DepthwiseConv2dOptions extends Omit<Conv2dOptions, 'groups'> {
  /** Outputs per channel. Default 1. */
  multiplier?: number;
}

/** A layer that multiplies x by a weight (..., in, out) and adds a bias along an axis of the result. */
interface Weighted {
  name: string;
  shape: readonly number[];
  outputs: number;
  options: LinearOptions;
  /** How many axes of the result follow the bias's axis. */
  behind?: number;
  /** Whether the weight's last axes are (out, in) instead. */
  isTransposed?: boolean;
  product: (x: TensorLike, weight: Tensor) => Tensor;
}

function weighted({ name, shape, outputs, options, behind = 0, isTransposed = false, product }: Weighted): Module<LinearParams> {
  if (!shape.every((n) => Number.isInteger(n) && n > 0)) {
    throw new SinterError('argument', `nn.${name}`, `sizes ${shownList(shape)}: expected whole numbers above 0`);
  }
  const start = initializerOf(`nn.${name}`, options.initializer);
  const own = shape.map((_, i) => i);
  const transposed = [...own.slice(0, -2), own.length - 1, own.length - 2];
  return {
    name,
    init: (key) =>
      tidy(() => {
        const weight = isTransposed ? permuteDims(start(key, transposed.map((i) => shape[i]!)), transposed) : start(key, shape);
        return options.bias === false ? { weight } : { weight, bias: zeros([outputs]) };
      }),
    apply: (params, x) =>
      tidy(() => {
        checkParams(name, params);
        const y = product(x, params.weight);
        if (!params.bias) return y;
        return y.add(behind === 0 ? params.bias : reshape(params.bias, [-1, ...new Array<number>(behind).fill(1)]));
      }),
  };
}

/** x (..., in) -> x * weight + bias (..., out). */
export function linear(inputs: number, outputs: number, given?: LinearOptions): Module<LinearParams> {
  const options = readOptions('nn.linear', given, LINEAR);
  return weighted({ name: 'linear', shape: [inputs, outputs], outputs, options, product: matmul });
}

/** The sizes of a window, a number or one for each axis. */
function windowOf(op: string, size: PerAxis, axes: number): readonly number[] {
  const list = Array.isArray(size) ? (size as readonly number[]) : new Array<number>(axes).fill(size as number);
  if (list.length === axes) return list;
  throw new SinterError('argument', op, `size ${shownList(list)}, expected ${axes === 1 ? '[size]' : '[kh, kw]'}`);
}

/** How many axes follow that of the channels. */
const behindChannels = (layout: string | undefined, axes: number): number => (layout?.startsWith('NC') ? axes : 0);

type Convolution<O> = (x: TensorLike, filter: TensorLike, options: O) => Tensor;

function convolution(
  name: string,
  inputs: number,
  outputs: number,
  window: readonly number[],
  { bias, initializer, ...options }: Conv2dOptions,
  convolve: Convolution<ConvOptions>,
): Module<LinearParams> {
  checkInteger(`nn.${name}`, 'inputs', inputs, 1);
  const shape = [...window, inputs / (options.groups ?? 1), outputs];
  const behind = behindChannels(options.layout, window.length);
  const linear = { ...(bias !== undefined && { bias }), ...(initializer && { initializer }) };
  return weighted({ name, shape, outputs, options: linear, behind, product: (x, weight) => convolve(x, weight, options) });
}

/** x (n, steps, in) -> (n, steps', out) through windows of size. */
export function conv1d(inputs: number, outputs: number, size: number | readonly [number], given?: Conv1dOptions): Module<LinearParams> {
  const options = readOptions<Conv1dOptions>('nn.conv1d', given, { ...CONV, ...LINEAR });
  return convolution('conv1d', inputs, outputs, windowOf('nn.conv1d', size, 1), options, functions.conv1d);
}

/** x (n, h, w, in) -> (n, h', w', out) through windows of size, a number or [kh, kw]. */
export function conv2d(inputs: number, outputs: number, size: PerAxis, given?: Conv2dOptions): Module<LinearParams> {
  const options = readOptions<Conv2dOptions>('nn.conv2d', given, { ...CONV, ...LINEAR });
  return convolution('conv2d', inputs, outputs, windowOf('nn.conv2d', size, 2), options, functions.conv2d);
}

/** x (n, h, w, channels) -> (n, h', w', channels * multiplier): each channel through windows of its own. */
export function depthwiseConv2d(channels: number, size: PerAxis, given?: DepthwiseConv2dOptions): Module<LinearParams> {
  const op = 'nn.depthwiseConv2d';
  const { groups: _, ...windows } = CONV;
  const { multiplier = 1, ...options } = readOptions<DepthwiseConv2dOptions>(op, given, { ...windows, ...LINEAR, multiplier: 'integer' });
  checkInteger(op, 'channels', channels, 1);
  checkInteger(op, 'multiplier', multiplier, 1);
  const grouped = { ...options, groups: channels };
  return convolution('depthwiseConv2d', channels, channels * multiplier, windowOf(op, size, 2), grouped, functions.conv2d);
}

/** x (n, h, w, in) -> (n, h', w', out), larger by strides: the transpose of a convolution, which takes its gradient to
 *  its input. */
export function convTranspose2d(inputs: number, outputs: number, size: PerAxis, given?: ConvTranspose2dOptions): Module<LinearParams> {
  const op = 'nn.convTranspose2d';
  const { bias = true, initializer = 'lecunUniform', ...options } = readOptions<ConvTranspose2dOptions>(op, given, { ...CONV_TRANSPOSE, ...LINEAR });
  checkInteger(op, 'inputs', inputs, 1);
  checkInteger(op, 'outputs', outputs, 1);
  return weighted({
    name: 'convTranspose2d',
    shape: [...windowOf(op, size, 2), outputs / (options.groups ?? 1), inputs],
    outputs,
    options: { bias, initializer },
    behind: behindChannels(options.layout, 2),
    isTransposed: true,
    product: (x, weight) => functions.convTranspose2d(x, weight, options),
  });
}

export interface GatedParams {
  gate: LinearParams;
  value: LinearParams;
}

/** x (..., in) -> f(x gate) (x value), (..., out): one product, through an activation, gates the other (Shazeer 2020). */
function gated(name: string, inputs: number, outputs: number, options: LinearOptions | undefined, f: (x: Tensor) => Tensor): Module<GatedParams> {
  const part = linear(inputs, outputs, readOptions(`nn.${name}`, options, LINEAR));
  return {
    name,
    init: (key) =>
      tidy(() => {
        const [gate, value] = random.splitKeys(key).map(part.init) as [LinearParams, LinearParams];
        return { gate, value };
      }),
    apply: (params, x) =>
      tidy(() => {
        checkParams(name, params);
        return f(part.apply(params.gate, x)).mul(part.apply(params.value, x));
      }),
  };
}

/** silu(x gate) (x value), of x (..., in) -> (..., out). */
export const swiglu = (inputs: number, outputs: number, options?: LinearOptions): Module<GatedParams> =>
  gated('swiglu', inputs, outputs, options, functions.silu);

/** gelu(x gate) (x value), of x (..., in) -> (..., out). */
export const geglu = (inputs: number, outputs: number, options?: LinearOptions): Module<GatedParams> =>
  gated('geglu', inputs, outputs, options, (x) => functions.gelu(x));

export const relu = () => stateless('relu', functions.relu);
export const tanh = () => stateless('tanh', functions.tanh);
export const sigmoid = () => stateless('sigmoid', functions.sigmoid);
export const gelu = () => stateless('gelu', (x) => functions.gelu(x));
export const silu = () => stateless('silu', functions.silu);

/** The largest element of each window of x (n, h, w, channels), per channel. */
export const maxPool2d = (window: PerAxis, options?: WindowOptions) =>
  pool('maxPool2d', functions.maxPool2d, window, options);
/** The mean of each window of x (n, h, w, channels), per channel. */
export const avgPool2d = (window: PerAxis, options?: WindowOptions) =>
  pool('avgPool2d', functions.avgPool2d, window, options);

function pool(name: string, f: typeof functions.maxPool2d, window: PerAxis, given: WindowOptions | undefined) {
  const options = readOptions<WindowOptions>(`nn.${name}`, given, WINDOW);
  return stateless(name, (x) => f(x, { ...options, window }));
}

/** x (n, ...) -> (n, all elements of one). */
export const flatten = () =>
  stateless('flatten', (x) =>
    tidy(() => {
      const t = asTensor(x, 'nn.flatten');
      return reshape(t, [t.shape[0]!, -1]);
    }),
  );

/** In training sets each number to 0 with probability rate, and scales the others so that the mean stays; otherwise
 *  returns x. Training needs { train: true, key }. */
export function dropout(rate: number): Module<NoParams> {
  const op = 'nn.dropout';
  if (!(checkNumber(op, 'rate', rate) >= 0 && rate <= 1))
    throw new SinterError('argument', op, `rate is ${shown(rate)}, expected a probability from 0 to 1`);
  return {
    name: 'dropout',
    init: () => ({}),
    apply: (_, x, given) =>
      tidy(() => {
        const { train = false, key } = readApply(op, given);
        const t = asTensor(x, op);
        if (!train || rate === 0) return share(op, t);
        if (!key) throw new SinterError('argument', op, 'there is no key to draw from', { hint: 'net.apply(params, x, { train: true, key })' });
        return where(random.bernoulli(key, 1 - rate, t.shape), t.mul(1 / (1 - rate)), 0);
      }),
  };
}

export interface Embedding extends Module<LinearParams> {
  /** x (..., size) -> its products with all rows (..., count), by the same weight: scores of what the rows stand for. */
  attend(params: LinearParams, x: TensorLike): Tensor;
}

/** x int32 (...) of 0 .. count - 1 -> (..., size): these rows of weight (count, size). Rows start with a length of about 1. */
export function embedding(count: number, size: number, given?: Pick<LinearOptions, 'initializer'>): Embedding {
  const op = 'nn.embedding';
  checkInteger(op, 'count', count, 1);
  checkInteger(op, 'size', size, 1);
  const { initializer } = readOptions<Pick<LinearOptions, 'initializer'>>(op, given, { initializer: 'any' });
  const start: Initializer = initializer ? initializerOf(op, initializer) : (key, shape) => fresh(key, shape, size);
  return {
    name: 'embedding',
    init: (key) => ({ weight: start(key, [count, size]) }),
    apply: (params, x) => {
      checkParams('embedding', params);
      return take(params.weight, x);
    },
    attend: (params, x) =>
      tidy(() => {
        checkParams('embedding', params);
        return matmul(x, permuteDims(params.weight, [1, 0]));
      }),
  };
}
