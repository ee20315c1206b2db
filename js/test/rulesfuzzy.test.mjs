// Rules of truth values between 0 and 1, with parameters, and through embeddings: against plain JavaScript, and their slopes.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as sn from 'sinter';
import * as logic from 'sinter/logic';
import { mulberry } from './random.mjs';
import { assertClose } from './support.mjs';

before(() => sn.init());

const N = 6;
const TRUST = `
  domain P = ${N}.
  Likes(P, P).  Rude(P).
  0.9 :: Trust(x, z) :- Likes(x, z), not Rude(z).
  0.7 :: Trust(x, z) :- Likes(x, y), Trust(y, z), x != z.
  Popular(x) :- Trust(_, x).
`;
const NORMS = {
  product: (a, b) => a * b,
  goedel: (a, b) => Math.min(a, b),
  lukasiewicz: (a, b) => Math.max(0, a + b - 1),
};

/** Rows and values of each pair, and the matrix of them. */
const randomLikes = (seed) => {
  const random = mulberry(seed);
  const value = () => (random(3) ? 0 : Math.fround((1 + random(1000)) / 1001));
  const matrix = Array.from({ length: N }, () => Array.from({ length: N }, value));
  const rows = matrix.flatMap((row, x) => row.flatMap((v, y) => (v > 0 ? [[x, y]] : [])));
  return { matrix, rows, values: rows.map(([x, y]) => matrix[x][y]) };
};

const plainTrust = (likes, rude, and) => {
  let trust = likes.map((row) => row.map(() => 0));
  for (let round = 0; round < 200; round++) {
    const old = trust;
    trust = likes.map((row, x) => row.map((v, z) => {
      const direct = and(0.9, and(v, 1 - rude[z]));
      const over = x === z ? 0 : Math.max(...row.map((via, y) => and(0.7, and(via, old[y][z]))));
      return Math.max(direct, over);
    }));
  }
  return trust;
};

test('fuzzy rules are those of their norms, to the fixed point', () => {
  for (const [semantics, and] of Object.entries(NORMS)) {
    for (let seed = 0; seed < 5; seed++) {
      const { matrix, rows, values } = randomLikes(seed);
      const rude = [0, 0.25, 0, 1, 0.5, 0];
      const p = logic.program(TRUST, { semantics }).set('Likes', rows, values).set('Rude', rude.map((_, i) => [i]), rude);
      p.solve();
      const wanted = plainTrust(matrix, rude, and);
      assertClose(p.tensor('Trust'), wanted, 1e-5);
      assertClose(p.tensor('Popular'), wanted[0].map((_, x) => Math.max(...wanted.map((row) => row[x]))), 1e-5);
      assert.equal(p.count('Trust'), wanted.flat().filter((v) => v > 0.5).length);
      assertClose(p.forward({}, { rounds: 30 }).Trust, wanted, 1e-5);
      p.dispose();
    }
  }
});

test('facts of 0 and 1 derive what boolean rules derive, in every semantics', () => {
  const text = 'domain P = 9. E(P, P). W(x, y) :- E(x, y). W(x, z) :- E(x, y), W(y, z). Lone(x) :- E(x, _), not W(x, x).';
  const random = mulberry(3);
  const edges = Array.from({ length: 9 }, () => [random(9), random(9)]);
  const rows = (semantics, params) => {
    const p = logic.program(text, { semantics }).set('E', edges);
    p.solve(params ? { params: p.init(sn.random.key(0)) } : {});
    return [p.rows('W'), p.rows('Lone')];
  };
  const wanted = rows('boolean');
  assert.ok(wanted[0].length > 9 && wanted[1].length > 0);
  for (const semantics of ['fuzzy', 'goedel', 'lukasiewicz', 'learnt']) assert.deepEqual(rows(semantics), wanted, semantics);
  assert.deepEqual(rows('learnt', true), wanted, 'orthonormal embeddings at temperature 0 deduce exactly');
});

const PARAMETERS = `
  domain P = 4. domain F = 3.
  param Friend(P, P).  param W[F].  X[P, F].
  Good(P).  Good(0).  0.6 :: Good(1).  start :: Good(3).
  spread :: Good(x) :- Friend(x, y), Good(y).
  Score[x] = sigmoid(W[f] X[x, f] + Good[x]).
`;

test('parameters of rules, of relations and of equations have the slopes of differences', () => {
  for (const semantics of ['product', 'goedel', 'lukasiewicz']) {
    const p = logic.program(PARAMETERS, { semantics }).set('X', Array.from({ length: 4 }, (_, i) => [i, 1 - i, 0.5]));
    const params = p.init(sn.random.key(5));
    assert.deepEqual(Object.keys(params).sort(), ['Friend', 'W', 'spread', 'start']);
    params.start = sn.tensor(0.3);
    params.spread = sn.tensor(1.7);
    params.Friend = sn.add(params.Friend, 2);
    const of = (Friend, W, spread, start) => sn.add(p.forward({ Friend, W, spread, start }, { rounds: 4 }).Score.sum(), p.forward({ Friend, W, spread, start }).Good.square().sum());
    sn.checkGrads(of, [params.Friend, params.W, params.spread, params.start], { modes: ['reverse'], rtol: 2e-2 });
  }
});

test('weights of rules train: which of two rules holds is found', () => {
  const p = logic.program(`
    domain P = 8. Parent(P, P). Sister(P, P).
    a :: Aunt(x, z) :- Parent(y, z), Sister(x, y).
    b :: Aunt(x, z) :- Sister(x, y), Parent(z, y).
  `, { semantics: 'fuzzy' }).set('Parent', [[0, 1], [2, 3], [4, 5]]).set('Sister', [[6, 0], [7, 2], [7, 5]]);
  const wanted = sn.tensor(Float32Array.from({ length: 64 }, (_, i) => Number(i === 6 * 8 + 1 || i === 7 * 8 + 3)), { shape: [8, 8] });
  const step = sn.trainStep((params, target) => p.forward(params).Aunt.sub(target).square().sum(), sn.optim.adam({ lr: 0.2 }));
  let state = step.init(p.init(sn.random.key(0)));
  for (let i = 0; i < 60; i++) ({ state } = step(state, wanted));
  const { a, b } = step.params(state);
  assert.ok(a.item() > 2 && b.item() < -2, `${a.item()}, ${b.item()}`);
  p.solve({ params: step.params(state) });
  assert.deepEqual(p.rows('Aunt'), [[6, 1], [7, 3]]);
});

test('above temperature 0 members that are alike lend each other their facts', () => {
  const text = `
    domain Animal = {cat, tiger, trout}. domain Food = {meat, weed}.
    Eats(Animal, Food). Eats('cat', 'meat'). Eats('trout', 'weed').
    Hunts(a) :- Eats(a, 'meat').`;
  const Animal = sn.tensor([[1, 0, 0], [0.9, Math.sqrt(1 - 0.81), 0], [0, 0, 2]]);
  const p = logic.program(text, { semantics: 'learnt' });
  const hunts = (temperature) => {
    p.solve({ params: { Animal }, temperature });
    return p.tensor('Hunts').toArray();
  };
  assert.deepEqual(hunts(0), [1, 0, 0]);
  for (const t of [0.1, 0.5, 1]) {
    // Squared distances from the cat: 0, 2 - 1.8, 1 + 4.
    const scores = [0, 0.2, 5].map((distance) => Math.exp(-distance / (2 * t)));
    assertClose(hunts(t), scores.map((score) => 1 / (1 + Math.exp(-(score - 0.5) / t))), 1e-5);
  }
  assert.ok(hunts(0.01)[1] < 1e-6 && hunts(0.5)[1] > 0.5, 'the less, the nearer to deduction');
});

test('embeddings train', () => {
  const p = logic.program('domain P = 5. R(P, P). R(0, 1). R(1, 2). S(x, z) :- R(x, y), R(y, z).', { semantics: 'learnt', temperature: 0.3, dim: 4 });
  const params = p.init(sn.random.key(2));
  assert.deepEqual(params.P.shape, [5, 4]);
  sn.checkGrads((P) => p.forward({ P }).S.sum(), [params.P], { modes: ['reverse'], rtol: 2e-2 });
});
