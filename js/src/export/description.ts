// What an exported module says of itself in its section "sinter", in JSON: written by index.ts, read by js/src/standalone.

/** The number of a tensor, an array or an object of trees, or the JSON of a value in a text; '' is undefined. */
export type LoaderTree = number | string | LoaderTree[] | { [key: string]: LoaderTree };

export type LoaderPlace = [address: number, dtype: string, shape: number[]];

/** Numbers are those of inputs and outputs. */
export interface Description {
  inputs: LoaderPlace[];
  outputs: LoaderPlace[];
  args: LoaderTree;
  result: LoaderTree;
  /** Of a training step: name, input and the output that takes its place. */
  state: [name: string, input: number, output: number][];
  /** Beside it: name and input. */
  weights: [name: string, input: number][];
}
