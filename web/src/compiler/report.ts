// The result of a compilation: the package's inspection as plain data that can be posted.

import type { InspectedKernel, Inspection, Stage, StageGraph, StageNode } from 'sinter';

export type { MemoryBlock, Stage, StageControl, StageEdge, StageGraph, StageNode } from 'sinter';

export type Rewrite = Stage['rewrites'][number];
export type Kernel = Omit<InspectedKernel, 'wat' | 'wgsl'>;

export interface Report extends Omit<Inspection, 'kernels' | 'prelude' | 'calls' | 'cSource' | 'jsSource' | 'dispose'> {
  kernels: Kernel[];
  /** For each call the lines of the program on its stack, innermost first. */
  lines: number[][];
}

/** The name of the last stage whose nodes are values; in it nodes know their kernels. */
export const GROUPS = 'groups';

/** Whether the program runs on the graphics processor. */
export const isForDevice = ({ kernels }: Report): boolean => kernels.some(({ engine }) => engine === 'wgsl');

/** The nodes of a graph, followed by those of its regions. */
export function allNodes({ nodes, regions }: StageGraph): StageNode[] {
  return regions.length === 0 ? nodes : [...nodes, ...regions.flatMap(allNodes)];
}
