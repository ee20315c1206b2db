// Parses words into sentences. Each ends with a dot, and its first words decide its kind:
//
//   domain Person = 2000.                              domain Colour = {red, green}.
//   Parent(Person, Person).         Rain().            W[Person, Colour].         param Likes(Person, Person).
//   Parent(1, 2).                   Rain.              0.9 :: Likes(1, 2).
//   Ancestor(x, z) :- Parent(x, y), Ancestor(y, z).    with ; not ( ) = != < <= > >=, and a weight before ::
//   Ancestor[x, z] = step(Parent[x, y] Ancestor[y, z]).
//   ?- Ancestor(7, x).
//
// A declaration is told from a fact by its arguments: names with a capital are domains. One without arguments has ().

import { shownWord, wordsOf, type Word } from './lex.js';
import {
  NONLINEARITIES,
  RuleError,
  anonymous,
  type Atom,
  type Comparator,
  type DomainDeclaration,
  type Equation,
  type Literal,
  type Nonlinearity,
  type Place,
  type Product,
  type RelationDeclaration,
  type Rule,
  type Syntax,
  type Term,
} from './syntax.js';

const COMPARATORS: readonly string[] = ['=', '!=', '<', '<=', '>', '>='];

/** The most conjunctions that the alternatives of one body may expand to. */
const MOST_ALTERNATIVES = 256;

const isCapital = (text: string): boolean => /^\p{Lu}/u.test(text);

type Conjunction = readonly Literal[];

class Parser {
  readonly #text: string;
  readonly #words: readonly Word[];
  #next = 0;
  #depth = 0;
  #number = 0;
  #unnamed = 0;
  readonly #domains: DomainDeclaration[] = [];
  readonly #relations: RelationDeclaration[] = [];
  readonly #facts: Rule[] = [];
  readonly #rules: Rule[] = [];
  readonly #equations: Equation[] = [];
  readonly #queries: Atom[] = [];

  constructor(text: string) {
    this.#text = text;
    this.#words = wordsOf(text);
  }

  get #word(): Word {
    return this.#words[this.#next]!;
  }

  #peek(ahead = 1): Word {
    return this.#words[Math.min(this.#next + ahead, this.#words.length - 1)]!;
  }

  #take(): Word {
    const word = this.#word;
    if (word.kind !== 'end') this.#next++;
    return word;
  }

  #is(...signs: string[]): boolean {
    return this.#word.kind === 'sign' && signs.includes(this.#word.text);
  }

  #skip(sign: string): boolean {
    const found = this.#is(sign);
    if (found) this.#next++;
    return found;
  }

  #fail(expected: string, hint?: string): never {
    throw new RuleError(this.#word.at, `expected ${expected}, found ${shownWord(this.#word)}`, hint);
  }

  #expect(sign: string, where: string): void {
    if (!this.#skip(sign)) this.#fail(`${sign} ${where}`);
  }

  #name(what: string): Word {
    return this.#word.kind === 'name' ? this.#take() : this.#fail(what);
  }

  program(): Syntax {
    while (this.#word.kind !== 'end') this.#sentence();
    return {
      domains: this.#domains,
      relations: this.#relations,
      facts: this.#facts,
      rules: this.#rules,
      equations: this.#equations,
      queries: this.#queries,
    };
  }

  /** A single query, with or without ?- and the dot. */
  query(): Atom {
    this.#skip('?-');
    const atom = this.#asked();
    this.#skip('.');
    if (this.#word.kind !== 'end') this.#fail('the end of the query');
    return atom;
  }

  /** The relation of a query. */
  #asked(): Atom {
    const atom = this.#atom();
    if (this.#is(',')) this.#fail('the end of the query', 'a query has one relation: write a rule, Both(x) :- A(x), B(x)., and ask for Both(x)');
    return atom;
  }

  #sentence(): void {
    const { kind, text } = this.#word;
    const after = this.#peek();
    if (this.#skip('?-')) this.#queries.push(this.#asked());
    else if (text === 'domain' && after.kind === 'name') this.#domain();
    else if (text === 'param' && after.kind === 'name') this.#declaration(this.#take().at);
    else if (kind === 'name' && (after.text === '(' || after.text === '[') && this.#declares()) this.#declaration(null);
    else if (kind === 'name' && after.text === '[') this.#equation();
    else this.#rule();
    this.#expect('.', 'at the end of the sentence');
  }

  /** Whether the first argument is a domain, or there are no arguments. */
  #declares(): boolean {
    const word = this.#peek(2);
    return (word.kind === 'name' && isCapital(word.text)) || (word.text === ')' && this.#peek(3).text === '.');
  }

  #domain(): void {
    const { at } = this.#take();
    const name = this.#name('the name of a domain');
    if (!isCapital(name.text)) throw new RuleError(name.at, `a domain's name begins with a capital, ${name.text} does not`);
    this.#expect('=', "and a size or names, as in domain D = 20");
    if (this.#word.kind === 'number') {
      const size = this.#size(this.#take());
      this.#domains.push({ name: name.text, size, names: null, at });
      return;
    }
    if (!this.#skip('{')) this.#fail('a size or names in braces', 'domain D = 20, or domain D = {red, green}');
    const names: string[] = [];
    while (!this.#is('}')) {
      if (this.#word.kind !== 'name' && this.#word.kind !== 'quoted') this.#fail('a name');
      const { text, at: place } = this.#take();
      names.push(text);
      if (names.indexOf(text) < names.length - 1) throw new RuleError(place, `${text} is twice in the domain`);
      if (!this.#skip(',') && !this.#is('}')) this.#fail(', or } after a name');
    }
    this.#expect('}', 'after the names');
    this.#domains.push({ name: name.text, size: names.length, names, at });
  }

  #size({ text, at }: Word): number {
    const size = Number(text);
    if (Number.isInteger(size) && size <= 0x7fffffff) return size;
    throw new RuleError(at, `${text} is no size`, 'a whole number within 32 bits');
  }

  #declaration(parameter: Place | null): void {
    const name = this.#name('the name of a relation');
    const numbers = this.#skip('[');
    const domains: { name: string; at: Place }[] = [];
    if (numbers || this.#skip('(')) {
      const close = numbers ? ']' : ')';
      while (!this.#is(close)) {
        const { text, at } = this.#name('a domain');
        domains.push({ name: text, at });
        if (!this.#skip(',') && !this.#is(close)) this.#fail(`, or ${close}`);
      }
      this.#expect(close, 'after the domains');
    }
    this.#relations.push({ name: name.text, domains, numbers, parameter: parameter !== null, at: parameter ?? name.at });
  }

  #term(): Term {
    const word = this.#word;
    if (word.kind === 'number') return { kind: 'constant', value: this.#size(this.#take()), at: word.at };
    if (word.kind === 'quoted') return { kind: 'constant', value: this.#take().text, at: word.at };
    if (word.kind !== 'name') this.#fail('a variable or a constant');
    if (isCapital(word.text)) {
      throw new RuleError(word.at, `${word.text} is no variable`, `variables begin in lower case; a name is a constant in quotes: '${word.text}'`);
    }
    const name = this.#take().text;
    return { kind: 'variable', name: name === '_' ? anonymous(++this.#unnamed) : name, at: word.at };
  }

  #atom(): Atom {
    const { text, at } = this.#name('a relation');
    const terms: Term[] = [];
    if (this.#skip('(')) {
      while (!this.#is(')')) {
        terms.push(this.#term());
        if (!this.#skip(',') && !this.#is(')')) this.#fail(', or ) after a term');
      }
      this.#expect(')', 'after the terms');
    }
    return { relation: text, terms, at };
  }

  #rule(): void {
    const first = this.#word;
    const weight = this.#weight();
    const head = this.#atom();
    const hasBody = this.#skip(':-');
    if (hasBody) this.#number++;
    const bodies = hasBody ? this.#alternatives() : [[]];
    const text = this.#text.slice(first.begin, this.#words[this.#next - 1]!.end);
    for (const body of bodies) {
      const rule: Rule = { number: hasBody ? this.#number : 0, head, body, weight, text, at: first.at };
      (hasBody ? this.#rules : this.#facts).push(rule);
    }
  }

  #weight(): number | string | null {
    if (this.#peek().text !== '::') return null;
    const { kind, text, at } = this.#take();
    this.#take();
    if (kind === 'name' && !isCapital(text)) return text;
    const weight = kind === 'number' ? Number(text) : NaN;
    if (weight >= 0 && weight <= 1) return weight;
    throw new RuleError(at, `${text} is no weight`, 'a number from 0 to 1, or a name in lower case, of a parameter');
  }

  /** A body as a list of conjunctions, one of which has to hold (disjunctive normal form). */
  #alternatives(): Conjunction[] {
    if (++this.#depth > 64) throw new RuleError(this.#word.at, 'parentheses are nested more than 64 deep');
    const all: Conjunction[] = [];
    do all.push(...this.#conjunctions());
    while (this.#skip(';'));
    this.#depth--;
    return all;
  }

  #conjunctions(): Conjunction[] {
    let all: Conjunction[] = [[]];
    do {
      const { at } = this.#word;
      const next = this.#part();
      if (all.length * next.length > MOST_ALTERNATIVES) {
        throw new RuleError(at, `the rule has more than ${MOST_ALTERNATIVES} alternatives`, 'give a disjunction a head of its own');
      }
      all = all.flatMap((before) => next.map((literals) => [...before, ...literals]));
    } while (this.#skip(','));
    return all;
  }

  #part(): Conjunction[] {
    if (!this.#skip('(')) return [[this.#literal()]];
    const inner = this.#alternatives();
    this.#expect(')', 'after the alternatives');
    return inner;
  }

  #literal(): Literal {
    const { kind, text, at } = this.#word;
    const after = this.#peek();
    if (text === 'not' && kind === 'name') {
      this.#take();
      return { kind: 'atom', atom: this.#atom(), negated: true, at };
    }
    const compares = after.kind === 'sign' && COMPARATORS.includes(after.text);
    if (!compares && kind === 'name' && (after.text === '(' || isCapital(text))) {
      return { kind: 'atom', atom: this.#atom(), negated: false, at };
    }
    const left = this.#term();
    if (!this.#is(...COMPARATORS)) this.#fail('a comparison', 'as in x < 3; a relation begins with a capital, or has parentheses');
    const comparator = this.#take().text as Comparator;
    return { kind: 'comparison', comparator, left, right: this.#term(), at };
  }

  /** A tensor with indices in brackets. In a head, an index may have a dot. */
  #entry(inHead: boolean): { atom: Atom; along: string | null } {
    const { text, at } = this.#name('a tensor');
    const terms: Term[] = [];
    let along: string | null = null;
    if (this.#skip('[')) {
      while (!this.#is(']')) {
        const term = this.#term();
        terms.push(term);
        if (this.#is('.') && !(inHead && term.kind === 'variable')) this.#fail(', or ]', 'a dot stands behind an index of the head, for softmax');
        if (this.#skip('.')) along = (term as { name: string }).name;
        if (!this.#skip(',') && !this.#is(']')) this.#fail(', or ] after an index');
      }
      this.#expect(']', 'after the indices');
    }
    return { atom: { relation: text, terms, at }, along };
  }

  #equation(): void {
    const first = this.#word;
    const { atom: head, along } = this.#entry(true);
    const adds = this.#skip('+=');
    if (!adds) this.#expect('=', 'or += after the head of an equation');
    const f = this.#nonlinearity(along);
    const sum = this.#sum();
    if (f) this.#expect(')', `after what ${f} is of`);
    const text = this.#text.slice(first.begin, this.#words[this.#next - 1]!.end);
    this.#equations.push({ number: ++this.#number, head, along, f, sum, adds, text, at: first.at });
  }

  #nonlinearity(along: string | null): Nonlinearity | null {
    const { kind, text, at } = this.#word;
    const isFunction = kind === 'name' && this.#peek().text === '(';
    if (isFunction && !(NONLINEARITIES as readonly string[]).includes(text)) {
      throw new RuleError(at, `there is no function ${text}`, `the functions are ${NONLINEARITIES.join(', ')}`);
    }
    if ((isFunction && text === 'softmax') !== (along !== null)) {
      const hint = 'a dot behind an index of the head tells it: P[x, y.] = softmax(...)';
      throw new RuleError(at, along === null ? 'softmax along which index?' : 'a dot is for softmax', hint);
    }
    if (!isFunction) return null;
    this.#next += 2;
    return text as Nonlinearity;
  }

  #sum(): Product[] {
    const products: Product[] = [];
    let sign = this.#skip('-') ? -1 : 1;
    for (;;) {
      products.push(this.#product(sign));
      if (!this.#is('+', '-')) return products;
      sign = this.#take().text === '-' ? -1 : 1;
    }
  }

  #product(sign: number): Product {
    const entries: Atom[] = [];
    let factor = sign;
    do {
      if (this.#word.kind === 'number') factor *= Number(this.#take().text);
      else entries.push(this.#entry(false).atom);
    } while (this.#skip('*') || this.#word.kind === 'name' || this.#word.kind === 'number');
    return { factor, entries };
  }
}

export const parseProgram = (text: string): Syntax => new Parser(text).program();

export const parseQuery = (text: string): Atom => new Parser(text).query();
