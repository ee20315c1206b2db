// sinter/onnx: models from ONNX files that can be run, trained, and saved into the file again. It is an entry point of its own
// on top of the public functions of sinter, so pages that do not use it do not download it.

import { OPS } from './ops/table.js';

export { exportFunction as export } from './export.js';
export { load, type Input, type LoadOptions, type Model, type NodeRun, type Output, type Params, type Port, type RunOptions, type Texts } from './load.js';
export { resize, type ResizeOptions } from './resize.js';
export { read, type OnnxFile, type OnnxNode, type OnnxWeight } from './read.js';
export type { External } from './tensors.js';

/** The names of all supported ops; those outside ONNX's own domain start with their domain. */
export const ops: readonly string[] = Object.freeze(Object.keys(OPS).sort());
