// rules.mjs - logic programs: the ancestors in a genealogy and the reachable pairs of a random graph, computed to their fixed
// points and compared with a plain program on sets. Prints the first call, which compiles, and the best of several.
import * as sn from 'sinter';
import * as logic from 'sinter/logic';
import { closureProgram, genealogy, randomGraph } from './logic-cases.mjs';

const RUNS = 10;

/** The closure by sets, round by round: the facts, and the number of rounds that derive something new. */
const closureBySets = (pairs) => {
  const [known, next] = [new Map(), new Map()];
  for (let i = 0; i < pairs.length; i += 2) next.set(pairs[i], (next.get(pairs[i]) ?? new Set()).add(pairs[i + 1]));
  let delta = [...next].flatMap(([x, ys]) => [...ys].map((y) => [x, y]));
  let [count, rounds] = [0, 0];
  while (delta.length > 0) {
    const fresh = [];
    for (const [x, y] of delta) {
      const reached = known.get(x) ?? new Set();
      known.set(x, reached);
      if (reached.has(y)) continue;
      reached.add(y);
      count += 1;
      fresh.push([x, y]);
    }
    if (fresh.length > 0) rounds += 1;
    delta = fresh.flatMap(([x, y]) => [...(next.get(y) ?? [])].map((z) => [x, z]));
  }
  return { count, rounds };
};

const measure = (name, text, pairs, wanted) => {
  const p = logic.program(text).set('Edge', pairs);
  const times = [];
  let iterations;
  for (let run = 0; run < RUNS; run += 1) {
    const begin = performance.now();
    ({ iterations } = p.solve());
    times.push(performance.now() - begin);
  }
  const begin = performance.now();
  const count = p.count('Way');
  const counting = performance.now() - begin;
  if (count !== wanted.count) throw new Error(`${name}: ${count} facts, expected ${wanted.count}`);
  const ms = (time) => `${time.toFixed(1)} ms`;
  console.log(`${name.padEnd(44)} ${String(count).padStart(8)} facts, ${iterations} iterations: first ${ms(times[0])}, best ${ms(Math.min(...times.slice(1)))}; count ${ms(counting)}`);
  p.dispose();
};

await sn.init({ threads: 2 });
for (const [name, nodes, pairs] of [
  ['genealogy of 2,000 people', 2000, genealogy(2000, 1)],
  ['random graph, 2,000 nodes, 8,000 edges', 2000, randomGraph(2000, 8000, 1)],
]) {
  const begin = performance.now();
  const wanted = closureBySets(pairs);
  console.log(`${name}: a program over sets takes ${(performance.now() - begin).toFixed(0)} ms, ${wanted.rounds} rounds`);
  measure('  Edge(x, y), Way(y, z)', closureProgram(nodes, 'Edge(x, y), Way(y, z)'), pairs, wanted);
  measure('  Way(x, y), Edge(y, z)', closureProgram(nodes, 'Way(x, y), Edge(y, z)'), pairs, wanted);
  measure('  Way(x, y), Way(y, z)', closureProgram(nodes, 'Way(x, y), Way(y, z)'), pairs, wanted);
}
