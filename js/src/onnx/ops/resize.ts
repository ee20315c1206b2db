// Sampling. The places and weights of Resize and Upsample follow from shapes; those of GridSample and the like are computed.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Node, Op } from '../plan.js';
import { isFloatType } from '../types.js';
import { made, type Value } from '../value.js';
import { axisOf } from './shape.js';

/** The most places along an axis for which taps are computed in JavaScript. */
const MOST_PLACES = 1 << 20;

/** How one axis is sampled. */
interface Axis {
  /** Sizes of the axis before and after. */
  from: number;
  to: number;
  scale: number;
  /** The part of the axis that tf_crop_and_resize samples, as fractions. */
  crop: readonly [number, number];
}

/** The elements of x, and their weights, that one element of the result is computed from. */
interface Taps {
  places: number[];
  weights: number[];
}

/** The coordinate in x, with a fraction, of an element of the result. */
function origin(mode: string, at: number, { from, to, scale, crop }: Axis): number {
  const centre = (at + 0.5) / scale - 0.5;
  switch (mode) {
    case 'half_pixel_symmetric':
      return (from / 2) * (1 - to / (scale * from)) + centre;
    case 'pytorch_half_pixel':
      return to > 1 ? centre : 0;
    case 'align_corners':
      return to > 1 ? (at * (from - 1)) / (to - 1) : 0;
    case 'asymmetric':
      return at / scale;
    case 'tf_half_pixel_for_nn':
      return (at + 0.5) / scale;
    case 'tf_crop_and_resize':
      return to > 1 ? crop[0] * (from - 1) + (at * (crop[1] - crop[0]) * (from - 1)) / (to - 1) : 0.5 * (crop[0] + crop[1]) * (from - 1);
    default:
      return centre;
  }
}

function nearest(mode: string, at: number): number {
  if (mode === 'floor' || mode === '') return Math.floor(at);
  if (mode === 'ceil') return Math.ceil(at);
  return mode === 'round_prefer_ceil' ? Math.floor(at + 0.5) : Math.ceil(at - 0.5);
}

const triangle = (d: number): number => Math.max(1 - Math.abs(d), 0);

/** The cubic convolution kernel of Keys, with its parameter a. */
function cubic(d: number, a: number): number {
  const x = Math.abs(d);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

function tapsOf(n: Node, mode: string, at: number, axis: Axis): Taps {
  if (mode === 'nearest') return { places: [nearest(n.opset < 11 ? 'floor' : n.text('nearest_mode', 'round_prefer_floor'), at)], weights: [1] };
  const reach = mode === 'cubic' ? 2 : 1;
  const scale = n.flag('antialias') ? Math.min(axis.scale, 1) : 1;
  const first = Math.floor(at) + Math.floor(-reach / scale) + 1;
  const last = Math.floor(at) - Math.floor(-reach / scale);
  const places = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const a = n.float('cubic_coeff_a', -0.75);
  const isOut = (place: number): boolean => n.flag('exclude_outside') && (place < 0 || place >= axis.from);
  const weights = places.map((place) => (isOut(place) ? 0 : reach === 2 ? cubic((place - at) * scale, a) : triangle((place - at) * scale)));
  const sum = weights.reduce((x, y) => x + y, 0);
  return { places, weights: weights.map((weight) => weight / sum) };
}

const column = (values: readonly number[], rank: number, axis: number): Tensor =>
  sn.tensor(Float32Array.from(values), { shape: Array.from({ length: rank }, (_, i) => (i === axis ? values.length : 1)) });

/** Samples x along one axis. */
function sampled(n: Node, x: Tensor, mode: string, place: number, axis: Axis): Tensor {
  const how = n.text('coordinate_transformation_mode', n.opset < 11 ? 'asymmetric' : 'half_pixel');
  if (!(axis.to >= 0 && axis.to <= MOST_PLACES)) throw n.fail(`an axis of ${axis.to} elements`);
  const origins = Array.from({ length: axis.to }, (_, at) => origin(how, at, axis));
  const taps = origins.map((at) => tapsOf(n, mode, at, axis));
  const clamp = (at: number): number => Math.min(Math.max(at, 0), axis.from - 1);
  const count = Math.max(...taps.map(({ places }) => places.length), 0);
  let y: Tensor | null = null;
  for (let k = 0; k < count; k++) {
    const part = sn.take(x, sn.tensor(Int32Array.from(taps, ({ places }) => clamp(places[k] ?? 0))), { axis: place });
    const weighted = mode === 'nearest' ? part : sn.mul(part, column(taps.map(({ weights }) => weights[k] ?? 0), x.ndim, place).astype(x.dtype));
    y = y ? sn.add(y, weighted) : weighted;
  }
  if (how !== 'tf_crop_and_resize') return y!;
  const inside = column(origins.map((at) => Number(at >= 0 && at <= axis.from - 1)), x.ndim, place);
  return sn.where(sn.greater(inside, 0), y!, n.float('extrapolation_value'));
}

/** The sizes and scales of the axes to be resized. */
function targets(n: Node, lengths: readonly number[], scales: number[] | undefined, sizes: number[] | undefined): Axis[] {
  const crop: readonly [number, number] = [0, 1];
  if (!sizes?.length) return lengths.map((from, i) => ({ from, to: Math.floor(from * scales![i]! + 1e-6), scale: scales![i]!, crop }));
  const policy = n.text('keep_aspect_ratio_policy', 'stretch');
  const all = lengths.map((from, i) => sizes[i]! / from);
  if (policy === 'stretch') return lengths.map((from, i) => ({ from, to: sizes[i]!, scale: all[i]!, crop }));
  const scale = policy === 'not_larger' ? Math.min(...all) : Math.max(...all);
  return lengths.map((from) => ({ from, to: Math.floor(scale * from + 0.5), scale, crop }));
}

function resized(n: Node, x: Value, roi: Value | undefined, scales: number[] | undefined, sizes: number[] | undefined): Value {
  const axes = (n.ints('axes') ?? [...x.shape.keys()]).map((axis) => axisOf(axis, x.rank));
  const mode = n.text('mode', 'nearest').replace('bilinear', 'linear');
  const parts = targets(n, axes.map((axis) => x.shape[axis]!), scales, sizes);
  const ends = roi && roi.size > 0 ? roi.numbers : null;
  const isWide = mode === 'nearest' || isFloatType(x.type);
  let y = isWide ? x.t : x.t.astype('float32');
  axes.forEach((axis, i) => {
    const part = { ...parts[i]!, crop: ends ? ([ends[i]!, ends[i + axes.length]!] as const) : parts[i]!.crop };
    const stays = part.scale === 1 && part.from === part.to && !(ends && (part.crop[0] !== 0 || part.crop[1] !== 1));
    if (!stays) y = sampled(n, y, mode, axis, part);
  });
  return made(x.type, isWide ? y : sn.round(y));
}

const resize: Op = {
  since: 10,
  run: (n, x, ...rest) => {
    if (n.opset < 11) return resized(n, x!, undefined, rest[0]!.numbers, undefined);
    const [roi, scales, sizes] = rest;
    return resized(n, x!, n.text('coordinate_transformation_mode') === 'tf_crop_and_resize' ? roi : undefined, scales && scales.size > 0 ? scales.numbers : undefined, sizes?.numbers);
  },
  forms: [1, 2, 3],
};

const upsample: Op = {
  since: 7,
  run: (n, x, scales) => resized(n, x!, undefined, scales ? scales.numbers : n.floats('scales'), undefined),
  forms: [1],
};

/** Reflects coordinates beyond the ends: at the centres of the first and last elements (aligned), or at their outer edges. */
function reflected(at: Tensor, length: number, aligned: boolean): Tensor {
  if (length === 1 && aligned) return sn.zerosLike(at);
  const [least, span] = aligned ? [0, length - 1] : [-0.5, length];
  const back = sn.mod(sn.abs(sn.sub(at, least)), 2 * span);
  return sn.add(sn.minimum(back, sn.sub(2 * span, back)), least);
}

/** The elements of x (n, c, spatial...) at whole coordinates (n, m), given per axis. With padding 'zeros' those outside are
 *  0. */
function fetched(x: Tensor, places: readonly Tensor[], padding: string, aligned: boolean): Tensor {
  const spatial = x.shape.slice(2);
  let flat: Tensor | null = null;
  let inside: Tensor | null = null;
  places.forEach((given, i) => {
    const length = spatial[i]!;
    const place = padding === 'reflection' ? sn.round(reflected(given, length, aligned)) : given;
    const within = sn.logicalAnd(sn.greaterEqual(place, 0), sn.lessEqual(place, length - 1));
    inside = inside ? sn.logicalAnd(inside, within) : within;
    const at = sn.clip(place, 0, length - 1).astype('int32');
    flat = flat ? sn.add(sn.mul(flat, length), at) : at;
  });
  const [batch, channels] = x.shape as [number, number];
  const rows = sn.broadcastTo(sn.expandDims(flat!, 1), [batch, channels, flat!.shape[1]!]);
  const found = sn.takeAlongAxis(sn.reshape(x, [batch, channels, -1]), rows, { axis: 2 });
  return padding === 'zeros' ? sn.where(sn.expandDims(inside!, 1), found, 0) : found;
}

/** The weights of a coordinate's neighbours along an axis. first: the offset of the first neighbour from the rounded
 *  coordinate. */
function weightsOf(mode: string, ratio: Tensor): { first: number; weights: Tensor[] } {
  if (mode === 'nearest') return { first: 0, weights: [sn.onesLike(ratio)] };
  if (mode === 'linear') return { first: 0, weights: [sn.sub(1, ratio), ratio] };
  const a = -0.75;
  const far = (d: Tensor): Tensor => sn.sub(sn.mul(sn.add(sn.mul(sn.sub(sn.mul(d, a), 5 * a), d), 8 * a), d), 4 * a);
  const near = (d: Tensor): Tensor => sn.add(sn.mul(sn.mul(sn.sub(sn.mul(d, a + 2), a + 3), d), d), 1);
  return { first: -1, weights: [far(sn.add(ratio, 1)), near(ratio), near(sn.sub(1, ratio)), far(sn.sub(2, ratio))] };
}

/** Samples x (n, c, spatial...) at coordinates (n, m), given per axis. join: combines the weighted neighbours. */
function sampledAt(x: Tensor, places: readonly Tensor[], mode: string, padding: string, aligned: boolean, join: (a: Tensor, b: Tensor) => Tensor = sn.add): Tensor {
  const spatial = x.shape.slice(2);
  const bounded = places.map((at, i) => {
    if (padding === 'border' && mode !== 'cubic') return sn.clip(at, 0, spatial[i]! - 1);
    return padding === 'reflection' && mode !== 'cubic' ? sn.clip(reflected(at, spatial[i]!, aligned), 0, spatial[i]! - 1) : at;
  });
  const bases = bounded.map((at) => (mode === 'nearest' ? sn.round(at) : sn.floor(at)));
  const axes = bounded.map((at, i) => weightsOf(mode, sn.sub(at, bases[i]!)));
  const count = axes[0]!.weights.length;
  let y: Tensor | null = null;
  for (let corner = 0; corner < count ** axes.length; corner++) {
    const chosen = axes.map((_, i) => Math.floor(corner / count ** i) % count);
    const at = bases.map((base, i) => sn.add(base, axes[i]!.first + chosen[i]!));
    const weight = axes.map(({ weights }, i) => weights[chosen[i]!]!).reduce((p, q) => sn.mul(p, q));
    const part = sn.mul(fetched(x, at, padding, aligned), sn.expandDims(weight, 1));
    y = y ? join(y, part) : part;
  }
  return y!;
}

const MODES: Readonly<Record<string, string>> = { bilinear: 'linear', bicubic: 'cubic' };

const gridSample: Op = {
  since: 16,
  run: (n, x, grid) => {
    const aligned = n.flag('align_corners');
    const mode = n.text('mode', 'linear');
    const axes = x!.rank - 2;
    const flat = sn.reshape(grid!.t, [grid!.shape[0]!, -1, axes]);
    // The last coordinate of a point belongs to the first spatial axis.
    const places = Array.from({ length: axes }, (_, i) => {
      const at = sn.squeeze(sn.slice(flat, [0, 0, axes - 1 - i], [-1, -1, 1]), 2);
      const length = x!.shape[i + 2]!;
      return aligned ? sn.mul(sn.add(at, 1), (length - 1) / 2) : sn.sub(sn.mul(sn.add(at, 1), length / 2), 0.5);
    });
    const y = sampledAt(x!.t, places, MODES[mode] ?? mode, n.text('padding_mode', 'zeros'), aligned);
    return sn.reshape(y, [...x!.shape.slice(0, 2), ...grid!.shape.slice(1, -1)]);
  },
};

/** The coordinates that matrices theta map a grid over -1 to 1 to. */
const affineGrid: Op = {
  since: 20,
  run: (n, theta, size) => {
    const spatial = size!.numbers.slice(2);
    const aligned = n.flag('align_corners');
    const points = spatial.map((length, axis) => {
      const at = sn.iota(spatial, axis, { dtype: 'float32' });
      if (aligned) return length > 1 ? sn.sub(sn.mul(at, 2 / (length - 1)), 1) : sn.zerosLike(at);
      return sn.sub(sn.mul(sn.add(at, 0.5), 2 / length), 1);
    });
    const rows = sn.reshape(sn.stack([...points.reverse(), sn.onesLike(points[0]!)], { axis: -1 }), [-1, spatial.length + 1]);
    const moved = sn.matmul(rows.astype(theta!.t.dtype), sn.swapaxes(theta!.t, 1, 2));
    return sn.reshape(moved, [theta!.shape[0]!, ...spatial, spatial.length]);
  },
  forms: [1],
};

/** The maximum or mean of regions of images, sampled between the elements. */
const roiAlign: Op = {
  since: 10,
  run: (n, x, rois, pictures) => {
    const [height, width] = [n.int('output_height', 1), n.int('output_width', 1)];
    const isHalf = n.text('coordinate_transformation_mode', n.opset < 16 ? 'output_half_pixel' : 'half_pixel') === 'half_pixel';
    const scale = n.float('spatial_scale', 1);
    const ratio = n.int('sampling_ratio');
    const offset = isHalf ? 0.5 : 0;
    const isMax = n.text('mode', 'avg') === 'max';
    const [which, corners] = [pictures!.numbers, rois!.numbers];
    const sizes = x!.shape.slice(2) as [number, number];
    const all = which.map((picture, i) => {
      const [left, top, right, bottom] = corners.slice(4 * i, 4 * i + 4).map((at) => at * scale - offset) as [number, number, number, number];
      const least = isHalf ? -Infinity : 1;
      const step = [Math.max(bottom - top, least) / height, Math.max(right - left, least) / width];
      const count = step.map((length) => (ratio > 0 ? ratio : Math.max(Math.ceil(length), 1)));
      const places = [top, left].map((begin, axis) => {
        const bins = axis ? width : height;
        return Array.from({ length: bins * count[axis]! }, (_, k) => begin + (step[axis]! * (k + 0.5)) / count[axis]!);
      });
      const grid = places[0]!.flatMap((y) => places[1]!.map((at) => [y, at]));
      const inside = grid.map((point) => point.every((at, axis) => at >= -1 && at <= sizes[axis]!));
      const axes = [0, 1].map((axis) => sn.tensor([grid.map((point) => Math.min(Math.max(point[axis]!, 0), sizes[axis]! - 1))]));
      const part = sn.slice(x!.t, [picture, 0, 0, 0], [1, ...x!.shape.slice(1)]);
      const found = sn.where(sn.tensor([[inside]]), sampledAt(part, axes, 'linear', 'border', true, isMax ? sn.maximum : sn.add), 0);
      const bins = sn.reshape(found, [x!.shape[1]!, height, count[0]!, width, count[1]!]);
      return isMax ? sn.max(bins, { axis: [2, 4] }) : sn.mean(bins, { axis: [2, 4] });
    });
    return sn.stack(all);
  },
  forms: [1, 2],
};

export const RESIZE: Readonly<Record<string, Op>> = { Resize: resize, Upsample: upsample, GridSample: gridSample, AffineGrid: affineGrid, RoiAlign: roiAlign };
