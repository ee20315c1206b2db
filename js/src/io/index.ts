// sn.io: tensors and training states as files. Every function takes or gives bytes; those that read untrusted bytes check
// all that the format says before they make a tensor.

export * as safetensors from './safetensors.js';
export * as npy from './npy.js';
export * as npz from './npz.js';
export { loadState, saveState, type LoadStateOptions, type StateReport } from './state.js';
export { snapshot } from './snapshot.js';
export { openSlots, type Slots } from './slots.js';
export { read, write, type ByteSource, type ReadOptions } from './sources.js';
export type { DecodeOptions } from './elements.js';
