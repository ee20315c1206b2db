// Describes a GGUF file in words, and as a graph of its tensors. A file has no graph, but names that say where each weight is
// used. Blocks are drawn one after the other.

import type { GgufHeader, GgufTensor } from 'sinter/gguf';
import { bytes as byteText, count, scaled } from '../../views/format.ts';
import type { FileGraph, FileNode } from '../protocol.ts';

const MOST_LETTERS = 200;
/** The most tensors of a step that the tensors of the next step are drawn to read. */
const MOST_LINES = 4;

const sizeOf = ({ shape }: GgufTensor): number => shape.reduce((product, size) => product * size, 1);

const parametersOf = (header: GgufHeader): number => header.tensors.reduce((sum, each) => sum + sizeOf(each), 0);

const asText = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value.slice(0, MOST_LETTERS) : null);

function kindsOf({ tensors }: GgufHeader): string {
  const sizes = new Map<string, number>();
  for (const each of tensors) sizes.set(each.kind, (sizes.get(each.kind) ?? 0) + each.bytes);
  return [...sizes].sort((a, b) => b[1] - a[1]).map(([kind, size]) => `${kind} ${byteText(size)}`).join(', ');
}

export function words(header: GgufHeader): string {
  const { metadata } = header;
  const architecture = asText(metadata['general.architecture']);
  const name = asText(metadata['general.name']);
  const own = (key: string): number | null => {
    const value = metadata[`${architecture}.${key}`];
    return typeof value === 'number' ? value : null;
  };
  const [layers, width, heads, context] = ['block_count', 'embedding_length', 'attention.head_count', 'context_length'].map(own);
  const parts = [
    layers !== null && `${count(layers)} blocks`,
    width !== null && `${count(width)} wide`,
    heads !== null && `${count(heads)} heads`,
    context !== null && `sees ${count(context)} tokens`,
  ].filter((part) => part !== false);
  return `${name === null ? 'A language model' : `${name}, a language model`} of the architecture ${architecture ?? 'that the file does not name'} with ${scaled(parametersOf(header))} parameters${parts.length > 0 ? `: ${parts.join(', ')}` : ''}.`;
}

export function facts(header: GgufHeader, bytes: number): [string, string][] {
  const { metadata, tensors } = header;
  const tokens = metadata['tokenizer.ggml.tokens'] as ArrayLike<string> | undefined;
  return [
    ['Format', `GGUF ${header.version}`],
    ['Size', byteText(bytes)],
    ['Parameters', count(parametersOf(header))],
    ['Weights', kindsOf(header) || 'none'],
    ['Tensors', count(tensors.length)],
    ['Tokenizer', tokens ? `${asText(metadata['tokenizer.ggml.model']) ?? 'not named'}, ${count(tokens.length)} tokens` : 'none'],
    ['Licence', asText(metadata['general.license']) ?? 'not said'],
  ];
}

/** The order in which a block uses its tensors. The tensors of a step read the results of the step before. */
const STEPS: [role: string, names: RegExp][] = [
  ['embedding', /^token_embd/],
  ['norm', /attn_norm/],
  ['attention', /attn_(q|k|v|qkv)\b/],
  ['norm', /attn_(q|k)_norm/],
  ['attention', /attn_output/],
  ['norm', /post_attention_norm|ffn_norm/],
  ['feed-forward', /ffn_(gate|up)/],
  ['feed-forward', /ffn_down/],
  ['norm', /post_ffw_norm/],
  ['other', /^blk\./],
  ['norm', /^output_norm/],
  ['output', /^output\b/],
];

const stepOf = (name: string): number => {
  const found = STEPS.findIndex(([, names]) => names.test(name));
  return found < 0 ? STEPS.length : found;
};

/** The number of the block that contains the tensor; -1 for what is before all blocks, Infinity for what is after them. */
function blockOf(name: string): number {
  const block = /^blk\.(\d+)\./.exec(name);
  return block !== null ? Number(block[1]) : name.startsWith('token_embd') ? -1 : Infinity;
}

export function graphOf({ tensors }: GgufHeader): FileGraph {
  const all = tensors.map((tensor) => ({ tensor, block: blockOf(tensor.name), step: stepOf(tensor.name) }));
  all.sort((a, b) => (a.block === b.block ? a.step - b.step : a.block - b.block));
  const nodes = all.map(({ tensor, block, step }): FileNode => ({
    op: STEPS[step]?.[0] ?? 'other',
    name: tensor.name.slice(0, MOST_LETTERS),
    scopes: Number.isFinite(block) && block >= 0 ? [`block ${block}`] : [],
    parameters: sizeOf(tensor),
    constant: false,
  }));
  const edges: number[] = [];
  let before: number[] = [];
  for (let from = 0; from < all.length; ) {
    let to = from;
    while (to < all.length && all[to].block === all[from].block && all[to].step === all[from].step) to++;
    const row = Array.from({ length: to - from }, (_, i) => from + i);
    for (const node of row) for (const source of before) edges.push(source, node);
    before = row.slice(0, MOST_LINES);
    from = to;
  }
  return { nodes, edges: Uint32Array.from(edges) };
}
