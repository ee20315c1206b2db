// Rules: random programs against a plain evaluation over sets, what the language has, and what solve says.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as sn from 'sinter';
import * as logic from 'sinter/logic';
import { plainSolution, randomProgram, textOf, wideProgram } from './datalog.mjs';
import { assertClose } from './support.mjs';

before(() => sn.init());

const FAMILY = `
  domain Person = 7.
  Parent(Person, Person).
  Ancestor(x, z) :- Parent(x, z).
  Ancestor(x, z) :- Parent(x, y), Ancestor(y, z).
`;
const PAIRS = Int32Array.from([0, 1, 1, 2, 2, 3, 3, 4, 1, 5]);

/** The rows of a relation of a program of boolean rules. */
const rowsOf = (text, name, facts = {}) => {
  const program = logic.program(text);
  for (const [relation, rows] of Object.entries(facts)) program.set(relation, rows);
  program.solve();
  const rows = program.rows(name);
  program.dispose();
  return rows;
};

/** Programs against the plain evaluation. */
const judge = (programs, options) => {
  for (const [seed, program] of programs.entries()) {
    const text = textOf(program);
    const wanted = plainSolution(program);
    const p = logic.program(text, options);
    for (const [name, rows] of Object.entries(program.facts)) p.set(name, rows);
    p.solve();
    for (const { name } of program.relations) {
      const where = `seed ${seed}, ${name}\n${text}\n${JSON.stringify(program.facts)}`;
      assert.deepEqual(p.rows(name), wanted[name], where);
      assert.equal(p.count(name), wanted[name].length, where);
      assert.equal(Number(p.tensor(name).astype('int32').sum().item()), wanted[name].length, where);
      for (const row of wanted[name].slice(0, 3)) assert.equal(p.value(row.length ? `${name}(${row.join()})` : name), 1, where);
    }
    p.dispose();
  }
};

const RANDOM = Array.from({ length: 300 }, (_, seed) => randomProgram(seed));

test('random programs derive what a plain evaluation over sets derives', () => judge(RANDOM));

test('the same of relations that are kept as bits', () => judge(RANDOM, { packFrom: 0 }));

// Variables a to o are of the domain A, p to z of B.
const WIDE = [
  ['P(a,b) :- E(a,b)', 'P(a,c) :- E(a,b); P(b,c)'],
  ['P(a,b) :- E(a,b)', 'P(a,c) :- P(a,b); E(b,c)'],
  ['P(a,b) :- E(a,b)', 'P(a,c) :- P(a,b); P(b,c)'],
  ['Q(a,p) :- F(a,p)', 'Q(a,q) :- Q(a,p); G(p,q)', 'Q(a,p) :- E(a,b); Q(b,p)'],
  ['R(p,q) :- F(a,p); F(a,q)', 'R(p,q) :- G(r,p); R(r,s); G(s,q)'],
  ['Q(a,p) :- F(a,p)', 'S(p,a) :- Q(a,p)', 'Q(a,p) :- S(p,b); E(a,b)'],
  ['P(a,b) :- E(a,b); F(b,p); not F(a,p)', 'P(a,c) :- P(a,b); E(b,c); not E(a,c)'],
  ['P(a,b) :- E(b,a)', 'Q(a,p) :- P(a,b); F(b,p)', 'R(p,q) :- Q(a,p); Q(a,q); G(p,q)', 'P(a,b) :- Q(a,p); Q(b,p)'],
  ['P(a,a) :- E(a,b)', 'P(a,b) :- P(a,a); E(a,b); P(b,b)'],
];

test('relations of several words a row, joined in every orientation', () => {
  judge(WIDE.map((rules, seed) => wideProgram(rules, seed)), { packFrom: 0 });
});

test('a comparison is joined where its variables are together, not before', () => {
  const p = logic.program(`domain N = 2000. E(N, N).
    Same(x, z) :- E(p, x), E(p, z), x != z.
    Same(x, z) :- E(p, x), Same(p, q), E(q, z), x != z.`).set('E', [[0, 1], [0, 2], [1, 3], [2, 4], [2, 5]]);
  p.solve();
  assert.deepEqual(p.rows('Same'), [[1, 2], [2, 1], [3, 4], [3, 5], [4, 3], [4, 5], [5, 3], [5, 4]]);
});

test('a family: iterations are the rounds that derive something new', () => {
  const p = logic.program(FAMILY).set('Parent', PAIRS);
  assert.deepEqual(p.solve(), { iterations: 4 });
  assert.equal(p.count('Ancestor'), 12);
  assert.deepEqual(p.query('Ancestor(1, x)'), [{ x: 2 }, { x: 3 }, { x: 4 }, { x: 5 }]);
  assert.deepEqual(p.query('?- Ancestor(0, 4).'), [{}]);
  assert.deepEqual(p.query('Ancestor(4, 0)'), []);
  assert.deepEqual(p.query('Ancestor(x, x)'), []);
  assert.equal(p.value('Ancestor(0, 4)'), 1);
  const t = p.tensor('Ancestor');
  assert.deepEqual([t.dtype, t.shape, t.astype('int32').sum().item()], ['bool', [7, 7], 12]);
  t.dispose();
  assert.deepEqual(p.set('Parent', [[3, 1]]).solve(), { iterations: 1 });
  assert.deepEqual(p.rows('Ancestor'), [[3, 1]]);
  assert.deepEqual(p.set('Parent', []).solve(), { iterations: 0 });
  assert.deepEqual(p.rows('Ancestor'), []);
});

test('names, alternatives, anonymous variables, constants in heads, facts of the text', () => {
  const text = `
    % the colours that may be beside each other
    domain Colour = {red, green, 'light blue'}.  domain N = 4.
    Likes(Colour, N).
    Likes('red', 0). Likes('light blue', 3).
    Loved(c) :- Likes(c, _).
    Lonely(c) :- Known(c), not Likes(c, _).
    Known('red'). Known('green').
    Known(Colour).
    Low(Colour, N).
    Low('red', n) :- Likes(c, n), n < 2 ; Likes(c, n), (c = 'light blue', n != 1 ; n = 2).
    Same(n, n) :- Likes(_, n).
    Any :- Likes(c, 3).
    None :- Likes(c, 2).
    Three(N).
    Three(n) :- n = 3.
    ?- Loved(c).
  `;
  const p = logic.program(text);
  p.solve();
  assert.deepEqual(p.rows('Loved'), [['red'], ['light blue']]);
  assert.deepEqual(p.rows('Lonely'), [['green']]);
  assert.deepEqual(p.rows('Low'), [['red', 0], ['red', 3]]);
  assert.deepEqual(p.rows('Same'), [[0, 0], [3, 3]]);
  assert.deepEqual([p.rows('Any'), p.rows('None'), p.value('Any')], [[[]], [], 1]);
  assert.deepEqual(p.rows('Three'), [[3]]);
  assert.deepEqual(p.queries(), [{ text: 'Loved(c)', answers: [{ c: 'red' }, { c: 'light blue' }] }]);
  p.set('Likes', [['green', 2]]).solve();
  assert.deepEqual(p.rows('Loved'), [['red'], ['green'], ['light blue']]);
});

test('the signature of a relation: its domains with their members, and whether rules derive it', () => {
  const p = logic.program(`domain Colour = {red, green}. domain Size = 3. Is(Colour, Size). Big(c) :- Is(c, s), s > 1. N[c] = Is[c, s].`);
  const [colour, size] = [{ name: 'Colour', size: 2, names: ['red', 'green'] }, { name: 'Size', size: 3, names: null }];
  assert.deepEqual(p.relations.map((name) => p.signature(name)), [
    { name: 'Is', domains: [colour, size], numbers: false, parameter: false, derived: false },
    { name: 'Big', domains: [colour], numbers: false, parameter: false, derived: true },
    { name: 'N', domains: [colour], numbers: true, parameter: false, derived: true },
  ]);
  assert.throws(() => p.signature('Was'), /program\.signature: there is no relation "Was"/);
  p.dispose();
});

test('equations of relations with step are rules', () => {
  const text = `domain P = 7. Parent(P, P).
    Ancestor[x, z] = step(Parent[x, z]).
    Ancestor[x, z] += step(Parent[x, y] Ancestor[y, z]).`;
  assert.deepEqual(rowsOf(text, 'Ancestor', { Parent: PAIRS }), rowsOf(FAMILY, 'Ancestor', { Parent: PAIRS }));
});

test('equations of numbers: sums, functions, constants as indices, a fixed point', () => {
  const p = logic.program(`
    domain N = 3. domain M = 2.
    W[N, M]. X[N]. Link(N, N). Link(0, 1). Link(1, 2).
    Y[m] = W[n, m] X[n] - 0.5.
    H[m] = relu(2 * W[n, m] X[n] - W[0, m]).
    Out[n, m.] = softmax(W[n, m]).
    Children[n] = Link[n, k].
    Big[m] = step(Y[m] - 3).
    Rank[n] = 0.5 Link[k, n] Rank[k].
    Rank[n] += 0.25 + 0.1 X[n].
  `);
  const [w, x] = [[[1, -2], [0.5, 3], [-1, 0.25]], [1, 2, -1]];
  p.set('W', w).set('X', x).solve();
  const y = [0, 1].map((m) => w.reduce((sum, row, n) => sum + row[m] * x[n], 0) - 0.5);
  assertClose(p.tensor('Y'), y);
  assertClose(p.tensor('H'), [0, 1].map((m) => Math.max(0, 2 * (y[m] + 0.5) - w[0][m])));
  assertClose(p.tensor('Out'), w.map((row) => row.map((v) => Math.exp(v) / row.reduce((s, u) => s + Math.exp(u), 0))));
  assertClose(p.tensor('Children'), [1, 1, 0]);
  assert.deepEqual(p.rows('Big'), y.flatMap((v, m) => (v > 3 ? [[m]] : [])));
  const own = x.map((v) => 0.25 + 0.1 * v);
  const second = own[1] + 0.5 * own[0];
  assertClose(p.tensor('Rank'), [own[0], second, own[2] + 0.5 * second], 1e-5);
});

test('numbers may be given as a tensor, which stays its owner\'s', () => {
  const p = logic.program('domain N = 2. domain M = 3. W[N, M]. S[n] = 2 W[n, m] - 1.');
  const w = sn.tensor([[1, 2, 3], [-4, -5, 6]]);
  assertClose(p.set('W', w).solve() && p.tensor('S'), [11, -7]);
  p.set('W', sn.tensor([1, 2, 3, 4, 5, 6], { dtype: 'int32' })).solve();
  assertClose(p.tensor('S'), [11, 29]);
  assert.deepEqual(w.toArray(), [[1, 2, 3], [-4, -5, 6]]);
  p.set('W', w);
  w.dispose();
  p.solve();
  assertClose(p.tensor('S'), [11, -7]);
  p.dispose();
});

test('a program within tidy keeps what it derived, and its end releases everything', () => {
  const before = sn.memory().tensors;
  const p = sn.tidy(() => {
    const program = logic.program(FAMILY).set('Parent', PAIRS);
    program.solve();
    return program;
  });
  assert.equal(p.count('Ancestor'), 12);
  p.solve();
  p.dispose();
  assert.equal(sn.memory().tensors, before);
});
