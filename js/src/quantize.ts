// The result of quantize, which dequantize takes.

import { withTensors, type TensorLike } from './apply.js';
import { axisNumber } from './axes.js';
import { isPlainObject } from './check.js';
import { SinterError } from './errors.js';
import type { Tensor } from './tensor.js';

export interface Quantized {
  /** int8 in the shape of x, or for 4 bits uint8 with half as many elements along the axis. */
  values: Tensor;
  /** A scale for each block: the shape of x with the number of blocks along the axis. */
  scales: Tensor;
}

export function dequantize(quantized: Quantized, { axis, bits }: { axis: number; bits: number }): Tensor {
  if (!isPlainObject(quantized) || quantized.values === undefined || quantized.scales === undefined) {
    throw new SinterError('argument', 'dequantize', 'expected { values, scales }, which quantize returns');
  }
  const given: TensorLike[] = [quantized.values, quantized.scales];
  const at = axisNumber('dequantize', quantized.values, axis);
  return withTensors('dequantize', given, (core, [v, s]) => core.sinter_dequantize(v!, s!, at, bits));
}
