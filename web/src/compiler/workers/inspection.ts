// What sn.inspect found, as plain data.

import type { Inspection } from 'sinter';
import type { Block, GraphEdge, GraphNode, Kernel, Report, Stage } from '../report.ts';

const NODE = /^%(\d+) = (\w+) (\w+)\(([^)]*)\)(?: \{([^}]*)\})?((?: %\d+)*)/;

function readStage(name: string, text: string): Stage {
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  let outputs: number[] = [];
  const ids = (list: string): number[] => (list.match(/%\d+/g) ?? []).map((id) => Number(id.slice(1)));
  for (const line of text.split('\n')) {
    if (line.startsWith('return')) outputs = ids(line);
    const found = NODE.exec(line);
    if (found === null) continue;
    const [, id, op, dtype, shape, detail = '', inputs] = found;
    const to = Number(id);
    nodes.push({
      id: to,
      op,
      dtype,
      shape: shape.split(',').filter((size) => size.trim() !== '').map(Number),
      attrs: detail,
      group: null,
    });
    for (const from of ids(inputs)) edges.push({ from, to, reason: '' });
  }
  return { name, text, nodes, edges, outputs, compileMs: 0 };
}

function readKernels(text: string): Kernel[] {
  return text
    .split(/\n(?=k\d+ )/)
    .filter((part) => /^k\d+ /.test(part))
    .map((part) => {
      const [, id, kind, name] = /^k(\d+) (\w+) (\S+)/.exec(part) ?? [];
      return { id: Number(id), kind, name, text: part.trimEnd(), code: '', engine: '', flops: 0, bytes: 0, cuts: [] };
    });
}

const SIZE: Record<string, number> = { float64: 8, bool: 1, uint8: 1, int8: 1, float16: 2, bfloat16: 2 };

function readBlocks(text: string): { blocks: Block[]; nodeOf: Map<number, number> } {
  const blocks: Block[] = [];
  const nodeOf = new Map<number, number>();
  for (const line of text.split('\n')) {
    const found = /^b(\d+) = %(\d+) (\w+)\(([^)]*)\) (.*), k(\d+)\.\.k(\d+)$/.exec(line);
    if (found === null) continue;
    const [, id, node, dtype, shape, where, first, last] = found;
    nodeOf.set(Number(id), Number(node));
    const sizes = shape.split(',').filter((size) => size.trim() !== '').map(Number);
    const at = /arena at (\d+)/.exec(where);
    blocks.push({
      value: Number(id),
      node: Number(node),
      dtype,
      shape: sizes,
      offset: at === null ? null : Number(at[1]),
      bytes: sizes.reduce((a, b) => a * b, 1) * (SIZE[dtype] ?? 4),
      first: Number(first),
      last: Number(last),
    });
  }
  return { blocks, nodeOf };
}

/** A node belongs to the kernel that stores it; what is stored nowhere, to that of its users. */
function assignKernels(stage: Stage, kernels: Kernel[], nodeOf: Map<number, number>): void {
  const nodes = new Map(stage.nodes.map((node) => [node.id, node]));
  for (const { id, text } of kernels)
    for (const [, block] of text.matchAll(/^ +b(\d+)\[[^\]]*\] = /gm)) {
      const node = nodes.get(nodeOf.get(Number(block)) ?? -1);
      if (node !== undefined) node.group = id;
    }
  const users = new Map<number, GraphNode[]>();
  for (const { from, to } of stage.edges) {
    const user = nodes.get(to);
    if (user !== undefined) users.set(from, [...(users.get(from) ?? []), user]);
  }
  for (const node of [...stage.nodes].reverse()) {
    if (node.group !== null || node.op === 'input') continue;
    const of = new Set((users.get(node.id) ?? []).map(({ group }) => group));
    if (of.size === 1) node.group = [...of][0];
  }
}

export function readInspection(found: Inspection, compileMs: number): Report {
  const text = (name: string): string => found.stages.find((stage) => stage.name === name)?.text ?? '';
  const graphs = found.stages.filter(({ name }) => !['groups', 'plan'].includes(name));
  const stages = graphs.map(({ name, text }) => readStage(name, text));
  const kernels = readKernels(text('groups'));
  const { blocks, nodeOf } = readBlocks(text('plan'));
  const last = stages.at(-1);
  if (last !== undefined) {
    const groups: Stage = {
      ...last,
      name: 'groups',
      text: text('groups'),
      nodes: last.nodes.map((node) => ({ ...node })),
    };
    assignKernels(groups, kernels, nodeOf);
    const groupOf = new Map(groups.nodes.map(({ id, group }) => [id, group]));
    groups.edges = last.edges.map(({ from, to }) => {
      const [a, b] = [groupOf.get(from), groupOf.get(to)];
      return { from, to, reason: a === b ? 'fused' : a == null || b == null ? '' : 'another kernel' };
    });
    stages.push(groups);
  }
  return {
    stages,
    kernels,
    memory: { ...found.memory, blocks },
    flops: found.flops,
    bytes: found.bytes,
    compileMs,
  };
}
