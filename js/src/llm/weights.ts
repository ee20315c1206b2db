// The weights of a model from its file. The header is checked before any data are read. Quantised matrices stay rows of blocks
// as in the file, or are dequantised as they arrive.

import { SinterError, type Tensor, UnsupportedError, dequantizeBlocks, dispose, internals, take, type BlockOptions } from '../index.js';
import type { ArrivedData, GgufHeader, GgufStream, GgufTensor, KindName } from '../gguf/index.js';
import type { Config } from './config.js';

const { damagedError, shown } = internals;

/** How matrices are held. */
export type WeightType = 'file' | 'float32' | 'float16' | 'bfloat16';

/** A quantised matrix (out, in) as in its file: one row of blocks per output. bytes is uint8 (out, bytes of a row). */
export interface Blocks {
  bytes: Tensor;
  kind: NonNullable<BlockOptions['kind']>;
  /** How many numbers a row has. */
  width: number;
}

export type WeightData = Tensor | Blocks;

export const isBlocks = (weight: object): weight is Blocks => 'bytes' in weight;

/** The shape of the dequantised weight. */
export const shapeOf = (weight: WeightData): readonly number[] => (isBlocks(weight) ? [weight.bytes.shape[0]!, weight.width] : weight.shape);

/** The whole weight as float32. */
export const numbersOf = (weight: WeightData): Tensor => (isBlocks(weight) ? dequantizeBlocks(weight.bytes, { kind: weight.kind }) : weight.astype('float32'));

/** Some rows of the weight, as float32. */
export const rowsOf = (weight: WeightData, rows: Tensor): Tensor =>
  isBlocks(weight) ? numbersOf({ ...weight, bytes: take(weight.bytes, rows) }) : take(weight, rows).astype('float32');

/** Names of the tensors that forward.ts uses, each in some architectures; then those of encoder.ts. */
const OWN = /^(token_embd|output|output_norm|rope_freqs|rope_factors_(long|short))\.(weight|bias)$/;
const OF_BLOCK =
  /^blk\.\d+\.(attn_(norm|q|k|v|qkv|output|q_norm|k_norm)|post_attention_norm|ffn_(norm|gate|up|down)|post_ffw_norm)\.(weight|bias)$/;
const OF_ENCODER = /^(token_embd|token_types|position_embd|token_embd_norm|blk\.\d+\.(attn_(q|k|v|qkv|output|output_norm)|ffn_(gate|up|down)|layer_output_norm))\.(weight|bias)$/;

/** The names of required tensors and their shapes; null stands for any size. */
function shapesOf({ layers, width, heads, keyHeads, headSize, valueSize, rope, isEncoder, context }: Config, tensors: ReadonlyMap<string, GgufTensor>): [string, (number | null)[]][] {
  const wanted: [string, (number | null)[]][] = [['token_embd.weight', [null, width]], [`${isEncoder ? 'token_embd_norm' : 'output_norm'}.weight`, [width]]];
  const add = (name: string, shape: (number | null)[]): unknown => wanted.push([`${name}.weight`, shape]);
  if (tensors.has('output.weight')) add('output', [null, width]);
  if (tensors.has('token_types.weight')) add('token_types', [null, width]);
  if (tensors.has('position_embd.weight')) add('position_embd', [context, width]);
  for (const name of ['rope_freqs', 'rope_factors_long', 'rope_factors_short']) if (tensors.has(`${name}.weight`)) add(name, [rope.size / 2]);
  for (let layer = 0; layer < layers; layer++) {
    const block = `blk.${layer}`;
    const [q, k, v] = [heads * headSize, keyHeads * headSize, keyHeads * valueSize];
    for (const norm of isEncoder ? ['attn_output_norm', 'layer_output_norm'] : ['attn_norm']) add(`${block}.${norm}`, [width]);
    if (tensors.has(`${block}.attn_qkv.weight`)) add(`${block}.attn_qkv`, [q + k + v, width]);
    else {
      add(`${block}.attn_q`, [q, width]);
      add(`${block}.attn_k`, [k, width]);
      add(`${block}.attn_v`, [v, width]);
    }
    add(`${block}.attn_output`, [width, heads * valueSize]);
    add(`${block}.ffn_up`, [null, width]);
    add(`${block}.ffn_down`, [width, null]);
  }
  return wanted;
}

/** Refuses a file that lacks tensors, has them in other shapes, or has tensors that no code here uses. */
export function checkTensors(op: string, config: Config, { tensors }: GgufHeader): void {
  const byName = new Map(tensors.map((each) => [each.name, each]));
  // The count is checked first, since the list below grows with it.
  if (config.layers > tensors.length) throw damagedError(op, `${config.layers} layers, and ${tensors.length} tensors`);
  for (const [name, shape] of shapesOf(config, byName)) {
    const found = byName.get(name);
    if (!found) throw damagedError(op, `the file has no tensor ${name}`);
    const fits = found.shape.length === shape.length && shape.every((size, i) => size === null || size === found.shape[i]);
    if (!fits) throw damagedError(op, `${name} is (${found.shape.join(', ')}), expected (${shape.map((size) => size ?? 'any').join(', ')})`);
  }
  const isKnown = (name: string): boolean => (config.isEncoder ? OF_ENCODER.test(name) : OWN.test(name) || OF_BLOCK.test(name));
  const unknown = tensors.filter(({ name }) => !isKnown(name)).map(({ name }) => name);
  if (unknown.length > 0)
    throw new UnsupportedError(op, `tensors that are not computed with: ${unknown.slice(0, 5).map(shown).join(', ')}${unknown.length > 5 ? `, and ${unknown.length - 5} more` : ''}`);
}

/** The loaded weights, and their kinds in the file. */
export interface LoadedWeights {
  weights: Record<string, WeightData>;
  kinds: Record<string, KindName>;
}

const isBlockKind = (kind: string): kind is Blocks['kind'] => (internals.BLOCK_KINDS as readonly string[]).includes(kind);

/** How a tensor that arrived is held. Matrices keep the file's form or are cast to the type; vectors are small and become
 *  float32. */
function held(op: string, { info, bytes, tensor }: ArrivedData, type: WeightType): WeightData {
  const { name, shape, kind } = info;
  const isMatrix = shape.length > 1;
  if (type === 'file' && isMatrix && isBlockKind(kind) && bytes.length > 0) {
    const [rows, width] = [shape[0]!, shape.at(-1)!];
    return { bytes: internals.fromBytes(op, shown(name), 'uint8', [rows, bytes.length / rows], bytes), kind, width };
  }
  const t = tensor();
  const wanted = isMatrix ? type : 'float32';
  if (wanted === 'file' || t.dtype === wanted) return t;
  const cast = t.astype(wanted);
  internals.evaluate([cast]);
  t.dispose();
  return cast;
}

/** Reads the data of a file, each tensor straight to where it stays. The caller owns the weights. */
export async function loadWeights(op: string, file: GgufStream, type: WeightType): Promise<LoadedWeights> {
  const weights: Record<string, WeightData> = {};
  const kinds: Record<string, KindName> = {};
  try {
    for await (const arrived of file.data()) {
      const { name, kind } = arrived.info;
      weights[name] = held(op, arrived, type);
      kinds[name] = kind;
    }
    return { weights, kinds };
  } catch (error) {
    dispose(weights);
    throw error instanceof SinterError ? error : new SinterError('storage', op, String(error), { cause: error });
  }
}
