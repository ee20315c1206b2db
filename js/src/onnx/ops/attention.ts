// Attention, and the rotation of its inputs by their positions.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Node, Op } from '../plan.js';
import { BOOL, dtypeOf } from '../types.js';
import { made, type Value } from '../value.js';

/** (batch, tokens, heads * size) -> (batch, heads, tokens, size) */
const byHeads = (t: Tensor, heads: number): Tensor =>
  sn.transpose(sn.reshape(t, [t.shape[0]!, t.shape[1]!, heads, t.shape[1] === 0 ? t.shape[2]! / heads : -1]), [0, 2, 1, 3]);

const fromHeads = (t: Tensor): Tensor => sn.reshape(sn.transpose(t, [0, 2, 1, 3]), [t.shape[0]!, t.shape[2]!, t.shape[1]! * t.shape[3]!]);

/** Repeats each head in place, so that there are as many as `heads`. */
export const shared = (t: Tensor, heads: number): Tensor => (t.shape[1] === heads ? t : sn.repeat(t, heads / t.shape[1]!, { axis: 1 }));

/** The mask of which sources each token sees, from is_causal and the lengths of the examples; null if all. */
function seen(n: Node, tokens: number, sources: number, past: number, lengths: Value | undefined): Tensor | null {
  const length = lengths ? sn.reshape(lengths.t, [-1, 1, 1, 1]) : null;
  const at = sn.iota([1, 1, 1, sources], 3);
  const within = length ? sn.less(at, length) : null;
  if (!n.flag('is_causal')) return within;
  const token = sn.iota([1, 1, tokens, 1], 2);
  const last = length && past === 0 ? sn.add(token, sn.sub(length, tokens)) : sn.add(token, past);
  const causal = sn.lessEqual(at, last);
  return within ? sn.logicalAnd(within, causal) : causal;
}

/** Applies a mask to scores: false becomes -Infinity, and numbers are added. Sources beyond the mask's end are hidden. */
function masked(scores: Tensor, mask: Value | undefined, visible: Tensor | null): Tensor {
  let out = scores;
  if (mask) {
    const sources = scores.shape.at(-1)!;
    const short = sources - mask.shape.at(-1)!;
    const isBool = mask.type === BOOL;
    const numbers = isBool ? sn.where(mask.t, 0, -Infinity).astype(scores.dtype) : mask.t.astype(scores.dtype);
    const widths = numbers.shape.map((_, i): [number, number] => [0, i === numbers.ndim - 1 ? short : 0]);
    out = sn.add(out, short > 0 ? sn.pad(numbers, widths, { value: -Infinity }) : numbers);
  }
  return visible ? sn.where(visible, out, -Infinity) : out;
}

/** softmax along the last axis; 0 where all scores are hidden. */
function safeSoftmax(scores: Tensor): Tensor {
  const hidden = sn.equal(sn.max(scores, { axis: -1, keepdims: true }), -Infinity);
  return sn.where(hidden, 0, sn.softmax(sn.where(hidden, 0, scores)));
}

const attention: Op = {
  since: 23,
  run: (n, q, k, v, mask, pastKey, pastValue, lengths) => {
    const isFlat = q!.rank === 3;
    const heads = isFlat ? n.int('q_num_heads') : q!.shape[1]!;
    const few = isFlat ? n.int('kv_num_heads') : k!.shape[1]!;
    const [query, newKey, newValue] = [q!, k!, v!].map((x, i) => (isFlat ? byHeads(x.t, i ? few : heads) : x.t)) as [Tensor, Tensor, Tensor];
    const key = pastKey ? sn.concat([pastKey.t, newKey], { axis: 2 }) : newKey;
    const value = pastValue ? sn.concat([pastValue.t, newValue], { axis: 2 }) : newValue;
    const past = pastKey?.shape[2] ?? 0;
    const scale = n.has('scale') ? n.float('scale') : 1 / Math.sqrt(query.shape[3]!);
    const softcap = n.float('softcap');
    const present = [made(k!.type, key), made(v!.type, value)];
    const end = (t: Tensor): Tensor => (isFlat ? fromHeads(t) : t);
    if (!mask && !lengths && softcap === 0 && n.outputs < 4) {
      const options = n.flag('is_causal') ? { scale, causal: true, past: sn.tensor(past, { dtype: 'int32' }) } : { scale };
      return [end(sn.attention(query, key, value, options)), ...present];
    }
    const raw = sn.matmul(sn.mul(query, Math.sqrt(scale)), sn.swapaxes(sn.mul(shared(key, heads), Math.sqrt(scale)), -1, -2));
    const capped = softcap > 0 ? sn.mul(sn.tanh(sn.div(raw, softcap)), softcap) : raw;
    const all = masked(capped, mask, seen(n, query.shape[2]!, key.shape[2]!, past, lengths));
    const precise = n.has('softmax_precision') ? all.astype(dtypeOf(n.int('softmax_precision'))) : all;
    const weights = safeSoftmax(precise).astype(raw.dtype);
    const stages = [raw, capped, all, weights];
    return [end(sn.matmul(weights, shared(value, heads))), ...present, stages[n.int('qk_matmul_output_mode')]!];
  },
};

/** Rotates pairs of elements by their positions, as sn.rope, with given cosines and sines. */
const rotaryEmbedding: Op = {
  since: 23,
  run: (n, x, cosines, sines, places) => {
    const isFlat = x!.rank === 3;
    const t = isFlat ? byHeads(x!.t, n.int('num_heads')) : x!.t;
    const size = t.shape[3]!;
    const rotarySize = n.int('rotary_embedding_dim') || size;
    const part = (begin: number, count: number): Tensor => sn.slice(t, [0, 0, 0, begin], [-1, -1, -1, count]);
    const angles = (c: Value): Tensor => {
      const rows = places ? sn.take(c.t, places.t, { axis: 0 }) : c.t;
      return sn.expandDims(sn.slice(rows, [0, 0, 0], [-1, -1, rotarySize / 2]), 1);
    };
    const rotated = sn.rope(part(0, rotarySize), { cos: angles(cosines!), sin: angles(sines!), interleaved: n.flag('interleaved') });
    const y = rotarySize === size ? rotated : sn.concat([rotated, part(rotarySize, size - rotarySize)], { axis: 3 });
    return isFlat ? fromHeads(y) : y;
  },
};

/** Attention whose scores and weights pass through subgraphs of the node. */
const flexAttention: Op = {
  since: 1,
  run: (n, q, k, v) => {
    const scale = n.has('scale') ? n.float('scale') : 1 / Math.sqrt(q!.shape[3]!);
    const heads = q!.shape[1]!;
    const through = (name: string, t: Tensor): Tensor => (n.has(name) ? n.call(n.plan(name), [made(q!.type, t)])[0]!.t : t);
    const raw = sn.mul(sn.matmul(q!.t, sn.swapaxes(shared(k!.t, heads), -1, -2)), scale);
    const weights = through('prob_mod', sn.softmax(through('score_mod', raw)));
    return sn.matmul(weights, shared(v!.t, heads));
  },
};

/** Linear attention: a scan over the tokens, whose state sums products of keys and values, and is read by queries. */
const linearAttention: Op = {
  since: 27,
  run: (n, q, k, v, past, decay, beta) => {
    const [heads, few] = [n.int('q_num_heads'), n.int('kv_num_heads')];
    const [batch, , width] = q!.shape as [number, number, number];
    const size = width / heads;
    const rule = n.text('update_rule', 'gated_delta');
    const scale = n.float('scale') || 1 / Math.sqrt(size);
    const times = (x: Value, count: number): Tensor => sn.moveaxis(sn.reshape(x.t.astype('float32'), [x.shape[0]!, x.shape[1]!, count, -1]), 1, 0);
    const xs: Record<string, Tensor> = { q: times(q!, heads), k: times(k!, few), v: times(v!, few) };
    if (rule.includes('gated')) xs['decay'] = sn.expandDims(sn.exp(times(decay!, few)), -1);
    if (rule.includes('delta')) xs['beta'] = sn.expandDims(times(beta!, beta!.shape[2]!), -1);
    const first = past ? past.t.astype('float32') : sn.zeros([batch, few, size, v!.shape[2]! / few]);
    const [state, ys] = sn.scan(
      (carry: Tensor, x: Record<string, Tensor>): [Tensor, Tensor] => {
        const [key, value] = [sn.expandDims(x['k']!, -1), sn.expandDims(x['v']!, -2)];
        const kept = x['decay'] ? sn.mul(carry, x['decay']) : carry;
        const seen = x['beta'] ? sn.sum(sn.mul(kept, key), { axis: -2, keepdims: true }) : null;
        const news = seen ? sn.mul(sn.sub(value, seen), x['beta']!) : value;
        const next = sn.add(kept, sn.mul(key, news));
        const read = sn.sum(sn.mul(shared(next, heads), sn.expandDims(x['q']!, -1)), { axis: -2 });
        return [next, sn.mul(read, scale)];
      },
      first,
      xs,
    );
    const y = sn.reshape(sn.moveaxis(ys, 0, 1), [batch, q!.shape[1]!, -1]);
    return [y, made(past?.type ?? q!.type, state)];
  },
};

export const ATTENTION: Readonly<Record<string, Op>> = {
  Attention: attention,
  LinearAttention: linearAttention,
  RotaryEmbedding: rotaryEmbedding,
  'ai.onnx.preview.FlexAttention': flexAttention,
};
