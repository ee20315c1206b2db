// LoRA (Hu et al. 2021): a weight W (out, in) becomes W + up @ down * alpha / rank, where up and down have few numbers. The
// file's weights stay unchanged and get no gradient.

import { ShapeError, SinterError, UnsupportedError, dispose, internals, matmul, random, tidy, zeros, type Tensor, type TensorLike } from '../index.js';
import type { Config } from './config.js';
import { hiddenStates, logitsOf, type ModelAngles, type Weight } from './forward.js';
import { ROWS, lossOfRows } from './loss.js';
import { isBlocks, numbersOf, shapeOf, type WeightData } from './weights.js';

const { checkInteger, readOptions, shown } = internals;

export interface LoraOptions {
  /** Rows of down and columns of up. Default 8. */
  rank?: number;
  /** The product up @ down is scaled by alpha / rank. Default: rank. */
  alpha?: number;
  /** Names of weights within blocks. Default ['attn_q', 'attn_v']. */
  targets?: readonly string[];
  /** The random key for the initial values of down. Default random.key(0). */
  key?: Tensor;
  /** Whether derivatives compute the values inside blocks again instead of keeping them: memory for a few blocks instead of
   *  all, for about a third more time. Default true. */
  checkpoint?: boolean;
}

/** down (rank, in) starts random and up (out, rank) at 0, so the model is unchanged at first. */
export type LoraParams = Record<string, { down: Tensor; up: Tensor }>;

export interface LoraLossOptions {
  /** Tokens with this label add nothing to the loss, and are not counted by the mean. */
  ignoreIndex?: number;
}

export interface Lora {
  /** The trainable parameters, by the names of the weights. */
  readonly params: LoraParams;
  /** Logits (batch, n, tokens) of tokens (batch, n), int32; for use in jit, grad and trainStep. */
  apply(params: LoraParams, tokens: TensorLike): Tensor;
  /** The mean loss of the next tokens (batch, n), int32: that of softmaxCrossEntropy over the logits, which are in memory
   *  for only a few tokens at a time. Give parts of a text that are not to be learned, e.g. questions, the label
   *  ignoreIndex. */
  loss(params: LoraParams, tokens: TensorLike, next: TensorLike, options?: LoraLossOptions): Tensor;
  /** Adds what was learned to the weights of the model; refused while a text is being written. Quantised weights become
   *  float32, so nothing learned is lost; save quantises them again. */
  merge(params: LoraParams): void;
}

const LORA: internals.OptionSchema<LoraOptions> = { rank: 'integer', alpha: 'number', targets: 'any', key: 'tensor', checkpoint: 'boolean' };
const TARGETS = ['attn_q', 'attn_k', 'attn_v', 'attn_qkv', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'];

/** The model that is adapted. merge replaces entries of weights. */
interface Adapted {
  config: Config;
  angles: ModelAngles;
  weights: Record<string, WeightData>;
  /** Called before weights change: refuses where what was computed with them is still in use. */
  changing(op: string): void;
  /** Called when weights have changed. */
  changed(): void;
}

/** The names of the weights of all blocks that targets name. */
function namesOf(op: string, targets: unknown, weights: Record<string, WeightData>): string[] {
  if (!Array.isArray(targets) || targets.length === 0) throw new SinterError('argument', op, `targets is ${shown(targets)}, expected names in an array`);
  return targets.flatMap((target: unknown) => {
    internals.checkChoice(op, 'target', target, TARGETS);
    const found = Object.keys(weights).filter((name) => name.startsWith('blk.') && name.endsWith(`.${String(target)}.weight`));
    if (found.length === 0) throw new UnsupportedError(op, `the model has no ${String(target)}`);
    return found;
  });
}

/** How many blocks share a checkpoint: the number with the smallest peak of memory, counted in tensors as wide as x.
 *  Derivatives hold one tensor per checkpoint. Beside these are, at first, the logits of the given share of the tokens, and
 *  later the values that the blocks of one checkpoint make. */
function togetherOf({ layers, width }: Config, weights: Record<string, WeightData>, share: number): number {
  const rows = (name: string): number => (weights[name] ? shapeOf(weights[name])[0]! : 0);
  const logits = (share * (rows('output.weight') || rows('token_embd.weight'))) / width;
  const made = (3 * rows('blk.0.ffn_up.weight')) / width + 5;
  const most = (blocks: number): number => layers / blocks + Math.max(logits, made * blocks);
  let best = 1;
  for (let blocks = 2; blocks <= layers; blocks++) if (most(blocks) < most(best)) best = blocks;
  return best;
}

export function lora(model: Adapted, options?: LoraOptions): Lora {
  const op = 'llm.lora';
  const { rank = 8, alpha = rank, targets = ['attn_q', 'attn_v'], key = random.key(0), checkpoint = true } = readOptions(op, options, LORA);
  checkInteger(op, 'rank', rank, 1);
  const names = namesOf(op, targets, model.weights);
  const scale = alpha / rank;
  const params = tidy(() => {
    const keys = random.splitKeys(key, names.length);
    internals.evaluate(keys); // then one program draws all matrices of a shape, instead of one program each
    return Object.fromEntries(names.map((name, i) => {
      const [out, width] = shapeOf(model.weights[name]!) as [number, number];
      const down = tidy(() => random.normal(keys[i]!, [rank, width]).mul(1 / Math.sqrt(width)));
      internals.evaluate(down);
      return [name, { down, up: zeros([out, rank]) }];
    }));
  });
  const check = (given: LoraParams): void => {
    const wrong = names.find((name) => !given?.[name]?.down || !given[name].up);
    if (wrong !== undefined) throw new SinterError('argument', op, `the parameters have no ${wrong}`, { hint: 'they are a tree as params' });
  };
  /** The output of the last block for tokens (batch, n), and the adapted weights behind it. atOnce: tokens whose logits are
   *  in memory at once. */
  const adaptedHidden = (given: LoraParams, tokens: TensorLike, atOnce: number): [Tensor, Record<string, Weight>] => {
    check(given);
    const list = internals.asTensor(tokens, op).astype('int32');
    if (list.ndim !== 2) throw new ShapeError(op, `needs tokens (batch, n): (${list.shape.join(', ')})`);
    if (list.size === 0) throw new ShapeError(op, `there are no tokens: (${list.shape.join(', ')})`);
    const adapted: Record<string, Weight> = { ...model.weights };
    for (const name of names) adapted[name] = { base: model.weights[name]!, scale, ...given[name]! };
    const together = checkpoint ? togetherOf(model.config, model.weights, Math.min(1, atOnce / list.size)) : 0;
    return [hiddenStates(model.config, adapted, model.angles, list, zeros([], { dtype: 'int32' }), null, together)[0], adapted];
  };
  return {
    params,
    apply: (given, tokens) =>
      tidy(() => {
        const [x, adapted] = adaptedHidden(given, tokens, Infinity);
        return logitsOf(model.config, adapted, x);
      }),
    loss: (given, tokens, next, options) =>
      tidy(() => {
        const { ignoreIndex } = readOptions<LoraLossOptions>('llm.lora.loss', options, { ignoreIndex: 'integer' });
        const [x] = adaptedHidden(given, tokens, ROWS);
        const labels = internals.asTensor(next, op).astype('int32');
        if (labels.size !== x.size / x.shape[2]!) throw new ShapeError(op, `needs as many next tokens as tokens: (${labels.shape.join(', ')})`);
        const sum = lossOfRows(model.config, model.weights, x.reshape([-1, x.shape[2]!]), labels.reshape([-1]), ignoreIndex);
        return sum.div(ignoreIndex === undefined ? labels.size : labels.notEqual(ignoreIndex).astype('float32').sum());
      }),
    merge: (given) => {
      check(given);
      model.changing('llm.lora.merge');
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
