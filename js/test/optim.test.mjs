// Optimizers and schedules: against PyTorch's (tests/golden/optimizer_cases.py wrote them), Lion and Muon against plain
// JavaScript; groups, masks and averages against optimizers used apart.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();
const { optim } = sn;
const { schedules } = optim;
const golden = JSON.parse(readFileSync(new URL('../../tests/golden/optimizers.json', import.meta.url), 'utf8'));

const SHAPES = { weight: [4, 3], bias: [3] };
const STEPS = 50;
const sines = (seed, shape, scale = 1) =>
  Float64Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i * 0.7 + seed) * 0.6 * scale);
const each = (f) => Object.fromEntries(Object.entries(SHAPES).map(([name, shape], k) => [name, f(shape, k)]));
const gradients = (step) => each((shape, k) => sines(3 * step + k, shape, 1 + (step % 5)));
const tensors = (data) => each((shape, k) => sn.tensor(Float32Array.from(Object.values(data)[k]), { shape }));
const firstParams = () => each((shape, k) => sines(k, shape));

/** The parameters after steps 1, 10 and 50 with the gradients of those steps, by trainStep; state: the last one. */
const run = (optimizer, options) => {
  const step = sn.trainStep((p, g) => sn.add(p.weight.mul(g.weight).sum(), p.bias.mul(g.bias).sum()), optimizer, options);
  let state = step.init(tensors(firstParams()));
  const kept = [];
  for (let i = 1; i <= STEPS; i++) {
    ({ state } = step(state, tensors(gradients(i))));
    if ([1, 10, STEPS].includes(i)) kept.push(sn.tree.map((t) => [...t.dataSync()], step.params(state)));
  }
  assert.equal(step.cacheSize, 1);
  return { kept, state };
};

const assertSame = (kept, expected, tolerance) =>
  kept.forEach((params, i) => {
    for (const name of Object.keys(SHAPES)) assertClose(params[name], [...expected[i][name]], tolerance);
  });

const lr = 0.02;
for (const [name, make] of Object.entries({
  adam: () => optim.adam({ lr }),
  adamDecay: () => optim.adam({ lr, weightDecay: 0.1, beta1: 0.8, beta2: 0.95, eps: 1e-3 }),
  adamw: () => optim.adamw({ lr }),
  adamwClipped: () => optim.adamw({ lr, weightDecay: 0.3, beta1: 0.8, beta2: 0.95, clipNorm: 1.5 }),
  rmsprop: () => optim.rmsprop({ lr }),
  rmspropDecay: () => optim.rmsprop({ lr, decay: 0.9, eps: 1e-3, weightDecay: 0.1 }),
  adagrad: () => optim.adagrad(),
  adagradDecay: () => optim.adagrad({ lr: 0.05, eps: 1e-3, weightDecay: 0.1 }),
  sgd: () => optim.sgd({ lr, weightDecay: 0.1 }),
  momentum: () => optim.sgd({ lr, momentum: 0.9 }),
  nesterov: () => optim.sgd({ lr, momentum: 0.9, nesterov: true, weightDecay: 0.1 }),
}))
  test(`${name}: 50 steps are PyTorch's`, () => assertSame(run(make()).kept, golden.cases[name], 3e-6));

test('the first steps of adam are as exact as float32 is', () => {
  for (const dtype of ['float32', 'float64']) {
    const step = sn.trainStep((p) => p.x.sum(), optim.adam({ lr: 1, eps: 0 }));
    let state = step.init({ x: sn.zeros([1], { dtype }) });
    for (let i = 1; i <= 3; i++) {
      ({ state } = step(state));
      // a gradient that stays 1 has steps of 1
      assert.ok(Math.abs(step.params(state).x.item() + i) < 4e-7, `${dtype}, step ${i}: ${step.params(state).x.item()}`);
    }
  }
});

/** Steps 1, 10 and 50 of a rule in JavaScript: rule(p, g, memory, shape) -> the next p. */
const plain = (rule) => {
  let params = firstParams();
  const memory = each(() => ({}));
  const kept = [];
  for (let i = 1; i <= STEPS; i++) {
    const g = gradients(i);
    params = Object.fromEntries(Object.keys(SHAPES).map((name) => [name, rule(params[name], g[name], memory[name], SHAPES[name])]));
    if ([1, 10, STEPS].includes(i)) kept.push(params);
  }
  return kept;
};

test('lion follows its authors', () => {
  const [b1, b2, rate, decay] = [0.9, 0.99, 0.01, 0.2];
  const expected = plain((p, g, memory) => {
    const m = memory.m ?? p.map(() => 0);
    const next = p.map((x, i) => x * (1 - rate * decay) - rate * Math.sign(b1 * m[i] + (1 - b1) * g[i]));
    memory.m = m.map((x, i) => b2 * x + (1 - b2) * g[i]);
    return next;
  });
  assertSame(run(optim.lion({ lr: rate, weightDecay: decay })).kept, expected, 3e-6);
});

/** x (rows, columns) made orthogonal as in Muon's published code. */
const newtonSchulz = (given, rows, columns) => {
  const [a, b, c] = [3.4445, -4.775, 2.0315];
  const turn = rows > columns;
  const [n, k] = turn ? [columns, rows] : [rows, columns];
  const length = Math.hypot(...given) + 1e-7;
  let x = Array.from({ length: n }, (_, i) => Array.from({ length: k }, (_, j) => given[turn ? j * columns + i : i * columns + j] / length));
  const mul = (p, q) => p.map((row) => q[0].map((_, j) => row.reduce((sum, v, l) => sum + v * q[l][j], 0)));
  for (let round = 0; round < 5; round++) {
    const square = mul(x, x[0].map((_, j) => x.map((row) => row[j])));
    const fourth = mul(square, square);
    const mixed = mul(square.map((row, i) => row.map((v, j) => b * v + c * fourth[i][j])), x);
    x = x.map((row, i) => row.map((v, j) => a * v + mixed[i][j]));
  }
  return given.map((_, i) => (turn ? x[i % columns][Math.floor(i / columns)] : x[Math.floor(i / columns)][i % columns]));
};

for (const nesterov of [true, false])
  test(`muon follows its author, nesterov ${nesterov}`, () => {
    const [rate, decay, beta] = [0.02, 0.1, 0.95];
    const expected = plain((p, g, memory, shape) => {
      memory.m = (memory.m ?? p.map(() => 0)).map((x, i) => beta * x + (1 - beta) * g[i]);
      if (shape.length === 1) { // AdamW with the author's settings
        memory.t = (memory.t ?? 0) + 1;
        memory.a = (memory.a ?? p.map(() => 0)).map((x, i) => 0.9 * x + 0.1 * g[i]);
        memory.v = (memory.v ?? p.map(() => 0)).map((x, i) => 0.95 * x + 0.05 * g[i] ** 2);
        return p.map((x, i) => x - (3e-4 * memory.a[i]) / (1 - 0.9 ** memory.t) / (Math.sqrt(memory.v[i] / (1 - 0.95 ** memory.t)) + 1e-10));
      }
      const mixed = memory.m.map((x, i) => (nesterov ? beta * x + (1 - beta) * g[i] : x));
      const made = newtonSchulz(mixed, ...shape);
      return p.map((x, i) => x * (1 - rate * decay) - rate * made[i] * Math.sqrt(Math.max(1, shape[1] / shape[0])));
    });
    assertSame(run(optim.muon({ weightDecay: decay, nesterov })).kept, expected, 1e-4);
  });

test('muon takes a filter as the matrix of its outputs, and other parameters as it is told', () => {
  const params = { kernel: sn.tensor(Float32Array.from(sines(1, [24])), { shape: [2, 2, 1, 6] }) };
  const grads = { kernel: sn.tensor(Float32Array.from(sines(2, [24])), { shape: [2, 2, 1, 6] }) };
  const optimizer = optim.muon({ lr: 1 });
  const { params: next } = optimizer.update(grads, optimizer.init(params), params);
  const mixed = sines(2, [24]).map((x) => x * (0.05 + 0.95 * 0.05));
  const step = newtonSchulz(mixed, 4, 6).map((x) => x * Math.sqrt(1.5));
  assertClose(next.kernel, [...sines(1, [24]).map((x, i) => x - step[i])], 1e-4);
  const apart = optim.muon({ match: () => false, rest: optim.sgd({ lr: 1 }) });
  assertClose(apart.update(grads, apart.init(params), params).params.kernel, [...sines(1, [24]).map((x, i) => x - sines(2, [24])[i])], 1e-6);
});

test('a mask chooses by paths and tensors what decays', () => {
  const seen = new Set();
  const mask = (path, t) => {
    seen.add(`${path} ${t.shape}`);
    return t.ndim > 1;
  };
  const masked = run(optim.adamw({ lr, weightDecay: 0.5, mask })).kept;
  assert.deepEqual([...seen].sort(), ['bias 3', 'weight 4,3']);
  assert.deepEqual(masked.map(({ weight }) => weight), run(optim.adamw({ lr, weightDecay: 0.5 })).kept.map(({ weight }) => weight));
  assert.deepEqual(masked.map(({ bias }) => bias), run(optim.adam({ lr })).kept.map(({ bias }) => bias));
});

test('groups: each parameter by its own optimizer, rates set between steps', () => {
  const slow = optim.sgd({ lr: 0.01, momentum: 0.9 });
  const parts = () => [{ match: (path) => path.endsWith('weight'), optimizer: optim.adamw({ lr }) }, { match: () => true, optimizer: slow }];
  const { kept } = run(optim.groups(parts()));
  assert.deepEqual(kept.map(({ weight }) => weight), run(optim.adamw({ lr })).kept.map(({ weight }) => weight));
  assert.deepEqual(kept.map(({ bias }) => bias), run(optim.sgd({ lr: 0.01, momentum: 0.9 })).kept.map(({ bias }) => bias));

  const optimizer = optim.groups([{ match: (path) => path === 'a.0', optimizer: optim.sgd({ lr: 1 }) }, { match: () => true, optimizer: slow }]);
  const step = sn.trainStep(({ a, b }) => a[0].sum().add(b.sum()), optimizer);
  let state = step.init({ a: [sn.tensor([1])], b: sn.tensor([1]) });
  optimizer.lr = 2; // of the first
  slow.lr = 0.5;
  ({ state } = step(state));
  assertClose(step.params(state).a[0], [-1]);
  assertClose(step.params(state).b, [0.5]);
  slow.lr = (count) => count.add(1).astype('float32');
  ({ state } = step(state));
  assertClose(step.params(state).b, [0.5 - 2 * 1.9]);
  assert.equal(step.cacheSize, 2);

  assertThrows(() => optim.groups([]), sn.SinterError, { op: 'optim.groups', code: 'argument' });
  assertThrows(() => optim.groups([{ match: 'weight', optimizer: slow }]), sn.SinterError, { op: 'optim.groups' });
  assertThrows(() => optim.groups([{ match: () => false, optimizer: slow }]).init({ w: sn.ones([1]) }), sn.SinterError, { message: /no group matches w/ });
  assertThrows(() => optim.groups(parts()).init({ 'a.b': sn.ones([1]), a: { b: sn.ones([1]) } }), sn.SinterError, { message: /same path/ });
});

test('ema: a running average of the parameters, which start it', () => {
  const decay = 0.9;
  const { kept, state } = run(optim.ema(optim.adamw({ lr }), { decay }));
  assert.deepEqual(kept, run(optim.adamw({ lr })).kept);
  const average = firstParams();
  const step = sn.trainStep((p, g) => sn.add(p.weight.mul(g.weight).sum(), p.bias.mul(g.bias).sum()), optim.adamw({ lr }));
  let plainState = step.init(tensors(firstParams()));
  for (let i = 1; i <= STEPS; i++) {
    ({ state: plainState } = step(plainState, tensors(gradients(i))));
    for (const name of Object.keys(SHAPES)) {
      const now = step.params(plainState)[name].dataSync();
      average[name] = average[name].map((x, k) => decay * x + (1 - decay) * now[k]);
    }
  }
  for (const name of Object.keys(SHAPES)) assertClose(state.optimizer.average[name], [...average[name]], 1e-5);
});

const rates = (schedule, count) => Array.from({ length: count }, (_, i) => schedule(sn.tensor(i, { dtype: 'int32' })).item());

for (const [name, schedule] of Object.entries({
  cosine: schedules.cosine({ lr: 0.1, to: 0.01, steps: 39 }),
  step: schedules.step({ lr: 0.1, every: 7, factor: 0.5 }),
  exponential: schedules.exponential({ lr: 0.1, factor: 0.9 }),
  linear: schedules.linear({ from: 0.025, to: 0.1, steps: 10 }),
  oneCycle: schedules.oneCycle({ lr: 0.1, steps: 50 }),
}))
  test(`schedule ${name} is PyTorch's`, () => {
    const expected = golden.schedules[name];
    rates(schedule, expected.length).forEach((rate, i) => assert.ok(Math.abs(rate - expected[i]) < 1e-7, `${i}: ${rate}, ${expected[i]}`));
  });

test('schedules follow each other, and hold their ends', () => {
  const joined = schedules.join([schedules.constant(1), schedules.linear({ from: 2, to: 4, steps: 2 }), schedules.constant(9)], [2, 6]);
  assert.deepEqual(rates(joined, 8), [1, 1, 2, 3, 4, 4, 9, 9]);
  const warm = rates(schedules.warmupCosine({ lr: 1, warmup: 4, steps: 12, to: 0.5 }), 15);
  assertClose(warm.slice(0, 5), [0, 0.25, 0.5, 0.75, 1]);
  assertClose(warm.slice(8), [0.75, ...[5, 6, 7].map((i) => 0.75 + 0.25 * Math.cos((Math.PI * i) / 8)), 0.5, 0.5, 0.5]);
  assertClose(rates(schedules.oneCycle({ lr: 1, steps: 1 }), 3).slice(1), [4e-6, 4e-6]);
});

test('a schedule is part of the step', () => {
  const step = sn.trainStep(({ w }) => w.sum(), optim.sgd({ lr: schedules.linear({ from: 1, to: 3, steps: 2 }) }));
  let state = step.init({ w: sn.tensor([0]) });
  for (const expected of [-1, -3, -6, -9]) {
    ({ state } = step(state));
    assertClose(step.params(state).w, [expected]);
  }
  assert.equal(step.cacheSize, 1);
});

test('schedules refuse what they cannot read', () => {
  assertThrows(() => schedules.cosine({ lr: 1 }), sn.SinterError, { op: 'optim.schedules.cosine', message: /steps is missing/ });
  assertThrows(() => schedules.step({ lr: 1, every: 0 }), sn.SinterError, { message: /every is 0/ });
  assertThrows(() => schedules.linear({ from: 1, to: 2, step: 3 }), sn.SinterError, { message: /did you mean 'steps'/ });
  assertThrows(() => schedules.warmupCosine({ lr: 1, warmup: 4, steps: 4 }), sn.SinterError, { message: /from 5 on/ });
  assertThrows(() => schedules.join([schedules.constant(1)], [1]), sn.SinterError, { op: 'optim.schedules.join' });
  assertThrows(() => schedules.join([schedules.constant(1), 0.1], [1]), sn.SinterError, { op: 'optim.schedules.join' });
  assertThrows(() => schedules.join([1, 2, 3].map(schedules.constant), [5, 2]), sn.SinterError, { message: /boundaries\[1\] is 2/ });
});

test('shares of a mean are from 0 to below 1', () => {
  for (const beta1 of [1, 1.5, -0.1]) {
    assertThrows(() => optim.adam({ beta1 }), sn.SinterError, { op: 'optim.adam', message: /beta1 is .*, expected 0 <= beta1 < 1/ });
    assertThrows(() => optim.lion({ beta1 }), sn.SinterError, { op: 'optim.lion' });
  }
  assertThrows(() => optim.adamw({ beta2: 1 }), sn.SinterError, { op: 'optim.adamw', message: /beta2/ });
  assertThrows(() => optim.rmsprop({ decay: 1 }), sn.SinterError, { op: 'optim.rmsprop', message: /decay/ });
  for (const decay of [1, 2, -0.5]) assertThrows(() => optim.ema(optim.adam(), { decay }), sn.SinterError, { op: 'optim.ema', message: /decay/ });
  for (const make of [() => optim.adam({ beta1: 0, beta2: 0 }), () => optim.lion({ beta1: 0 }), () => optim.rmsprop({ decay: 0 })]) {
    const params = { w: sn.tensor([1, 2]) };
    const optimizer = make();
    const { params: next } = optimizer.update({ w: sn.tensor([1, -1]) }, optimizer.init(params), params);
    assert.ok(next.w.toArray().every(Number.isFinite));
  }
});

test('a rate is one number, and a state that of parameters of these shapes', () => {
  const params = { w: sn.ones([2, 3]), b: sn.ones([3]), s: sn.tensor(1) };
  const loss = ({ w, b, s }) => w.mul(b).mul(s).sum();
  for (const lr of [sn.full([3], 0.1), sn.full([1], 0.1), () => sn.full([3], 0.1)]) {
    const step = sn.trainStep(loss, optim.adam({ lr }));
    assertThrows(() => step(step.init(params)), sn.ShapeError, {
      op: 'optim.adam', message: /lr has shape \([13],?\), expected a number or a tensor of rank 0/,
    });
  }
  const grouped = (first) => sn.trainStep(loss, optim.groups([
    { match: (path) => path === first, optimizer: optim.adam() }, { match: () => true, optimizer: optim.adam() },
  ]));
  const state = grouped('w').init(params);
  assertThrows(() => grouped('b')(state), sn.ShapeError, {
    op: 'optim.adam', message: /that is no state for these parameters: mean\[0\] is \(2, 3\), its parameter \(3,\)/,
  });
});
