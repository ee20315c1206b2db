export { adam, adamw, type AdamOptions } from './adam.js';
export { clipByGlobalNorm } from './clip.js';
export { ema, groups, type EmaOptions, type Group } from './groups.js';
export { muon, type MuonOptions } from './muon.js';
export type { LearningRate, Optimizer, OptimizerState, PerOptimizer } from './optimizer.js';
export type { Match, UpdateOptions } from './rule.js';
export { adagrad, lion, rmsprop, type AdagradOptions, type LionOptions, type RmspropOptions } from './scaled.js';
export * as schedules from './schedules.js';
export { sgd, type SgdOptions } from './sgd.js';
