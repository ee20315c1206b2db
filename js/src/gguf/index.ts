// sinter/gguf: the format of llama.cpp, read without copying and written. An entry point of its own; a page that does not
// use it does not download it.

export { dequantize, read, type GgufFile } from './file.js';
export { stream, type ArrivedData, type GgufStream } from './stream.js';
export type { GgufHeader, GgufTensor } from './header.js';
export type { KindName } from './kinds.js';
export type { GgufMetadata, MetadataType, MetadataValue } from './metadata.js';
export { quantize, write, type GgufData, type GgufWriteOptions } from './write.js';
