// links.mjs - link prediction on a generated knowledge graph: 5,000 entities and 20 relations, of which 8 are compositions of
// two others by a rule. Each relation has a matrix over embeddings (bilinear). With rules, the matrix of a composed relation is
// the product of the matrices in its rule - the rule as a tensor equation; without rules it is one more parameter. Both
// variants see all facts of the 12 plain relations and one in twenty of the composed ones. The mean reciprocal rank is that of
// composed facts that neither has seen.
import * as sn from 'sinter';
import * as logic from 'sinter/logic';
import { mulberry } from '../js/test/random.mjs';

const [ENTITIES, PLAIN, COMPOSED, DIM, BATCH] = [5000, 12, 8, 64, 512];
const STEPS = Number(process.argv[2] ?? 2500);
const SEEN = 20;

/** Entities on a grid of 50 x 100 that wraps around in both directions; each relation moves entities by a fixed offset. */
const makeGraph = (random) => {
  const moves = Array.from({ length: PLAIN }, () => [random(50), random(100)]);
  const rules = Array.from({ length: COMPOSED }, () => [random(PLAIN), random(PLAIN)]);
  for (const [i, j] of rules) moves.push([moves[i][0] + moves[j][0], moves[i][1] + moves[j][1]]);
  const object = (relation, entity) => {
    const [rows, columns] = moves[relation];
    return ((Math.floor(entity / 100) + rows) % 50) * 100 + ((entity % 100) + columns) % 100;
  };
  const [train, test] = [[], []];
  for (let relation = 0; relation < PLAIN + COMPOSED; relation += 1) {
    for (let entity = 0; entity < ENTITIES; entity += 1) {
      const isSeen = relation < PLAIN || random(SEEN) === 0;
      (isSeen ? train : test).push([entity, relation, object(relation, entity)]);
    }
  }
  return { rules, train, test };
};

const textOf = (rules) => [
  `domain Entity = ${ENTITIES}. domain D = ${DIM}. param E[Entity, D].`,
  ...Array.from({ length: PLAIN }, (_, r) => `param R${r}[D, D].`),
  ...Array.from({ length: COMPOSED }, (_, k) => (rules
    ? `R${PLAIN + k}[i, j] = R${rules[k][0]}[i, m] R${rules[k][1]}[m, j].`
    : `param R${PLAIN + k}[D, D].`)),
].join('\n');

const scoresOf = (program, params, subjects, relations) => {
  const known = program.forward(params);
  const matrices = sn.stack(Array.from({ length: PLAIN + COMPOSED }, (_, r) => known[`R${r}`]));
  const queries = sn.einsum('bi,bij->bj', sn.take(known.E, subjects, { axis: 0 }), sn.take(matrices, relations, { axis: 0 }));
  return sn.matmul(queries, sn.transpose(known.E));
};

const columns = (triples) => [0, 1, 2].map((i) => sn.tensor(Int32Array.from(triples, (triple) => triple[i])));

const rankOf = (scores, begin, wanted) => {
  let rank = 1;
  for (let e = 0; e < ENTITIES; e += 1) rank += Number(scores[begin + e] > scores[begin + wanted]);
  return rank;
};

const train = (name, rules, graph) => {
  const program = logic.program(textOf(rules), { semantics: 'learnt' });
  const random = mulberry(7);
  const start = sn.tidy(() => {
    const { Entity: _, D: __, ...params } = program.init(sn.random.key(0));
    const scaled = Object.entries(params).map(([each, t]) => [each, each === 'E' ? sn.mul(t, 4) : sn.add(sn.eye(DIM), t)]);
    return Object.fromEntries(scaled);
  });
  const loss = (params, subjects, relations, objects) => {
    const scores = scoresOf(program, params, subjects, relations);
    const own = sn.takeAlongAxis(scores, sn.reshape(objects, [BATCH, 1]), { axis: 1 });
    return sn.mean(sn.sub(sn.logsumexp(scores, { axis: 1 }), sn.reshape(own, [BATCH])));
  };
  const step = sn.trainStep(loss, sn.optim.adam({ lr: 0.01 }));
  let state = step.init(start);
  let [best, last] = [Infinity, 0];
  for (let i = 0; i < STEPS; i += 1) {
    const batch = columns(Array.from({ length: BATCH }, () => graph.train[random(graph.train.length)]));
    const begin = performance.now();
    const result = step(state, ...batch);
    ({ state } = result);
    last = result.loss.item();
    best = Math.min(best, performance.now() - begin);
    sn.dispose([batch, result.loss]);
  }
  const asked = Array.from({ length: 1024 }, () => graph.test[random(graph.test.length)]);
  const [subjects, relations] = columns(asked);
  const scores = sn.tidy(() => scoresOf(program, step.params(state), subjects, relations).dataSync());
  const mrr = asked.reduce((sum, [, , object], i) => sum + 1 / rankOf(scores, i * ENTITIES, object), 0) / asked.length;
  console.log(`${name.padEnd(16)} step ${best.toFixed(1)} ms, loss ${last.toFixed(3)} after ${STEPS} steps, MRR ${mrr.toFixed(3)} of unseen composed facts`);
};

await sn.init({ threads: 2 });
const graph = makeGraph(mulberry(3));
console.log(`${graph.train.length} facts to learn from, ${graph.test.length} composed ones to find`);
train('with rules', graph.rules, graph);
train('plain bilinear', null, graph);
