// sinter/llm: language models from GGUF files. It is an entry point of its own on top of the public functions of sinter and
// sinter/gguf, so pages that do not use it do not download it.

export { tokenizer, type DecodeTokensOptions, type EncodeTextOptions, type TextStream, type Tokenizer } from './tokenizer/tokenizer.js';
export { load, type ChatOptions, type EmbedOptions, type LoadOptions, type Model, type ModelInfo, type SaveModelOptions } from './model.js';
export type { ChatContext, ChatMessage, ChatTemplate } from './chat.js';
export type { Generated, GeneratedPart, GenerateOptions } from './generate.js';
export type { Lora, LoraLossOptions, LoraOptions, LoraParams } from './lora.js';
export type { SamplingOptions } from './sampling.js';
export type { WeightType } from './weights.js';
