// sinter/gguf: the file format of llama.cpp, read without copying, and written. It is an entry point of its own, so pages that
// do not use it do not download it.

export { dequantize, read, type GgufFile } from './file.js';
export { stream, type ArrivedData, type GgufStream } from './stream.js';
export type { GgufHeader, GgufTensor } from './header.js';
export type { KindName } from './kinds.js';
export type { GgufMetadata, MetadataType, MetadataValue } from './metadata.js';
export { quantize, write, type GgufData, type GgufWriteOptions } from './write.js';
