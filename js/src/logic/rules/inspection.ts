// Inspects each rule: its chain of einsums, how each is computed, over how many points, and how long it takes on the tensors
// derived so far; also the kernels of the rule's program.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import { SUMS, type Algebra } from './algebras.js';
import type { Clause, Definition, Domain, Entry, Formula } from './check.js';
import { conditionValue, joinValues, project, readEntry, type Value } from './dense.js';
import { planProduct } from './formulas.js';
import { planClause, specOf, type JoinPlan } from './joins.js';
import { Bits, Evaluation, type FactForms, type Layouts } from './packed.js';
import type { Tensors } from './fixpoint.js';
import { shownName } from './syntax.js';

export interface InspectedJoin {
  /** The einsum over the variables of the rule: 'Parent[x,y] Ancestor[y,z] -> [x,z]'. */
  readonly text: string;
  /** The same with letters for variables: 'ab,bc->ac'. */
  readonly spec: string;
  /** The number of members of each variable involved. */
  readonly sizes: Readonly<Record<string, number>>;
  /** 'facts': rows of bits combined per fact; 'bits': operations on words; 'tensors': an einsum, or and/min of whole
   *  tensors. */
  readonly on: 'facts' | 'bits' | 'tensors';
  readonly ms: number;
}

export interface InspectedRule {
  readonly number: number;
  readonly line: number;
  readonly text: string;
  readonly joins: readonly InspectedJoin[];
  /** The kernels of one round of the rule. */
  readonly kernels: readonly Pick<sn.InspectedKernel, 'name' | 'kind' | 'engine' | 'flops' | 'bytes'>[];
  /** Duration of one round of the rule. */
  readonly ms: number;
}

/** What is needed to inspect rules. */
export interface InspectionContext {
  readonly algebra: Algebra;
  readonly known: Tensors;
  readonly layouts: Layouts;
  readonly forms: FactForms;
  readonly derive: (definition: Definition, known: Tensors) => Tensor;
}

const RUNS = 5;

/** The shortest of several run times of a function of tensors, in milliseconds. */
function timeOf(f: (inputs: Tensors) => Tensor, inputs: Tensors): number {
  const run = sn.jit(f);
  let best = Infinity;
  for (let i = 0; i < RUNS; i++) {
    const begin = performance.now();
    sn.tidy(() => sn.eval(run(inputs)));
    best = Math.min(best, performance.now() - begin);
  }
  run.dispose();
  return best;
}

const bracketed = (labels: readonly string[]): string => `[${labels.map((label) => shownName(label)).join(',')}]`;

interface Operand {
  readonly name: string;
  readonly bits: Bits;
}

type Joined = (a: Bits, b: Bits, labels: readonly string[]) => Bits;

/** Runs a plan, and inspects each join separately. */
function lookAtJoins(plan: JoinPlan, operands: readonly Operand[], joined: Joined, domains: ReadonlyMap<string, Domain>): InspectedJoin[] {
  const values = [...operands];
  return plan.joins.map(({ left, right, labels }) => {
    const [a, b] = [values[left]!, values[right]!];
    const bits = joined(a.bits, b.bits, labels);
    values.push({ name: '', bits });
    const all = [...new Set([...a.bits.labels, ...b.bits.labels])];
    const inputs = { ...a.bits.forms('a'), ...b.bits.forms('b') };
    const again = (given: Tensors): Tensor => joined(Bits.from(a.bits, given, 'a'), Bits.from(b.bits, given, 'b'), labels).any;
    return {
      text: `${a.name}${bracketed(a.bits.labels)} ${b.name}${bracketed(b.bits.labels)} -> ${bracketed(labels)}`,
      spec: specOf(a.bits.labels, b.bits.labels, labels),
      sizes: Object.fromEntries(all.map((label) => [label, domains.get(label)!.size])),
      on: bits.on,
      ms: timeOf(again, inputs),
    };
  });
}

const denseJoin = (algebra: Algebra): Joined => (a, b, labels) => Bits.of(joinValues(algebra, a.value, b.value, labels));

function inspectClause(clause: Clause, { algebra, known, layouts, forms }: InspectionContext): InspectedJoin[] {
  const plan = planClause(clause);
  const evaluation = new Evaluation(clause, layouts, forms);
  const isBoolean = algebra.dtype === 'bool';
  const operands = clause.body.map((condition, i): Operand => {
    const name = condition.kind === 'entry' ? `${condition.negated ? 'not ' : ''}${condition.entry.relation.name}` : condition.text;
    const read = ({ name: relation }: { name: string }): Tensor => known[relation]!;
    if (isBoolean) return { name, bits: evaluation.projected(evaluation.operand(condition, read, i), plan.operands[i]!) };
    return { name, bits: Bits.of(project(algebra, conditionValue(algebra, condition, clause.domains, read, i), plan.operands[i]!)) };
  });
  return lookAtJoins(plan, operands, isBoolean ? (a, b, labels) => evaluation.join(a, b, labels) : denseJoin(algebra), clause.domains);
}

function inspectFormula(formula: Formula, { known }: InspectionContext): InspectedJoin[] {
  return formula.sum.flatMap(({ entries }, i) => {
    const plan = planProduct(formula, i);
    if (!plan) return [];
    const valueOf = (entry: Entry): Value => readEntry(SUMS, entry, known[entry.relation.name]!.astype('float32'));
    const operands = entries.map((entry, k) => ({ name: entry.relation.name, bits: Bits.of(project(SUMS, valueOf(entry), plan.operands[k]!)) }));
    return lookAtJoins(plan, operands, denseJoin(SUMS), formula.domains);
  });
}

export function inspectRule(definition: Definition, context: InspectionContext): InspectedRule {
  return sn.tidy(() => {
    const { number, at, text } = definition;
    const joins = definition.kind === 'clause' ? inspectClause(definition, context) : inspectFormula(definition, context);
    const round = (known: Tensors): Tensor => context.derive(definition, known);
    const inspection = sn.inspect(round)(context.known);
    const kernels = inspection.kernels.map(({ name, kind, engine, flops, bytes }) => ({ name, kind, engine, flops, bytes }));
    inspection.dispose();
    return { number, line: at.line, text, joins, kernels, ms: timeOf(round, context.known) };
  });
}

