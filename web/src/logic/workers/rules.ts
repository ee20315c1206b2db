// Runs programs of rules round by round, and reports what they derive.

import * as sn from 'sinter';
import * as logic from 'sinter/logic';
import { answer } from '../../compiler/workers/answer.ts';
import { describe } from '../../compiler/workers/source.ts';
import type { Problem } from '../../compiler/protocol.ts';
import { TITLES, type Example } from '../rules/examples.ts';
import { termText } from '../rules/facts.ts';
import type { Answers, Cell, Proof, Relation, Result, Round, Rule, RulesMethods, Semantics, Source } from '../rules/protocol.ts';

/** The most rounds of a program; more are an error. */
const MOST_ROUNDS = { boolean: 10_000, numbers: 1000 };
/** The most entries of a relation that is shown. */
const MOST_ENTRIES = 1 << 22;
/** The most rounds whose numbers are recorded, and the most entries in all of them. */
const MOST_FRAMES = 60;
const MOST_VALUES = 1 << 20;
const MOST_ROWS = 500;
const MOST_DEPTH = 40;
const RUNS = 3;
/** A program that takes longer than this is not run again to be timed. */
const AGAIN_MS = 1000;

interface Opened {
  key: string;
  program: logic.RuleProgram;
  params: Record<string, sn.Tensor>;
  isSolved: boolean;
}

let opened: Opened | null = null;

async function open(): Promise<Example[]> {
  await sn.init();
  return logic.ruleExamples.map(({ name, text, options, params = {} }) => ({
    name,
    title: TITLES[name] ?? name,
    text,
    semantics: (options.semantics ?? 'boolean') as Semantics,
    temperature: options.temperature ?? 0,
    params: Object.fromEntries(Object.entries(params).map(([domain, rows]) => [domain, rows.map((row) => [...row])])),
  }));
}

/** The key of a compiled program; a change of the temperature needs no other one. */
const keyOf = ({ text, semantics, params }: Source): string => JSON.stringify([text, semantics, params]);

function close(): void {
  if (opened === null) return;
  opened.program.dispose();
  sn.dispose(opened.params);
  opened = null;
}

function programOf(source: Source): Opened {
  const key = keyOf(source);
  if (opened?.key === key) return opened;
  const { text, semantics } = source;
  const maxRounds = semantics === 'boolean' ? MOST_ROUNDS.boolean : MOST_ROUNDS.numbers;
  const program = logic.program(text, { semantics, maxRounds });
  close();
  const first = program.init(sn.random.key(0));
  const params: Record<string, sn.Tensor> = {};
  for (const [name, t] of Object.entries(first)) {
    // Domains without given embeddings get none: their members are only like themselves.
    const given = source.params[name];
    const isEmbedding = !program.relations.includes(name) && t.ndim === 2;
    if (given === undefined && !isEmbedding) params[name] = t;
    else t.dispose();
    if (given !== undefined && isEmbedding) params[name] = sn.keep(sn.tensor(given));
  }
  opened = { key, program, params, isSolved: false };
  return opened;
}

const optionsOf = ({ params }: Opened, { temperature }: Source): logic.SolveOptions => ({ params, temperature });

function check({ text, semantics }: Source): void {
  logic.program(text, { semantics }).dispose();
}

function solved(source: Source): logic.RuleProgram {
  const own = programOf(source);
  own.program.solve(optionsOf(own, source));
  own.isSolved = true;
  return own.program;
}

/** Records the facts of a relation, round by round. */
class Recorder {
  readonly rounds: Int16Array | null;
  readonly values: Float32Array[] | null;
  private readonly members: Map<logic.Member, number>[];

  constructor(
    private readonly program: logic.RuleProgram,
    readonly relation: logic.Relation,
  ) {
    const size = relation.domains.reduce((product, domain) => product * domain.size, 1);
    const isBoolean = program.semantics === 'boolean' && !relation.numbers;
    this.rounds = size <= MOST_ENTRIES && isBoolean ? new Int16Array(size).fill(-1) : null;
    this.values = !isBoolean && size * MOST_FRAMES <= MOST_VALUES ? [] : null;
    this.members = relation.domains.map(({ names }) => new Map((names ?? []).map((name, i) => [name, i])));
  }

  derive(rows: readonly logic.Member[][], iteration: number): void {
    const { rounds, members, relation } = this;
    if (rounds === null) return;
    for (const row of rows) {
      let place = 0;
      row.forEach((member, i) => (place = place * relation.domains[i].size + (typeof member === 'number' ? member : members[i].get(member)!)));
      if (rounds[place] === -1) rounds[place] = Math.min(iteration, 0x7fff);
    }
  }

  film(): void {
    if (this.values === null) return;
    const t = this.program.tensor(this.relation.name);
    const values = Float32Array.from(t.dataSync() as ArrayLike<number>, Number);
    t.dispose();
    if (this.values.length < MOST_FRAMES) this.values.push(values);
    else this.values[MOST_FRAMES - 1] = values;
  }

  finish(): Relation {
    const { program, relation: { name, domains, numbers, derived } } = this;
    const axes = domains.map((domain) => ({ domain: domain.name, size: domain.size, names: domain.names && [...domain.names] }));
    const size = domains.reduce((product, each) => product * each.size, 1);
    return { name, axes, numbers, derived, count: numbers ? size : program.count(name), rounds: this.rounds, values: this.values };
  }
}

/** Runs the rounds one by one, and records what is known before the first and what each derives. */
function record(source: Source): { relations: Relation[]; rounds: Round[] } {
  const own = programOf(source);
  const { program } = own;
  const recorders = program.relations.map((name) => new Recorder(program, program.signature(name)));
  const rounds: Round[] = [];
  const known = new Map(recorders.map((each) => [each.relation.name, each]));
  const all = program.rounds(optionsOf(own, source));
  for (const { iteration, derived } of all) {
    for (const [name, rows] of Object.entries(derived)) known.get(name)?.derive(rows, iteration);
    rounds.push({ iteration, derived: Object.fromEntries(Object.entries(derived).map(([name, rows]) => [name, rows.length])) });
    for (const each of recorders) each.film();
  }
  program.solve(optionsOf(own, source));
  for (const each of recorders) {
    // Facts that no round derived were given.
    if (!each.relation.numbers && each.rounds !== null) each.derive(program.rows(each.relation.name), 0);
    if (each.values?.length === 0) each.film();
  }
  return { relations: recorders.map((each) => each.finish()), rounds };
}

/** A quoted name, a comment, or a name: what a query consists of besides numbers and signs. */
const WORDS = /'[^'\n]*'|"[^"\n]*"|%[^\n]*|[\p{L}_][\p{L}\p{N}_]*/gu;
/** How a blank of a query is named, as its fact has members instead. */
const BLANK = '_blank';

/** known: the answers, for a query of the program. */
function answersTo(program: logic.RuleProgram, text: string, known?: Record<string, logic.Member>[]): Answers {
  let blanks = 0;
  const asked = text.replace(WORDS, (word) => (word === '_' ? `${BLANK}${blanks++}` : word));
  const found = known !== undefined && blanks === 0 ? known : program.query(asked);
  const columns = Object.keys(found[0] ?? {}).filter((name) => !name.startsWith(BLANK));
  const shown = found.slice(0, MOST_ROWS);
  return {
    text,
    columns,
    rows: shown.map((row) => columns.map((name): Cell => row[name])),
    facts: shown.map((row) => asked.replace(WORDS, (word) => (Object.hasOwn(row, word) ? termText(row[word]) : word))),
    count: found.length,
  };
}

function run(source: Source): Result {
  const begin = performance.now();
  const own = programOf(source);
  let { iterations } = own.program.solve(optionsOf(own, source));
  const firstMs = performance.now() - begin;
  let ms = firstMs;
  for (let i = 0; i < RUNS && firstMs < AGAIN_MS; i++) {
    const again = performance.now();
    ({ iterations } = own.program.solve(optionsOf(own, source)));
    ms = Math.min(ms, performance.now() - again);
  }
  own.isSolved = true;
  const { relations, rounds } = record(source);
  const count = relations.reduce((sum, each) => sum + (each.derived && !each.numbers ? each.count : 0), 0);
  const queries = own.program.queries().map(({ text, answers }) => answersTo(own.program, text, answers));
  return { relations, rounds, iterations, count, ms, compileMs: Math.max(0, firstMs - ms), queries };
}

function rules(source: Source): Rule[] {
  const own = programOf(source);
  const { rules: found, program } = own.program.inspect(optionsOf(own, source));
  program.dispose();
  return found.map(({ number, line, text, joins, kernels, ms }) => ({
    number, line, text, ms,
    kernels: kernels.length,
    joins: joins.map(({ sizes, ...join }) => ({ ...join, points: Object.values(sizes).reduce((product, size) => product * size, 1) })),
  }));
}

const current = (source: Source): logic.RuleProgram => (opened?.key === keyOf(source) && opened.isSolved ? opened.program : solved(source));

const query = (source: Source, text: string): Answers => answersTo(current(source), text);

function proofOf({ fact, kind, rule, line, iteration, because }: logic.Explanation, depth: number): Proof {
  const from = kind === 'rule' ? `rule ${rule} in line ${line}, round ${iteration}` : kind === 'fact' ? 'fact' : '';
  if (depth === 0 && because.length > 0) return { fact, from: `${from}; and so on`, because: [] };
  return { fact, from, because: because.map((each) => proofOf(each, depth - 1)) };
}

function explain(source: Source, fact: string): Proof | null {
  const found = current(source).explain(fact);
  return found && proofOf(found, MOST_DEPTH);
}

/** Describes an error, with its place in the text of rules. */
function describeRules(error: unknown): Problem {
  const problem = describe(error);
  return error instanceof logic.RuleError ? { ...problem, line: error.at.line, column: error.at.column } : { ...problem, line: null, column: null };
}

answer<RulesMethods>({ open, check, run, rules, query, explain }, describeRules);
