// inspect: the stages of a compile, its kernels and memory, and what the switches do to them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as sn from '../dist/index.js';

await sn.init();

const layer = (x, w, b) => sn.relu(x.matmul(w).add(b));
const loss = (x, w, b) => sn.softmax(layer(x, w, b)).square().mean();
const layerArgs = () => [sn.ones([8, 16]), sn.ones([16, 4]), sn.zeros([4])];
const stageOf = (seen, name) => seen.stages.find((stage) => stage.name === name);

test('every stage tells its graph, from the trace to the kernels', () => {
  const seen = sn.inspect(layer)(...layerArgs());
  assert.deepEqual(
    seen.stages.map(({ name }) => name),
    ['trace', ...sn.passes().filter((name) => !['fuse', 'jit', 'winograd'].includes(name)), 'prepare', 'groups', 'plan', 'kernels'],
  );
  for (const { name, text, dot, nodes, edges, outputs, compileMs } of seen.stages) {
    assert.ok(text.length > 0 && dot.startsWith('digraph'), name);
    assert.ok(compileMs >= 0 && compileMs < 10_000, name);
    const ids = new Set(nodes.map(({ id }) => id));
    assert.equal(ids.size, nodes.length, name);
    for (const { from, to } of edges) assert.ok(ids.has(from) && ids.has(to), `${name}: ${from} -> ${to}`);
    for (const id of outputs) assert.ok(ids.has(id), name);
  }
  const product = stageOf(seen, 'trace').nodes.find(({ op }) => op === 'matmul');
  assert.deepEqual([product.dtype, product.shape, product.group], ['float32', [8, 4], null]);
  assert.equal(stageOf(seen, 'dce').nodes.length, seen.nodes);
});

test('what depends on captured tensors alone is shown apart, and runs once', async () => {
  const w = sn.random.normal(sn.random.key(1), [64, 64]);
  sn.eval(w);
  const f = (x) => x.matmul(w.matmul(w)).add(1);
  const x = sn.ones([2, 64]);
  const { kernels, prelude, cSource } = sn.inspect(f)(x);
  assert.deepEqual([prelude.kernels.length, kernels.length], [1, 1]);
  assert.equal(prelude.kernels[0].name, 'matmul');
  assert.match(prelude.kernels[0].wat(), /^\(module|^;;/);
  assert.match(cSource('f'), /a1/);
  assert.equal(sn.inspect((y, v) => y.matmul(v.matmul(v)))(x, w).prelude, null);
  const compiled = sn.jit(f);
  const apart = sn.jit((y, v) => y.matmul(v.matmul(v)).add(1))(x, w).toArray();
  for (let call = 0; call < 3; call++) assert.deepEqual(compiled(x).toArray(), apart);
  compiled.dispose();
  const step = sn.trainStep((p, y) => y.matmul(w.matmul(w)).mul(p).mean(), sn.optim.sgd({ lr: 0.1 }));
  let state = step.init(sn.tensor(1));
  const losses = [];
  for (let i = 0; i < 3; i++) {
    const result = step(state, x);
    state = result.state;
    losses.push(result.loss.item());
  }
  assert.ok(losses[2] < losses[1] && losses[1] < losses[0]);
});

test('nodes and edges say the same as the text', () => {
  const { text, nodes, edges } = stageOf(sn.inspect(loss)(...layerArgs()), 'simplify');
  const lines = text.trim().split('\n').slice(0, -1);
  assert.equal(lines.length, nodes.length);
  lines.forEach((line, i) => {
    const [, id, op, dtype, attrs = ''] = /^%(\d+) = (\w+) (\w+)\([^)]*\)(?: \{([^}]*)\})?/.exec(line);
    assert.deepEqual([nodes[i].id, nodes[i].op, nodes[i].dtype, nodes[i].attrs], [Number(id), op, dtype, attrs]);
    const inputs = [...line.slice(line.indexOf(')')).matchAll(/ %(\d+)/g)].map((found) => Number(found[1]));
    assert.deepEqual(edges.filter(({ to }) => to === Number(id)).map(({ from }) => from), inputs);
  });
});

test('an edge of the groups stage is fused or says why not', () => {
  const seen = sn.inspect(loss)(...layerArgs());
  const { nodes, edges, dot } = stageOf(seen, 'groups');
  const groupOf = new Map(nodes.map(({ id, group }) => [id, group]));
  assert.ok(edges.some(({ reason }) => reason === 'fused'));
  for (const { from, to, reason } of edges) {
    assert.ok(reason.length > 0);
    if (reason === 'fused' && groupOf.get(from) !== null) assert.equal(groupOf.get(from), groupOf.get(to));
  }
  const kernels = seen.kernels.map(({ id }) => id);
  for (const { group } of nodes) assert.ok(group === null || kernels.includes(group));
  assert.match(dot, /subgraph cluster_k0/);
});

test('kernels tell their work, their buffers and why their inputs stayed apart', () => {
  const seen = sn.inspect(loss)(...layerArgs());
  const product = seen.kernels.find(({ kind }) => kind === 'contraction');
  assert.match(product.name, /matmul.*relu/);
  assert.ok(product.flops >= 2 * 8 * 16 * 4 && product.bytes >= 4 * (8 * 16 + 16 * 4));
  assert.match(product.text, /total0 = matmul/);
  assert.match(product.code, /product 8 x 4 x 16/);
  assert.equal(typeof product.wat(), 'string');
  assert.equal(seen.flops, seen.kernels.reduce((sum, { flops }) => sum + flops, 0));
  const values = new Set(seen.memory.blocks.map(({ value }) => value));
  for (const { id, reads, writes, engine } of seen.kernels) {
    assert.ok(writes.length > 0 && ['vm', 'jit', 'ready'].includes(engine), `kernel ${id}`);
    for (const value of [...reads, ...writes]) assert.ok(values.has(value), `kernel ${id}: b${value}`);
  }
  const twice = sn.inspect((x, w) => x.matmul(w).add(w.matmul(x)))(sn.ones([5, 5]), sn.ones([5, 5]));
  const cuts = twice.kernels.flatMap((kernel) => kernel.cuts);
  assert.ok(cuts.some(({ reason }) => /both kernels reduce or contract/.test(reason)), JSON.stringify(cuts));
});

test('memory blocks that live at the same time do not overlap in the arena', () => {
  const { memory, kernels } = sn.inspect(sn.grad(loss, { argnums: 1 }))(...layerArgs());
  const inArena = memory.blocks.filter(({ kind }) => kind === 'arena');
  assert.ok(inArena.length > 0 && memory.arenaBytes <= memory.naiveBytes);
  for (const { offset, bytes, first, last, kind } of memory.blocks) {
    assert.equal(offset === null, kind !== 'arena');
    assert.ok(first <= last && last < kernels.length && bytes > 0);
    if (offset !== null) assert.ok(offset + bytes <= memory.arenaBytes);
  }
  for (const a of inArena)
    for (const b of inArena) {
      if (a.value >= b.value || a.last < b.first || b.last < a.first) continue;
      const inPlace = a.last === b.first || b.last === a.first;
      assert.ok(inPlace || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
    }
});

test('passes and fusion can be switched for one program, with equal results', () => {
  const args = layerArgs();
  const fused = sn.inspect(loss)(...args);
  const apart = sn.inspect(loss, { fusion: false, passes: { cse: false } })(...args);
  assert.ok(apart.kernels.length > fused.kernels.length);
  assert.equal(stageOf(apart, 'cse'), undefined);
  assert.ok(stageOf(apart, 'groups').edges.some(({ reason }) => reason === 'fusion is off'));
  const plain = sn.jit(loss)(...args).item();
  for (const options of [{ fusion: false }, { jit: false }, { passes: { simplify: false, cse: false } }])
    assert.ok(Math.abs(sn.jit(loss, options)(...args).item() - plain) <= 1e-6 * Math.abs(plain));
  assert.equal(sn.inspect(loss)(...args).kernels.length, fused.kernels.length);
  assert.throws(() => sn.jit(loss, { passes: { vectorise: true } })(...args), /no pass vectorise/);
});

test('only inspected programs are recorded, and their programs go back', () => {
  const f = (x) => x.mul(3.25).sin();
  const x = sn.tensor([1, 2, 3]);
  const { programs } = sn.memory();
  const seen = sn.inspect(f)(x);
  const run = sn.jit(f);
  run(x).dispose();
  // The cache keeps the one that runs: what is on record tells of one tracing.
  assert.equal(sn.memory().programs, programs + 1);
  seen.dispose();
  assert.throws(() => seen.cSource(), { name: 'DisposedError' });
  assert.throws(() => seen.kernels[0].wat(), { name: 'DisposedError' });
  run.dispose();
});

test('a stage has the regions of its loops and branches, and their nodes say how they run them', () => {
  const f = (x, w) => sn.scan((c, v) => [sn.cond(v.sum().greater(0), (a) => a.mul(w), (a) => a, c), c.add(v)], w, x)[1];
  const seen = sn.inspect(f)(sn.ones([4, 3]), sn.ones([3]));
  for (const name of ['trace', 'dce', 'groups']) {
    const stage = stageOf(seen, name);
    const loop = stage.nodes.find(({ op }) => op === 'scan');
    const { regions: [{ number, ...body }], ...how } = loop.control;
    assert.deepEqual([how, body], [{ first: 0, carries: 1, stacks: 1, rounds: 4, backwards: false }, { name: 'body' }], name);
    const region = stage.regions[number];
    assert.equal(region.number, number);
    assert.equal(region.outputs.length, 2);
    const branches = region.nodes.find(({ op }) => op === 'cond').control;
    assert.deepEqual([branches.first, branches.carries, branches.regions.map((each) => each.name)], [1, 0, ['on_true', 'on_false']]);
    const taken = region.regions[branches.regions[0].number];
    assert.ok(taken.nodes.some(({ op }) => op === 'mul'), name);
    // Each argument is given by an input of the node.
    const given = region.edges.filter(({ to }) => region.nodes.find(({ id }) => id === to).op === 'cond');
    for (const { attrs } of taken.nodes.filter(({ op }) => op === 'input')) assert.ok(branches.first + Number(attrs) < given.length);
    assert.ok(stage.nodes.every(({ op, control }) => (op === 'scan') === (control !== undefined)), name);
  }
  assert.deepEqual(stageOf(seen, 'kernels').regions, []);
});

test('regions are drawn as boxes, with edges from what they capture', () => {
  const w = sn.tensor([1, 2]);
  const f = (x) => sn.scan((c, v) => [sn.foriLoop(0, 2, (_, c) => c.mul(w), c).add(v), null], w, x)[0];
  const seen = sn.inspect(f)(sn.ones([3, 2]));
  const { dot } = stageOf(seen, 'trace');
  assert.match(dot, /subgraph cluster_r0_ \{\n {2}label="region 0";/);
  assert.match(dot, /subgraph cluster_r0_r0_ \{/); // the loop in the loop
  assert.match(dot, /\n {2}n\d+ -> r0_n\d+ \[style=dashed\];/); // carry, slices, w
  assert.match(dot, /\n {2}r0_n\d+ -> r0_r0_n\d+ \[style=dashed\];/); // w once more
  assert.match(dot, /\n {2}r0_r0_n\d+ -> r0_n\d+ \[style=dashed\];/); // what the inner one makes
  assert.equal(dot.match(/\{/g).length, dot.match(/\}/g).length);
  seen.dispose();
});

/** The line of a function's text that has this in it. */
const lineOf = (f, text) => {
  const here = readFileSync(new URL(import.meta.url), 'utf8').split('\n');
  const lines = f.toString().split('\n');
  const at = here.findIndex((_, i) => lines.every((line, k) => here[i + k]?.includes(line)));
  return at + 1 + lines.findIndex((line) => line.includes(text));
};

test('a node knows the call that made it, and a derivative the call it is of, behind every pass', () => {
  const hidden = (x, w) =>
    sn.tanh(x.matmul(w));
  const error = (w, x) => {
    const h = hidden(x, w);
    return sn.square(h.sub(0.25)).sum();
  };
  const seen = sn.inspect(sn.valueAndGrad(error))(sn.ones([4, 4]), sn.ones([2, 4]));
  const here = (node) => seen.calls[node.call].filter(({ file }) => file.endsWith('inspect.test.mjs')).map(({ line }) => line);
  for (const name of ['trace', 'prepare', 'groups']) {
    const { nodes } = stageOf(seen, name);
    const tanh = nodes.find(({ op }) => op === 'tanh');
    assert.deepEqual(here(tanh).slice(0, 2), [lineOf(hidden, 'sn.tanh'), lineOf(error, 'hidden(x, w)')], name);
    assert.equal(tanh.derivative, undefined, name);
    const products = nodes.filter(({ op }) => op === 'matmul');
    assert.equal(products.length, 2, name);
    assert.deepEqual(products.map(({ derivative = false }) => derivative), [false, true], name);
    assert.equal(products[0].call, products[1].call, name);
    // Of tanh: dy (1 - y^2), one call's derivative.
    assert.ok(nodes.some(({ call, derivative }) => derivative && call === tanh.call), name);
  }
});

test('what a loop does in a round knows its call, and so does its derivative', () => {
  const roll = (x) => {
    const step = (c) => {
      const next = sn.sin(c);
      return [next.mul(c), null];
    };
    return sn.scan(step, x, null, { length: 5 })[0].sum();
  };
  const seen = sn.inspect(sn.grad(roll))(sn.ones([3]));
  const { regions } = stageOf(seen, 'groups');
  const nodes = regions.flatMap((region) => region.nodes);
  const place = ({ call }) => seen.calls[call].find(({ file }) => file.endsWith('inspect.test.mjs')).line;
  const sines = nodes.filter(({ op }) => op === 'sin');
  assert.ok(sines.length > 0);
  for (const node of sines) assert.equal(place(node), lineOf(roll, 'sn.sin'));
  const cosine = nodes.find(({ op }) => op === 'cos');
  assert.deepEqual([place(cosine), cosine.derivative], [lineOf(roll, 'sn.sin'), true]);
});

test('equal programs at two places each know their own', () => {
  const one = (x) => x.exp().sum();
  const two = (x) => x.exp().sum();
  const lines = [one, two].map((f) => {
    const { calls, stages } = sn.inspect(f)(sn.ones([7]));
    return calls[stages[0].nodes.find(({ op }) => op === 'exp').call][0].line;
  });
  assert.equal(lines[1], lines[0] + 1);
  assert.equal(sn.inspect(one)(sn.ones([7])).stages[0].nodes.find(({ op }) => op === 'exp').derivative, undefined);
});

test('kernels list their nodes, and blocks the kernel that writes them', () => {
  const { kernels, memory, stages } = sn.inspect(loss, { fusion: false })(...layerArgs());
  const { nodes } = stages.find(({ name }) => name === 'groups');
  for (const kernel of kernels) {
    assert.ok(kernel.nodes.length > 0);
    for (const id of kernel.nodes) assert.equal(nodes.find((node) => node.id === id).group, kernel.id);
  }
  for (const { kind, kernel, value, first } of memory.blocks) {
    if (kind === 'argument') continue;
    assert.ok(kernels[kernel].writes.includes(value));
    assert.equal(kernel, first);
  }
});

test('a pass lists its rewrites, each with its rule, what it was and what it became', () => {
  const { stages } = sn.inspect((x) => x.mul(1).add(0).neg().neg().abs().abs())(sn.ones([5]));
  const at = stages.findIndex(({ name }) => name === 'simplify');
  const { rewrites, nodes } = stages[at];
  const rules = rewrites.map(({ rule }) => rule);
  for (const rule of ['times_one', 'neg_neg', 'twice']) assert.ok(rules.includes(rule), rules.join());
  const before = stages[at - 1].nodes;
  for (const { from, to } of rewrites) assert.ok(before[from].id === from && nodes[to].id === to);
  const { from } = rewrites.find(({ rule }) => rule === 'times_one');
  assert.equal(before[from].op, 'mul');
  assert.deepEqual(stages[0].rewrites, []);
});
