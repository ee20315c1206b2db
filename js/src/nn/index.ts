export {
  avgPool2d,
  conv2d,
  embedding,
  flatten,
  gelu,
  layerNorm,
  linear,
  maxPool2d,
  relu,
  residual,
  selfAttention,
  sequential,
  sigmoid,
  tanh,
  type Conv2dOptions,
  type LinearOptions,
  type LinearParams,
  type NormParams,
} from './layers.js';
export { gru, lstm, type GruParams, type LstmParams, type Recurrent, type RecurrentOptions } from './recurrent.js';
export type { Module, NoParams } from './module.js';
