// n modules one after the other, through which a batch goes in m parts (Huang et al. 2019, GPipe).
//
//   tick        0    1    2    3    4
//   module 0   [0]  [1]  [2]                 in brackets: the part of the batch
//   module 1        [0]  [1]  [2]
//   module 2             [0]  [1]  [2]
//
// At each of m + n - 1 ticks every module is applied to what the one before it made at the tick before. A module that no
// part has reached yet, or that all parts have passed, computes nothing.

import { ShapeError, concat, cond, internals, logicalAnd, random, tidy, zeros, type Tensor, type TensorLike } from '../index.js';
import { checkMember, each, initStacked, type Member, type MemberOptions } from './stacked.js';

const { asTensor, checkInteger, isFloat, readOptions, shapeText } = internals;

export interface PipelineOptions {
  /** How many parts the batch is cut into along axis 0. Processes wait (n - 1) / (parts + n - 1) of the time: less with
   *  more parts. Default n. */
  parts?: number;
}

const PIPELINE: internals.OptionSchema<PipelineOptions> = { parts: 'integer' };
const OP = 'pipelineParallel';

/** Cuts the batch into parts, along a new first axis. */
function cut(x: Tensor, parts: number): Tensor {
  const [rows] = x.shape;
  if (rows !== undefined && rows % parts === 0) return x.reshape([parts, rows / parts, ...x.shape.slice(1)]);
  throw new ShapeError(OP, `x ${shapeText(x.shape)} does not divide into ${parts} parts along axis 0`, { shapes: [x.shape] });
}

/** count rows along axis 0, from `first` on. */
const rows = (x: Tensor, first: number, count: number): Tensor => x.slice([first, ...x.shape.slice(1).fill(0)], [count, ...x.shape.slice(1)]);

/** y in the dtype of x, as an input of the next module: with trainStep's option precision products are stored in 16 bits. */
function asNext(x: Tensor, y: Tensor): Tensor {
  const alike = y.dtype === x.dtype || (isFloat(y.dtype) && isFloat(x.dtype));
  if (alike && String(y.shape) === String(x.shape)) return y.astype(x.dtype);
  throw new ShapeError(OP, `the module made ${y.dtype} ${shapeText(y.shape)} of ${x.dtype} ${shapeText(x.shape)}: what each makes is the input of the next`, {
    shapes: [x.shape, y.shape],
  });
}

/**
 * Applies n modules of one form to x, one after the other, each with parameters of its own. Parameters are those of one
 * module with a new first axis of n. Up to n processes of sinter-train share them: each computes some consecutive modules,
 * while the others work on other parts of the batch.
 */
export function pipelineParallel<P>(n: number, module: Member<P>, options?: PipelineOptions): Member<P> {
  checkMember(OP, n, module);
  const { parts = n } = readOptions(OP, options, PIPELINE);
  checkInteger(OP, 'parts', parts, 1);
  const tick = (t: number, params: P, xs: Tensor, given: MemberOptions): Tensor =>
    each(OP, n, params, xs, { ...given, key: given.key && random.foldIn(given.key, t) }, (own, x, number, rest) => {
      const busy = logicalAnd(number.lessEqual(t), number.greater(t - parts));
      return cond(busy, () => asNext(x, module.apply(own, x, rest)), () => x) as Tensor;
    }).allGather();
  return {
    name: OP,
    init: (key) => initStacked(module, n, key),
    apply: (params, x: TensorLike, given: MemberOptions = {}) =>
      tidy(() => {
        const whole = asTensor(x, OP);
        const batch = cut(whole, parts);
        const idle = zeros([n, ...batch.shape.slice(1)], { dtype: batch.dtype });
        const made: Tensor[] = [];
        let xs = idle;
        for (let t = 0; t < parts + n - 1; t++) {
          const first = t < parts ? rows(batch, t, 1) : rows(idle, 0, 1);
          const ys = tick(t, params, concat([first, rows(xs, 0, n - 1)]), given);
          if (t >= n - 1) made.push(rows(ys, n - 1, 1));
          xs = ys;
        }
        return concat(made).reshape(whole.shape);
      }),
  };
}
