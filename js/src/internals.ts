// Functions and constants that other entry points of the package (sinter/logic, sinter/gguf, sinter/llm, sinter/onnx, ...)
// use besides the public ones. They import them through index.js alone, so that a page has every class and every function
// once.

export { asTensor } from './apply.js';
export { checkChoice, checkInteger, checkIntegers, checkNumber, isNumericArray, isPlainObject, shown, shownList } from './check.js';
export { evaluate } from './core.js';
export { isFloat } from './dtype.js';
export { ARRAYS, DTYPES } from './dtypes.gen.js';
export { damagedError, shapeText } from './errors.js';
export { asBytes, bytesOf, filled, fromBytes, makeBytes } from './io/elements.js';
export { nodeFiles, storageError } from './io/sources.js';
export { readOptions, type OptionSchema } from './options.js';
export { STORED } from './io/tensorfile.js';
export { BLOCK_KINDS } from './options.gen.js';
export { copyOf, type Program } from './program.js';
export { tracedGraph } from './tracedgraph.js';
export { checkShape } from './upload.js';
export { moduleSource } from './runtime/files.js';
export { nextTurn } from './runtime/turns.js';
