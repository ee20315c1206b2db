// The blocks of a network: groups of weights that are trained or frozen together, in the order of the data flow.

import type { OnnxFile } from 'sinter/onnx';

export interface WeightBlock {
  name: string;
  parameters: number;
  /** The names of its weights. */
  weights: string[];
  /** The indices in the file's nodes of those that read the weights. */
  nodes: number[];
}

/** The least and the largest number of blocks that is a good choice. */
const [FEW, MANY] = [3, 64];
const MOST_DEPTH = 6;

/** Groups names by the shortest path prefix that gives a good number of blocks. Otherwise each node with weights is a block. */
function keysOf(names: readonly string[]): string[] {
  const parts = names.map((name) => name.split('/').filter((part) => part !== '').slice(0, -1));
  for (let depth = 1; depth <= MOST_DEPTH; depth++) {
    const keys = parts.map((each) => each.slice(0, depth).join('/'));
    const count = new Set(keys).size;
    if (count >= FEW && count <= MANY && !keys.includes('')) return keys;
  }
  return names.map((_, i) => String(i));
}

/** params: the names of the trainable weights. */
export function blocksOf(file: OnnxFile, params: ReadonlySet<string>): WeightBlock[] {
  const sizes = new Map(file.weights.map(({ name, shape }) => [name, shape.reduce((product, size) => product * size, 1)]));
  const taken = new Set<string>();
  const readers = file.nodes.flatMap((node, i) => {
    const weights = [...new Set(node.inputs)].filter((name) => params.has(name) && !taken.has(name));
    for (const name of weights) taken.add(name);
    return weights.length === 0 ? [] : [{ node, i, weights }];
  });
  const keys = keysOf(readers.map(({ node }) => node.name));
  const blocks = new Map<string, WeightBlock>();
  readers.forEach(({ node, i, weights }, at) => {
    const key = keys[at];
    const isScope = key !== String(at);
    const name = isScope ? key : `${node.op} ${node.name || node.outputs[0] || i}`;
    const block = blocks.get(key) ?? { name, parameters: 0, weights: [], nodes: [] };
    blocks.set(key, block);
    block.weights.push(...weights);
    block.nodes.push(i);
    block.parameters += weights.reduce((sum, each) => sum + (sizes.get(each) ?? 0), 0);
  });
  return [...blocks.values()];
}
