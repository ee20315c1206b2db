// Convolutions and pools over the spatial axes of (n, channels, spatial...).

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Node, Op } from '../plan.js';
import { INT64 } from '../types.js';
import { made, type Value } from '../value.js';
import { padded } from './shape.js';

export type Pairs = [number, number][];

interface Windows {
  axes: number;
  window: number[];
  strides: number[];
  dilation: number[];
  padding: Pairs;
}

/** Padding by auto_pad: it makes ceil(size / stride) windows. SAME_LOWER puts an odd element at the beginning, SAME_UPPER at
 *  the end. */
function autoPads(mode: string, shape: readonly number[], window: readonly number[], strides: readonly number[], dilation: readonly number[]): Pairs {
  return window.map((size, i) => {
    if (mode === 'VALID') return [0, 0];
    const [length, stride] = [shape[i + 2]!, strides[i]!];
    const all = Math.max((Math.ceil(length / stride) - 1) * stride + (size - 1) * dilation[i]! + 1 - length, 0);
    const less = Math.floor(all / 2);
    return mode === 'SAME_LOWER' ? [all - less, less] : [less, all - less];
  });
}

export function windowsOf(n: Node, shape: readonly number[], window: number[]): Windows {
  const axes = shape.length - 2;
  const ones = new Array<number>(axes).fill(1);
  const [strides, dilation] = [n.ints('strides') ?? ones, n.ints('dilations') ?? ones];
  const mode = n.text('auto_pad', 'NOTSET');
  const pads = n.ints('pads');
  const padding =
    mode === 'NOTSET' || mode === '' ? ones.map((_, i): [number, number] => [pads?.[i] ?? 0, pads?.[i + axes] ?? 0]) : autoPads(mode, shape, window, strides, dilation);
  return { axes, window, strides, dilation, padding };
}

const LAYOUTS = ['', 'NCW', 'NCHW', 'NCDHW'];
const layoutOf = (axes: number): string => LAYOUTS[axes]!;

/** ONNX's filter (o, c, window...) in the package's layout (window..., c, o). */
const filterOf = (w: Tensor): Tensor => sn.transpose(w, [...Array.from({ length: w.ndim - 2 }, (_, i) => i + 2), 1, 0]);

const CONV = [sn.conv1d, sn.conv1d, sn.conv2d, sn.conv3d] as const;
const CONV_TRANSPOSE = [sn.convTranspose1d, sn.convTranspose1d, sn.convTranspose2d, sn.convTranspose3d] as const;

/** A value per channel, in a shape that broadcasts with (n, channels, spatial...). */
export const perChannel = (t: Tensor, rank: number): Tensor => sn.reshape(t, [-1, ...new Array<number>(rank - 2).fill(1)]);

export function convolved(n: Node, x: Tensor, w: Tensor): Tensor {
  const { axes, strides, dilation, padding } = windowsOf(n, x.shape, n.ints('kernel_shape') ?? w.shape.slice(2));
  if (axes < 1 || axes > 3) throw n.fail(`${axes} spatial axes, expected 1 to 3`);
  return CONV[axes]!(x, filterOf(w), { strides, dilation, padding, groups: n.int('group', 1), layout: layoutOf(axes) });
}

const conv: Op = {
  since: 1,
  run: (n, x, w, b) => {
    const y = convolved(n, x!.t, w!.t);
    return b ? sn.add(y, perChannel(b.t, y.ndim)) : y;
  },
};

/** How much to cut off each end of a full transposed convolution to get the requested size; negative: how much to add. */
function transposedPads(n: Node, shape: readonly number[], { window, strides, dilation, padding, axes }: Windows, extra: readonly number[]): Pairs {
  const wanted = n.ints('output_shape')?.slice(-axes);
  const mode = n.text('auto_pad', 'NOTSET');
  if (!wanted && !mode.startsWith('SAME')) return padding;
  return window.map((size, i) => {
    const full = strides[i]! * (shape[i + 2]! - 1) + extra[i]! + (size - 1) * dilation[i]! + 1;
    const all = full - (wanted?.[i] ?? shape[i + 2]! * strides[i]!);
    // Missing elements are added at the end, as in TensorFlow, whose windows may be smaller than the strides.
    const half = Math.max(all, 0) / 2;
    const before = mode === 'SAME_UPPER' ? Math.floor(half) : Math.ceil(half);
    return [before, all - before];
  });
}

const convTranspose: Op = {
  since: 1,
  run: (n, x, w, b) => {
    const windows = windowsOf(n, x!.shape, n.ints('kernel_shape') ?? w!.shape.slice(2));
    const { axes, strides, dilation } = windows;
    const groups = n.int('group', 1);
    const extra = n.ints('output_padding') ?? strides.map(() => 0);
    // The filter (c, o / groups, window...) becomes (window..., o / groups, c).
    const full = CONV_TRANSPOSE[axes]!(x!.t, filterOf(w!.t), { strides, dilation, groups, layout: layoutOf(axes) });
    const cut = transposedPads(n, x!.shape, windows, extra);
    const pairs: Pairs = [[0, 0], [0, 0], ...cut.map(([before, after], i): [number, number] => [-before, extra[i]! - after])];
    const y = pairs.some(([p, q]) => p || q) ? padded(full, pairs, 'constant') : full;
    return b ? sn.add(y, perChannel(b.t, y.ndim)) : y;
  },
};

/** The padding, enlarged at the end so that the last window of ceil_mode is whole. */
function ceiled(n: Node, shape: readonly number[], { window, strides, dilation, padding }: Windows): Pairs {
  if (!n.flag('ceil_mode')) return padding;
  return padding.map(([before, after], i) => {
    const reach = (window[i]! - 1) * dilation[i]! + 1;
    const length = shape[i + 2]! + before + after;
    let count = Math.ceil((length - reach) / strides[i]!) + 1;
    if ((count - 1) * strides[i]! >= shape[i + 2]! + before) count--;
    return [before, Math.max((count - 1) * strides[i]! + reach - length, 0) + after];
  });
}

/** The windows of a padded tensor: (n, channels, places..., window...). */
function windowed(x: Tensor, { window, strides, dilation }: Windows): Tensor {
  const axes = window.length;
  let t = x;
  window.forEach((size, i) => {
    // sn.windows puts the window axis behind the axis of its places; it is moved to the end.
    t = sn.moveaxis(sn.windows(t, i + 2, size, { step: strides[i]!, dilation: dilation[i]! }), i + 3, t.ndim);
  });
  return axes ? t : x;
}

const windowAxes = (axes: number): number[] => Array.from({ length: axes }, (_, i) => i + 2 + axes);

const aroundAll = (padding: Pairs): Pairs => [[0, 0], [0, 0], ...padding];

/** The flat index in x of the largest element of each window. */
function argmaxPlaces(n: Node, x: Value, w: Windows, places: Pairs): Tensor {
  const { axes, window } = w;
  const spatial = x.shape.slice(2);
  const order = n.flag('storage_order') ? [...spatial.keys()] : [...spatial.keys()].reverse();
  let stride = 1;
  let flat: Tensor = sn.zeros([1, 1, ...spatial.map(() => 1)], { dtype: 'int32' });
  for (const axis of order) {
    flat = sn.add(flat, sn.mul(sn.iota([1, 1, ...spatial.map((size, i) => (i === axis ? size : 1))], axis + 2), stride));
    stride *= spatial[axis]!;
  }
  const each = sn.mul(sn.reshape(sn.iota([x.shape[0]! * x.shape[1]!], 0), [x.shape[0]!, x.shape[1]!, ...spatial.map(() => 1)]), stride);
  const numbers = windowed(padded(sn.broadcastTo(sn.add(flat, each), [...x.shape]), aroundAll(places), 'constant'), w);
  const values = windowed(padded(x.t.astype('float32'), aroundAll(places), 'constant', -Infinity), w);
  const shape = [...values.shape.slice(0, 2 + axes), window.reduce((a, b) => a * b, 1)];
  const best = sn.argmax(sn.reshape(values, shape), { axis: -1, keepdims: true });
  return sn.squeeze(sn.takeAlongAxis(sn.reshape(numbers, shape), best, { axis: -1 }), -1);
}

const MAX_POOL = [sn.maxPool1d, sn.maxPool1d, sn.maxPool2d, sn.maxPool3d] as const;

const maxPool: Op = {
  since: 1,
  run: (n, x) => {
    const w = windowsOf(n, x!.shape, n.ints('kernel_shape')!);
    const { axes, window, strides, dilation } = w;
    const padding = ceiled(n, x!.shape, w);
    const isPlain = padding.every(([a, b], i) => a < window[i]! && b < window[i]!) && axes <= 3;
    const y = isPlain
      ? MAX_POOL[axes]!(x!.t, { window, strides, dilation, padding, layout: layoutOf(axes) })
      : sn.max(windowed(padded(x!.t, aroundAll(padding), 'constant', -Infinity), w), { axis: windowAxes(axes) });
    return n.outputs > 1 ? [y, made(INT64, argmaxPlaces(n, x!, w, padding))] : y;
  },
};

/** The sum of each window divided by the number of its elements. With count_include_pad, elements of explicit padding count
 *  too, but not those that ceil_mode adds. */
const averagePool: Op = {
  since: 1,
  run: (n, x) => {
    const w = windowsOf(n, x!.shape, n.ints('kernel_shape')!);
    const all = aroundAll(ceiled(n, x!.shape, w));
    const axis = windowAxes(w.axes);
    const sum = sn.sum(windowed(padded(x!.t, all, 'constant'), w), { axis });
    const ones = sn.ones([1, 1, ...x!.shape.slice(2)], { dtype: x!.t.dtype });
    const extra = all.map(([a, b], i): [number, number] => (i < 2 ? [0, 0] : [a - w.padding[i - 2]![0], b - w.padding[i - 2]![1]]));
    const counted = n.flag('count_include_pad') ? padded(padded(ones, aroundAll(w.padding), 'constant', 1), extra, 'constant') : padded(ones, all, 'constant');
    return sn.div(sum, sn.sum(windowed(counted, w), { axis }));
  },
};

const lpPool: Op = {
  since: 1,
  run: (n, x) => {
    const w = windowsOf(n, x!.shape, n.ints('kernel_shape')!);
    const p = n.int('p', 2);
    const powers = sn.pow(sn.abs(padded(x!.t, aroundAll(ceiled(n, x!.shape, w)), 'constant')), p);
    return sn.pow(sn.sum(windowed(powers, w), { axis: windowAxes(w.axes) }), 1 / p);
  },
};

const overSpace = (f: (x: Tensor, options: { axis: number[]; keepdims: boolean }) => Tensor): Op => ({
  since: 1,
  run: (_, x) => f(x!.t, { axis: x!.shape.map((_, i) => i).slice(2), keepdims: true }),
});

const globalLpPool: Op = {
  since: 1,
  run: (n, x) => sn.norm(x!.t, { ord: n.int('p', 2), axis: x!.shape.map((_, i) => i).slice(2), keepdims: true }),
};

/** Puts each element back to the index that MaxPool took it from. */
const maxUnpool: Op = {
  since: 9,
  run: (n, x, places, wanted) => {
    const { window, strides, padding } = windowsOf(n, x!.shape, n.ints('kernel_shape')!);
    const inner = window.map((size, i) => (x!.shape[i + 2]! - 1) * strides[i]! + size - padding[i]![0] - padding[i]![1]);
    const size = inner.reduce((a, b) => a * b, x!.shape[0]! * x!.shape[1]!);
    const flat = sn.scatter(sn.zeros([size], { dtype: x!.t.dtype }), sn.reshape(places!.t, [-1]), sn.reshape(x!.t, [-1]), { axis: 0 });
    const y = sn.reshape(flat, [...x!.shape.slice(0, 2), ...inner]);
    const shape = wanted?.numbers;
    return shape ? padded(y, shape.map((length, i): [number, number] => [0, length - y.shape[i]!]), 'constant') : y;
  },
  forms: [2],
};

/** Adds columns, each a flattened window, up to the image that the windows are of. */
const col2Im: Op = {
  since: 18,
  run: (n, x, image, block) => {
    const [sizes, window] = [image!.numbers, block!.numbers];
    const { strides, dilation, padding, axes } = windowsOf(n, [1, 1, ...sizes], window);
    const shape = sizes.map((size, i) => size + padding[i]![0] + padding[i]![1]);
    const counts = shape.map((size, i) => Math.floor((size - (window[i]! - 1) * dilation[i]! - 1) / strides[i]!) + 1);
    const channels = x!.shape[1]! / window.reduce((a, b) => a * b, 1);
    let places: Tensor = sn.zeros(new Array<number>(axes * 2).fill(1), { dtype: 'int32' });
    let stride = 1;
    for (let i = axes - 1; i >= 0; i--) {
      const shapeOf = (at: number, size: number): number[] => Array.from({ length: axes * 2 }, (_, k) => (k === at ? size : 1));
      const at = sn.add(sn.mul(sn.iota(shapeOf(i, window[i]!), i), dilation[i]!), sn.mul(sn.iota(shapeOf(i + axes, counts[i]!), i + axes), strides[i]!));
      places = sn.add(places, sn.mul(at, stride));
      stride *= shape[i]!;
    }
    const updates = sn.reshape(x!.t, [x!.shape[0]!, channels, -1]);
    const flat = sn.scatterAdd(sn.zeros([x!.shape[0]!, channels, stride], { dtype: x!.t.dtype }), sn.reshape(sn.broadcastTo(places, [...window, ...counts]), [-1]), updates, { axis: 2 });
    const cut: Pairs = [[0, 0], [0, 0], ...padding.map(([a, b]): [number, number] => [-a, -b])];
    return padded(sn.reshape(flat, [x!.shape[0]!, channels, ...shape]), cut, 'constant');
  },
  forms: [1, 2],
};

/** A causal convolution of each channel on its own, which continues where the last call ended: its state is the last inputs. */
const causalConv: Op = {
  since: 27,
  run: (n, x, w, b, past) => {
    const before = w!.shape[2]! - 1;
    const lead = past ? past.t : sn.zeros([...x!.shape.slice(0, 2), before], { dtype: x!.t.dtype });
    const all = sn.concat([lead, x!.t], { axis: 2 });
    const product = sn.conv1d(all, filterOf(w!.t), { groups: x!.shape[1]!, layout: 'NCW' });
    const y = b ? sn.add(product, perChannel(b.t, 3)) : product;
    const active = ['silu', 'swish'].includes(n.text('activation', 'none')) ? sn.silu(y) : y;
    return [active, sn.slice(all, [0, 0, all.shape[2]! - before], [...x!.shape.slice(0, 2), before])];
  },
};

export const CONVOLUTION: Readonly<Record<string, Op>> = {
  Conv: conv,
  ConvTranspose: convTranspose,
  MaxPool: maxPool,
  AveragePool: averagePool,
  LpPool: lpPool,
  GlobalAveragePool: overSpace(sn.mean),
  GlobalMaxPool: overSpace(sn.max),
  GlobalLpPool: globalLpPool,
  MaxUnpool: maxUnpool,
  Col2Im: col2Im,
  CausalConvWithState: causalConv,
};
