// What a compile tells: the shape in which the page draws it. Plain data, so it can be posted.

export interface GraphNode {
  /** Its name within the stage. */
  id: number;
  op: string;
  dtype: string;
  shape: readonly number[];
  /** Attributes: axes, a permutation, the value of a constant; '' for none. */
  detail: string;
  /** The kernel that computes it; null before there are kernels and for what needs none. */
  kernel: number | null;
}

export interface GraphEdge {
  from: number;
  to: number;
}

/** The graph after one stage. */
export interface Stage {
  name: string;
  text: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** Results of the program, in order. */
  outputs: number[];
}

/** Two groups that stayed apart, and why. */
export interface Cut {
  /** The group whose result is read, and the one that reads it; null where it has no kernel. */
  from: number | null;
  to: number | null;
  reason: string;
}

export interface Kernel {
  id: number;
  kind: string;
  name: string;
  text: string;
  flops: number;
  bytes: number;
  cuts: Cut[];
}

export interface Block {
  name: string;
  /** What it holds, for people. */
  value: string;
  /** Place in the arena, in bytes; null for arguments and results, which live outside it. */
  offset: number | null;
  bytes: number;
  /** The first and the last step that use it. */
  first: number;
  last: number;
}

export interface Memory {
  arenaBytes: number;
  naiveBytes: number;
  blocks: Block[];
}

export interface Report {
  stages: Stage[];
  kernels: Kernel[];
  memory: Memory;
  flops: number;
  bytes: number;
  /** Trace to program, ms. */
  compileMs: number;
}
