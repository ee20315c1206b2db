// The judge of tests of rules: random programs as data, their text, and a plain evaluation of them over sets, which tries
// all known facts for every atom again and again until nothing is new.

import { mulberry } from './random.mjs';

const COMPARE = {
  '=': (a, b) => a === b, '!=': (a, b) => a !== b, '<': (a, b) => a < b,
  '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b,
};

/** A program: domains [{ name, size }], relations [{ name, domains, stratum }], rules [{ head, body }]; facts { name: rows }.
 *  An atom is { relation, args }, an argument a number or { variable, domain }. */
export const randomProgram = (seed) => {
  const random = mulberry(seed);
  const pick = (list) => list[random(list.length)];
  const domains = ['A', 'B'].slice(0, 1 + random(2)).map((name) => ({ name, size: pick([0, 1, 2, 3, 3, 5, 5]) }));
  const some = (n) => Array.from({ length: n }, () => pick(domains));
  const given = ['E', 'F', 'G'].map((name) => ({ name, domains: some(pick([1, 2, 2, 2, 3, 0])), stratum: 0 }));
  const derived = ['P', 'Q', 'R', 'S'].slice(0, 1 + random(4)).map((name) => ({ name, domains: some(pick([1, 2, 2, 2, 3, 0])), stratum: 1 + random(2) }));
  const atom = (relation, argument) => ({ relation: relation.name, args: relation.domains.map(argument) });
  const constantOr = (variable) => (domain) => (domain.size > 0 && random(8) === 0 ? random(domain.size) : variable(domain));
  const rules = [];
  for (const head of [...derived, ...derived]) {
    const positive = [...given, ...derived.filter(({ stratum }) => stratum <= head.stratum)];
    const negative = [...given, ...derived.filter(({ stratum }) => stratum < head.stratum)];
    const body = Array.from({ length: 1 + random(3) }, () => ({
      atom: atom(pick(positive), constantOr((domain) => ({ variable: pick(['u', 'v', 'w']) + domain.name.toLowerCase(), domain: domain.name }))),
    }));
    const bound = body.flatMap(({ atom: { args } }) => args.filter((arg) => typeof arg === 'object'));
    const boundIn = (domain) => bound.filter((arg) => arg.domain === domain.name);
    const fits = (relation) => relation.domains.every((domain) => domain.size > 0 || boundIn(domain).length > 0);
    const old = constantOr((domain) => (boundIn(domain).length ? pick(boundIn(domain)) : random(domain.size)));
    if (!fits(head)) continue;
    const denied = pick(negative);
    if (random(3) === 0 && fits(denied)) body.push({ negated: true, atom: atom(denied, old) });
    if (random(3) === 0 && bound.length > 0) {
      const left = pick(bound);
      const { size } = domains.find(({ name }) => name === left.domain);
      const right = random(2) && size > 0 ? random(size) : pick(bound.filter(({ domain }) => domain === left.domain));
      body.push({ comparator: pick(Object.keys(COMPARE)), left, right });
    }
    rules.push({ head: atom(head, old), body });
  }
  const facts = {};
  for (const relation of random(4) === 0 ? [...given, derived[0]] : given) {
    const count = relation.domains.some(({ size }) => size === 0) ? 0 : random(relation.domains.length === 0 ? 2 : 9);
    facts[relation.name] = Array.from({ length: count }, () => relation.domains.map(({ size }) => random(size)));
  }
  return { domains, relations: [...given, ...derived], rules, facts };
};

const argText = (arg) => (typeof arg === 'number' ? String(arg) : arg.variable);
const atomText = ({ relation, args }) => (args.length ? `${relation}(${args.map(argText).join(', ')})` : relation);
const literalText = ({ atom, negated, comparator, left, right }) =>
  (atom ? `${negated ? 'not ' : ''}${atomText(atom)}` : `${argText(left)} ${comparator} ${argText(right)}`);

export const textOf = ({ domains, relations, rules }) => [
  ...domains.map(({ name, size }) => `domain ${name} = ${size}.`),
  ...relations.map((relation) => `${relation.name}(${relation.domains.map(({ name }) => name).join(', ')}).`),
  ...rules.map(({ head, body }) => `${atomText(head)} :- ${body.map(literalText).join(', ')}.`),
].join('\n');

const member = (binding, arg) => (typeof arg === 'number' ? arg : binding[arg.variable]);

/** Calls found with each way to give variables members so that all atoms are facts. */
const bindings = ([atom, ...rest], known, found, binding = {}) => {
  if (!atom) return found(binding);
  for (const row of [...known.get(atom.relation).values()]) {
    const more = { ...binding };
    const fits = atom.args.every((arg, i) => {
      if (typeof arg === 'object') more[arg.variable] ??= row[i];
      return member(more, arg) === row[i];
    });
    if (fits) bindings(rest, known, found, more);
  }
};

/** What follows from the facts: name -> rows, sorted; stratum by stratum. */
export const plainSolution = ({ relations, rules, facts }) => {
  const known = new Map(relations.map(({ name }) => [name, new Map((facts[name] ?? []).map((row) => [row.join(), row]))]));
  const stratumOf = (name) => relations.find((relation) => relation.name === name).stratum;
  for (const stratum of [1, 2]) {
    for (let changed = true; changed;) {
      changed = false;
      for (const { head, body } of rules.filter((rule) => stratumOf(rule.head.relation) === stratum)) {
        const positive = body.flatMap(({ atom, negated }) => (atom && !negated ? [atom] : []));
        bindings(positive, known, (binding) => {
          const row = ({ args }) => args.map((arg) => member(binding, arg));
          const holds = body.every(({ atom, negated, comparator, left, right }) =>
            (negated ? !known.get(atom.relation).has(row(atom).join()) : atom || COMPARE[comparator](member(binding, left), member(binding, right))));
          const derived = known.get(head.relation);
          const made = row(head);
          if (!holds || derived.has(made.join())) return;
          derived.set(made.join(), made);
          changed = true;
        });
      }
    }
  }
  const sorted = (rows) => [...rows].sort((a, b) => a.map((x, i) => x - b[i]).find((d) => d !== 0) ?? 0);
  return Object.fromEntries([...known].map(([name, rows]) => [name, sorted(rows.values())]));
};

/** Programs of relations of two arguments over two domains that take several words, with facts of a seed. */
export const wideProgram = (rules, seed) => {
  const random = mulberry(seed);
  const domains = [{ name: 'A', size: 37 }, { name: 'B', size: 66 }];
  const [a, b] = domains;
  const given = [['E', a, a], ['F', a, b], ['G', b, b]].map(([name, ...of]) => ({ name, domains: of, stratum: 0 }));
  const derived = [['P', a, a], ['Q', a, b], ['R', b, b], ['S', b, a]].map(([name, ...of]) => ({ name, domains: of, stratum: 1 }));
  const parse = (text) => {
    const [, not, relation, args] = /^(not )?(\w)\((.*)\)$/.exec(text);
    return { negated: Boolean(not), atom: { relation, args: args.split(',').map((variable) => ({ variable, domain: variable < 'p' ? 'A' : 'B' })) } };
  };
  const parsed = rules.map((text) => {
    const [head, ...body] = text.split(/ :- |; /).map(parse);
    return { head: head.atom, body };
  });
  const heads = new Set(parsed.map(({ head }) => head.relation));
  const facts = Object.fromEntries(given.map((relation) => [relation.name,
    Array.from({ length: 40 }, () => relation.domains.map(({ size }) => random(size)))]));
  return { domains, relations: [...given, ...derived.filter(({ name }) => heads.has(name))], rules: parsed, facts };
};
