// Layers that normalise values to mean 0 and variance 1, or to a mean square of 1, and scale them by learnt numbers.

import { asTensor, type TensorLike } from '../apply.js';
import { checkInteger, refuseExtra } from '../check.js';
import { ShapeError, shapeText } from '../errors.js';
import * as functions from '../functions.gen.js';
import { mean, ones, var_, zeros } from '../functions.gen.js';
import { readOptions } from '../options.js';
import { tidy } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { share } from '../variables.js';
import { checkModuleState, checkParams, readApply, type Module, type StatefulModule } from './module.js';

export interface NormParams {
  /** (size) */
  weight: Tensor;
  bias: Tensor;
}

export interface EpsOptions {
  /** Added to the variance, or to the mean square. Default 1e-5. */
  eps?: number;
}

const EPS = { eps: 'number' } as const;

const fresh = (size: number): NormParams => ({ weight: ones([size]), bias: zeros([size]) });

/** Normalises x (..., size) over its last axis to mean 0 and variance 1. */
export const layerNorm = (size: number, ...extra: []): Module<NormParams> => {
  checkInteger('nn.layerNorm', 'size', size, 1);
  refuseExtra('nn.layerNorm', extra, 'nn.layerNorm has no options; sn.layerNorm takes { eps }');
  return {
    name: 'layerNorm',
    init: () => fresh(size),
    apply: (params, x) => {
      checkParams('layerNorm', params);
      return functions.layerNorm(x, { weight: params.weight, bias: params.bias });
    },
  };
};

/** Divides x (..., size) by the root of the mean square over its last axis. */
export function rmsNorm(size: number, options?: EpsOptions): Module<{ weight: Tensor }> {
  checkInteger('nn.rmsNorm', 'size', size, 1);
  const { eps = 1e-5 } = readOptions<EpsOptions>('nn.rmsNorm', options, EPS);
  return {
    name: 'rmsNorm',
    init: () => ({ weight: ones([size]) }),
    apply: (params, x) => {
      checkParams('rmsNorm', params);
      return functions.rmsNorm(x, { weight: params.weight, eps });
    },
  };
}

/** Normalises x (n, ..., channels): each of n over all elements of a group of channels. */
export function groupNorm(groups: number, channels: number, options?: EpsOptions): Module<NormParams> {
  checkInteger('nn.groupNorm', 'groups', groups, 1);
  checkInteger('nn.groupNorm', 'channels', channels, 1);
  const { eps = 1e-5 } = readOptions<EpsOptions>('nn.groupNorm', options, EPS);
  return {
    name: 'groupNorm',
    init: () => fresh(channels),
    apply: (params, x) => {
      checkParams('groupNorm', params);
      return functions.groupNorm(x, groups, { weight: params.weight, bias: params.bias, eps });
    },
  };
}

export interface BatchNormModuleOptions extends EpsOptions {
  /** Weight of a new batch in the running statistics. Default 0.1. */
  momentum?: number;
}

/** Running statistics, (channels) each. */
export interface BatchNormState {
  mean: Tensor;
  variance: Tensor;
}

/** Normalises each channel of x (..., channels) over all other axes: in training by the statistics of the batch, which
 *  also update the running ones; otherwise by the running ones. As in PyTorch the running variance is unbiased. */
export function batchNorm(channels: number, options?: BatchNormModuleOptions): StatefulModule<NormParams, BatchNormState> {
  const op = 'nn.batchNorm';
  checkInteger(op, 'channels', channels, 1);
  const { momentum = 0.1, eps = 1e-5 } = readOptions<BatchNormModuleOptions>(op, options, { ...EPS, momentum: 'number' });
  /** The running mean of the value before and the value now. */
  const running = (before: Tensor, now: Tensor): Tensor => before.mul(1 - momentum).add(now.mul(momentum));
  return {
    hasState: true,
    name: 'batchNorm',
    init: () => ({ params: fresh(channels), state: { mean: zeros([channels]), variance: ones([channels]) } }),
    apply: (params, given: TensorLike, rest) =>
      tidy(() => {
        checkParams('batchNorm', params);
        const { state, train = false } = readApply(op, rest) as { state?: BatchNormState; train?: boolean };
        checkModuleState('batchNorm', state, state?.mean !== undefined && state.variance !== undefined);
        const { mean: m, variance } = state!;
        const { weight, bias } = params;
        const x = asTensor(given, op);
        if (!train) return [functions.batchNorm(x, { mean: m, variance, weight, bias, eps }), { mean: share(op, m), variance: share(op, variance) }];
        const count = x.size / channels;
        if (!(count > 1))
          throw new ShapeError(op, `a batch needs more than one value of each channel: x ${shapeText(x.shape)}`, { shapes: [x.shape] });
        const axis = x.shape.slice(1).map((_, i) => i);
        const next = { mean: running(m, mean(x, { axis })), variance: running(variance, var_(x, { axis, correction: 1 })) };
        return [functions.batchNorm(x, { weight, bias, eps }), next];
      }),
  };
}
