// What a compile tells: an inspection of the package as plain data, so that it can be posted.

export interface GraphNode {
  /** Its name within the stage: %id in the text. */
  id: number;
  op: string;
  dtype: string;
  shape: number[];
  /** Axes, a permutation, the value of a constant; '' for none. */
  attrs: string;
  /** The kernel that computes it; null before there are kernels, and for what needs none. */
  group: number | null;
}

export interface GraphEdge {
  from: number;
  to: number;
  /** 'fused', or why the value goes through memory; '' before there are kernels. */
  reason: string;
}

export interface Stage {
  name: string;
  text: string;
  compileMs: number;
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** Results of the program, in order. */
  outputs: number[];
}

/** Two values in different kernels that could have been in one. */
export interface Cut {
  from: number;
  to: number;
  reason: string;
}

export interface Kernel {
  id: number;
  kind: string;
  name: string;
  /** Its loop nest. */
  text: string;
  /** The strip program that runs where there is no emitted code. */
  code: string;
  /** What runs it: 'vm', 'jit' or 'ready'. */
  engine: string;
  flops: number;
  bytes: number;
  /** Why its inputs were not computed in it. */
  cuts: Cut[];
}

export interface Block {
  /** Its number: b0, b1 ... in the texts. */
  value: number;
  /** The value it holds: %node. */
  node: number;
  dtype: string;
  shape: number[];
  /** Place in the arena in bytes; null for what lies outside of it. */
  offset: number | null;
  bytes: number;
  /** The kernels between which it is in use. */
  first: number;
  last: number;
}

export interface Report {
  stages: Stage[];
  kernels: Kernel[];
  memory: { arenaBytes: number; naiveBytes: number; blocks: Block[] };
  flops: number;
  bytes: number;
  compileMs: number;
}

/** The stage in which nodes know their kernels; the ones after it have other nodes. */
export const GROUPS = 'groups';

export const isCut = ({ reason }: GraphEdge): boolean => reason !== '' && reason !== 'fused';
