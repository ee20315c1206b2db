// Example programs, for pages to offer and tests to run.

import type { ProgramOptions } from './program.js';

export interface RuleExample {
  readonly name: string;
  readonly text: string;
  readonly options: ProgramOptions;
  /** Initial embeddings, if there are any: a row for each member of the domain. */
  readonly params?: Readonly<Record<string, readonly (readonly number[])[]>>;
}

const FAMILY = `% A family: who comes of whom, and who is related how.
domain Person = {ann, ben, cleo, dan, eva, finn, gina, hugo}.
Parent(Person, Person).
Parent('ann', 'cleo').  Parent('ann', 'dan').
Parent('ben', 'cleo').  Parent('ben', 'dan').
Parent('cleo', 'eva').  Parent('dan', 'finn').
Parent('dan', 'gina').  Parent('finn', 'hugo').

Ancestor(x, z) :- Parent(x, z).
Ancestor(x, z) :- Parent(x, y), Ancestor(y, z).
Sibling(x, y)  :- Parent(p, x), Parent(p, y), x != y.
Cousin(x, y)   :- Parent(p, x), Parent(q, y), Sibling(p, q).
Childless(x)   :- Parent(_, x), not Parent(x, _).

?- Ancestor('ann', x).
?- Cousin('eva', x).
`;

const GRAPH = `% Ways in a graph: what can be reached, and from where there is no way back.
domain Node = 10.
Edge(Node, Node).
Edge(0, 1).  Edge(1, 2).  Edge(2, 3).  Edge(3, 1).
Edge(3, 4).  Edge(4, 5).  Edge(6, 5).  Edge(7, 8).

Way(x, z)    :- Edge(x, z).
Way(x, z)    :- Edge(x, y), Way(y, z).
OnCycle(x)   :- Way(x, x).
NoReturn(x, y) :- Way(x, y), not Way(y, x).
DeadEnd(x)   :- Edge(_, x), not Edge(x, _).

% The same as an equation of tensors.
Reach[x, z] = step(Edge[x, z]).
Reach[x, z] += step(Edge[x, y] Reach[y, z]).

% A sum counts: the edges that leave each node.
Degree[x] = Edge[x, y].

?- Way(0, x).
`;

const ACCESS = `% Access rights: groups within groups, and what is denied.
domain User  = {ann, ben, cleo}.
domain Group = {staff, editors, admins}.
domain File  = {news, drafts, accounts}.
Member(User, Group).  Within(Group, Group).  Reads(Group, File).  Denied(User, File).
Member('ann', 'admins').  Member('ben', 'editors').  Member('cleo', 'staff').
Within('admins', 'editors').  Within('editors', 'staff').
Reads('staff', 'news').  Reads('editors', 'drafts').  Reads('admins', 'accounts').
Denied('ben', 'news').

In(u, g)  :- Member(u, g).
In(u, h)  :- In(u, g), Within(g, h).
May(u, f) :- In(u, g), Reads(g, f), not Denied(u, f).

?- May('ben', f).
?- May(u, 'drafts').
`;

const GRAMMAR = `% A small grammar: which words, from place to place, are what. Two readings of one sentence.
domain Place = 7.
domain Word  = {she, sees, the, man, with, telescope}.
At(Place, Word, Place).
At(0, 'she', 1).  At(1, 'sees', 2).  At(2, 'the', 3).  At(3, 'man', 4).  At(4, 'with', 5).  At(5, 'telescope', 6).

Noun(i, j)     :- At(i, 'man', j) ; At(i, 'telescope', j).
Phrase(i, j)   :- At(i, 'she', j) ; Noun(i, j).
Phrase(i, k)   :- At(i, 'the', j), Noun(j, k).
Phrase(i, k)   :- Phrase(i, j), With(j, k).
With(i, k)     :- At(i, 'with', j), Phrase(j, k).
Does(i, k)     :- At(i, 'sees', j), Phrase(j, k).
Does(i, k)     :- Does(i, j), With(j, k).
Sentence(i, k) :- Phrase(i, j), Does(j, k).

?- Sentence(0, x).
`;

const LINKS = `% Link prediction: no fact says what the tiger eats. At temperature 0 nothing follows; above it the tiger borrows
% from the cat, whose embedding is like its own.
domain Animal = {cat, tiger, trout, carp}.
domain Food   = {meat, weed}.
Eats(Animal, Food).
Eats('cat', 'meat').  Eats('carp', 'weed').

Hunts(a)     :- Eats(a, 'meat').
Rivals(a, b) :- Eats(a, f), Eats(b, f), a != b.
`;

/** Example programs of rules. */
export const ruleExamples: readonly RuleExample[] = [
  { name: 'family', text: FAMILY, options: {} },
  { name: 'graph', text: GRAPH, options: {} },
  { name: 'access', text: ACCESS, options: {} },
  { name: 'grammar', text: GRAMMAR, options: {} },
  {
    name: 'links',
    text: LINKS,
    options: { semantics: 'learnt', temperature: 0.5 },
    params: { Animal: [[1, 0, 0], [0.8, 0.6, 0], [0, 0.6, 0.8], [0, 0, 1]] },
  },
];
