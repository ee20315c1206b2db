// sinter/logic: circuits that learn, and rules that are tensors. An entry point of its own, made of the public functions
// of sinter; a page that does not use it does not download it.

export { COEFFICIENTS, NAMES } from './gates16.js';
export { program, type ForwardOptions, type ProgramOptions, type RuleProgram, type Solved } from './rules/program.js';
export type { Semantics } from './rules/check.js';
export type { Member, Rows } from './rules/facts.js';
export { RuleError, type Place } from './rules/syntax.js';
