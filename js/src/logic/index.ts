// sinter/logic: circuits that learn, and rules as tensors. It is an entry point of its own on top of the public functions of
// sinter, so pages that do not use it do not download it.

export { COEFFICIENTS, NAMES } from './gates16.js';
export {
  program,
  type Explained,
  type ForwardOptions,
  type InspectedRules,
  type ProgramOptions,
  type RuleProgram,
  type RuleRound,
  type Solved,
  type SolveOptions,
} from './rules/program.js';
export type { Explanation } from './rules/explain.js';
export type { InspectedJoin, InspectedRule } from './rules/inspection.js';
export type { Domain, Relation, Semantics } from './rules/check.js';
export type { Member, Rows } from './rules/facts.js';
export { ruleExamples, type RuleExample } from './rules/examples.js';
export { RuleError, type Place } from './rules/syntax.js';
export {
  gates,
  type Gate,
  type GateCoefficients,
  type GateForm,
  type GateParams,
  type Gates,
  type GatesOptions,
  type HardOptions,
} from './gates.js';
export { network, type Network, type NetworkOptions } from './network.js';
export {
  automaton,
  type AccuracyOptions,
  type Automaton,
  type AutomatonOptions,
  type AutomatonParams,
  type AutomatonState,
  type Boundary,
  type Perception,
  type Progress,
  type RunOptions,
} from './automaton.js';
export * as tasks from './tasks.js';
export { extract, rawCircuit, type AutomatonFacts, type ExtractOptions, type RawCircuit } from './extract.js';
export { prune, type PruneOptions } from './prune.js';
export { circuit, circuitOf, type Circuit, type CircuitData, type CircuitJson, type CircuitOptions } from './circuit/circuit.js';
export type { Evaluator } from './circuit/evaluate.js';
export type { GridOptions, GridRunOptions, Runner } from './circuit/run.js';
