// What programs of rules show of themselves: rounds, explanations, and what becomes of each rule.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as sn from 'sinter';
import * as logic from 'sinter/logic';
import { plainSolution, randomProgram, textOf } from './datalog.mjs';
import { assertThrows } from './support.mjs';

before(() => sn.init());

const programOf = (text, facts, options) => {
  const p = logic.program(text, options);
  for (const [name, rows] of Object.entries(facts)) p.set(name, rows);
  return p;
};

const FAMILY = `domain Person = 6.
Parent(Person, Person).
Ancestor(x, z) :- Parent(x, z).
Ancestor(x, z) :- Parent(x, y), Ancestor(y, z).`;
const CHAIN = { Parent: [[0, 1], [1, 2], [2, 3]] };

test('rounds derive what solve derives, each fact once', () => {
  for (const options of [{}, { packFrom: 0 }]) {
    for (let seed = 0; seed < 40; seed++) {
      const program = randomProgram(seed);
      const p = programOf(textOf(program), program.facts, options);
      const { iterations } = p.solve();
      const wanted = Object.fromEntries(p.relations.map((name) => [name, p.rows(name)]));
      assert.deepEqual(wanted, plainSolution(program));
      const derived = Object.fromEntries(p.relations.map((name) => [name, new Set((program.facts[name] ?? []).map(String))]));
      let rounds = 0;
      for (const { iteration, derived: fresh } of p.rounds()) {
        rounds += 1;
        assert.equal(iteration, rounds);
        for (const [name, rows] of Object.entries(fresh)) {
          for (const row of rows) {
            assert.ok(!derived[name].has(String(row)), `seed ${seed}: ${name}(${row}) again`);
            derived[name].add(String(row));
            assert.equal(p.value(row.length ? `${name}(${row})` : name), 1);
          }
        }
      }
      assert.equal(rounds, iterations);
      for (const name of p.relations) assert.deepEqual(p.rows(name), wanted[name]);
      for (const name of p.relations) assert.equal(derived[name].size, wanted[name].length);
      p.dispose();
    }
  }
});

test('rounds of fuzzy rules tell the facts that became more true than not', () => {
  const p = programOf(FAMILY, CHAIN, { semantics: 'fuzzy' });
  const rounds = [...p.rounds()];
  assert.deepEqual(rounds.map(({ derived }) => derived.Ancestor), [[[0, 1], [1, 2], [2, 3]], [[0, 2], [1, 3]], [[0, 3]]]);
});

test('an explanation is a tree of rules down to facts', () => {
  const p = programOf(FAMILY, CHAIN);
  const found = p.explain('Ancestor(0, 2)');
  assert.equal(found.text, `Ancestor(0, 2)    rule 2 in line 4, round 2
  Parent(0, 1)    fact
  Ancestor(1, 2)    rule 1 in line 3, round 1
    Parent(1, 2)    fact`);
  assert.deepEqual([found.kind, found.rule, found.line, found.iteration, found.because.length], ['rule', 2, 4, 2, 2]);
  assert.equal(p.explain('Ancestor(2, 0)'), null);
  assert.equal(p.explain('Parent(0, 1)').kind, 'fact');
  p.set('Parent', []);
  assert.equal(p.explain('Ancestor(0, 2)'), null);
  assertThrows(() => p.explain('Ancestor(0, x)'), sn.SinterError, { message: /the variable x, expected constants/ });
  const fuzzy = programOf(FAMILY, CHAIN, { semantics: 'fuzzy' });
  assertThrows(() => fuzzy.explain('Ancestor(0, 2)'), sn.UnsupportedError, { message: /only boolean rules are explained/ });
});

test('an explanation has names, conditions, and what was explained above', () => {
  const p = programOf(`domain P = {ann, ben}.
    Knows(P, P). Knows('ann', 'ben').
    Shy(x) :- Knows(_, x), not Knows(x, _), x != 'ann'.
    Two(x) :- Shy(x), Shy(x).`, {});
  assert.equal(p.explain("Two('ben')").text, `Two('ben')    rule 2 in line 4, round 2
  Shy('ben')    rule 1 in line 3, round 1
    Knows('ann', 'ben')    fact
    not Knows(x, _)
    x != 'ann'
  Shy('ben')    see above`);
});

test('what an equation derives is explained by the equation', () => {
  const p = programOf(`domain N = 3. W[N, N]. On(N). On(0).
    Next[y] = step(W[x, y] On[x] - 0.5).
    Both(y) :- Next(y), not On(y).`, { W: [[0, 1, 0.4], [0, 0, 0], [0, 0, 0]] });
  assert.deepEqual(p.solve(), { iterations: 2 });
  assert.deepEqual([...p.rounds()].map(({ derived }) => derived), [{ Next: [[1]] }, { Both: [[1]] }]);
  assert.equal(p.explain('Both(1)').text, `Both(1)    rule 2 in line 3, round 2
  Next(1)    rule 1 in line 2, round 1
  not On(y)`);
  assert.deepEqual(p.set('W', [0, 0, 0, 0, 0, 0, 0, 0, 0]).solve(), { iterations: 0 });
});

/** Whether an explanation is one: rules of the program applied to facts of earlier rounds. */
const check = (node, facts, where) => {
  if (node.kind === 'fact') assert.ok(facts.has(node.fact), `${where}: ${node.fact} was not given`);
  for (const each of node.because) {
    if (each.kind === 'condition') continue;
    assert.ok(each.iteration < node.iteration, `${where}: ${each.fact} is needed for ${node.fact}`);
    check(each, facts, where);
  }
};

test('every fact of random programs has an explanation', () => {
  for (let seed = 0; seed < 60; seed++) {
    const program = randomProgram(seed);
    const p = programOf(textOf(program), program.facts, seed % 2 ? { packFrom: 0 } : {});
    const named = (name, row) => (row.length ? `${name}(${row.join(', ')})` : name);
    const facts = new Set(Object.entries(program.facts).flatMap(([name, rows]) => rows.map((row) => named(name, row))));
    for (const [name, rows] of Object.entries(plainSolution(program))) {
      for (const row of rows) {
        const found = p.explain(named(name, row));
        assert.ok(found, `seed ${seed}: no explanation of ${named(name, row)}`);
        check(found, facts, `seed ${seed}`);
      }
    }
    p.dispose();
  }
});

test('inspect tells the einsums of each rule, on what they are done, and its kernels', () => {
  for (const [options, on] of [[{}, 'tensors'], [{ packFrom: 0 }, 'facts'], [{ semantics: 'goedel' }, 'tensors']]) {
    const p = programOf(`${FAMILY}\nSize[x] = Ancestor[x, y].`, CHAIN, options);
    const { rules, program } = p.inspect();
    assert.deepEqual(rules.map(({ number, line }) => [number, line]), [[1, 3], [2, 4], [3, 5]]);
    const [none, [join], sum] = rules.map(({ joins }) => joins);
    assert.deepEqual([none, sum], [[], []]);
    assert.deepEqual([join.text, join.spec, join.sizes, join.on], ['Parent[x,y] Ancestor[y,z] -> [x,z]', 'ab,bc->ac', { x: 6, y: 6, z: 6 }, on]);
    assert.ok(rules.every(({ ms }) => ms >= 0) && rules[1].kernels.length > 0 && rules[2].kernels.length > 0);
    assert.ok(program.kernels.length > 0);
    p.dispose();
  }
});

test('rounds given up halfway, explanations and inspections leave nothing behind', () => {
  const before = sn.memory().tensors;
  const p = programOf(FAMILY, CHAIN);
  for (const { iteration } of p.rounds()) if (iteration === 2) break;
  assert.equal(p.count('Ancestor'), 5);
  p.explain('Ancestor(0, 3)');
  p.inspect().program.dispose();
  p.solve();
  p.dispose();
  assert.equal(sn.memory().tensors, before);
});

test('a name with a quote in it is written so that it can be read again', () => {
  const p = programOf(`domain C = {"it's", 'a, b'}.  R(C).  R("it's").  S(x) :- R(x).  ?- S("it's").`, {});
  p.solve();
  assert.deepEqual(p.queries(), [{ text: `S("it's")`, answers: [{}] }]);
  const { fact, text } = p.explain(`S("it's")`);
  assert.equal(fact, `S("it's")`);
  assert.match(text, /R\("it's"\) +fact/);
  assertThrows(() => p.query(`S("isn't")`), logic.RuleError, /"isn't" is no member of C/);
});
