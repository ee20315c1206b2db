// Convolution over the spatial axes of (n, spatial..., channels), and how windows lie there. Each is one call into
// the core, which checks how windows fit.

import { asTensor, withAddresses, type TensorLike } from './apply.js';
import { fitsInt32, shown } from './check.js';
import { ShapeError, shapeText } from './errors.js';
import { readOptions, type OptionSchema } from './options.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';

/** One number for all spatial axes, or one for each. */
export type PerAxis = number | readonly number[];

/** 'same': as many windows as ceil(size / stride); 'valid': none; or [before, after] for each spatial axis. */
export type Padding = 'same' | 'valid' | readonly (readonly [number, number])[];

export interface WindowOptions {
  /** Default 1; of a pool the window's size. */
  strides?: PerAxis;
  padding?: Padding;
  /** Steps between the elements of a window. Default 1. */
  dilation?: PerAxis;
  /** Where the channels of x and the result are: 'NHWC' or 'NCHW', with fewer or more letters for other ranks. */
  layout?: string;
}

export interface ConvOptions extends WindowOptions {
  /** The channels of one group do not meet those of others. Default 1. */
  groups?: number;
}

export interface ConvTransposeOptions extends ConvOptions {
  /** Elements more at the end of the result, fewer than stride or dilation: of the sizes that a convolution takes to
   *  that of x, strides above 1 leave several. Default 0. */
  outputPadding?: PerAxis;
}

/** All there is to know of windows; what a function's own options lack is as if not given. */
export interface WindowSpec extends ConvTransposeOptions {
  window?: PerAxis;
  ceil?: boolean;
  countIncludePad?: boolean;
}

export const WINDOW = { strides: 'any', padding: 'any', dilation: 'any', layout: 'string' } as const;
export const CONV = { ...WINDOW, groups: 'integer' } as const;
const CONV_TRANSPOSE = { ...CONV, outputPadding: 'any' } as const;

const KINDS: readonly unknown[] = ['valid', 'same'];
const [VALID, EXPLICIT] = [0, 2];

/** What the core reads: strides, dilation, before, after, window (0 without one), output padding, per axis; padding,
 *  groups, channels first, ceil, whether padding counts. */
export function windowWords(op: string, shapes: string, axes: number, spec: WindowSpec): number[] {
  const { strides, padding = 'valid', dilation = 1, layout, groups = 1, window = 0, outputPadding = 0 } = spec;
  const need = (ok: boolean, what: string): void => {
    if (!ok) throw new ShapeError(`${op}: ${what}: ${shapes}`);
  };
  const each = (name: string, value: PerAxis): number[] => {
    const list = Array.isArray(value) ? (value as readonly number[]) : new Array<number>(axes).fill(value as number);
    need(list.length === axes && list.every(fitsInt32), `expected ${name} as ${axes} whole numbers`);
    return [...list];
  };
  const given: readonly (readonly number[] | null)[] = Array.isArray(padding) ? padding : [];
  const kind = Array.isArray(padding) ? EXPLICIT : KINDS.indexOf(padding);
  need(kind >= VALID, `no padding '${typeof padding === 'string' ? padding : shown(padding)}'`);
  const dims = 'DHW'.slice(-axes);
  const first = layout === `NC${dims}`;
  need(layout === undefined || first || layout === `N${dims}C`, `no layout '${layout}'`);
  const side = (i: number): number[] =>
    each('padding', kind === EXPLICIT ? given.map((pair) => pair?.[i] ?? NaN) : 0);
  need(groups > 0, `no ${groups} groups`);
  return [
    ...each('strides', strides ?? (window || 1)),
    ...each('dilation', dilation),
    ...side(0),
    ...side(1),
    ...each('window', window),
    ...each('outputPadding', outputPadding),
    kind,
    groups,
    Number(first),
    Number(spec.ceil ?? false),
    Number(spec.countIncludePad ?? false),
  ];
}

const convolution =
  <O extends ConvOptions>(op: string, axes: number, transposed: number) =>
  (x: TensorLike, filter: TensorLike, options?: O): Tensor =>
    tidy(() => {
      const given = readOptions<ConvTransposeOptions>(op, options, (transposed ? CONV_TRANSPOSE : CONV) as OptionSchema<ConvTransposeOptions>);
      const [t, w] = [asTensor(x, op), asTensor(filter, op)];
      const spec = windowWords(op, `x ${shapeText(t.shape)}, filter ${shapeText(w.shape)}`, axes, given);
      return withAddresses(op, [t, w], (rt, [a, b]) => {
        rt.send(spec);
        return rt.exports.sinter_conv(a!, b!, axes, transposed);
      });
    });

/** x (N, W, C), filter (kw, C / groups, O) -> (N, W', O). As everywhere, the filter is not flipped. Integers and
 *  bools give int32, here and below, whose sums wrap modulo 2^32. */
export const conv1d = convolution<ConvOptions>('conv1d', 1, 0);

/** x (N, H, W, C), filter (kh, kw, C / groups, O) -> (N, H', W', O). */
export const conv2d = convolution<ConvOptions>('conv2d', 2, 0);

/** x (N, D, H, W, C), filter (kd, kh, kw, C / groups, O) -> (N, D', H', W', O). */
export const conv3d = convolution<ConvOptions>('conv3d', 3, 0);

/** What takes the gradient of conv1d's result back to its input: x (N, W, C), filter (kw, O / groups, C). 'same' gives
 *  sizes times strides; explicit padding is cut off from the result, here and below. */
export const convTranspose1d = convolution<ConvTransposeOptions>('convTranspose1d', 1, 1);

/** What takes the gradient of conv2d's result back to its input: x (N, H, W, C), filter (kh, kw, O / groups, C). */
export const convTranspose2d = convolution<ConvTransposeOptions>('convTranspose2d', 2, 1);

/** The same of conv3d: x (N, D, H, W, C), filter (kd, kh, kw, O / groups, C). */
export const convTranspose3d = convolution<ConvTransposeOptions>('convTranspose3d', 3, 1);
