// logic.program(text): rules as tensors. The text is checked at once; solve is compiled as one program.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import { ALGEBRAS } from './algebras.js';
import { checkProgram, type CheckedProgram, type Argument, type Definition, type Entry, type Relation, type Semantics } from './check.js';
import { shapeOf } from './dense.js';
import { Explainer, explanationText, type Explanation, type Ranks } from './explain.js';
import { checkWithin, fail, namedRow, placeOf, rowAt, sizeOf, type Member, type Rows } from './facts.js';
import { isOfRules, solve, type Setting, type Tensors } from './fixpoint.js';
import { GivenFacts, type FactTensors } from './given.js';
import { inspectRule, type InspectedRule } from './inspection.js';
import { planClause } from './joins.js';
import { countOf, emptyOf, placesOf, valueAt, type Layout } from './kept.js';
import { deriveWith, withParameters, type Parameters } from './meaning.js';
import { chooseLayouts, wholeOf, type Layouts } from './packed.js';
import { parseProgram, parseQuery } from './parse.js';
import { Stepping, type Inputs, type Step } from './stepping.js';
import { isAnonymous, shownName } from './syntax.js';

const { checkInteger, readOptions, shown } = sn.internals;

export interface ProgramOptions {
  /** The algebra. Default 'boolean'. 'fuzzy' means 'product'. */
  semantics?: Semantics | 'fuzzy';
  /** The most rounds of rules that depend on each other; more are an error. Default 100,000 for 'boolean', else 1,000. */
  maxRounds?: number;
  /** Numbers have to move by more than this for another round. Default 1e-6. */
  tolerance?: number;
  /** For 'learnt': 0, the default, deduces exactly; above it, members with similar embeddings share their facts. */
  temperature?: number;
  /** For 'learnt': the width of embeddings. Default as many as the domain has members, at most 64. */
  dim?: number;
  /** For 'boolean': relations of two arguments with at least so many entries are kept as bits, 32 per word. Default 1,024. */
  packFrom?: number;
}

export interface ForwardOptions {
  /** Rounds of rules that depend on each other. Default 8. */
  rounds?: number;
  /** Tensors of relations, instead of their facts. */
  facts?: Readonly<Record<string, Tensor>>;
  temperature?: number;
}

export interface Solved {
  /** The number of rounds that derived something new, over all components. */
  iterations: number;
}

const SEMANTICS = ['boolean', 'fuzzy', 'product', 'goedel', 'lukasiewicz', 'learnt'] as const;
const OPTIONS = {
  semantics: 'string',
  maxRounds: 'integer',
  tolerance: 'number',
  temperature: 'number',
  dim: 'integer',
  packFrom: 'integer',
} as const;
const FORWARD = { rounds: 'integer', facts: 'object', temperature: 'number' } as const;
const SOLVE = { params: 'object', temperature: 'number' } as const;

export interface SolveOptions {
  /** The values of weights, relations and embeddings that are parameters; init makes initial ones. */
  params?: Parameters;
  /** Replaces the program's temperature. */
  temperature?: number;
}

/** What a round derived. */
export interface RuleRound {
  /** The number of the round, from 1. */
  readonly iteration: number;
  /** The new facts of each relation. */
  readonly derived: Readonly<Record<string, Member[][]>>;
}

/** Why a fact holds, also as text. */
export interface Explained extends Explanation {
  readonly text: string;
}

export interface InspectedRules {
  readonly rules: readonly InspectedRule[];
  /** The inspection of solve's program. The caller disposes it. */
  readonly program: sn.Inspection;
}

type RuleInputs = Inputs<FactTensors>;

export class RuleProgram {
  readonly semantics: Semantics;
  readonly #checked: CheckedProgram;
  readonly #options: Required<Omit<ProgramOptions, 'semantics'>>;
  readonly #layouts: Layouts;
  readonly #given: GivenFacts;
  readonly #run;
  #stepping: Stepping<FactTensors> | null = null;
  #known: Tensors | null = null;
  /** Made when the first fact is explained after solve. */
  #explainer: Explainer | null = null;

  /** @internal */
  constructor(text: string, options: ProgramOptions | undefined) {
    if (typeof text !== 'string') fail('logic.program', `the program is ${shown(text)}, expected a text`);
    const { semantics: named = 'boolean', ...others } = readOptions('logic.program', options, OPTIONS);
    if (!SEMANTICS.includes(named)) fail('logic.program', `option semantics is ${shown(named)}`, `it is one of ${SEMANTICS.join(', ')}`);
    this.semantics = named === 'fuzzy' ? 'product' : named;
    const { maxRounds = named === 'boolean' ? 100_000 : 1000, tolerance = 1e-6, temperature = 0, dim = 64, packFrom = 1024 } = others;
    checkInteger('logic.program', 'maxRounds', maxRounds, 1);
    checkInteger('logic.program', 'dim', dim, 1);
    checkInteger('logic.program', 'packFrom', packFrom, 0);
    checkWithin('logic.program', 'tolerance', tolerance);
    checkWithin('logic.program', 'temperature', temperature);
    this.#options = { maxRounds, tolerance, temperature, dim, packFrom };
    this.#checked = checkProgram(parseProgram(text), this.semantics);
    for (const relation of this.#relations) sizeOf('logic.program', relation);
    for (const definition of this.#checked.definitions) if (definition.kind === 'clause') planClause(definition);
    this.#layouts = this.#chooseLayouts();
    this.#given = new GivenFacts(this.#relations, this.#checked.facts, this.semantics, this.#layouts);
    this.#run = sn.jit((inputs: RuleInputs) => {
      const { setting, facts } = this.#enter(inputs);
      return solve(this.#relations, this.#checked.components, setting, facts);
    });
  }

  get #relations(): Relation[] {
    return [...this.#checked.relations.values()];
  }

  /** Names of the relations, in the order of the text. */
  get relations(): string[] {
    return this.#relations.map(({ name }) => name);
  }

  /** The domains of a relation's arguments with their members, and whether rules derive the relation. */
  signature(name: string): Relation {
    const { domains, ...rest } = this.#relation('program.signature', name);
    return { ...rest, domains: domains.map((domain) => ({ ...domain, names: domain.names && [...domain.names] })) };
  }

  /** The setting and facts for solve, from the inputs of its compiled program. */
  #enter({ facts: { kept, ...forms }, params, temperature }: RuleInputs, rounds: number | null = null): { setting: Setting; facts: Tensors } {
    const { maxRounds, tolerance } = this.#options;
    const algebra = ALGEBRAS[this.semantics];
    const derive = deriveWith(this.semantics, params, temperature, this.#layouts, forms);
    const empty = (relation: Relation): Tensor => emptyOf(relation, this.#layout(relation), algebra.dtype);
    const facts = withParameters(this.#relations, kept, this.#given.weighted, params);
    return { setting: { algebra, derive, empty, maxRounds, tolerance, rounds }, facts };
  }

  #inputs(op: string, { params = {}, temperature = this.#options.temperature }: SolveOptions): RuleInputs {
    checkWithin(op, 'temperature', temperature);
    this.#checkParams(op, params);
    return { facts: this.#given.tensors(), params, temperature: temperature > 0 ? sn.tensor(temperature) : null };
  }

  /** Large relations of two arguments are kept as bits, unless equations derive them. */
  #chooseLayouts(): Layouts {
    const { components, definitions } = this.#checked;
    const byEquations = new Set(components.filter((component) => !isOfRules(component)).flatMap(({ relations }) => relations));
    const isLarge = (relation: Relation): boolean => {
      const [rows, columns, ...more] = shapeOf(relation);
      const fits = this.semantics === 'boolean' && !relation.numbers && columns !== undefined && more.length === 0;
      return fits && rows! * columns >= this.#options.packFrom && !byEquations.has(relation);
    };
    return chooseLayouts(this.#relations, definitions.filter((each) => each.kind === 'clause'), isLarge);
  }

  #layout({ name }: Relation): Layout {
    return this.#layouts.get(name) ?? null;
  }

  #relation(op: string, name: string): Relation {
    const relation = this.#checked.relations.get(name);
    if (relation) return relation;
    return fail(op, `there is no relation ${shown(name)}`, `there are ${this.relations.join(', ') || 'none'}`);
  }

  /** Replaces the facts given by earlier calls; those of the text stay. values: how true each fact is, from 0 to 1; default
   *  1. For a relation of numbers, rows are all entries of its tensor. */
  set(name: string, rows: Rows | Tensor, values?: ArrayLike<number>): this {
    this.#given.set(this.#relation('program.set', name), rows, values);
    this.#explainer = null;
    return this;
  }

  /** Derives everything that follows from the facts. */
  solve(options?: SolveOptions): Solved {
    const given = readOptions('program.solve', options, SOLVE);
    return sn.tidy(() => {
      const { known, iterations, done } = this.#run(this.#inputs('program.solve', given));
      if (!done.item()) throw this.#endless('program.solve');
      this.#forget();
      this.#known = sn.keep(known);
      return { iterations: Number(iterations.item()) };
    });
  }

  #endless(op: string): Error {
    const text = `the rules still derive something after ${this.#options.maxRounds} rounds`;
    return new sn.UnsupportedError(op, text, { hint: 'option maxRounds allows more, a larger tolerance ends sooner' });
  }

  /** The rounds of solve, one by one, starting with the facts alone. */
  *#steps(op: string, options: SolveOptions | undefined): Generator<Step> {
    const inputs = sn.keep(sn.tidy(() => this.#inputs(op, readOptions(op, options, SOLVE))));
    const limit = { maxRounds: this.#options.maxRounds, endless: () => this.#endless(op) };
    this.#stepping ??= new Stepping(this.#relations, this.#checked.components, limit, (given) => this.#enter(given));
    try {
      yield* this.#stepping.run(inputs);
    } finally {
      inputs.temperature?.dispose();
    }
  }

  /** Solves round by round. Between the rounds the program answers from what is derived so far. */
  *rounds(options?: SolveOptions): Generator<RuleRound, void> {
    const seen = new Map<Relation, Set<number>>();
    for (const { iteration, known, of, deltas } of this.#steps('program.rounds', options)) {
      this.#forget();
      this.#known = sn.keep(sn.tidy(() => Object.fromEntries(Object.entries(known).map(([name, t]) => [name, sn.reshape(t, t.shape)]))));
      const derived: Record<string, Member[][]> = {};
      for (const relation of of) {
        const { name, numbers } = relation;
        if (numbers) continue;
        const places = this.#placesOf(relation, (deltas ?? known)[name]);
        const fresh = deltas ? places : places.filter((place) => !seen.get(relation)?.has(place));
        if (!deltas) seen.set(relation, new Set(places));
        if (fresh.length > 0) derived[name] = fresh.map((place) => namedRow(relation, rowAt(relation, place)));
      }
      if (iteration > 0) yield { iteration, derived };
    }
  }

  /** Why a fact holds: the rules that derived it, down to given facts; null if it does not hold. Boolean semantics only. */
  explain(text: string): Explained | null {
    const { relation, args } = this.#query('program.explain', text);
    this.#checkConstants('program.explain', args);
    if (this.semantics !== 'boolean') throw new sn.UnsupportedError('program.explain', 'only boolean rules are explained');
    this.#explainer ??= new Explainer(this.#checked.definitions, this.#ranks());
    const found = this.#explainer.explain({ relation, args });
    return found && { ...found, text: explanationText(found) };
  }

  /** The round in which each fact was derived. */
  #ranks(): Ranks {
    const ranks = new Map<Relation, Int32Array>();
    for (const { iteration, known, of, deltas } of this.#steps('program.explain', undefined)) {
      for (const relation of of) {
        if (relation.numbers) continue;
        const own = ranks.get(relation) ?? new Int32Array(sizeOf('program.explain', relation)).fill(-1);
        ranks.set(relation, own);
        for (const place of this.#placesOf(relation, (deltas ?? known)[relation.name])) if (own[place] === -1) own[place] = iteration;
      }
    }
    return { of: (relation, row) => ranks.get(relation)![placeOf(relation, row)]! };
  }

  /** Inspects the rules: their einsums (how, how large, how long), the kernels of each rule, and the program of solve. Uses
   *  what solve derived; calls solve first if necessary. */
  inspect(options?: SolveOptions): InspectedRules {
    const given = readOptions('program.inspect', options, SOLVE);
    if (!this.#known) this.solve(given);
    const known = this.#known!;
    return sn.tidy(() => {
      const inputs = this.#inputs('program.inspect', given);
      const { setting } = this.#enter(inputs);
      const context = { algebra: setting.algebra, known, layouts: this.#layouts, forms: inputs.facts };
      const derive = (definition: Definition, from: Tensors): Tensor => setting.derive(definition, ({ name }) => from[name]!);
      const rules = this.#checked.definitions.map((definition) => inspectRule(definition, { ...context, derive }));
      const program = sn.inspect((all: RuleInputs) => {
        const { setting: own, facts } = this.#enter(all);
        return solve(this.#relations, this.#checked.components, own, facts);
      })(inputs);
      return { rules, program };
    });
  }

  #forget(): void {
    this.#explainer = null;
    if (this.#known) sn.dispose(this.#known);
    this.#known = null;
  }

  #solved(op: string, name: string): { relation: Relation; tensor: Tensor } {
    const relation = this.#relation(op, name);
    const tensor = this.#known?.[name] ?? fail(op, 'nothing is derived yet', 'call solve() first');
    return { relation, tensor };
  }

  /** The tensor of a relation, with an axis per argument. The caller owns it. */
  tensor(name: string): Tensor {
    const { relation, tensor } = this.#solved('program.tensor', name);
    return sn.tidy(() => sn.reshape(wholeOf(this.#layouts, relation, tensor), shapeOf(relation)));
  }

  /** Values above this count as facts. */
  get #threshold(): number {
    return this.semantics === 'boolean' ? 0 : 0.5;
  }

  #truths(op: string, name: string): { relation: Relation; layout: Layout; data: ArrayLike<number | boolean> } {
    const { relation, tensor } = this.#solved(op, name);
    if (relation.numbers) fail(op, `${name} has numbers, not facts`, `read them with tensor('${name}')`);
    return { relation, layout: this.#layout(relation), data: tensor.dataSync() as ArrayLike<number> };
  }

  /** The flat indices in its tensor where a relation holds, in ascending order. */
  #places(op: string, name: string): { relation: Relation; places: number[] } {
    const { relation, layout, data } = this.#truths(op, name);
    return { relation, places: placesOf(relation, layout, data, this.#threshold) };
  }

  #placesOf(relation: Relation, tensor: Tensor | undefined): number[] {
    return tensor ? placesOf(relation, this.#layout(relation), tensor.dataSync() as ArrayLike<number>, this.#threshold) : [];
  }

  /** The number of facts of a relation; for numbers from 0 to 1, those above 0.5. */
  count(name: string): number {
    const { layout, data } = this.#truths('program.count', name);
    return countOf(layout, data, this.#threshold);
  }

  /** The facts of a relation, sorted. Members are given by name if their domain has names, else by number. */
  rows(name: string): Member[][] {
    const { relation, places } = this.#places('program.rows', name);
    return places.map((place) => namedRow(relation, rowAt(relation, place)));
  }

  #query(op: string, text: string): Entry {
    if (typeof text !== 'string') fail(op, `the query is ${shown(text)}, expected a text such as Ancestor(7, x)`);
    return this.#checked.lookUp(parseQuery(text));
  }

  #checkConstants(op: string, args: readonly Argument[]): void {
    const free = args.find((arg) => typeof arg === 'string');
    if (free !== undefined) fail(op, `the variable ${shownName(String(free))}, expected constants`, 'query(text) has variables');
  }

  /** For each fact that matches, the members of the variables: p.query('Ancestor(7, x)') -> [{ x: 12 }, ...]. Without
   *  variables the result is [{}] or []. */
  query(text: string): Record<string, Member>[] {
    const { relation, args } = this.#query('program.query', text);
    const { places } = this.#places('program.query', relation.name);
    return places.flatMap((place) => {
      const row = rowAt(relation, place);
      const named = namedRow(relation, row);
      const fits = args.every((arg, i) => (typeof arg === 'number' ? row[i] === arg : row[i] === row[args.indexOf(arg)]));
      return fits ? [Object.fromEntries(args.flatMap((arg, i) => (typeof arg === 'string' && !isAnonymous(arg) ? [[arg, named[i]!]] : [])))] : [];
    });
  }

  /** The queries in the text of the program, each with its answers. */
  queries(): { text: string; answers: Record<string, Member>[] }[] {
    return this.#checked.queries.map(({ text }) => ({ text, answers: this.query(text) }));
  }

  /** How true a fact is, from 0 to 1: p.value('Likes(1, 2)'). */
  value(text: string): number {
    const { relation, args } = this.#query('program.value', text);
    this.#checkConstants('program.value', args);
    const { layout, data } = this.#truths('program.value', relation.name);
    return valueAt(relation, layout, data, args as number[]);
  }

  /** The names and shapes of all parameters. */
  #wanted(): Map<string, number[]> {
    const wanted = new Map<string, number[]>();
    const { definitions, facts, domains } = this.#checked;
    for (const weight of [...definitions.map((each) => (each.kind === 'clause' ? each.weight : null)), ...facts.map((fact) => fact.weight)]) {
      if (typeof weight === 'string') wanted.set(weight, []);
    }
    for (const relation of this.#relations) if (relation.parameter) wanted.set(relation.name, shapeOf(relation));
    if (this.semantics === 'learnt') for (const { name, size } of domains.values()) wanted.set(name, [size, Math.min(size, this.#options.dim)]);
    return wanted;
  }

  #checkParams(op: string, params: Parameters): void {
    for (const [name, shape] of this.#wanted()) {
      const t = params[name];
      const isEmbedding = this.#checked.domains.has(name) && !this.#checked.relations.has(name);
      if (t === undefined && isEmbedding) continue;
      if (!(t instanceof sn.Tensor)) {
        return fail(op, `params.${name} is ${shown(t)}, expected a tensor (${shape.join(', ')})`, 'init(key) makes all of them');
      }
      const fits = isEmbedding ? t.ndim === 2 && t.shape[0] === shape[0] : t.ndim === shape.length && shape.every((dim, i) => t.shape[i] === dim);
      if (!fits) throw new sn.ShapeError(op, `params.${name} is (${t.shape.join(', ')}), expected (${shape.join(', ')})`, { shapes: [t.shape] });
    }
  }

  /** Initial parameters: weights 0, relations near 0, embeddings the unit matrix if dim is the size of the domain, else
   *  random rows of length 1. */
  init(key: Tensor): Record<string, Tensor> {
    const wanted = [...this.#wanted()];
    return sn.tidy(() =>
      Object.fromEntries(
        wanted.map(([name, shape], i) => {
          const own = sn.random.foldIn(key, i);
          const isEmbedding = this.#checked.domains.has(name) && !this.#checked.relations.has(name);
          if (!isEmbedding) return [name, sn.mul(sn.random.normal(own, shape), shape.length ? 0.1 : 0)];
          const [size, dim] = shape as [number, number];
          if (size === dim) return [name, sn.eye(size)];
          const t = sn.random.normal(own, shape);
          return [name, sn.div(t, sn.sqrt(sn.sum(sn.square(t), { axis: 1, keepdims: true })))];
        }),
      ),
    );
  }

  /** The tensors of all relations as a function of parameters and, optionally, of facts; for grad, trainStep and jit. */
  forward(params: Parameters, options?: ForwardOptions): Tensors {
    const { rounds = 8, facts = {}, temperature = this.#options.temperature } = readOptions('program.forward', options, FORWARD);
    checkInteger('program.forward', 'rounds', rounds, 1);
    checkWithin('program.forward', 'temperature', temperature);
    if (this.semantics === 'boolean') {
      fail('program.forward', 'boolean semantics has no derivatives', "semantics: 'product', 'goedel', 'lukasiewicz' or 'learnt'");
    }
    this.#checkParams('program.forward', params);
    for (const [name, t] of Object.entries(facts)) {
      const shape = shapeOf(this.#relation('program.forward', name));
      const fits = t instanceof sn.Tensor && t.ndim === shape.length && shape.every((dim, i) => t.shape[i] === dim);
      if (!fits) fail('program.forward', `facts.${name} is ${shown(t)} that does not fit`, `a tensor (${shape.join(', ')})`);
    }
    return sn.tidy(() => {
      const given = this.#given.tensors();
      const inputs = { facts: { ...given, kept: { ...given.kept, ...facts } }, params, temperature: temperature > 0 ? sn.tensor(temperature) : null };
      const { setting, facts: all } = this.#enter(inputs, rounds);
      return solve(this.#relations, this.#checked.components, setting, all).known;
    });
  }

  /** Frees all tensors and compiled programs. */
  dispose(): void {
    this.#forget();
    this.#run.dispose();
    this.#stepping?.dispose();
    this.#stepping = null;
    this.#given.dispose();
  }
}

/** A program of rules from its text. Errors in the text are RuleErrors with line and column. */
export const program = (text: string, options?: ProgramOptions): RuleProgram => new RuleProgram(text, options);
