// The judge of tests of rules: random programs as data, their text, and a plain evaluation of them over sets, which tries
// every member for every variable again and again until nothing is new.

/** Whole numbers from 0 to before n, from a seed (mulberry32). */
export const randomFrom = (seed) => {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * n);
  };
};

const COMPARE = {
  '=': (a, b) => a === b, '!=': (a, b) => a !== b, '<': (a, b) => a < b,
  '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b,
};

/** A program: domains [{ name, size }], relations [{ name, domains, stratum }], rules [{ head, body }]; facts { name: rows }.
 *  An atom is { relation, args }, an argument a number or { variable, domain }. */
export const randomProgram = (seed) => {
  const random = randomFrom(seed);
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

/** Calls found with each way to give the variables members. */
const bindings = (variables, domains, found, binding = {}) => {
  const [next, ...rest] = variables;
  if (!next) found(binding);
  else for (let i = 0; i < domains.find(({ name }) => name === next.domain).size; i++) bindings(rest, domains, found, { ...binding, [next.variable]: i });
};

/** What follows from the facts: name -> rows, sorted; stratum by stratum. */
export const plainSolution = ({ domains, relations, rules, facts }) => {
  const known = new Map(relations.map(({ name }) => [name, new Set((facts[name] ?? []).map((row) => row.join()))]));
  const stratumOf = (name) => relations.find((relation) => relation.name === name).stratum;
  for (const stratum of [1, 2]) {
    for (let changed = true; changed;) {
      changed = false;
      for (const { head, body } of rules.filter((rule) => stratumOf(rule.head.relation) === stratum)) {
        const all = [head, ...body.flatMap(({ atom }) => atom ?? [])].flatMap(({ args }) => args).filter((arg) => typeof arg === 'object');
        const variables = [...new Map(all.map((arg) => [arg.variable, arg])).values()];
        bindings(variables, domains, (binding) => {
          const member = (arg) => (typeof arg === 'number' ? arg : binding[arg.variable]);
          const row = ({ args }) => args.map(member).join();
          const holds = body.every(({ atom, negated, comparator, left, right }) =>
            (atom ? known.get(atom.relation).has(row(atom)) !== Boolean(negated) : COMPARE[comparator](member(left), member(right))));
          const derived = known.get(head.relation);
          if (!holds || derived.has(row(head))) return;
          derived.add(row(head));
          changed = true;
        });
      }
    }
  }
  const sorted = (set) => [...set].map((row) => (row === '' ? [] : row.split(',').map(Number)))
    .sort((a, b) => a.map((x, i) => x - b[i]).find((d) => d !== 0) ?? 0);
  return Object.fromEntries([...known].map(([name, set]) => [name, sorted(set)]));
};
