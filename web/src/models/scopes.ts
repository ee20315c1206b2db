// Draws the graph of a file. Each closed part of the model is one box with all its nodes. At first so many parts are closed
// that there are few boxes.

import { shorten, type Box, type Drawing, type Line } from '../compiler/graph/scene.ts';
import { count, plural, scaled } from '../views/format.ts';
import type { FileGraph, FileNode, NodeTime } from './protocol.ts';

/** The most boxes of the first view. */
const FIRST_LOOK = 60;
const MOST_DEPTH = 12;
/** A graph with more boxes is not drawn. */
export const MOST_BOXES = 6000;

export interface ShownBox {
  /** The part of the model that it stands for; '' for a single node. */
  part: string;
  nodes: number[];
}

export interface Shown {
  drawing: Drawing;
  boxes: ShownBox[];
}

/** The paths of the parts that contain a node, the largest first. */
function partsOf({ scopes }: FileNode): string[] {
  const parts: string[] = [];
  for (const scope of scopes) parts.push(parts.length === 0 ? scope : `${parts.at(-1)}/${scope}`);
  return parts;
}

function orderOf({ nodes, edges }: FileGraph): number[] {
  const read: number[][] = nodes.map(() => []);
  for (let e = 0; e < edges.length; e += 2) read[edges[e + 1]].push(edges[e]);
  const order: number[] = [];
  const placed = new Uint8Array(nodes.length);
  const place = (first: number): void => {
    const found: number[] = [];
    for (const pending = [first]; pending.length > 0; ) {
      const node = pending.pop() as number;
      if (placed[node]++ > 0) continue;
      found.push(node);
      for (const each of read[node]) if (nodes[each].constant) pending.push(each);
    }
    // A file lists nodes after the nodes that they read.
    order.push(...found.sort((a, b) => a - b));
  };
  nodes.forEach(({ constant }, node) => constant || place(node));
  nodes.forEach((_, node) => placed[node] > 0 || place(node));
  return order;
}

export class Scopes {
  readonly open = new Set<string>();
  private readonly parts: string[][];
  /** The nodes in drawing order: nodes that depend on weights only stand before their first reader. */
  private readonly order: number[];
  /** The rank of each op by how often it occurs, which selects its colour. */
  private readonly colour: Map<string, number>;

  constructor(readonly graph: FileGraph) {
    this.parts = graph.nodes.map(partsOf);
    this.order = orderOf(graph);
    const ops = new Map<string, number>();
    for (const { op } of graph.nodes) ops.set(op, (ops.get(op) ?? 0) + 1);
    this.colour = new Map([...ops].sort((a, b) => b[1] - a[1]).map(([op], i) => [op, i]));
    this.openFirst();
  }

  /** Opens level by level, as long as there are few boxes. */
  private openFirst(): void {
    for (let depth = 0; depth < MOST_DEPTH; depth++) {
      const next = new Set(this.parts.flatMap((parts) => (parts.length > depth ? [parts[depth]] : [])));
      if (next.size === 0) return;
      for (const part of next) this.open.add(part);
      if (this.count <= FIRST_LOOK) continue;
      for (const part of next) this.open.delete(part);
      return;
    }
  }

  openAll(): void {
    for (const part of this.parts.flat()) this.open.add(part);
  }

  /** Opens a part by one level. If one inner part makes up all of it, opens that too. */
  openPart(part: string): void {
    const before = this.count;
    for (let name: string | undefined = part; name !== undefined; ) {
      this.open.add(name);
      if (this.count > before) return;
      const within: string = `${name}/`;
      name = this.parts.flat().find((each) => each.startsWith(within) && !this.open.has(each));
    }
  }

  /** Closes the innermost open part that contains the node, with all parts in it. */
  closeAround(node: number): void {
    const around = this.parts[node].filter((part) => this.open.has(part)).at(-1);
    if (around !== undefined) for (const part of [...this.open]) if (part === around || part.startsWith(`${around}/`)) this.open.delete(part);
  }

  isInside(node: number): boolean {
    return this.parts[node].some((part) => this.open.has(part));
  }

  private closedPart(node: number): string {
    return this.parts[node].find((part) => !this.open.has(part)) ?? '';
  }

  get count(): number {
    const parts = new Set<string>();
    let single = 0;
    this.parts.forEach((_, node) => {
      const part = this.closedPart(node);
      if (part === '') single++;
      else parts.add(part);
    });
    return parts.size + single;
  }

  draw(times: ReadonlyMap<number, NodeTime> | null): Shown {
    const { nodes, edges } = this.graph;
    const boxOf = new Uint32Array(nodes.length);
    const boxes: ShownBox[] = [];
    const byPart = new Map<string, number>();
    this.order.forEach((node) => {
      const part = this.closedPart(node);
      const known = part === '' ? undefined : byPart.get(part);
      if (known === undefined) {
        if (part !== '') byPart.set(part, boxes.length);
        boxOf[node] = boxes.push({ part, nodes: [node] }) - 1;
      } else {
        boxes[known].nodes.push(node);
        boxOf[node] = known;
      }
    });
    const lines = new Map<number, Line>();
    for (let e = 0; e < edges.length; e += 2) {
      const [from, to] = [boxOf[edges[e]], boxOf[edges[e + 1]]];
      // Two parts may read each other, but the layout needs a graph without cycles.
      if (from < to) lines.set(from * boxes.length + to, { from, to, cut: false, saved: false });
    }
    const total = times === null ? 0 : [...times.values()].reduce((sum, { ms }) => sum + ms, 0);
    const drawn = boxes.map((box, i) => this.box(box, i, times, total));
    return { drawing: { boxes: drawn, lines: [...lines.values()], of: 'nodes' }, boxes };
  }

  private box({ part, nodes }: ShownBox, id: number, times: ReadonlyMap<number, NodeTime> | null, total: number): Box {
    const own = nodes.map((node) => this.graph.nodes[node]);
    const isSingle = part === '' || nodes.length === 1;
    const ms = times === null ? 0 : nodes.reduce((sum, node) => sum + (times.get(node)?.ms ?? 0), 0);
    const share = total > 0 ? `${((100 * ms) / total).toFixed(1)} %` : '';
    const about = isSingle ? (times?.get(nodes[0])?.shape ?? own[0].name) : plural(nodes.length, 'node');
    return {
      id,
      graph: null,
      node: null,
      // The last name alone is often the same in all blocks.
      title: isSingle ? own[0].op : part.split('/').slice(-2).join('/'),
      subtitle: [shorten(about), share].filter((text) => text !== '').join(' · '),
      kernel: isSingle ? (this.colour.get(own[0].op) ?? 0) : null,
      mark: 'none',
      derivative: false,
      end: false,
      given: '',
      inside: [],
    };
  }

  /** Describes a box in a sentence. */
  describe({ part, nodes }: ShownBox, times: ReadonlyMap<number, NodeTime> | null): string {
    const own = nodes.map((node) => this.graph.nodes[node]);
    const parameters = own.reduce((sum, each) => sum + each.parameters, 0);
    const ms = times === null ? null : nodes.reduce((sum, node) => sum + (times.get(node)?.ms ?? 0), 0);
    const weights = parameters === 0 ? '' : `, ${parameters < 100_000 ? count(parameters) : scaled(parameters)} weights`;
    const took = ms === null ? '' : `, ${ms.toFixed(3)} ms`;
    if (nodes.length === 1) {
      const shape = times?.get(nodes[0])?.shape;
      return `${own[0].op}${own[0].name && ` ${own[0].name}`}${shape === undefined ? '' : `: ${shape}`}${weights}${took}`;
    }
    return `${part}: ${plural(nodes.length, 'node')}${weights}${took}`;
  }
}
