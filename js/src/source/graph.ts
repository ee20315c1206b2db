// The graph that source is written from, as the core gives it: sn_program_graph.

import { shapeText } from '../errors.js';

/** An op of docs/ops.md; inputs are earlier nodes. */
export interface GraphNode {
  op: string;
  dtype: string;
  shape: number[];
  attrs: Record<string, number | string | number[]>;
  inputs: number[];
}

export interface Graph {
  nodes: GraphNode[];
  outputs: number[];
  /** Bodies and branches: graphs themselves, whose input nodes have a number for each input of the control flow. */
  regions: Graph[];
}

/** One value everywhere. */
export interface Constant {
  value: number;
  dtype: string;
  shape: readonly number[];
}

export const numberAttr = (node: GraphNode, name: string): number => Number(node.attrs[name]);
export const listAttr = (node: GraphNode, name: string): number[] => node.attrs[name] as number[];

export const typeText = ({ dtype, shape }: { dtype: string; shape: readonly number[] }): string => `${dtype} ${shapeText(shape)}`;

export const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((dim, i) => dim === b[i]);

/** Axes of a mask of bits. */
export const axesOf = (mask: number): number[] => Array.from({ length: 8 }, (_, i) => i).filter((i) => (mask >> i) & 1);

/** What shapes broadcast to; null: they do not. */
export function broadcastShape(shapes: readonly (readonly number[])[]): number[] | null {
  const rank = Math.max(0, ...shapes.map((shape) => shape.length));
  const out = new Array<number>(rank).fill(1);
  for (const shape of shapes)
    for (const [i, dim] of shape.entries()) {
      const at = rank - shape.length + i;
      if (dim === 1) continue;
      if (out[at] !== 1 && out[at] !== dim) return null;
      out[at] = dim;
    }
  return out;
}
