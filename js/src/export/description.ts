// The description of an exported module, JSON in its section "sinter": written by index.ts, read by js/src/standalone.

/** A tree: the number of a tensor, an array or an object of trees, or the JSON text of a static value, where '' is
 *  undefined. */
export type LoaderTree = number | string | LoaderTree[] | { [key: string]: LoaderTree };

export type LoaderPlace = [address: number, dtype: string, shape: number[]];

/** Numbers are indices of inputs and outputs. */
export interface Description {
  inputs: LoaderPlace[];
  outputs: LoaderPlace[];
  args: LoaderTree;
  result: LoaderTree;
  /** For each tensor of a training step's state: its name, its input, and the output that takes its place. */
  state: [name: string, input: number, output: number][];
  /** For each value in the weights' file beside the module: its name and its input. */
  weights: [name: string, input: number][];
}
