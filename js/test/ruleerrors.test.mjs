// What is refused, and with which words: texts of rules with the place in them, and calls.
import { before, test } from 'node:test';
import * as sn from 'sinter';
import * as logic from 'sinter/logic';
import { mulberry } from './random.mjs';
import { assertThrows } from './support.mjs';

before(() => sn.init());

/** Text, line, column, what the message has. */
const TEXTS = [
  ['domain P = 3. A(P). B(x, y) :- A(x).', 1, 26, /the variable y of the head B\(x, y\) is bound by nothing in the body/],
  ['domain P = 3. A(P).\nB(x) :- A(x), not A(y).', 2, 21, /the variable y under negation in not A\(y\) is bound by nothing/],
  ['domain P = 3. A(P). B(x) :- A(x), y < 2.', 1, 35, /the variable y in y < 2 is bound by nothing/],
  ['domain P = 3. A(P).\nB(x) :- A(x), not C(x).\nC(x) :- B(x).', 2, 1, /a cycle through negation: B needs not C, C needs B/],
  ['domain P = 3. A(P).\nB(x) :- A(x), not B(x).', 2, 1, /a cycle through negation: B needs not B/],
  ['domain P = 3. domain Q = 4. A(P). B(Q). C(x) :- A(x), B(x).', 1, 57, /domains differ: the variable x is of P .*in line 1\), and of Q/],
  ['domain P = 3. domain Q = 4. A(P). B(Q). C(x) :- A(x), B(y), x < y.', 1, 65, /domains differ: the variable y, compared with x,/],
  ['domain P = 3. A(P). A(1, 2).', 1, 21, /A has 2 arguments here, and 1 argument in line 1/],
  ['domain P = 3. A(Q).', 1, 17, /there is no domain Q \(there are P\)/],
  ['A(Q).', 1, 3, /there is no domain Q \(declare it: domain Q = 20\.\)/],
  ['domain P = 3. domain Q = 3. A(1).', 1, 29, /of which domain is the argument of A\? \(declare it: A\(Domain\)\.\)/],
  ['domain P = 3. A(P). B(x) :- C(x).', 1, 29, /there is no relation C \(declare it: C\(Domain\)\.\)/],
  ['domain P = 3. A(P). A(3).', 1, 23, /3 is no member of P \(it has 0 to 2\)/],
  ['domain P = 0. A(P). A(0).', 1, 23, /0 is no member of P \(it has none\)/],
  ["domain P = {a, b}. A(P). A('c').", 1, 28, /'c' is no member of P \(it has a, b\)/],
  ['domain P = {a, b}. A(P). A(1).', 1, 28, /1 is no member of P \(write the name in quotes/],
  ["domain P = 3. A(P). A('a').", 1, 23, /'a' is no member of P \(its members are numbers, 0 to 2\)/],
  ['domain P = 3. A(P). A(x).', 1, 23, /the variable x in the fact A\(x\)/],
  ['domain P = 3. domain P = 4.', 1, 15, /the domain P is declared twice/],
  ['domain P = 3. A(P). A(P).', 1, 21, /A is declared twice/],
  ['domain P = 3. P(P).', 1, 15, /P is a domain and a relation/],
  ['domain P = {a, a}.', 1, 16, /a is twice in the domain/],
  ['domain p = 3.', 1, 8, /a domain's name begins with a capital/],
  ['domain P = 2.5.', 1, 12, /2\.5 is no size/],
  ['domain P 3.', 1, 10, /expected = and a size or names/],
  ['domain P = x.', 1, 12, /expected a size or names in braces, found x/],
  ['domain P = {a b}.', 1, 15, /expected , or } after a name, found b/],
  ['domain P = 3. A(P)', 1, 19, /expected \. at the end of the sentence, found the end of the text/],
  ['domain P = 3. A(P). B(x) :- A(x) A(x).', 1, 34, /expected \. at the end of the sentence, found A/],
  ['domain P = 3. A(P). B(x) :- A(X).', 1, 31, /X is no variable \(variables begin in lower case; .* 'X'\)/],
  ['domain P = 3. A(P). B(x) :- A(x), x.', 1, 36, /expected a comparison, found \./],
  ['domain P = 3. A(P). B(x) :- A(x), 1 < 2.', 1, 35, /two constants are compared/],
  ['domain P = 3. A(P). B(x) :- (A(x).', 1, 34, /expected \) after the alternatives/],
  ['domain P = 3. A(P). B(x) :- A(x;).', 1, 32, /expected , or \) after a term, found ;/],
  ['domain P = 3. A(P). ?- A(x), A(y).', 1, 28, /expected the end of the query, found , \(a query has one relation: write a rule/],
  ['domain P = 3. A(P). B(x) :- not (A(x)).', 1, 33, /expected a relation, found \(/],
  ["domain P = {a}. A(P). A('a).", 1, 25, /the quote ' is not closed in its line/],
  ['domain P = 3. # comment', 1, 15, /# means nothing here \(a comment begins with %\)/],
  ['domain P = 3. A(P). 0.5 :: B(x) :- A(x).', 1, 21, /a weight has no meaning in boolean semantics/],
  ['domain P = 3. A(P). 1.5 :: B(x) :- A(x).', 1, 21, /1\.5 is no weight/],
  ['domain P = 3. param A(P).', 1, 15, /A is a parameter of truth values/],
  ['domain P = 3. param A[P]. A[x] = 2.', 1, 15, /the parameter A is the head of a rule/],
  ['domain P = 3. A[P]. B(x) :- A(x).', 1, 29, /A has numbers, not truth values/],
  ['domain P = 3. A[P]. B[x] = A[y].', 1, 23, /the index x of the head is nowhere on the right side/],
  ['domain P = 3. A[P]. B[x, x] = A[x].', 1, 26, /the index x is twice in the head/],
  ['domain P = 3. A[P]. B[1] = A[1].', 1, 23, /an index of the head is a variable/],
  ['domain P = 3. A[P]. B[x] = A[x]. B[x] = 2 A[x].', 1, 34, /B has another equation, in line 1/],
  ['domain P = 3. A(P). B(x) :- A(x). B[x] = step(A[x]).', 1, 35, /B has rules and an equation/],
  ['domain P = 3. A[P]. B(P). B[x] = A[x].', 1, 27, /B has truth values, which a sum does not make/],
  ['domain P = 3. A[P]. B[x] = sin(A[x]).', 1, 28, /there is no function sin \(the functions are step, sigmoid/],
  ['domain P = 3. A[P]. B[x] = softmax(A[x]).', 1, 28, /softmax along which index\?/],
  ['domain P = 3. A[P]. B[x.] = relu(A[x]).', 1, 29, /a dot is for softmax/],
  ['domain P = 3. A[P]. B[x] = A[x.].', 1, 31, /expected , or \], found \./],
  ['domain P = 30. A(P). B(a) :- A(a), A(b), A(c), a != b, b != c, C(a, b, c, d, e, f, g, h, i). C(P, P, P, P, P, P, P, P, P).', 1, 0, /entries, more than/],
  ['domain P = 3. A(P, P). B(a) :- A(a, _) , (A(a, 0) ; A(a, 1)), (A(a, 0) ; A(a, 1)), (A(a, 0) ; A(a, 1)), (A(a, 0) ; A(a, 1)), (A(a, 0) ; A(a, 1)), (A(a, 0) ; A(a, 1)), (A(a, 0) ; A(a, 1)), (A(a, 0) ; A(a, 1)), (A(a, 0) ; A(a, 1)).', 1, 210, /more than 256 alternatives/],
  ['domain P = 3. constructor(P).', 1, 15, /constructor cannot be a name/],
  ['domain P = 3. A(P). __proto__(x) :- A(x).', 1, 21, /__proto__ cannot be a name/],
  [`domain P = 3. A(P). B(x) :- ${'A(x), '.repeat(64)}A(x).`, 1, 21, /the body has 65 conditions, more than 64/],
  [`domain P = 3. A[P]. B[x] = ${'A[x] '.repeat(65)}.`, 1, 21, /a product has 65 factors, more than 64/],
  ['domain P = 3. A(P). B(_) :- A(_).', 1, 23, /the variable _ of the head B\(_\) is bound by nothing/],
];

test('a text that is wrong is an error with its line and column', () => {
  for (const [text, line, column, message] of TEXTS) {
    if (column === 0) assertThrows(() => logic.program(text), sn.OutOfMemoryError, { message });
    else assertThrows(() => logic.program(text), logic.RuleError, { message, at: { line, column }, op: 'logic.program', code: 'argument' });
  }
});

test('deep nesting, huge joins and long chains of relations are errors or work', () => {
  const deep = `domain P = 3. A(P). B(x) :- ${'('.repeat(100)}A(x)${')'.repeat(100)}.`;
  assertThrows(() => logic.program(deep), logic.RuleError, { message: /nested more than 64 deep/ });
  const wide = 'domain P = 9000. A(P, P). T(x) :- A(x, a), A(x, b), A(x, c), A(a, b), A(b, c), A(a, c).';
  assertThrows(() => logic.program(wide), logic.RuleError, { message: /joins over too many points at once/ });
});

test('calls with bad arguments are errors that say what is allowed', () => {
  const p = logic.program("domain P = 3. domain C = {red, green}. A(P, P). L(C). N[P]. B(x) :- A(x, _). M[x] = N[x].");
  const { SinterError } = sn;
  assertThrows(() => logic.program(7), SinterError, { message: 'logic.program: the program is 7, expected a text' });
  assertThrows(() => logic.program('', { semantics: 'vague' }), SinterError, { message: /option semantics is "vague" \(it is one of boolean, fuzzy/ });
  assertThrows(() => logic.program('', { maxRounds: 0 }), SinterError, { message: /maxRounds/ });
  assertThrows(() => logic.program('', { temperature: -1 }), SinterError, { message: /temperature is -1, expected a number from 0 on/ });
  assertThrows(() => p.count('A'), SinterError, { message: 'program.count: nothing is derived yet (call solve() first)' });
  assertThrows(() => p.set('Z', []), SinterError, { message: /there is no relation "Z" \(there are A, L, N, B, M\)/ });
  assertThrows(() => p.set('A', [[0, 3]]), SinterError, { message: 'program.set: argument 2 of row 0 of A is 3, no member of P (it has 0 to 2)' });
  assertThrows(() => p.set('A', Int32Array.of(0, -1)), SinterError, { message: /argument 2 of row 0 of A is -1, no member of P/ });
  assertThrows(() => p.set('A', Int32Array.of(0, 1, 2)), SinterError, { message: /3 members are no rows of A, which has 2 arguments/ });
  assertThrows(() => p.set('A', [[0]]), SinterError, { message: /row 0 of A is an array, expected an array of 2 members/ });
  assertThrows(() => p.set('A', 5), SinterError, { message: /the facts of A are 5/ });
  assertThrows(() => p.set('L', [['blue']]), SinterError, { message: /argument 1 of row 0 of L is "blue", no member of C \(it has red, green\)/ });
  assertThrows(() => p.set('A', [[0, 1]], [0.5]), SinterError, { message: /facts of A have values, which boolean semantics has not/ });
  assertThrows(() => p.set('M', [1, 2, 3]), SinterError, { message: /M is given by an equation/ });
  assertThrows(() => p.forward({}), SinterError, { message: /boolean semantics has no derivatives/ });
  p.set('N', [1, 2, 3]).solve();
  assertThrows(() => p.rows('N'), SinterError, { message: /N has numbers, not facts/ });
  assertThrows(() => p.query('N(1)'), logic.RuleError, { message: /N has numbers, not facts/ });
  assertThrows(() => p.query('B(x, y)'), logic.RuleError, { message: /B has 1 arguments, not 2/ });
  assertThrows(() => p.query('Z(x)'), logic.RuleError, { message: /there is no relation Z/ });
  assertThrows(() => p.query('B(x) C'), logic.RuleError, { message: /expected the end of the query/ });
  assertThrows(() => p.value('B(x)'), SinterError, { message: /the variable x, expected constants/ });
  const f = logic.program('domain P = 3. A(P, P). w :: B(x) :- A(x, _). param C(P).', { semantics: 'fuzzy' });
  assertThrows(() => f.solve(), SinterError, { message: /params\.w is undefined, expected a tensor \(\) \(init\(key\) makes all of them\)/ });
  assertThrows(() => f.forward({ w: sn.tensor(0), C: sn.zeros([2]) }), sn.ShapeError, { message: /params\.C is \(2\), expected \(3\)/ });
  const fitting = { w: sn.tensor(0), C: sn.zeros([3]) };
  assertThrows(() => f.forward(fitting, { facts: { A: sn.zeros([2, 2]) } }), SinterError, { message: /facts\.A is a tensor that does not fit \(a tensor \(3, 3\)\)/ });
  assertThrows(() => f.forward(fitting, { facts: { Q: sn.zeros([2, 2]) } }), SinterError, { message: /there is no relation "Q"/ });
  assertThrows(() => f.set('C', []), SinterError, { message: /C is a parameter/ });
  assertThrows(() => f.set('A', [[0, 1]], [2]), SinterError, { message: /value 0 is 2, expected a number from 0 to 1/ });
  assertThrows(() => f.set('A', [[0, 1]], []), SinterError, { message: /1 facts of A have 0 values/ });
});

test('rules that do not end within the bound are an error, and the program goes on', () => {
  const p = logic.program('domain P = 40. E(P, P). T(x, y) :- E(x, y). T(x, z) :- E(x, y), T(y, z).', { maxRounds: 10 });
  const chain = Array.from({ length: 39 }, (_, i) => [i, i + 1]);
  assertThrows(() => p.set('E', chain).solve(), sn.SinterError, { code: 'unsupported', message: /still derive something after 10 rounds \(option maxRounds allows more/ });
  p.set('E', chain.slice(0, 9)).solve();
  if (p.count('T') !== 45) throw new Error(`${p.count('T')} facts, expected 45`);
  const grows = logic.program('domain P = 2. X[P]. Y[x] = 2 Y[x] + X[x].', { maxRounds: 50 }).set('X', [1, 1]);
  assertThrows(() => grows.solve(), sn.SinterError, { message: /after 50 rounds/ });
});

test('damaged texts are parsed or refused with a place', () => {
  const random = mulberry(11);
  const signs = ['(', ')', '[', ']', '{', '}', '.', ',', ';', ':-', '::', '?-', '=', '+=', '<', 'not ', 'x', 'P', '7', '0.5', "'a'", '"', '_', ' ', '\n', '%', 'domain ', 'param ', 'softmax(', '\u00e9', '#'];
  let refused = 0;
  for (let i = 0; i < 4000; i++) {
    let { text } = logic.ruleExamples[random(logic.ruleExamples.length)];
    for (let k = random(4) + 1; k > 0; k--) {
      const [at, gone] = [random(text.length), random(2) ? random(6) : 0];
      text = text.slice(0, at) + (random(3) ? signs[random(signs.length)] : '') + text.slice(at + gone);
    }
    try {
      logic.program(text, { semantics: random(2) ? 'boolean' : 'learnt' }).dispose();
    } catch (error) {
      if (!(error instanceof logic.RuleError) && !(error instanceof sn.OutOfMemoryError)) throw new Error(`${error}\n${text}`, { cause: error });
      refused += 1;
    }
  }
  if (refused < 1000) throw new Error(`only ${refused} were refused`);
});
