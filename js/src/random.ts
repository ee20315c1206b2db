// Random numbers without hidden state: Threefry-2x32 (Salmon et al., SC 2011) on keys, with the same bits that JAX draws by
// default (partitionable counters). All of it is graph ops on int32, so it fuses and works inside jit; the words are meant
// as unsigned, though their type is int32.

import { SinterError, ShapeError, shapeText } from './errors.js';
import * as ops from './ops.gen.js';
import { resolveAxis, sizeOf } from './axes.js';
import { checkInteger, refuseExtra, shown } from './check.js';
import { argmax, argsort, bitcast, concat, full, iota, take, tensor } from './functions.gen.js';
import { readOptions, type OptionSchema } from './options.js';
import { keep, tidy } from './scope.js';
import { isCompiling } from './trace.js';
import { Tensor } from './tensor.js';
import { asTensor, type TensorLike } from './apply.js';
import { checkShape } from './upload.js';

/** Rotations of Threefry-2x32: groups of four rounds use the two sets by turns. */
const ROTATIONS = [
  [13, 15, 26, 6],
  [17, 29, 16, 24],
] as const;

const PARITY = 0x1bd11bda;

/** An int32 constant as a part of the program; a number would be an input of it. */
const int = (value: number): Tensor => full([], value | 0, { dtype: 'int32' });

const rotate = (x: Tensor, bits: number): Tensor =>
  ops.bitwiseOr(ops.shiftLeft(x, int(bits)), ops.shiftRightLogical(x, int(32 - bits)));

type Words = [Tensor, Tensor];

/** 20 rounds, with words of the key added after every fourth. */
function threefry([k0, k1]: Words, [c0, c1]: Words): Words {
  const schedule = [k0, k1, ops.bitwiseXor(ops.bitwiseXor(k0, k1), int(PARITY))];
  let x0 = c0.add(k0);
  let x1 = c1.add(k1);
  for (let group = 1; group <= 5; group++) {
    for (const bits of ROTATIONS[(group - 1) % 2]!) {
      x0 = x0.add(x1);
      x1 = ops.bitwiseXor(rotate(x1, bits), x0);
    }
    x0 = x0.add(schedule[group % 3]!);
    x1 = x1.add(schedule[(group + 1) % 3]!).add(int(group));
  }
  return [x0, x1];
}

/** Both words of a key as rank-0 tensors. */
function wordsOf(key: Tensor, op: string): Words {
  if (!(key instanceof Tensor)) {
    throw new SinterError('argument', op, `${shown(key)} is no key`, {
      hint: 'the first argument is a key: make one with random.key(seed) or random.split(key)',
    });
  }
  if (key.dtype !== 'int32' || key.ndim !== 1 || key.shape[0] !== 2) {
    throw new ShapeError(op, `a key is int32 (2): key ${key.dtype} ${shapeText(key.shape)}`, {
        shapes: [key.shape],
      hint: 'make one with random.key(seed) or random.split(key)',
    });
  }
  return [key.slice([0], [1]).reshape([]), key.slice([1], [1]).reshape([])];
}

/** A pair of random words for each index of shape, with indices as counters in row-major order. */
function draw(key: Tensor, shape: readonly number[], op: string): Words {
  const count = sizeOf(checkShape(op, shape));
  if (count > 2 ** 31) throw new ShapeError(op, `more than 2^31 numbers at once: ${shapeText(shape)}`, { shapes: [shape] });
  const [a, b] = threefry(wordsOf(key, op), [int(0), iota([count], 0)]);
  return [a.reshape(shape), b.reshape(shape)];
}

/** Makes a key, int32 (2), from a seed, a whole number; as in JAX its lower 32 bits count. */
export function key(seed: number): Tensor {
  if (!Number.isSafeInteger(seed)) {
    throw new SinterError('argument', 'random.key', `${shown(seed)} is not a whole number`);
  }
  return tensor(Int32Array.of(0, seed | 0));
}

/** count new keys as int32 (count, 2). */
export function split(key: Tensor, count = 2): Tensor {
  return tidy(() => {
    const [a, b] = draw(key, [checkInteger('random.split', 'count', count, 0)], 'random.split');
    return concat([a.reshape([count, 1]), b.reshape([count, 1])], { axis: 1 });
  });
}

/** Most keys as separate tensors; random.split gives any number in one tensor. */
const MAX_KEYS = 1e6;

/** count new keys as separate tensors, at most a million. */
export function splitKeys(key: Tensor, count = 2): Tensor[] {
  return tidy(() => {
    checkInteger('random.splitKeys', 'count', count, 0, MAX_KEYS);
    const keys = split(key, count);
    return Array.from({ length: count }, (_, i) => keys.slice([i, 0], [1, 2]).reshape([2]));
  });
}

/** A new key from a key and a number, e.g. of an epoch. As in JAX it is row `data` of what split makes of the key. */
export function foldIn(key: Tensor, data: number | Tensor): Tensor {
  return tidy(() => {
    if (data instanceof Tensor ? data.size !== 1 : !Number.isSafeInteger(data)) {
      throw new SinterError('argument', 'random.foldIn', `${shown(data)}, expected a whole number or a tensor of one`);
    }
    const word = typeof data === 'number' ? int(data) : data.astype('int32');
    const [a, b] = threefry(wordsOf(key, 'random.foldIn'), [int(0), word]);
    return concat([a.reshape([1]), b.reshape([1])]);
  });
}

/** 32 random bits per element, as int32. */
export const bits = (key: Tensor, shape: readonly number[] = []): Tensor =>
  drawBits(key, shape, 'random.bits');

function drawBits(key: Tensor, shape: readonly number[], op: string): Tensor {
  return tidy(() => {
    const [a, b] = draw(key, shape, op);
    return ops.bitwiseXor(a, b);
  });
}

export interface UniformOptions {
  /** Lower bound, included. Default 0. */
  minval?: number;
  /** Upper bound, excluded. Default 1. */
  maxval?: number;
}

const UNIFORM: OptionSchema<UniformOptions> = { minval: 'number', maxval: 'number' };

/** float32 in [0, 1): 23 random bits as the fraction of a float in [1, 2), minus 1. */
function unit(key: Tensor, shape: readonly number[], op: string): Tensor {
  const mantissa = ops.shiftRightLogical(drawBits(key, shape, op), int(9));
  return bitcast(ops.bitwiseOr(mantissa, int(0x3f800000)), 'float32').sub(full([], 1));
}

/** float32, evenly in [minval, maxval), which span less than 3.4e38; where the two are close, rounding may give maxval,
 *  as in JAX. */
export const uniform = (key: Tensor, shape: readonly number[] = [], options?: UniformOptions): Tensor =>
  drawUniform(key, shape, readOptions('random.uniform', options, UNIFORM), 'random.uniform');

function drawUniform(key: Tensor, shape: readonly number[], options: UniformOptions, op: string): Tensor {
  const { minval = 0, maxval = 1 } = options;
  if (minval > maxval) throw new SinterError('argument', op, `minval ${minval} is above maxval ${maxval}`);
  return tidy(() => {
    const x = unit(key, shape, op);
    if (minval === 0 && maxval === 1) return x;
    // JAX rounds the difference to float32, too.
    const span = full([], Math.fround(Math.fround(maxval) - Math.fround(minval)));
    const low = full([], minval);
    return ops.maximum(low, x.mul(span).add(low));
  });
}

/** Coefficients of the inverse error function, highest first: M. Giles, "Approximating the erfinv
 *  function", GPU Computing Gems 2, 2010. */
const CENTRAL = [
  2.81022636e-8, 3.43273939e-7, -3.5233877e-6, -4.39150654e-6, 0.00021858087, -0.00125372503, -0.00417768164,
  0.246640727, 1.50140941,
];
const TAIL = [
  -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
  1.00167406, 2.83297682,
];

/** sqrt(2) erfinv(x): a standard normal number is below it, and above its negative, with probability x. */
function normalOf(x: Tensor): Tensor {
  const w = ops.neg(ops.log1p(ops.neg(x.mul(x))));
  const isCentral = w.less(full([], 5));
  const t = ops.where(isCentral, w.sub(full([], 2.5)), ops.sqrt(w).sub(full([], 3)));
  const coefficient = (i: number): Tensor => ops.where(isCentral, full([], CENTRAL[i]!), full([], TAIL[i]!));
  let p = coefficient(0);
  for (let i = 1; i < CENTRAL.length; i++) p = coefficient(i).add(p.mul(t));
  return p.mul(x).mul(full([], Math.SQRT2));
}

/** The float32 next to -1, toward 0: at -1 erfinv is infinite. */
const ABOVE_MINUS_ONE = -1 + 2 ** -24;

/** float32 of the standard normal distribution. */
export function normal(key: Tensor, shape: readonly number[] = [], ...extra: []): Tensor {
  refuseExtra('random.normal', extra, 'scale and shift the result: normal(key, shape).mul(std).add(mean)');
  return tidy(() => normalOf(drawUniform(key, shape, { minval: ABOVE_MINUS_ONE, maxval: 1 }, 'random.normal')));
}

/** erf(sqrt(2)): the share of a normal distribution within 2 of its mean. */
const WITHIN_TWO = 0.9544997;

/** float32 of the standard normal distribution between -2 and 2. */
export const truncatedNormal = (key: Tensor, shape: readonly number[] = []): Tensor =>
  tidy(() => {
    const x = drawUniform(key, shape, { minval: -WITHIN_TWO, maxval: WITHIN_TWO }, 'random.truncatedNormal');
    return ops.minimum(ops.maximum(normalOf(x), full([], -2)), full([], 2));
  });

/** bools that are true with probability p; p broadcasts to shape, whose default is p's own. */
export function bernoulli(key: Tensor, p: TensorLike = 0.5, shape?: readonly number[]): Tensor {
  if (typeof p === 'number' && !(p >= 0 && p <= 1))
    throw new SinterError('argument', 'random.bernoulli', `p is ${p}, expected a probability from 0 to 1`);
  return tidy(() => {
    const chances = asTensor(p, 'random.bernoulli');
    const size = shape ?? chances.shape;
    return unit(key, size, 'random.bernoulli').less(chances.broadcastTo(size));
  });
}

/** The least positive float32 with all its bits: a draw above 0, whose logarithm is finite. */
const TINY = 2 ** -126;

/** float32 of the standard Gumbel distribution, of the largest of many independent values: -log(-log(u)). */
export const gumbel = (key: Tensor, shape: readonly number[] = []): Tensor => drawGumbel(key, shape, 'random.gumbel');

function drawGumbel(key: Tensor, shape: readonly number[], op: string): Tensor {
  return tidy(() => ops.neg(ops.log(ops.neg(ops.log(drawUniform(key, shape, { minval: TINY, maxval: 1 }, op))))));
}

export interface CategoricalOptions {
  /** The axis of the categories. Default -1. */
  axis?: number;
  /** Shape of the result: that of logits without the axis broadcasts to it. Default that shape. */
  shape?: readonly number[];
}

const CATEGORICAL: OptionSchema<CategoricalOptions> = { axis: 'axis', shape: 'any' };

/** int32: numbers of categories, drawn with probabilities softmax(logits). By the Gumbel-max trick: the category whose logit
 *  is largest after Gumbel noise was added (Maddison et al., A* Sampling, 2014). */
export function categorical(key: Tensor, logits: TensorLike, options?: CategoricalOptions): Tensor {
  const op = 'random.categorical';
  const { axis = -1, shape } = readOptions(op, options, CATEGORICAL);
  return tidy(() => {
    const x = asTensor(logits, op);
    const at = resolveAxis(op, axis, x.shape);
    const each = x.shape.filter((_, i) => i !== at);
    const size = shape ? checkShape(op, shape) : each;
    const before = size.length - each.length;
    if (before < 0 || each.some((n, i) => n !== 1 && n !== size[before + i]))
      throw new ShapeError(op, `logits ${shapeText(x.shape)} without axis ${at} do not broadcast to shape ${shapeText(size)}`, { shapes: [x.shape, size] });
    const noise = [...size.slice(0, before + at), x.shape[at]!, ...size.slice(before + at)];
    return argmax(drawGumbel(key, noise, op).add(x), { axis: before + at });
  });
}

const LARGEST_WORD = 2 ** 32 - 1;

/** Sorts by random words, in as many rounds as make equal words improbable: JAX's number of them. */
function shuffled(key: Tensor, count: number): Tensor {
  const rounds = Math.ceil(3 * Math.log(Math.max(1, count)) / Math.log(LARGEST_WORD));
  let order = iota([count], 0);
  let next = key;
  for (let round = 0; round < rounds; round++) {
    const [successor, given] = splitKeys(next) as [Tensor, Tensor];
    const words = drawBits(given, [count], 'random.permutation');
    order = take(order, argsort(ops.bitwiseXor(words, int(1 << 31)))); // in the order of unsigned words
    next = successor;
  }
  return order;
}

/** x with its slices along an axis in a random order; or, if x is a number, the whole numbers below it as int32. */
export function permutation(key: Tensor, x: TensorLike, options?: { axis?: number }): Tensor {
  const op = 'random.permutation';
  const { axis = 0 } = readOptions(op, options, { axis: 'axis' });
  return tidy(() => {
    wordsOf(key, op); // checks the key, which less than two elements do not need
    if (typeof x === 'number') return shuffled(key, checkInteger(op, 'x', x, 0, 2 ** 31));
    const values = asTensor(x, op);
    const at = resolveAxis(op, axis, values.shape);
    return take(values, shuffled(key, values.shape[at]!), { axis: at });
  });
}

let implicit: Tensor | null = null;

/** Starts the sequence of keys that nextKey gives out, from a seed. */
export function seed(value: number): void {
  implicit?.dispose();
  implicit = keep(key(value));
}

/** A key that was never given out before; the sequence starts at seed(0). */
export function nextKey(): Tensor {
  if (isCompiling()) {
    throw new SinterError('argument', 'random.nextKey', 'a compiled function would draw the same numbers in every call', {
      hint: 'pass a key as an argument: f(sn.random.nextKey())',
    });
  }
  if (!implicit) seed(0);
  const [successor, given] = splitKeys(implicit!, 2) as [Tensor, Tensor];
  implicit!.dispose();
  implicit = keep(successor);
  return given;
}
