// The selection, and everything that belongs to it: lines of the program, the nodes that they made, the kernels that compute
// these, and the blocks of memory that those write. Each view reports what was chosen in it, and highlights what it is told.

import { allNodes, GROUPS, type Report, type StageGraph, type StageNode } from './report.ts';

export type Chosen =
  | { what: 'line'; line: number }
  | { what: 'node'; node: StageNode }
  | { what: 'kernel'; kernel: number }
  | { what: 'block'; value: number };

export interface Lit {
  chosen: Chosen;
  /** Lines with the calls that made the nodes; and lines from which those were reached. */
  lines: ReadonlySet<number>;
  around: ReadonlySet<number>;
  kernels: ReadonlySet<number>;
  blocks: ReadonlySet<number>;
  has(node: StageNode): boolean;
}

/** A key for the nodes of a call; those of its derivative have another one. Unlike the nodes' numbers it is the same in all
 *  stages. */
const keyOf = ({ call = 0, derivative }: StageNode): number => 2 * call + Number(derivative ?? 0);

/** The links between the parts of a report. */
class Links {
  /** For nodes of the groups stage. The nodes of a region belong to the kernel that runs it. */
  readonly kernelOf = new Map<StageNode, number>();
  readonly nodesOf: StageNode[][];
  readonly nodeOf = new Map<number, StageNode>();
  private readonly ofKey = new Map<number, StageNode[]>();

  constructor(readonly report: Report) {
    this.nodesOf = report.kernels.map(() => []);
    const groups = report.stages.find(({ name }) => name === GROUPS);
    if (groups === undefined) return;
    this.visit(groups, null);
    for (const node of groups.nodes) this.nodeOf.set(node.id, node);
    for (const node of allNodes(groups)) {
      const key = keyOf(node);
      this.ofKey.set(key, [...(this.ofKey.get(key) ?? []), node]);
    }
  }

  private visit({ nodes, regions }: StageGraph, around: number | null): void {
    for (const node of nodes) {
      const kernel = node.group ?? around;
      if (kernel !== null) {
        this.kernelOf.set(node, kernel);
        this.nodesOf[kernel].push(node);
      }
      for (const { number } of node.control?.regions ?? []) this.visit(regions[number], kernel);
    }
  }

  /** The nodes of the groups stage that stand for a node of any stage. */
  private compiled(node: StageNode): StageNode[] {
    return this.kernelOf.has(node) ? [node] : (this.ofKey.get(keyOf(node)) ?? []);
  }

  private callsOf(line: number): Set<number> {
    return new Set(this.report.lines.flatMap((lines, call) => (lines.includes(line) ? [call] : [])));
  }

  private chosenNodes(chosen: Chosen): StageNode[] {
    switch (chosen.what) {
      case 'line': {
        const calls = this.callsOf(chosen.line);
        return [...this.ofKey].flatMap(([key, nodes]) => (calls.has(key >> 1) ? nodes : []));
      }
      case 'node':
        return this.compiled(chosen.node);
      case 'kernel':
        return this.nodesOf[chosen.kernel] ?? [];
      case 'block': {
        const block = this.report.memory.blocks.find(({ value }) => value === chosen.value);
        const node = block && this.nodeOf.get(block.node);
        return node === undefined ? [] : [node];
      }
    }
  }

  light(chosen: Chosen): Lit {
    const { lines: places, memory } = this.report;
    const nodes = new Set(this.chosenNodes(chosen));
    const keys = new Set([...nodes].map(keyOf));
    if (chosen.what === 'line') for (const call of this.callsOf(chosen.line)) keys.add(2 * call).add(2 * call + 1);
    if (chosen.what === 'node') keys.add(keyOf(chosen.node));
    const kernels = new Set([...nodes].flatMap((node) => this.kernelOf.get(node) ?? []));
    if (chosen.what === 'kernel') kernels.add(chosen.kernel);
    const lines = new Set<number>();
    const around = new Set<number>();
    for (const key of keys) {
      const [first, ...others] = places[key >> 1] ?? [];
      if (first !== undefined) lines.add(first);
      for (const line of others) around.add(line);
    }
    const blocks = memory.blocks.filter(({ value, kernel }) =>
      chosen.what === 'block' ? value === chosen.value : kernel !== null && kernels.has(kernel),
    );
    if (chosen.what === 'block') for (const { kernel } of blocks) if (kernel !== null) kernels.add(kernel);
    return {
      chosen,
      lines: chosen.what === 'line' ? new Set([chosen.line]) : lines,
      around: chosen.what === 'line' ? new Set() : around,
      kernels,
      blocks: new Set(blocks.map(({ value }) => value)),
      // A node of the groups stage is highlighted itself, a node of an earlier stage through its call.
      has: (node) => (this.kernelOf.has(node) ? nodes.has(node) : keys.has(keyOf(node)) && keyOf(node) > 1),
    };
  }
}

type Listener = (lit: Lit | null) => void;

export class Selection {
  private links: Links | null = null;
  private readonly listeners: Listener[] = [];
  lit: Lit | null = null;

  /** Called after the program is compiled again: nothing is selected. */
  open(report: Report): void {
    this.links = new Links(report);
    this.choose(null);
  }

  choose(chosen: Chosen | null): void {
    if (chosen === null && this.lit === null) return;
    this.lit = chosen === null ? null : (this.links?.light(chosen) ?? null);
    for (const listen of this.listeners) listen(this.lit);
  }

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }
}
