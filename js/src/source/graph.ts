// The graph that source is written from, as the core exports it: sn_program_graph.

import { shapeText } from '../errors.js';

/** An op of docs/ops.md. Inputs are indices of earlier nodes. */
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
  /** Bodies and branches of control flow: graphs whose input nodes are numbered like the inputs of the node. */
  regions: Graph[];
}

/** A tensor with the same value everywhere. */
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

/** The axes in a bit mask. */
export const axesOf = (mask: number): number[] => Array.from({ length: 8 }, (_, i) => i).filter((i) => (mask >> i) & 1);

/** The shape that shapes broadcast to; null if they do not. */
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
