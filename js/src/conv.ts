// Convolutions over the spatial axes of (n, spatial..., channels), and the options of windows, which pooling shares. Each
// function is one call into the core, which checks that the windows fit.

import { asTensor, withTensors, type TensorLike } from './apply.js';
import { fitsInt32, shown } from './check.js';
import { shapesError } from './errors.js';
import type { Exports } from './runtime/exports.js';
import { runtime } from './runtime/runtime.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';

/** One number for all spatial axes, or one for each. */
export type PerAxis = number | readonly number[];

/** 'same' pads so that there are ceil(size / stride) windows per axis; 'valid' does not pad; or [before, after] in
 *  elements for each spatial axis. */
export type Padding = 'same' | 'valid' | readonly (readonly [number, number])[];

/** Kinds of padding by their numbers in sn_padding. */
const PADDING = { valid: 0, same: 1, explicit: 2 } as const;

/** How windows lie: the options of convolutions and pools, each of which has some of these. */
export interface Windows {
  strides?: PerAxis | undefined;
  padding: Padding;
  dilation: PerAxis;
  layout?: string | undefined;
  groups?: number;
  outputPadding?: PerAxis;
  window?: PerAxis;
  ceil?: boolean;
  countIncludePad?: boolean;
}

/**
 * The words that the core reads. Per spatial axis: strides, dilation, padding before, padding after, window (0 for a
 * convolution), output padding. Then the kind of padding (sn_padding), groups, and as 0 or 1: channels first, ceil, whether
 * padding counts.
 */
export function windowWords(op: string, given: Readonly<Record<string, Tensor>>, axes: number, windows: Windows): number[] {
  const { strides, padding, dilation, layout, groups = 1, window = 0, outputPadding = 0 } = windows;
  const need = (ok: boolean, what: string): void => {
    if (ok) return;
    throw shapesError(op, what, Object.entries(given).map(([name, { shape }]) => [name, shape]));
  };
  const each = (name: string, value: PerAxis): number[] => {
    const list = Array.isArray(value) ? (value as readonly number[]) : new Array<number>(axes).fill(value as number);
    need(list.length === axes && list.every(fitsInt32), `expected ${name} as ${axes} whole numbers`);
    return [...list];
  };
  const pairs: readonly (readonly number[] | null)[] | null = Array.isArray(padding) ? padding : null;
  const kind = pairs ? PADDING.explicit : PADDING[padding as 'valid' | 'same'];
  need(kind !== undefined, `no padding '${typeof padding === 'string' ? padding : shown(padding)}'`);
  const dims = 'DHW'.slice(-axes);
  const first = layout === `NC${dims}`;
  need(layout === undefined || first || layout === `N${dims}C`, `no layout '${layout}'`);
  const side = (i: number): number[] =>
    each('padding', pairs ? pairs.map((pair) => pair?.[i] ?? NaN) : 0);
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
    Number(windows.ceil ?? false),
    Number(windows.countIncludePad ?? false),
  ];
}

type Convolve = (core: Exports, x: number, filter: number) => number;

function convolve(op: string, axes: number, x: TensorLike, filter: TensorLike, windows: Windows, run: Convolve): Tensor {
  return tidy(() => {
    const [t, w] = [asTensor(x, op), asTensor(filter, op)];
    const words = windowWords(op, { x: t, filter: w }, axes, windows);
    return withTensors(op, [t, w], (core, [a, b]) => {
      runtime().send(words);
      return run(core, a!, b!);
    });
  });
}

export const conv = (axes: number, x: TensorLike, filter: TensorLike, windows: Windows): Tensor =>
  convolve(`conv${axes}d`, axes, x, filter, windows, (core, a, b) => core.sinter_conv(a, b, axes));

export const convTranspose = (axes: number, x: TensorLike, filter: TensorLike, windows: Windows): Tensor =>
  convolve(`convTranspose${axes}d`, axes, x, filter, windows, (core, a, b) => core.sinter_conv_transpose(a, b, axes));
