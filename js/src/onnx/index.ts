// sinter/onnx: models of ONNX files, that run, that can be trained, and that go back to the file. An entry point of its own,
// made of the public functions of sinter; a page that does not use it does not download it.

import { OPS } from './ops/table.js';

export { exportFunction as export } from './export.js';
export { load, type Input, type LoadOptions, type Model, type NodeRun, type Output, type Params, type Port, type RunOptions, type Texts } from './load.js';
export { resize, type ResizeOptions } from './resize.js';
export { read, type OnnxFile, type OnnxNode, type OnnxWeight } from './read.js';
export type { External } from './tensors.js';

/** The names of the ops that models may have; those of other domains than ONNX's own with the domain in front. */
export const ops: readonly string[] = Object.freeze(Object.keys(OPS).sort());
