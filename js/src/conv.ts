// Convolution and pooling over the spatial axes of (n, spatial..., channels). Each is one call into
// the core, which checks how windows fit.

import { asTensor, withAddresses, type TensorLike } from './apply.js';
import { fitsInt32, shown } from './check.js';
import { ShapeError, shapeText } from './errors.js';
import { readOptions } from './options.js';
import { runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import { wrap, type Tensor } from './tensor.js';

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

export interface PoolOptions extends WindowOptions {
  window: PerAxis;
}

export const WINDOW = { strides: 'any', padding: 'any', dilation: 'any', layout: 'string' } as const;
export const CONV = { ...WINDOW, groups: 'integer' } as const;
const POOL = { window: 'any', ...WINDOW } as const;

const KINDS: readonly unknown[] = ['valid', 'same'];
const [VALID, EXPLICIT] = [0, 2];

/** What the core reads: strides, dilation, before, after, window (0 without one), per axis; padding, groups,
 *  channels first. */
function words(
  op: string,
  shapes: string,
  axes: number,
  { strides, padding = 'valid', dilation = 1, layout, groups = 1, window = 0 }: ConvOptions & Partial<PoolOptions>,
): number[] {
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
    kind,
    groups,
    first ? 1 : 0,
  ];
}

const convolution =
  (op: string, axes: number, transposed: number) =>
  (x: TensorLike, filter: TensorLike, options?: ConvOptions): Tensor =>
    tidy(() => {
      const given = readOptions<ConvOptions>(op, options, CONV);
      const [t, w] = [asTensor(x, op), asTensor(filter, op)];
      const spec = words(op, `x ${shapeText(t.shape)}, filter ${shapeText(w.shape)}`, axes, given);
      return withAddresses(op, [t, w], (rt, [a, b]) => {
        rt.send(spec);
        return rt.exports.sinter_conv(a!, b!, axes, transposed);
      });
    });

const pool =
  (op: string, axes: number, mean: number) =>
  (x: TensorLike, options: PoolOptions): Tensor =>
    tidy(() => {
      const given = readOptions<PoolOptions>(op, options, POOL);
      const [t, rt] = [asTensor(x, op), runtime()];
      rt.send(words(op, `x ${shapeText(t.shape)}`, axes, given));
      return wrap(rt.exports.sinter_pool_windows(t.use(op), axes, mean));
    });

/** x (N, W, C), filter (kw, C / groups, O) -> (N, W', O). As everywhere, the filter is not flipped. */
export const conv1d = convolution('conv1d', 1, 0);

/** x (N, H, W, C), filter (kh, kw, C / groups, O) -> (N, H', W', O). */
export const conv2d = convolution('conv2d', 2, 0);

/** x (N, D, H, W, C), filter (kd, kh, kw, C / groups, O) -> (N, D', H', W', O). */
export const conv3d = convolution('conv3d', 3, 0);

/** What takes the gradient of conv2d's result back to its input: x (N, H, W, C), filter (kh, kw, O / groups, C).
 *  'same' gives sizes times strides. */
export const convTranspose2d = convolution('convTranspose2d', 2, 1);

/** The largest element of each window of (N, H, W, C). */
export const maxPool2d = pool('maxPool2d', 2, 0);

/** The mean of each window of (N, H, W, C); padding does not count. */
export const avgPool2d = pool('avgPool2d', 2, 1);
