export { adam, type AdamOptions } from './adam.js';
export { clipByGlobalNorm } from './clip.js';
export { sgd, type SgdOptions } from './sgd.js';
export type { LearningRate, Optimizer, OptimizerState } from './optimizer.js';
