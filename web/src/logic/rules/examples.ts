// Example programs: those of the package, which the worker sends, and one that is too long to write by hand.

import { generator } from '../../trainer/random.ts';
import type { Semantics } from './protocol.ts';

export interface Example {
  name: string;
  title: string;
  text: string;
  semantics: Semantics;
  temperature: number;
  params: Record<string, number[][]>;
}

export const TITLES: Record<string, string> = {
  family: 'A family',
  graph: 'Ways in a graph',
  access: 'Access rights',
  grammar: 'A small grammar',
  links: 'Link prediction',
  generations: 'Generations: 2,000 people',
};

const PEOPLE = 2000;
const PARENTS = 1700;
/** A parent is one of so many people before the child. */
const REACH = 54;

/** A program with long lines of descent: each child has one parent, among the people before it. */
export function generations(): string {
  const next = generator(7);
  const facts = Array.from({ length: PARENTS }, (_, i) => {
    const child = i + PEOPLE - PARENTS;
    const parent = child - 1 - (next() % REACH);
    return `Parent(${parent}, ${child}).`;
  });
  const lines = Array.from({ length: Math.ceil(PARENTS / 5) }, (_, i) => facts.slice(5 * i, 5 * i + 5).join(' '));
  return `% Who comes of whom, among 2,000 people. A round follows all lines of descent by one more generation.
domain Person = ${PEOPLE}.
Parent(Person, Person).

Ancestor(x, z) :- Parent(x, z).
Ancestor(x, z) :- Parent(x, y), Ancestor(y, z).

?- Ancestor(x, ${PEOPLE - 1}).

% Facts, by chance:
${lines.join('\n')}
`;
}
