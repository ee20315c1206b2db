// sinter/llm: language models from GGUF files. An entry point of its own, made of the public functions of sinter and
// sinter/gguf; a page that does not use it does not download it.

export { tokenizer, type DecodeTokensOptions, type EncodeTextOptions, type TextStream, type Tokenizer } from './tokenizer/tokenizer.js';
