export {
  multiHeadAttention,
  selfAttention,
  transformerBlock,
  type Decoder,
  type KeyValueCache,
  type MultiHeadAttentionOptions,
  type MultiHeadAttentionParams,
  type TransformerBlockOptions,
  type TransformerBlockParams,
} from './attention.js';
export { residual, sequential, type Composed } from './compose.js';
export { initializers, type Initializer, type InitializerName } from './initializers.js';
export {
  avgPool2d,
  conv1d,
  conv2d,
  convTranspose2d,
  depthwiseConv2d,
  dropout,
  embedding,
  flatten,
  geglu,
  gelu,
  linear,
  maxPool2d,
  relu,
  sigmoid,
  silu,
  swiglu,
  tanh,
  type Conv1dOptions,
  type Conv2dOptions,
  type ConvTranspose2dOptions,
  type DepthwiseConv2dOptions,
  type Embedding,
  type GatedParams,
  type LinearOptions,
  type LinearParams,
} from './layers.js';
export { batchNorm, groupNorm, layerNorm, rmsNorm, type BatchNormModuleOptions, type BatchNormState, type EpsOptions, type NormParams } from './norms.js';
export { gru, lstm, type GruParams, type LstmParams, type Recurrent, type RecurrentOptions } from './recurrent.js';
export type { AnyModule, ApplyOptions, Module, NoParams, StatefulModule } from './module.js';
export { summary, type Summary, type SummaryRow } from './summary.js';
