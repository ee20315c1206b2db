// Fourier transforms and windows: products with matrices of cosines and sines, which follow from the lengths.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Op } from '../plan.js';
import { dtypeOf, FLOAT } from '../types.js';
import { made } from '../value.js';
import { axisOf } from './shape.js';

/** Cosines or sines for all products of places and frequencies: (length, count). */
function waves(f: (angle: number) => number, length: number, count: number, dtype: 'float32' | 'float64'): Tensor {
  const values = Float64Array.from({ length: length * count }, (_, i) => f((2 * Math.PI * ((Math.floor(i / count) * (i % count)) % length)) / length));
  return sn.tensor(values, { shape: [length, count] }).astype(dtype);
}

/** Transforms the last axis from length elements, given as real and imaginary parts, to count frequencies. */
function transformed(real: Tensor, imaginary: Tensor | null, length: number, count: number, isInverse: boolean): [Tensor, Tensor] {
  const dtype = real.dtype === 'float64' ? 'float64' : 'float32';
  const [cosines, sines] = [waves(Math.cos, length, count, dtype), waves(Math.sin, length, count, dtype)];
  const sign = isInverse ? 1 : -1;
  const re = sn.matmul(real, cosines);
  const im = sn.mul(sn.matmul(real, sines), sign);
  if (!imaginary) return [re, im];
  return [sn.sub(re, sn.mul(sn.matmul(imaginary, sines), sign)), sn.add(im, sn.matmul(imaginary, cosines))];
}

/** The first length elements along the last axis, padded with zeros if there are fewer. */
function fitted(t: Tensor, length: number): Tensor {
  const have = t.shape.at(-1)!;
  if (have > length) return sn.slice(t, t.shape.map(() => 0), [...t.shape.slice(0, -1), length]);
  return have === length ? t : sn.pad(t, t.shape.map((_, i): [number, number] => [0, i === t.ndim - 1 ? length - have : 0]));
}

const dft: Op = {
  since: 17,
  run: (n, x, given, axisInput) => {
    const axis = axisOf(axisInput ? Number(axisInput.elements[0]) : n.int('axis', n.opset < 20 ? 1 : -2), x!.rank);
    const [isInverse, isHalf] = [n.flag('inverse'), n.flag('onesided')];
    const last = x!.rank - 1;
    const part = (i: number): Tensor => sn.moveaxis(sn.squeeze(sn.slice(x!.t, x!.shape.map((_, k) => (k === last ? i : 0)), x!.shape.map((size, k) => (k === last ? 1 : size))), last), axis, -1);
    const have = x!.shape[axis]!;
    const toReal = isInverse && isHalf;
    const length = given ? Number(given.elements[0]) : toReal ? 2 * (have - 1) : have;
    let [real, imaginary] = [part(0), x!.shape[last] === 2 ? part(1) : null];
    if (toReal) {
      // The missing frequencies are the conjugates of the others.
      const half = Math.floor(length / 2) + 1;
      const [a, b] = [fitted(real, half), fitted(imaginary ?? sn.zerosLike(real), half)];
      const back = sn.tensor(Int32Array.from({ length: length - half }, (_, i) => length - half - i));
      real = sn.concat([a, sn.take(a, back, { axis: -1 })], { axis: -1 });
      imaginary = sn.concat([b, sn.neg(sn.take(b, back, { axis: -1 }))], { axis: -1 });
    } else {
      real = fitted(real, length);
      imaginary = imaginary && fitted(imaginary, length);
    }
    const count = isHalf && !isInverse ? Math.floor(length / 2) + 1 : length;
    const [re, im] = transformed(real, imaginary, length, count, isInverse).map((t) => sn.moveaxis(isInverse ? sn.div(t, length) : t, -1, axis)) as [Tensor, Tensor];
    return toReal ? sn.expandDims(re, last) : sn.stack([re, im], { axis: last });
  },
  forms: [1, 2],
};

/** A window: a sum of cosines. */
const window = (...terms: readonly number[]): Op => ({
  since: 17,
  run: (n, size) => {
    const type = n.int('output_datatype', FLOAT);
    const count = Number(size!.elements[0]);
    const period = n.flag('periodic', true) ? count : count - 1;
    const values = Float64Array.from({ length: count }, (_, i) => terms.reduce((sum, term, k) => sum + term * Math.cos((2 * Math.PI * k * i) / period), 0));
    return made(type, sn.tensor(values).astype(dtypeOf(type)));
  },
  forms: [0],
});

const stft: Op = {
  since: 17,
  run: (n, signal, step, window, length) => {
    const size = length ? Number(length.elements[0]) : window!.shape[0]!;
    const flat = signal!.rank === 3 ? sn.squeeze(sn.slice(signal!.t, [0, 0, 0], [-1, -1, 1]), 2) : signal!.t;
    const frames = sn.windows(flat, 1, size, { step: Number(step!.elements[0]) });
    const shaped = window ? sn.mul(frames, window.t) : frames;
    const count = n.flag('onesided', true) ? Math.floor(size / 2) + 1 : size;
    return sn.stack(transformed(shaped, null, size, count, false), { axis: -1 });
  },
  forms: [1, 3],
};

/** The matrix that sums the frequencies of a spectrum into bands that the ear hears as equally wide. */
const melWeightMatrix: Op = {
  since: 17,
  run: (n, ...x) => {
    const [bands, length, rate, low, high] = x.map((value) => Number(value!.elements[0])) as [number, number, number, number, number];
    const count = Math.floor(length / 2) + 1;
    const toMel = (hertz: number): number => 2595 * Math.log10(1 + hertz / 700);
    const [from, to] = [toMel(low), toMel(high)];
    const edges = Array.from({ length: bands + 2 }, (_, i) => Math.floor(((length + 1) * (700 * (10 ** ((from + (i * (to - from)) / (bands + 1)) / 2595) - 1))) / rate));
    const values = new Float32Array(count * bands);
    for (let band = 0; band < bands; band++) {
      const [a, b, c] = [edges[band]!, edges[band + 1]!, edges[band + 2]!];
      if (a === b) values[b * bands + band] = 1;
      else for (let i = a; i <= b; i++) values[i * bands + band] = (i - a) / (b - a);
      if (b !== c) for (let i = b; i < c; i++) values[i * bands + band] = (c - i) / (c - b);
    }
    return made(n.int('output_datatype', FLOAT), sn.tensor(values, { shape: [count, bands] }));
  },
  forms: [0, 1, 2, 3, 4],
};

export const SIGNAL: Readonly<Record<string, Op>> = {
  DFT: dft,
  STFT: stft,
  MelWeightMatrix: melWeightMatrix,
  HannWindow: window(0.5, -0.5),
  HammingWindow: window(25 / 46, -21 / 46),
  BlackmanWindow: window(0.42, -0.5, 0.08),
};
