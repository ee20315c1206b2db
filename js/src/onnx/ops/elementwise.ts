// Elementwise ops, and conversions between types.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Node, Op } from '../plan.js';
import { bitsOf, BOOL, dtypeOf, isIntegerType, rangeOf, STRING } from '../types.js';
import { known, made, type Value } from '../value.js';
import { convert } from './cast.js';

type Function1 = (x: Tensor, n: Node) => Tensor;
type Function2 = (x: Tensor, y: Tensor, n: Node) => Tensor;

const op = (since: number, run: Op['run'], forms?: readonly number[]): Op => (forms ? { since, run, forms } : { since, run });

/** y = f(x), of the type of x. */
const map = (f: Function1, since = 1): Op => op(since, (n, x) => f(x!.t, n));

/** Wraps the results of an integer type that is narrower than the int32 that holds it. */
export function wrapped(type: number, t: Tensor): Tensor {
  if (!isIntegerType(type) || t.dtype !== 'int32') return t;
  const [least, most] = rangeOf(type);
  if (most >= 0x7fff_ffff) return t;
  return least === 0 ? sn.bitwiseAnd(t, most) : sn.sub(sn.bitwiseAnd(sn.sub(t, least), most - least), -least);
}

/** y, shaped to broadcast with x. Before opset 7 it may have the axes of x from `axis` on, if the file says so. */
function second(n: Node, x: Value, y: Value): Tensor {
  if (!n.flag('broadcast') || !n.has('axis')) return y.t;
  const axis = (n.int('axis') + x.rank) % x.rank;
  return sn.reshape(y.t, [...y.shape, ...new Array<number>(x.rank - axis - y.rank).fill(1)]);
}

const binary = (f: Function2): Op => op(1, (n, x, y) => wrapped(x!.type, f(x!.t, second(n, x!, y!), n)));
const compare = (f: Function2): Op => op(1, (n, x, y) => made(BOOL, f(x!.t, second(n, x!, y!), n)));

const variadic = (f: (x: Tensor, y: Tensor) => Tensor, end: (sum: Tensor, count: number) => Tensor = (sum) => sum): Op =>
  op(1, (_, ...x) => made(x[0]!.type, end(x.slice(1).reduce((sum, each) => f(sum, each.t), x[0]!.t), x.length)));

const isWhole = (t: Tensor): boolean => !sn.internals.isFloat(t.dtype);

/** The quotient of whole numbers is truncated. */
const div: Function2 = (x, y) => (isWhole(x) ? sn.trunc(sn.div(sn.astype(x, 'float64'), sn.astype(y, 'float64'))).astype('int32') : sn.div(x, y));

const mod: Function2 = (x, y, n) => (n.flag('fmod') ? sn.mul(sn.sign(x), sn.mod(sn.abs(x), sn.abs(y))) : sn.mod(x, y));

/** x to the power of y, in the type of x. */
const pow: Function2 = (x, y) => (isWhole(x) && !isWhole(y) ? sn.pow(sn.astype(x, 'float64'), sn.astype(y, 'float64')) : sn.pow(x, y));

/** A square is not pow with a learnable exponent 2: the derivative for the exponent would be NaN below 0. */
const power: Op = {
  since: 1,
  run: (n, x, y) => (y!.host && y!.size === 1 && y!.rank <= x!.rank && y!.numbers[0] === 2 ? wrapped(x!.type, sn.square(x!.t)) : binary(pow).run(n, x!, y!)),
  isForm: (input, value) => input === 1 && value === 2,
};

const shift: Function2 = (x, y, n) => (n.text('direction') === 'LEFT' ? sn.bitwiseLeftShift(x, y) : sn.bitwiseRightShift(x, y));

const elu = (x: Tensor, alpha: number): Tensor => sn.where(sn.greater(x, 0), x, sn.mul(sn.expm1(sn.minimum(x, 0)), alpha));

const isInf: Op = op(10, (n, x) => {
  const [negative, positive] = [n.flag('detect_negative', true), n.flag('detect_positive', true)];
  const t = x!.t;
  if (negative && positive) return made(BOOL, sn.equal(sn.abs(t), Infinity));
  return made(BOOL, negative ? sn.equal(t, -Infinity) : positive ? sn.equal(t, Infinity) : sn.logicalAnd(sn.equal(t, Infinity), false));
});

/** Before opset 11 the bounds are attributes. */
const clip: Op = op(1, (n, x, lo, hi) => {
  const low = lo ? lo.t : n.has('min') ? n.float('min') : null;
  const high = hi ? hi.t : n.has('max') ? n.float('max') : null;
  let t = x!.t;
  if (low !== null) t = sn.maximum(t, low);
  if (high !== null) t = sn.minimum(t, high);
  return t;
});

const equal: Op = op(1, (n, x, y) => {
  if (x!.type !== STRING) return made(BOOL, sn.equal(x!.t, second(n, x!, y!)));
  const numbers = new Map<string, number>();
  const numbered = (v: Value): Value => known(6, v.shape, v.texts.map((text) => numbers.get(text) ?? (numbers.set(text, numbers.size), numbers.size - 1)));
  return made(BOOL, sn.equal(numbered(x!).t, numbered(y!).t));
});

/** PReLU. The slope broadcasts like the second operand of other ops. */
const prelu: Function2 = (x, slope) => sn.where(sn.less(x, 0), sn.mul(x, slope), x);

const gelu: Function1 = (x, n) => sn.gelu(x, { approximate: n.text('approximate') === 'tanh' });

const shrink: Function1 = (x, n) => {
  const [lambd, bias] = [n.float('lambd', 0.5), n.float('bias')];
  return sn.where(sn.less(x, -lambd), sn.add(x, bias), sn.where(sn.greater(x, lambd), sn.sub(x, bias), 0));
};

const SELU_ALPHA = 1.6732632423543772;
const SELU_GAMMA = 1.0507009873554805;

export const ELEMENTWISE: Readonly<Record<string, Op>> = {
  Abs: map(sn.abs),
  Neg: map(sn.neg),
  Ceil: map(sn.ceil),
  Floor: map(sn.floor),
  Round: map(sn.round),
  Sign: map(sn.sign),
  Sqrt: map(sn.sqrt),
  Reciprocal: map(sn.reciprocal),
  Exp: map(sn.exp),
  Log: map(sn.log),
  Erf: map(sn.erf),
  Sin: map(sn.sin),
  Cos: map(sn.cos),
  Tan: map(sn.tan),
  Asin: map(sn.asin),
  Acos: map(sn.acos),
  Atan: map(sn.atan),
  Sinh: map(sn.sinh),
  Cosh: map(sn.cosh),
  Tanh: map(sn.tanh),
  Asinh: map(sn.asinh),
  Acosh: map(sn.acosh),
  Atanh: map(sn.atanh),
  Sigmoid: map(sn.sigmoid),
  Softplus: map(sn.softplus),
  Softsign: map((x) => sn.div(x, sn.add(sn.abs(x), 1))),
  Relu: map((x) => sn.maximum(x, 0)),
  Mish: map(sn.mish),
  HardSwish: map((x) => sn.mul(x, sn.clip(sn.add(sn.div(x, 6), 0.5), 0, 1))),
  Gelu: map(gelu),
  Shrink: map(shrink),
  Swish: map((x, n) => sn.mul(x, sn.sigmoid(sn.mul(x, n.float('alpha', 1))))),
  SwiGLU: op(28, (n, a, b) => sn.mul(sn.mul(a!.t, sn.sigmoid(sn.mul(a!.t, n.float('alpha', 1)))), b!.t)),
  Elu: map((x, n) => elu(x, n.float('alpha', 1))),
  Selu: map((x, n) => sn.mul(elu(x, n.float('alpha', SELU_ALPHA)), n.float('gamma', SELU_GAMMA))),
  Celu: map((x, n) => {
    const alpha = n.float('alpha', 1);
    return sn.add(sn.maximum(x, 0), sn.mul(sn.expm1(sn.minimum(sn.div(x, alpha), 0)), alpha));
  }),
  LeakyRelu: map((x, n) => sn.where(sn.less(x, 0), sn.mul(x, n.float('alpha', 0.01)), x)),
  ThresholdedRelu: map((x, n) => sn.where(sn.greater(x, n.float('alpha', 1)), x, 0)),
  HardSigmoid: map((x, n) => sn.clip(sn.add(sn.mul(x, n.float('alpha', 0.2)), n.float('beta', 0.5)), 0, 1)),
  Not: map(sn.logicalNot),
  BitwiseNot: op(18, (_, x) => wrapped(x!.type, sn.bitwiseInvert(x!.t))),
  IsNaN: op(9, (_, x) => made(BOOL, sn.isnan(x!.t))),
  IsInf: isInf,
  Identity: op(1, (_, x) => x!),
  Add: binary(sn.add),
  Sub: binary(sn.sub),
  Mul: binary(sn.mul),
  Div: binary(div),
  Mod: binary(mod),
  Pow: power,
  PRelu: binary(prelu),
  BitShift: binary(shift),
  BitwiseAnd: binary(sn.bitwiseAnd),
  BitwiseOr: binary(sn.bitwiseOr),
  BitwiseXor: binary(sn.bitwiseXor),
  And: compare(sn.logicalAnd),
  Or: compare(sn.logicalOr),
  Xor: compare(sn.logicalXor),
  Equal: equal,
  Less: compare(sn.less),
  LessOrEqual: compare(sn.lessEqual),
  Greater: compare(sn.greater),
  GreaterOrEqual: compare(sn.greaterEqual),
  Max: variadic(sn.maximum),
  Min: variadic(sn.minimum),
  Sum: variadic(sn.add),
  Mean: variadic(sn.add, (sum, count) => sn.div(sum, count)),
  Where: op(9, (_, c, x, y) => made(x!.type, sn.where(c!.t, x!.t, y!.t))),
  Clip: clip,
  Cast: op(6, (n, x) => convert(n, x!, n.int('to'))),
  CastLike: op(15, (n, x, like) => convert(n, x!, like!.type)),
  BitCast: op(26, (n, x) => {
    const to = n.int('to');
    if (dtypeOf(to) === dtypeOf(x!.type)) return made(to, x!.t);
    if (bitsOf(to) === 8 && bitsOf(x!.type) === 8) return convert(n, x!, to);
    return made(to, sn.bitcast(x!.t, dtypeOf(to)));
  }),
};
