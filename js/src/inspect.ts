// inspect(f): compiles f as jit does and shows what became of it.

import { passes, setDebug } from './core.js';
import { compile } from './jit.js';
import { flatten } from './pytree.js';
import { quietly } from './runtime/host.js';

export interface Stage {
  name: string;
  /** The graph after this stage. */
  text: string;
}

export interface Inspection {
  stages: Stage[];
  /** Nodes of the graph after all passes. */
  nodes: number;
  /** Kernels of one run. */
  kernels: number;
  flops: number;
  bytes: number;
  memory: { arenaBytes: number; naiveBytes: number };
}

/** At this level of debug output the core keeps the text of every stage. */
const RECORDING = 5;

/** inspect(f)(...args): the stages of compiling f for these arguments. Nothing is run. */
export function inspect<A extends readonly unknown[]>(
  f: (...args: A) => unknown,
): (...args: A) => Inspection {
  return (...args) => {
    const { tensors, shape } = flatten(args);
    const notDonated = tensors.map(() => false);
    setDebug(RECORDING);
    try {
      const { program } = quietly(() =>
        compile((list) => f(...(list as unknown as A)), tensors, shape, notDonated),
      );
      const { nodes, kernels, flops, bytes, arenaBytes, naiveBytes } = program.describe();
      const stages = ['trace', ...passes(), 'groups', 'plan']
        .map((name) => ({ name, text: program.text(name) }))
        .filter(({ text }) => text !== '');
      program.release();
      return { stages, nodes, kernels, flops, bytes, memory: { arenaBytes, naiveBytes } };
    } finally {
      setDebug(0);
    }
  };
}
