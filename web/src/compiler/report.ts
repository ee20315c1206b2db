// The result of a compilation: the package's inspection as plain data, so that it can be posted.

import type { InspectedKernel, Inspection, Stage, StageGraph, StageNode } from 'sinter';

export type { MemoryBlock, Stage, StageControl, StageEdge, StageGraph, StageNode } from 'sinter';

export type Rewrite = Stage['rewrites'][number];
export type Kernel = Omit<InspectedKernel, 'wat' | 'wgsl'>;

export interface Report extends Omit<Inspection, 'kernels' | 'prelude' | 'calls' | 'cSource' | 'jsSource' | 'dispose'> {
  kernels: Kernel[];
  /** Of each call the lines of the program on its stack, innermost first. */
  lines: number[][];
}

/** The last stage whose nodes are values, and the one in which they know their kernels. */
export const GROUPS = 'groups';

/** Whether shaders run it. */
export const isForDevice = ({ kernels }: Report): boolean => kernels.some(({ engine }) => engine === 'wgsl');

/** The nodes of a graph, then those of its regions. */
export function allNodes({ nodes, regions }: StageGraph): StageNode[] {
  return regions.length === 0 ? nodes : [...nodes, ...regions.flatMap(allNodes)];
}
