// logic.program(text): rules that are tensors. The text is checked at once; solve compiles all of it as one program.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import { ALGEBRAS } from './algebras.js';
import { checkProgram, type CheckedProgram, type Entry, type Relation, type Semantics } from './check.js';
import { shapeOf } from './dense.js';
import { columnsOf } from './bits.js';
import { checkWithin, namedRow, readRows, rowAt, sizeOf, type Member, type Rows } from './facts.js';
import { isOfRules, solve, type Setting, type Tensors } from './fixpoint.js';
import { planClause } from './joins.js';
import { countOf, emptyOf, keptOf, placesOf, valueAt, type Layout } from './kept.js';
import { deriveWith, withParameters, type Parameters } from './meaning.js';
import { chooseLayouts, wholeOf, type FactForms, type Layouts } from './packed.js';
import { parseProgram, parseQuery } from './parse.js';

const { checkInteger, readOptions, shown } = sn.internals;

export interface ProgramOptions {
  /** Default 'boolean'. 'fuzzy' is 'product'. */
  semantics?: Semantics | 'fuzzy';
  /** Most rounds of rules that need each other; more are an error. Default 100,000, and 1,000 where values are numbers. */
  maxRounds?: number;
  /** By how much a number has to move for another round. Default 1e-6. */
  tolerance?: number;
  /** Of 'learnt': 0, the default, deduces exactly; above it similar members lend each other their facts. */
  temperature?: number;
  /** Of 'learnt': numbers in an embedding. Default as many as the domain has members, at most 64. */
  dim?: number;
  /** Of 'boolean': entries from which a relation of two arguments is kept as bits, 32 in a word. Default 65,536. */
  packFrom?: number;
}

export interface ForwardOptions {
  /** Rounds of rules that need each other. Default 8. */
  rounds?: number;
  /** Tensors of relations in place of their facts. */
  facts?: Readonly<Record<string, Tensor>>;
  temperature?: number;
}

export interface Solved {
  /** Rounds that derived something new, of all components. */
  iterations: number;
}

const SEMANTICS = ['boolean', 'fuzzy', 'product', 'goedel', 'lukasiewicz', 'learnt'] as const;
const OPTIONS = { semantics: 'string', maxRounds: 'integer', tolerance: 'number', temperature: 'number', dim: 'integer', packFrom: 'integer' } as const;
const FORWARD = { rounds: 'integer', facts: 'object', temperature: 'number' } as const;
const SOLVE = { params: 'object' } as const;

/** Facts of a relation: of the text, and those given last. */
interface Given {
  readonly written: { rows: number[]; values: number[] };
  set: { rows: Int32Array; values: ArrayLike<number> | null } | null;
  /** As solve keeps it, and where it is bits and no rule derives it: as pairs and with the rows of the other argument. */
  tensors: { kept?: Tensor; pairs?: Tensor; turned?: Tensor };
}

/** Of all relations that have facts. */
interface FactTensors extends FactForms {
  readonly kept: Tensors;
}

export class RuleProgram {
  readonly semantics: Semantics;
  readonly #checked: CheckedProgram;
  readonly #options: Required<Omit<ProgramOptions, 'semantics'>>;
  readonly #given = new Map<string, Given>();
  readonly #weighted: { relation: string; weight: string; at: Tensor }[] = [];
  readonly #layouts: Layouts;
  readonly #run;
  #known: Tensors | null = null;

  /** @internal */
  constructor(text: string, options: ProgramOptions | undefined) {
    if (typeof text !== 'string') throw new sn.SinterError('argument', 'logic.program', `the program is ${shown(text)}, expected a text`);
    const { semantics: named = 'boolean', ...others } = readOptions('logic.program', options, OPTIONS);
    if (!SEMANTICS.includes(named)) throw new sn.SinterError('argument', 'logic.program', `option semantics is ${shown(named)}`, { hint: `it is one of ${SEMANTICS.join(', ')}` });
    this.semantics = named === 'fuzzy' ? 'product' : named;
    const { maxRounds = named === 'boolean' ? 100_000 : 1000, tolerance = 1e-6, temperature = 0, dim = 64, packFrom = 65_536 } = others;
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
    this.#readFacts();
    this.#run = sn.jit(({ kept, ...forms }: FactTensors, params: Parameters, temperature: Tensor | null) => {
      const all = withParameters(this.#relations, kept, this.#weighted, params);
      return solve(this.#relations, this.#checked.components, this.#setting(params, temperature, forms), all);
    });
  }

  get #relations(): Relation[] {
    return [...this.#checked.relations.values()];
  }

  /** Names of the relations, in the order of the text. */
  get relations(): string[] {
    return this.#relations.map(({ name }) => name);
  }

  #setting(params: Parameters, temperature: Tensor | null, forms: FactForms, rounds: number | null = null): Setting {
    const { maxRounds, tolerance } = this.#options;
    const algebra = ALGEBRAS[this.semantics];
    const derive = deriveWith(this.semantics, params, temperature, this.#layouts, forms);
    const empty = (relation: Relation): Tensor => emptyOf(relation, this.#layout(relation), algebra.dtype);
    return { algebra, derive, empty, maxRounds, tolerance, rounds };
  }

  /** Relations of two arguments that are large are kept as bits, unless equations derive them. */
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
    throw new sn.SinterError('argument', op, `there is no relation ${shown(name)}`, { hint: `there are ${this.relations.join(', ') || 'none'}` });
  }

  #readFacts(): void {
    for (const relation of this.#relations) this.#given.set(relation.name, { written: { rows: [], values: [] }, set: null, tensors: {} });
    for (const { relation, members, weight } of this.#checked.facts) {
      if (typeof weight === 'string') {
        const at = keptOf(relation, null, Int32Array.from(members), [1], 'float32');
        this.#weighted.push({ relation: relation.name, weight, at: sn.keep(at) });
        continue;
      }
      const { rows, values } = this.#given.get(relation.name)!.written;
      rows.push(...members);
      values.push(weight);
    }
  }

  /** Facts in place of those set before; those of the text stay. Values are how true they are, and of numbers the numbers. */
  set(name: string, rows: Rows | Tensor, values?: ArrayLike<number>): this {
    const relation = this.#relation('program.set', name);
    const given = this.#given.get(name)!;
    if (relation.parameter) throw new sn.SinterError('argument', 'program.set', `${name} is a parameter`, { hint: 'its values are among params' });
    if (relation.numbers) this.#setNumbers(relation, given, rows);
    else {
      given.set = { rows: readRows('program.set', relation, rows), values: this.#values(relation, rows as Rows, values) };
      this.#release(given);
    }
    return this;
  }

  #release(given: Given): void {
    sn.dispose(given.tensors);
    given.tensors = {};
  }

  #setNumbers(relation: Relation, given: Given, numbers: unknown): void {
    if (relation.derived) throw new sn.SinterError('argument', 'program.set', `${relation.name} is given by an equation`);
    const tensor = sn.tidy(() => sn.reshape(sn.tensor(numbers as number[]), shapeOf(relation)).astype('float32'));
    this.#release(given);
    given.tensors = { kept: sn.keep(tensor) };
  }

  #values({ name, domains }: Relation, rows: Rows, values: ArrayLike<number> | undefined): ArrayLike<number> | null {
    const count = Array.isArray(rows[0]) || domains.length === 0 ? rows.length : rows.length / domains.length;
    if (values === undefined) return domains.length === 0 ? Array(count).fill(1) : null;
    if (this.semantics === 'boolean') throw new sn.SinterError('argument', 'program.set', `facts of ${name} have values, which boolean semantics has not`);
    if (values.length !== count) throw new sn.SinterError('argument', 'program.set', `${count} facts of ${name} have ${values.length} values`);
    for (let i = 0; i < count; i++) checkWithin('program.set', `value ${i}`, values[i], 1);
    return Float32Array.from(values);
  }

  /** The tensors of the relations that have facts. */
  #facts(): FactTensors {
    const facts = { kept: {} as Tensors, pairs: {} as Tensors, turned: {} as Tensors };
    for (const relation of this.#relations) {
      const given = this.#given.get(relation.name)!;
      if (!relation.numbers && Object.keys(given.tensors).length === 0) given.tensors = sn.keep(sn.tidy(() => this.#tensorsOf(relation, given)));
      for (const form of ['kept', 'pairs', 'turned'] as const) if (given.tensors[form]) facts[form][relation.name] = given.tensors[form];
    }
    return facts;
  }

  #tensorsOf(relation: Relation, { written, set }: Given): Given['tensors'] {
    const layout = this.#layout(relation);
    const { length: arity } = relation.domains;
    const rows = written.rows.length ? Int32Array.from([...written.rows, ...(set?.rows ?? [])]) : (set?.rows ?? new Int32Array());
    const more = set ? (set.values ?? new Float32Array(set.rows.length / arity).fill(1)) : [];
    const values = layout === null ? [...written.values, ...Array.from(more)] : null;
    if (rows.length === 0 && !values?.length && (layout === null || relation.derived)) return {};
    const kept = keptOf(relation, layout, rows, values, ALGEBRAS[this.semantics].dtype);
    if (layout === null || relation.derived) return { kept };
    const turned = keptOf(relation, (1 - layout) as Layout, rows, null, 'bool');
    // With many facts whole rows of words are joined faster than a row for each fact.
    const [size, width] = kept.shape as [number, number];
    if (rows.length / 2 > 4 * size * Math.max(width, 8)) return { kept, turned };
    return { kept, turned, pairs: sn.tensor(columnsOf(rows), { shape: [2, columnsOf(rows).length / 2] }) };
  }

  /** Derives all that follows from the facts. */
  solve(options?: { params?: Parameters }): Solved {
    const { params = {} } = readOptions('program.solve', options, SOLVE);
    this.#checkParams('program.solve', params);
    const { temperature } = this.#options;
    return sn.tidy(() => {
      const { known, iterations, done } = this.#run(this.#facts(), params, temperature > 0 ? sn.tensor(temperature) : null);
      if (!done.item()) {
        throw new sn.SinterError('unsupported', 'program.solve', `the rules still derive something after ${this.#options.maxRounds} rounds`, { hint: 'option maxRounds allows more, a larger tolerance ends sooner' });
      }
      this.#forget();
      this.#known = sn.keep(known);
      return { iterations: Number(iterations.item()) };
    });
  }

  #forget(): void {
    if (this.#known) sn.dispose(this.#known);
    this.#known = null;
  }

  #solved(op: string, name: string): { relation: Relation; tensor: Tensor } {
    const relation = this.#relation(op, name);
    if (!this.#known) throw new sn.SinterError('argument', op, 'nothing is derived yet', { hint: 'call solve() first' });
    return { relation, tensor: this.#known[name]! };
  }

  /** The tensor of a relation, an axis for each argument; yours to dispose of. */
  tensor(name: string): Tensor {
    const { relation, tensor } = this.#solved('program.tensor', name);
    return sn.tidy(() => sn.reshape(wholeOf(this.#layouts, relation, tensor), shapeOf(relation)));
  }

  /** Above which value something is a fact. */
  get #threshold(): number {
    return this.semantics === 'boolean' ? 0 : 0.5;
  }

  #truths(op: string, name: string): { relation: Relation; layout: Layout; data: ArrayLike<number | boolean> } {
    const { relation, tensor } = this.#solved(op, name);
    if (relation.numbers) throw new sn.SinterError('argument', op, `${name} has numbers, not facts`, { hint: `read them with tensor('${name}')` });
    return { relation, layout: this.#layout(relation), data: tensor.dataSync() as ArrayLike<number> };
  }

  /** Where a relation holds: places in its tensor, in order. */
  #places(op: string, name: string): { relation: Relation; places: number[] } {
    const { relation, layout, data } = this.#truths(op, name);
    return { relation, places: placesOf(relation, layout, data, this.#threshold) };
  }

  /** How many facts a relation has; of numbers from 0 to 1 those above 0.5. */
  count(name: string): number {
    const { layout, data } = this.#truths('program.count', name);
    return countOf(layout, data, this.#threshold);
  }

  /** The facts of a relation, sorted: members by number, or by name where their domain has names. */
  rows(name: string): Member[][] {
    const { relation, places } = this.#places('program.rows', name);
    return places.map((place) => namedRow(relation, rowAt(relation, place)));
  }

  #query(op: string, text: string): Entry {
    if (typeof text !== 'string') throw new sn.SinterError('argument', op, `the query is ${shown(text)}, expected a text such as Ancestor(7, x)`);
    return this.#checked.lookUp(parseQuery(text));
  }

  /** For each fact that fits, what the variables stand for: p.query('Ancestor(7, x)') -> [{ x: 12 }, ...]. Without
   *  variables [{}] or []. */
  query(text: string): Record<string, Member>[] {
    const { relation, args } = this.#query('program.query', text);
    const { places } = this.#places('program.query', relation.name);
    return places.flatMap((place) => {
      const row = rowAt(relation, place);
      const named = namedRow(relation, row);
      const fits = args.every((arg, i) => (typeof arg === 'number' ? row[i] === arg : row[i] === row[args.indexOf(arg)]));
      return fits ? [Object.fromEntries(args.flatMap((arg, i) => (typeof arg === 'string' && !arg.startsWith('_') ? [[arg, named[i]!]] : [])))] : [];
    });
  }

  /** The queries of the text, each with its answers. */
  queries(): { text: string; answers: Record<string, Member>[] }[] {
    return this.#checked.queries.map(({ text }) => ({ text, answers: this.query(text) }));
  }

  /** How true a fact is: p.value('Likes(1, 2)'). */
  value(text: string): number {
    const { relation, args } = this.#query('program.value', text);
    const free = args.find((arg) => typeof arg === 'string');
    if (free !== undefined) throw new sn.SinterError('argument', 'program.value', `the variable ${free}, expected constants`, { hint: 'query(text) has variables' });
    const { layout, data } = this.#truths('program.value', relation.name);
    return valueAt(relation, layout, data, args as number[]);
  }

  /** Names and shapes of what params has. */
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
      if (!(t instanceof sn.Tensor)) throw new sn.SinterError('argument', op, `params.${name} is ${shown(t)}, expected a tensor (${shape.join(', ')})`, { hint: 'init(key) makes all of them' });
      const fits = isEmbedding ? t.ndim === 2 && t.shape[0] === shape[0] : t.ndim === shape.length && shape.every((dim, i) => t.shape[i] === dim);
      if (!fits) throw new sn.ShapeError(op, `params.${name} is (${t.shape.join(', ')}), expected (${shape.join(', ')})`, { shapes: [t.shape] });
    }
  }

  /** The first parameters: of weights and relations around 0, embeddings orthonormal where dim allows it, else at random. */
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

  /** The tensors of all relations as a function of parameters, and of facts where given: for grad, trainStep and jit. */
  forward(params: Parameters, options?: ForwardOptions): Tensors {
    const { rounds = 8, facts = {}, temperature = this.#options.temperature } = readOptions('program.forward', options, FORWARD);
    checkInteger('program.forward', 'rounds', rounds, 1);
    checkWithin('program.forward', 'temperature', temperature);
    if (this.semantics === 'boolean') throw new sn.SinterError('argument', 'program.forward', 'boolean semantics has no derivatives', { hint: "semantics: 'product', 'goedel', 'lukasiewicz' or 'learnt'" });
    this.#checkParams('program.forward', params);
    for (const name of Object.keys(facts)) this.#relation('program.forward', name);
    return sn.tidy(() => {
      const { kept, ...forms } = this.#facts();
      const all = withParameters(this.#relations, { ...kept, ...facts }, this.#weighted, params);
      const setting = this.#setting(params, temperature > 0 ? sn.tensor(temperature) : null, forms, rounds);
      return solve(this.#relations, this.#checked.components, setting, all).known;
    });
  }

  /** Releases all tensors and compiled programs. */
  dispose(): void {
    this.#forget();
    this.#run.dispose();
    for (const given of this.#given.values()) this.#release(given);
    for (const { at } of this.#weighted) at.dispose();
  }
}

/** Rules as a text, checked: errors are RuleErrors with the line and the column. */
export const program = (text: string, options?: ProgramOptions): RuleProgram => new RuleProgram(text, options);
