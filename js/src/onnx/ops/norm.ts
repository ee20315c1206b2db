// Normalisation and dropout.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Op } from '../plan.js';
import { BOOL } from '../types.js';
import { made, type Value } from '../value.js';
import { axisOf } from './shape.js';

const batchNorm: Op = {
  since: 1,
  run: (n, x, weight, bias, mean, variance) => {
    const eps = n.float('epsilon', 1e-5);
    const types = [x!.type, mean!.type, variance!.type];
    if (!n.flag('training_mode')) return sn.batchNorm(x!.t, { axis: 1, weight: weight!.t, bias: bias!.t, mean: mean!.t, variance: variance!.t, eps });
    const axis = [...x!.shape.keys()].filter((i) => i !== 1);
    const [now, spread] = [sn.mean(x!.t, { axis }), sn.var(x!.t, { axis })];
    const momentum = n.float('momentum', 0.9);
    const mixed = (old: Value, t: Tensor): Tensor => sn.add(sn.mul(old.t, momentum), sn.mul(t, 1 - momentum));
    const y = sn.batchNorm(x!.t, { axis: 1, weight: weight!.t, bias: bias!.t, mean: now, variance: spread, eps });
    return [y, mixed(mean!, now), mixed(variance!, spread)].map((t, i) => made(types[i]!, t));
  },
};

const layerNorm: Op = {
  since: 1,
  run: (n, x, weight, bias) => {
    const first = axisOf(n.int('axis', -1), x!.rank);
    const axis = x!.shape.map((_, i) => i).slice(first);
    const eps = n.float('epsilon', 1e-5);
    const wide = x!.t.dtype === 'float64' ? x!.t : x!.t.astype('float32');
    const mean = sn.mean(wide, { axis, keepdims: true });
    const apart = sn.sub(wide, mean);
    const scale = sn.rsqrt(sn.add(sn.mean(sn.square(apart), { axis, keepdims: true }), eps));
    let y = sn.mul(sn.mul(apart, scale).astype(x!.t.dtype), weight!.t);
    if (bias) y = sn.add(y, bias.t);
    const stash = n.int('stash_type', 1);
    return [y, made(stash, mean), made(stash, scale)];
  },
};

const rmsNorm: Op = {
  since: 23,
  run: (n, x, weight) => {
    const axis = x!.shape.map((_, i) => i).slice(axisOf(n.int('axis', -1), x!.rank));
    const wide = x!.t.dtype === 'float64' ? x!.t : x!.t.astype('float32');
    const scale = sn.rsqrt(sn.add(sn.mean(sn.square(wide), { axis, keepdims: true }), n.float('epsilon', 1e-5)));
    return made(weight!.type, sn.mul(sn.mul(wide, scale).astype(x!.t.dtype), weight!.t));
  },
};

/** Before opset 21, weight and bias have one element per group. */
const groupNorm: Op = {
  since: 18,
  run: (n, x, weight, bias) => {
    const groups = n.int('num_groups');
    const channels = x!.shape[1]!;
    const each = (v: Value): Tensor => (v.size === channels ? v.t : sn.repeat(v.t, channels / groups));
    return sn.groupNorm(x!.t, groups, { axis: 1, weight: each(weight!), bias: each(bias!), eps: n.float('epsilon', 1e-5) });
  },
};

const meanVariance: Op = {
  since: 9,
  run: (n, x) => {
    const axis = n.ints('axes') ?? [0, 2, 3];
    const mean = sn.mean(x!.t, { axis, keepdims: true });
    const square = sn.mean(sn.square(x!.t), { axis, keepdims: true });
    return sn.div(sn.sub(x!.t, mean), sn.add(sn.sqrt(sn.sub(square, sn.square(mean))), 1e-9));
  },
};

/** Local response normalization, over neighbouring channels. */
const lrn: Op = {
  since: 1,
  run: (n, x) => {
    const size = n.int('size');
    const before = Math.floor((size - 1) / 2);
    const widths = x!.shape.map((_, i): [number, number] => (i === 1 ? [before, size - 1 - before] : [0, 0]));
    const sums = sn.sum(sn.windows(sn.pad(sn.square(x!.t), widths), 1, size), { axis: 2 });
    const base = sn.add(sn.mul(sums, n.float('alpha', 0.0001) / size), n.float('bias', 1));
    return sn.div(x!.t, sn.pow(base, n.float('beta', 0.75)));
  },
};

/** Drops elements only in training mode. The seed decides which. */
const dropout: Op = {
  since: 1,
  run: (n, x, ratio, training) => {
    const rate = ratio ? Number(ratio.elements[0]) : n.float('ratio', 0.5);
    const drops = training !== undefined && Number(training.elements[0]) !== 0 && rate > 0;
    const all = sn.full([...x!.shape], 1, { dtype: 'bool' });
    if (!drops) return [x!, made(BOOL, all)];
    const keep = sn.random.bernoulli(sn.random.key(n.int('seed')), 1 - rate, x!.shape);
    return [sn.where(keep, sn.mul(x!.t, 1 / (1 - rate)), 0), made(BOOL, keep.astype('bool'))];
  },
  forms: [1, 2],
};

export const NORM: Readonly<Record<string, Op>> = {
  BatchNormalization: batchNorm,
  InstanceNormalization: {
    since: 1,
    run: (n, x, weight, bias) => sn.instanceNorm(x!.t, { axis: 1, weight: weight!.t, bias: bias!.t, eps: n.float('epsilon', 1e-5) }),
  },
  LayerNormalization: layerNorm,
  RMSNormalization: rmsNorm,
  GroupNormalization: groupNorm,
  MeanVarianceNormalization: meanVariance,
  LRN: lrn,
  Dropout: dropout,
};
