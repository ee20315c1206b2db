// Programs that tune themselves: they say what they tried, keep their results, and what they found can be kept. What is the
// quickest is the machine's business; the bits of every form are compared in tests/native/test_target.c and test_tune.c.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertRejects, collectGarbage } from './support.mjs';

const { nn, optim, random } = sn;
const MOST_CALLS = 20000;

before(() => sn.init());

/** Makes programs of the kind that was tuned last be compiled with other factors. */
const choose = (factors) => {
  const line = sn.tuned.text().trimEnd().split('\n').at(-1);
  sn.tuned.use(`sinter tuned 1\n${line.replace(/ \S+\*\S+/g, '')} ${factors}\n`);
};

const net = nn.sequential(nn.linear(12, 16), nn.gelu(), nn.layerNorm(16), nn.linear(16, 3));
const loss = (params, x, y) => net.apply(params, x).sub(y).square().mean();
const batch = () => [random.normal(random.key(2), [10, 12]), random.normal(random.key(3), [10, 3])];

const isTrial = ({ knob, what, factor, outcome, chosen, ms, bestMs }) =>
  typeof knob === 'string' && what.length > 10 && factor >= 0 && ['taken', 'lost', 'same', 'refused'].includes(outcome) &&
  typeof chosen === 'boolean' && !(chosen && outcome !== 'taken') &&
  [ms, bestMs].every((time) => (time === undefined) === ['same', 'refused'].includes(outcome));

test('a step that tunes has the values of one that does not, and ends', () => {
  const steps = [false, true].map((tune) => sn.trainStep(loss, optim.adamw({ lr: 0.01 }), { tune }));
  const states = steps.map((step) => step.init(net.init(random.key(1))));
  const data = batch();
  assert.equal(steps[0].tuning(states[0], ...data), null);
  let calls = 0;
  for (let done = false; !done; calls++) {
    assert.ok(calls < MOST_CALLS);
    const losses = steps.map((step, i) => {
      const { state, loss: value } = step(states[i], ...data);
      states[i] = state;
      return value.item();
    });
    assert.equal(losses[1], losses[0], `step ${calls}`);
    done = steps[1].tuning(states[1], ...data).done;
  }
  const flat = states.map((state) => sn.tree.leaves(state).map((t) => t.dataSync()));
  assert.deepEqual(flat[1], flat[0]);
  const { trials } = steps[1].tuning(states[1], ...data);
  assert.ok(trials.every(isTrial), JSON.stringify(trials));
  assert.ok(new Set(trials.map(({ knob }) => knob)).size > 10);
  assert.equal(steps[1].cacheSize, 1);
});

test('tune runs a function until it is known, and uses nothing up', async () => {
  const f = (x, y) => [sn.softmax(x.matmul(y)), x.sum({ axis: 0 })];
  const args = [random.normal(random.key(4), [33, 20]), random.normal(random.key(5), [20, 40])];
  const plain = f(...args).map((t) => t.dataSync());
  await collectGarbage();
  const { tensors } = sn.memory();
  const found = await sn.tune(f)(...args);
  assert.equal(found.done, true);
  assert.ok(found.trials.every(isTrial) && found.trials.length > 10);
  assert.ok(sn.memory().tensors <= tensors);
  assert.deepEqual(await sn.tune(f)(...args), found); // it is known
  const tuned = sn.jit(f, { tune: true });
  assert.deepEqual(tuned(...args).map((t) => t.dataSync()), plain);
  assert.deepEqual(tuned.tuning(...args), found);
});

test('inspect shows the form that tuning found, with the times of what lost', async () => {
  const step = sn.trainStep(loss, optim.sgd({ lr: 0.1 }));
  const state = step.init(net.init(random.key(1)));
  const [x, y] = batch();
  const look = (options) => sn.inspect(step, options)(state, x, y);
  assert.equal(look({ tune: true }).tuning, null); // nothing is known yet
  const found = await sn.tune(step)(state, x, y);
  const { tuning, kernels } = look({ tune: true });
  assert.deepEqual(tuning, found);
  assert.ok(tuning.trials.some(({ outcome, ms, bestMs }) => outcome === 'lost' && ms > 0 && bestMs > 0), JSON.stringify(tuning));
  assert.ok(kernels.length > 0);
  assert.equal(look().tuning, null);
});

test('inspect compiles what a text tells of', async () => {
  const f = (x) => sn.softmax(x.mul(2)).sum();
  const x = random.normal(random.key(6), [40, 30]);
  const kernels = (options) => sn.inspect(f, options)(x).kernels.length;
  await sn.tune(f)(x);
  choose('fuse*0');
  assert.ok(kernels({ tune: true }) > kernels(), 'without fusion');
  assert.deepEqual(sn.inspect(f, { tune: true })(x).tuning, {
    done: true, trials: [{ knob: 'fuse', what: 'whether ops are fused', factor: 0, outcome: 'taken', chosen: true }],
  });
});

test('products of 16 bits are rounded in every form as they are in the plain one', async () => {
  const f = (w, x) => x.matmul(w).tanh().matmul(w.transpose()).sub(x).square().mean();
  const args = [random.normal(random.key(7), [24, 32]), random.normal(random.key(8), [16, 24])];
  for (const precision of ['float16', 'bfloat16']) {
    const run = (options) => sn.jit(sn.grad(f), { precision, ...options })(...args).dataSync();
    const plain = run();
    const { trials } = await sn.tune(sn.grad(f), { precision })(...args);
    assert.ok(trials.length > 10 && !trials.some(({ knob }) => ['again', 'pad', 'fuse'].includes(knob)), JSON.stringify(trials));
    assert.deepEqual(run({ tune: true }), plain);
    for (const factors of ['again*0', 'pad*0', 'fuse*0', 'chains*0.125 kept*0 prologue*0 fuse*0 code*0']) {
      choose(factors);
      assert.deepEqual(run({ tune: true }), plain, `${precision}, ${factors}`);
    }
  }
});

test('a choice that does not fit the memory budget is forgotten', async () => {
  const f = (x) => x.mul(2).add(1).tanh().square().mul(x.exp()).add(x.sin().mul(x.cos())).sum().add(x.matmul(x).sum());
  const x = random.normal(random.key(9), [64, 64]);
  const options = { memoryBudget: 20000 };
  const plain = sn.jit(f, options)(x).item();
  const found = await sn.tune(f, options)(x);
  assert.equal(found.trials.find(({ knob }) => knob === 'fuse').outcome, 'refused');
  for (const take of [
    () => sn.jit(f, { ...options, tune: true })(x).item(),
    async () => {
      const run = sn.jit(f, { ...options, tune: true });
      await run.compile(x);
      assert.equal(run.tuning(x).done, false); // it tunes anew
      return run(x).item();
    },
    () => (assert.equal(sn.inspect(f, { ...options, tune: true })(x).tuning, null), plain),
  ]) {
    choose('fuse*0');
    const before = sn.tuned.text().split('\n').length;
    assert.equal(await take(), plain);
    assert.equal(sn.tuned.text().split('\n').length, before - 1);
    await sn.tune(f, options)(x);
  }
});

test('what the clock cannot tell apart is measured all the same, and lost', async (t) => {
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => Math.floor(now() / 1000) * 1000); // a page's clock is coarse, too
  const { trials } = await sn.tune((x) => x)(sn.ones([3]));
  assert.ok(trials.every(isTrial), JSON.stringify(trials));
  assert.ok(trials.some(({ outcome, ms }) => outcome === 'lost' && ms === 0), JSON.stringify(trials));
});

test('what was found is text, which another context may use', async () => {
  const text = sn.tuned.text();
  assert.match(text, /^sinter tuned 1\n/);
  sn.tuned.use(text);
  assert.equal(sn.tuned.text(), text);
  const folder = await mkdtemp(join(tmpdir(), 'sinter-'));
  try {
    await sn.tuned.load(folder); // there is nothing yet
    await sn.tuned.save(folder);
    assert.equal(await readFile(join(folder, 'tuned.txt'), 'utf8'), text);
    await sn.tuned.load(folder);
    await writeFile(join(folder, 'tuned.txt'), `${text}damage`);
    await assertRejects(sn.tuned.load(folder), sn.SinterError, { code: 'argument', message: /^tuned: line \d+ of the text is damaged/ });
    assert.equal(sn.tuned.text(), text);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('what is no text, place or function is refused', async () => {
  for (const bad of ['', 'sinter', 7, null]) assert.throws(() => sn.tuned.use(bad), { name: 'SinterError', code: 'argument' });
  await assertRejects(sn.tuned.save(''), sn.SinterError, { code: 'argument' });
  await assertRejects(sn.tuned.load(5), sn.SinterError, { code: 'argument' });
  await assertRejects(sn.tuned.save('/dev/null/x'), sn.SinterError, { code: 'storage' });
  assert.throws(() => sn.tune(5), { name: 'SinterError' });
  assert.throws(() => sn.jit((x) => x, { tune: 1 })(sn.ones([2])), { name: 'SinterError', message: /tune/ });
  await assertRejects(sn.tune((x) => x.matmul(x))(sn.ones([2, 3])), sn.ShapeError, {});
});
