export { softmaxCrossEntropy, type SoftmaxCrossEntropyOptions } from './crossentropy.js';
export { ctc, type CtcOptions } from './ctc.js';
export {
  binaryCrossEntropy,
  contrastive,
  cosine,
  hinge,
  huber,
  klDivergence,
  mae,
  mse,
  type ContrastiveOptions,
  type HuberOptions,
} from './elementwise.js';
export type { LossOptions, Reduction } from './reduction.js';
