// What a function computes as a graph, for entry points that write it in another form.

import { asTensor } from './apply.js';
import { bytesOf } from './io/elements.js';
import { compile } from './jit.js';
import { parameterNames } from './origin.js';
import { flatten, tensorNames } from './pytree.js';
import { tidy } from './scope.js';
import type { DType } from './dtype.js';
import type { Graph } from './source/graph.js';
import type { Meta } from './tensor.js';

export interface TracedGraph {
  graph: Graph;
  /** The tensors of the arguments, in the order of the graph's inputs, each with its path: 'params.w'. */
  inputs: { name: string; meta: Meta }[];
  /** The paths of the tensors in the result. */
  results: string[];
  /** The tensors that the function captured: further arguments of the graph, after those of inputs. */
  captured: { dtype: DType; shape: readonly number[]; bytes: Uint8Array }[];
}

/** The graph of f for arguments like these. Nothing is run but what captured tensors need. */
export const tracedGraph = (op: string, f: (...args: never) => unknown, args: readonly unknown[]): TracedGraph =>
  tidy(() => {
    const flat = flatten(args, op, (array) => asTensor(array, op));
    const options = { donate: flat.tensors.map(() => false), record: true };
    const { program, result } = compile(op, (list) => f(...(list as never)), flat, options);
    try {
      const names = parameterNames(f, args.length);
      const list = flat.shape.kind === 'array' ? flat.shape.items : [];
      const places = list.flatMap((each, i) => tensorNames(each, (path) => `${names[i] ?? 'x'}${path}`));
      return {
        graph: program.graph(),
        inputs: places.map((name, i) => ({ name, meta: flat.tensors[i]!.meta })),
        results: tensorNames(result),
        captured: program.captured().map((t) => ({ dtype: t.dtype, shape: t.shape, bytes: bytesOf(t, op).slice() })),
      };
    } finally {
      program.release();
    }
  });
