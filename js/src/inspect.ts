// inspect(f): compiles f as jit does, with everything the compiler did on record: the graph after every
// stage, the kernels and why they stayed apart, the plan of their memory, and the program as C.
//
// The core writes one JSON text while it compiles a program on record; programs that are only run carry
// none. The types below are that text's form, but for the functions.

import { asTensor } from './apply.js';
import { recordingCalls, type SourcePlace } from './calls.js';
import { checkFunction } from './check.js';
import { readOptions } from './options.js';
import { compile } from './jit.js';
import { jsSource } from './jssource.js';
import { COMPILE, type CompileOptions, type Program, type ProgramPart } from './program.js';
import { flatten } from './pytree.js';
import { tidy } from './scope.js';
import type { Tuning } from './tune.js';

/** A value of the graph. */
export interface StageNode {
  /** Its name within the stage: %id in the text. */
  id: number;
  op: string;
  dtype: string;
  shape: number[];
  /** Axes, a permutation, the value of a constant; '' for none. */
  attrs: string;
  /** The kernel that computes it; null before there are kernels, for what needs none, and in regions. */
  group: number | null;
  /** The call that made it, or whose derivative it is: an index of Inspection.calls. */
  call?: number;
  /** A derivative made it. */
  derivative?: true;
  /** A derivative makes it again, instead of keeping what the function had made. */
  again?: true;
  /** Of scan, while_loop, cond and functions: the regions that it runs. */
  control?: StageControl;
}

/** How a node runs regions: graphs with arguments, such as the body of a loop. */
export interface StageControl {
  /** Argument k of a region is given by input first + k of the node. */
  first: number;
  /** How many arguments, from the first on, are carried from round to round, and how many are then slices of stacks; the
   *  others are the same in every round. Results are carries, then slices. */
  carries: number;
  stacks: number;
  /** For a scan: its number of rounds, and whether the first round has the last slices. */
  rounds?: number;
  backwards?: boolean;
  /** The regions that the node runs: their roles, e.g. 'body', and their numbers among the regions of the graph that it
   *  is in. */
  regions: { name: string; number: number }[];
}

/** An input of a node, by the ids of the node that is read and of the one that reads it. */
export interface StageEdge {
  from: number;
  to: number;
  /** 'fused', or why the value goes through memory; '' before there are kernels. */
  reason: string;
  /** In stage 'groups', where a kernel reads what another one computed. */
  cut?: true;
}

export interface StageGraph {
  nodes: StageNode[];
  edges: StageEdge[];
  /** The ids of the results, in order. */
  outputs: number[];
  /** The graphs that its nodes of control flow run. In them an op 'input' is the argument whose number is its attrs. */
  regions: StageRegion[];
}

export interface StageRegion extends StageGraph {
  number: number;
}

/** The graph after one stage of compiling. From 'plan' on its nodes are the kernels. */
export interface Stage extends StageGraph {
  name: string;
  /** The graph with one value a line; in later stages its kernels, buffers or strip programs. */
  text: string;
  /** The graph for Graphviz. */
  dot: string;
  /**
   * The rewrites that its rules made, in order: each put a value of this graph, `to`, in the place of `from`, a value of
   * the stage before. Rewrites within regions are not listed, and stages without rules have none.
   */
  rewrites: { rule: string; from: number; to: number }[];
  /** Milliseconds that the stage took. */
  compileMs: number;
}

/** Two values, by their ids in stage 'groups', in different kernels that could have been in one, and why they are not. */
export interface Cut {
  from: number;
  to: number;
  reason: string;
}

export interface InspectedKernel {
  id: number;
  /** 'map', 'scalar', 'reduce', 'row', 'contraction', 'chain' or 'call'. */
  kind: string;
  /** The ops in it, e.g. 'matmul+add+relu'. */
  name: string;
  /** Its loop nest: index space, phases, what is loaded, computed and stored. */
  text: string;
  /** How its work is cut into units, and the strip program that runs where there is no emitted code. */
  code: string;
  /** What runs it: 'vm' (strip interpreter), 'jit' (emitted code), 'ready' (compiled code of the core); 'wgsl' on a
   *  graphics processor. */
  engine: string;
  /** Shaders that one run starts on a graphics processor; a loop that tests counts as one round. 0 on the CPU. */
  dispatches: number;
  /** Operations on floats, and bytes read and written, in one run. */
  flops: number;
  bytes: number;
  /** The id of the kernel that it repeats to keep within the memory budget; null for nearly all. */
  again: number | null;
  /** The part of its flops that computes values again which a derivative needs and a checkpoint did not keep. */
  flopsAgain: number;
  /** The values that it computes: ids of nodes in stage 'groups'. */
  nodes: number[];
  /** Why its inputs were not computed within it. */
  cuts: Cut[];
  /** The buffers that it reads and writes, by their `value` in memory.blocks. */
  reads: number[];
  writes: number[];
  /** The WebAssembly emitted for it as text; a comment that says why where there is none. */
  wat(): string;
  /** Its shaders as WGSL, with what they bind; a comment where it runs on the CPU. */
  wgsl(): string;
}

/** A buffer of the program. */
export interface MemoryBlock {
  /** Its number: b0, b1 ... in the texts. */
  value: number;
  /** The value it holds: %node of the prepared graph. */
  node: number;
  dtype: string;
  shape: number[];
  /** Place in the arena in bytes; null for what lies outside of it. */
  offset: number | null;
  bytes: number;
  /** The id of the kernel that writes it first; null if none does. */
  kernel: number | null;
  /** The ids of the first and the last kernel between which it is in use. */
  first: number;
  last: number;
  /** 'donated': a result in the memory of an argument. */
  kind: 'argument' | 'donated' | 'output' | 'arena';
}

export interface InspectedMemory {
  /** Bytes of all intermediates, and what a library that runs op by op would take for them. */
  arenaBytes: number;
  naiveBytes: number;
  /** What keeping within memoryBudget takes and brings; null where there is none. */
  budget: InspectedBudget | null;
  /** What derivatives compute again instead of keeping it: bodies of checkpoints, branches of conditions; null if nothing. */
  again: InspectedAgain | null;
  blocks: MemoryBlock[];
}

export interface InspectedBudget {
  /** The budget in bytes. */
  bytes: number;
  /** Bytes by which the arena is smaller than without the budget. */
  savedBytes: number;
  /** How many kernels run again, and their work in one run: the price. */
  kernelsAgain: number;
  flopsAgain: number;
  bytesAgain: number;
}

/** What derivatives compute again. If nothing reads the results of a checkpoint, its body is computed for the derivative
 *  alone. */
export interface InspectedAgain {
  /** Computed values that are kept to compute others from, e.g. the arguments of checkpoints: their number, and their
   *  bytes in all rounds of a loop. */
  keptValues: number;
  keptBytes: number;
  /** Bytes, in all rounds of a loop, of the values computed again that derivatives read: otherwise they would be kept. */
  droppedBytes: number;
  /** The operations in one run that compute values again: the price. Each kernel has its part as flopsAgain. */
  flops: number;
}

/** A part of a program: what runs in every call, or the prelude. */
export interface InspectedPart {
  stages: Stage[];
  kernels: InspectedKernel[];
  memory: InspectedMemory;
  /** Nodes of the graph after all passes. */
  nodes: number;
  /** Operations on floats, and bytes read and written, in one run. */
  flops: number;
  bytes: number;
}

export interface Inspection extends InspectedPart {
  /** The part that depends on captured tensors alone: it runs at the first call, and its results are kept. Null if there
   *  is none. */
  prelude: InspectedPart | null;
  /**
   * For each call that made nodes: the places on its stack that are outside of this package, innermost first.
   */
  calls: SourcePlace[][];
  /**
   * With option tune: what tuning has kept for this program, in the form of it that is shown, and what it tried, with times
   * also for what was not kept. Null without the option, and until this function is tuned here, by tune or by calls of jit
   * with { tune: true }. Calls of a training step run a program of their own, which takes the learning rate as an input:
   * step.tuning reports on that one, and tune(step) tunes what inspect(step) shows.
   */
  tuning: Tuning | null;
  /** Milliseconds of tracing and all stages, including the work of recording them. */
  compileMs: number;
  /**
   * The whole program as standalone C11, one function per kernel. name: of the function to call. Tensors that f captured
   * are its arguments after those of f, the learning rate of a training step among them; a comment says what each is.
   */
  cSource(name?: string): string;
  /**
   * What f computes, as a JavaScript module over this package, with one line for each value and its type. It has the names
   * of f's arguments, and writes loops, checkpoints and functions with derivatives of their own as such. It computes the
   * same bits. name: of the function in it. Outside of Node, `import 'sinter/source'` first: it loads the code that writes
   * the module.
   */
  jsSource(name?: string): string;
  /** Releases the program; wat, wgsl, cSource and jsSource then fail. Without it that happens some time after the last use. */
  dispose(): void;
}

/** The JSON that the core writes. */
type Recorded = Omit<InspectedPart, 'kernels' | 'memory'> & {
  kernels: Omit<InspectedKernel, 'wat' | 'wgsl' | 'nodes' | 'cuts'>[];
  memory: Omit<InspectedMemory, 'blocks'> & { blocks: Omit<MemoryBlock, 'kernel'>[] };
};

function readPart(program: Program, part: ProgramPart): InspectedPart {
  const { kernels, memory, ...recorded } = JSON.parse(program.inspection(part)) as Recorded;
  const groups = recorded.stages.find(({ name }) => name === 'groups')!;
  const cuts: Cut[][] = kernels.map(() => []);
  for (const edge of groups.edges) if (edge.cut) cuts[groups.nodes[edge.to]!.group!]!.push(edge);
  const nodes: number[][] = kernels.map(() => []);
  for (const { id, group } of groups.nodes) if (group !== null) nodes[group]!.push(id);
  const writers = new Map([...kernels].reverse().flatMap(({ id, writes }) => writes.map((value) => [value, id])));
  const blocks = memory.blocks.map((block) => ({ ...block, kernel: writers.get(block.value) ?? null }));
  return {
    ...recorded,
    memory: { ...memory, blocks },
    kernels: kernels.map((kernel) => ({
      ...kernel,
      nodes: nodes[kernel.id]!,
      cuts: cuts[kernel.id]!,
      wat: () => (kernel.engine === 'wgsl' ? ';; it runs on a graphics processor\n' : program.listing(kernel.id, part)),
      wgsl: () => (kernel.engine === 'wgsl' ? program.listing(kernel.id, part) : '// it runs on the CPU\n'),
    })),
  };
}

const collected = new FinalizationRegistry<Program>((program) => program.release());

/** inspect(f)(...args) shows how f compiles for these arguments. Nothing is run. */
export function inspect<A extends readonly unknown[]>(
  f: (...args: A) => unknown,
  given?: CompileOptions,
): (...args: A) => Inspection {
  checkFunction('inspect', f, 'inspect(f)(...args) compiles f for the arguments');
  const options = readOptions('inspect', given, COMPILE);
  return (...args) => tidy(() => {
    const flat = flatten(args, 'inspect', (array) => asTensor(array, 'inspect'));
    const begin = performance.now();
    const [{ program, result }, calls] = recordingCalls(() =>
      compile('inspect', (list) => f(...(list as unknown as A)), flat, {
        ...options,
        donate: flat.tensors.map(() => false),
        record: true,
      }),
    );
    const compileMs = performance.now() - begin;
    const inspection: Inspection = {
      ...readPart(program, 'program'),
      prelude: program.hasPrelude ? readPart(program, 'prelude') : null,
      calls: calls(),
      tuning: JSON.parse(program.tuning() ?? 'null') as Tuning | null,
      compileMs,
      cSource: (name = 'program') => program.cSource(name),
      jsSource: (name = 'program') => tidy(() => jsSource(program, f, flat.shape, result, name)),
      dispose: () => program.release(),
    };
    collected.register(inspection, program);
    return inspection;
  });
}
