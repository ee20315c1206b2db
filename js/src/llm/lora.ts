// LoRA (Hu et al. 2021): what a weight W (out, in) learns is up @ down * alpha / rank, with few numbers; the weights of the
// file stay as they are, and get no gradient.

import { SinterError, UnsupportedError, dispose, internals, matmul, random, tidy, zeros, type Tensor, type TensorLike } from '../index.js';
import type { Config } from './config.js';
import { hidden, logitsOf, type ModelAngles, type Weight } from './forward.js';
import { isBlocks, numbersOf, shapeOf, type HeldWeight } from './weights.js';

const { checkInteger, readOptions, shown } = internals;

export interface LoraOptions {
  /** Rows of down, and columns of up. Default 8. */
  rank?: number;
  /** What is added is scaled by alpha / rank. Default: rank. */
  alpha?: number;
  /** Names of weights in blocks. Default ['attn_q', 'attn_v']. */
  targets?: readonly string[];
  /** Random numbers that down begins with. Default random.key(0). */
  key?: Tensor;
  /** Whether derivatives make what is inside of a block again instead of keeping it: the memory of one block and not of all, for
   *  about a third more time. Default true. */
  checkpoint?: boolean;
}

/** down (rank, in) begins at random, up (out, rank) at 0: at first nothing changes. */
export type LoraParams = Record<string, { down: Tensor; up: Tensor }>;

export interface Lora {
  /** What is trained: by the names of the weights. */
  readonly params: LoraParams;
  /** Logits (batch, n, tokens) of tokens (batch, n), int32: for jit, grad and trainStep. */
  apply(params: LoraParams, tokens: TensorLike): Tensor;
  /** Adds what was learned to the weights of the model. Those that were blocks are float32 from then on, so that nothing of it is lost; save makes blocks of them again. */
  merge(params: LoraParams): void;
}

const LORA: internals.OptionSchema<LoraOptions> = { rank: 'integer', alpha: 'number', targets: 'any', key: 'tensor', checkpoint: 'boolean' };
const TARGETS = ['attn_q', 'attn_k', 'attn_v', 'attn_qkv', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'];

/** The model that is adapted. weights change when what was learned is merged. */
interface Adapted {
  config: Config;
  angles: ModelAngles;
  weights: Record<string, HeldWeight>;
  /** Called when weights have changed. */
  changed(): void;
}

/** The names of the weights of all blocks that targets name. */
function namesOf(op: string, targets: unknown, weights: Record<string, HeldWeight>): string[] {
  if (!Array.isArray(targets) || targets.length === 0) throw new SinterError('argument', op, `targets is ${shown(targets)}, expected names in an array`);
  return targets.flatMap((target: unknown) => {
    internals.checkChoice(op, 'target', target, TARGETS);
    const found = Object.keys(weights).filter((name) => name.startsWith('blk.') && name.endsWith(`.${String(target)}.weight`));
    if (found.length === 0) throw new UnsupportedError(op, `the model has no ${String(target)}`);
    return found;
  });
}

export function lora(model: Adapted, options?: LoraOptions): Lora {
  const op = 'llm.lora';
  const { rank = 8, alpha = rank, targets = ['attn_q', 'attn_v'], key = random.key(0), checkpoint = true } = readOptions(op, options, LORA);
  checkInteger(op, 'rank', rank, 1);
  const names = namesOf(op, targets, model.weights);
  const scale = alpha / rank;
  const params = tidy(() => {
    const keys = random.splitKeys(key, names.length);
    return Object.fromEntries(names.map((name, i) => {
      const [out, width] = shapeOf(model.weights[name]!) as [number, number];
      return [name, { down: random.normal(keys[i]!, [rank, width]).mul(1 / Math.sqrt(width)), up: zeros([out, rank]) }];
    }));
  });
  const check = (given: LoraParams): void => {
    const wrong = names.find((name) => !given?.[name]?.down || !given[name].up);
    if (wrong !== undefined) throw new SinterError('argument', op, `the parameters have no ${wrong}`, { hint: 'they are a tree as params' });
  };
  return {
    params,
    apply: (given, tokens) =>
      tidy(() => {
        check(given);
        const list = internals.asTensor(tokens, op).astype('int32');
        if (list.ndim !== 2) throw new SinterError('shape', op, `needs tokens (batch, n): (${list.shape.join(', ')})`);
        const adapted: Record<string, Weight> = { ...model.weights };
        for (const name of names) adapted[name] = { base: model.weights[name]!, scale, ...given[name]! };
        const position = zeros([], { dtype: 'int32' });
        return logitsOf(model.config, adapted, hidden(model.config, adapted, model.angles, list, position, null, checkpoint)[0]);
      }),
    merge: (given) => {
      check(given);
      const merged = tidy(() => names.map((name) => {
        const base = model.weights[name]!;
        const { down, up } = given[name]!;
        const sum = numbersOf(base).add(matmul(up, down).mul(scale));
        return isBlocks(base) ? sum : sum.astype(base.dtype);
      }));
      internals.evaluate(merged);
      names.forEach((name, i) => {
        dispose(model.weights[name]!);
        model.weights[name] = merged[i]!;
      });
      model.changed();
    },
  };
}
