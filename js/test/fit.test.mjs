// fit: the same bits as a loop by hand, from any place on; what stops it, and what it leaves then.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertRejects, assertThrows, settledMemory } from './support.mjs';

const { data, io, nn, optim, random } = sn;

let x, y;
before(async () => {
  await sn.init({ deterministic: true });
  x = random.normal(random.key(1), [50, 4]);
  y = x.sum({ axis: 1, keepdims: true });
  sn.eval(x, y);
});

const net = nn.sequential(nn.linear(4, 8), nn.gelu(), nn.linear(8, 1));
const loss = (params, a, b) => net.apply(params, a).sub(b).square().mean();
const makeStep = (lr = 0.01) => sn.trainStep(loss, optim.adam({ lr }));
const firstOf = (step) => step.init(net.init(random.key(3)));
const makeData = () => data.fromArrays([x, y]).shuffle(random.key(7)).batch(8, { dropLast: true });
const bits = (state) => sn.tree.leaves(state).map((t) => t.dataSync());

/** A loop by hand, and its losses. */
const byHand = async (epochs) => {
  const step = makeStep();
  let state = firstOf(step);
  const losses = [];
  for (let pass = 0; pass < epochs; pass++) {
    for await (const batch of makeData().start({ pass })) {
      const made = step(state, ...batch);
      state = made.state;
      losses.push(made.loss.item());
    }
  }
  return { losses, end: bits(state) };
};

test('the same bits as a loop by hand, and a report of every step and epoch', async () => {
  const { losses, end } = await byHand(3);
  const step = makeStep();
  const steps = [];
  const epochs = [];
  const result = await sn.fit(step, firstOf(step), makeData().prefetch(2), {
    epochs: 3,
    onStep: (report) => steps.push(report),
    onEpoch: (report) => epochs.push(report),
  });
  assert.deepEqual(bits(result.state), end);
  assert.equal(result.stopped, 'end');
  assert.deepEqual(steps.map((report) => report.loss), losses);
  assert.deepEqual(steps.map((report) => report.step), losses.map((_, i) => i + 1));
  assert.deepEqual(steps.map((report) => report.epoch), losses.map((_, i) => Math.floor(i / 6)));
  assert.ok(steps.every(({ stepsPerSecond, timeLeft }) => stepsPerSecond > 0 && timeLeft >= 0));
  assert.equal(steps.at(-1).timeLeft, 0);
  const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
  assert.deepEqual(epochs.map((report) => report.loss), [0, 1, 2].map((i) => mean(losses.slice(6 * i, 6 * i + 6))));
  assert.equal(result.loss, epochs[2].loss);
  assert.equal(result.place.steps, 18);
});

test('a run stopped after any step and gone on with from its checkpoint ends with the same bits', async () => {
  const { end } = await byHand(2);
  const saved = [];
  const step = makeStep();
  await sn.fit(step, firstOf(step), makeData().prefetch(2), { epochs: 2, checkpoint: { to: (bytes) => saved.push(bytes.slice()), every: 1 } });
  assert.equal(saved.length, 12);
  const places = [];
  for (const bytes of saved) {
    const other = makeStep();
    const { state, place } = io.loadState(bytes, { state: firstOf(other), place: sn.fitStart });
    places.push([place.pass, place.index]);
    const { state: last, loss: mean } = await sn.fit(other, state, makeData().prefetch(2), { epochs: 2, place });
    assert.deepEqual(bits(last), end);
    if (place.steps < 12) assert.ok(mean > 0);
  }
  assert.deepEqual(places.slice(4, 8), [[0, 5], [0, 6], [1, 1], [1, 2]]);
});

test('checkpoints in slots: at the end of each epoch, and at the end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sinter-fit-'));
  try {
    const slots = await io.openSlots(folder);
    const step = makeStep();
    const { state, place } = await sn.fit(step, firstOf(step), makeData(), { epochs: 2, checkpoint: { to: slots } });
    const again = await slots.load({ state: firstOf(step), place: sn.fitStart });
    assert.deepEqual(bits(again.state), bits(state));
    assert.deepEqual(again.place, place);
    const failing = { write: () => Promise.reject(new Error('no room')) };
    await assertRejects(sn.fit(makeStep(), firstOf(step), makeData(), { checkpoint: { to: failing } }), sn.FitError, { message: /no room/ });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('an abort leaves the last state usable: before, in the middle, while a batch is loaded', async () => {
  const { end } = await byHand(2);
  for (const when of [0, 1, 5, 6, 7]) {
    const control = new AbortController();
    if (when === 0) control.abort();
    const step = makeStep();
    const first = await sn.fit(step, firstOf(step), makeData().prefetch(3), {
      epochs: 2,
      signal: control.signal,
      onStep: ({ step: n }) => n === when && control.abort(),
    });
    assert.equal(first.stopped, 'aborted');
    assert.ok(first.place.steps >= when && first.place.steps <= when + 1);
    const rest = await sn.fit(step, first.state, makeData(), { epochs: 2, place: first.place });
    assert.deepEqual(bits(rest.state), end);
  }
  const control = new AbortController();
  const step = makeStep();
  const stuck = data.from(async function* () {
    yield [x, y].map((t) => t.add(0));
    setTimeout(() => control.abort(), 10);
    await new Promise(() => {}); // nothing more comes
  });
  const timer = setInterval(() => {}, 1000); // Node would end: nothing else is under way
  const { stopped, place, state } = await sn.fit(step, firstOf(step), stuck, { signal: control.signal });
  clearInterval(timer);
  assert.deepEqual([stopped, place.steps], ['aborted', 1]);
  assert.ok(Number.isFinite(step(state, x, y).loss.item()));
});

test('the event loop has its turns while steps run', async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const step = makeStep();
  await sn.fit(step, firstOf(step), makeData().prefetch(2), { epochs: 60 });
  clearInterval(timer);
  assert.ok(ticks > 3, `${ticks} ticks`);
});

test('a failure comes with the state before it', async () => {
  const step = makeStep();
  const wrong = data.from(() => [[x, y], [x.slice([0, 0], [50, 3]), y]].map((batch) => batch.map((t) => t.mul(1))));
  const error = await sn.fit(step, firstOf(step), wrong).catch((caught) => caught);
  assert.ok(error instanceof sn.FitError && error instanceof sn.SinterError);
  assert.deepEqual([error.name, error.code, error.place.steps], ['FitError', 'shape', 1]);
  assert.match(error.message, /fit: step 2: matmul: inner dimensions differ/);
  assert.ok(error.cause instanceof sn.ShapeError);
  assert.ok(Number.isFinite(step(error.state, x, y).loss.item()));

  const mine = await sn.fit(step, firstOf(step), makeData(), { onStep: () => { throw new RangeError('mine'); } }).catch((caught) => caught);
  assert.ok(mine instanceof sn.FitError && mine.cause.message === 'mine');
  assert.ok(Number.isFinite(step(mine.state, x, y).loss.item()));
});

test('a loss that is NaN ends the run', async () => {
  const step = makeStep();
  const set = data.from((pass) => [0, 0, NaN, 0, 0, 0].map((bad) => [x.add(bad), y.add(pass)]));
  const error = await sn.fit(step, firstOf(step), set).catch((caught) => caught);
  assert.ok(error instanceof sn.FitError);
  assert.match(error.message, /the loss is NaN in 2 steps running/);
  assert.ok(error.place.steps <= 5);
  assert.equal(sn.tree.leaves(error.state).filter((t) => t.isDisposed).length, 0);
});

test('a loss that is NaN, with a loss scale: its steps are skipped, and the state of the error is as good as before', async () => {
  const step = sn.trainStep(loss, optim.adam({ lr: 0.01 }), { precision: 'float16' });
  const good = () => [x.add(0), y.add(0)];
  const begun = await sn.fit(step, firstOf(step), data.from(() => Array.from({ length: 10 }, good))); // its scale is found
  const { skipped } = step.precision(begun.state);
  const one = await sn.fit(step, begun.state, data.from(() => [good(), [x.add(NaN), y.add(0)], good()]));
  assert.deepEqual([one.stopped, step.precision(one.state).skipped], ['end', skipped + 1]);
  const before = sn.tree.map((t) => t.toArray(), step.params(one.state));
  const error = await sn.fit(step, one.state, data.from(() => [0, 1].map(() => [x.add(NaN), y.add(0)]))).catch((caught) => caught);
  assert.ok(error instanceof sn.FitError);
  assert.deepEqual(sn.tree.map((t) => t.toArray(), step.params(error.state)), before);
  assert.ok(Number.isFinite(step(error.state, x, y).loss.item()));
});

test('a state that a loss of NaN came from takes no checkpoint\'s place', async () => {
  const step = makeStep();
  const saved = [];
  const set = data.from(() => [0, NaN].map((bad) => [x.add(bad), y.add(0)]));
  const { place, loss: mean } = await sn.fit(step, firstOf(step), set, { checkpoint: { to: (bytes) => saved.push(bytes), every: 1 } });
  assert.deepEqual([place.steps, mean, saved.length], [2, NaN, 1]);
  const { state } = io.loadState(saved[0], { state: firstOf(step), place: sn.fitStart });
  assert.ok(Number.isFinite(step(state, x, y).loss.item()));
});

test('an abort in a validation: who goes on validates again, and ends with the same bits', async () => {
  const run = async (signal, abort) => {
    const step = makeStep();
    const seen = [];
    let calls = 0;
    const validation = {
      data: data.fromArrays([x, y]).batch(10),
      step: (state, a, b) => {
        if (abort && ++calls === 7) abort();
        return loss(step.params(state), a, b);
      },
    };
    const options = { epochs: 3, validation, signal, earlyStopping: { patience: 9 }, onEpoch: ({ epoch, loss: mean, validationLoss }) => seen.push([epoch, mean, validationLoss]) };
    let result = await sn.fit(step, firstOf(step), makeData(), options);
    if (abort) {
      assert.deepEqual([result.stopped, result.place.pass, result.place.index], ['aborted', 1, 6]);
      assert.equal(seen.length, 1);
      result = await sn.fit(step, result.state, makeData(), { ...options, signal: undefined, place: result.place });
    }
    return { seen, place: result.place, end: bits(result.state) };
  };
  const control = new AbortController();
  assert.deepEqual(await run(control.signal, () => control.abort()), await run());
});

test('a failure counts the losses of all steps before it', async () => {
  const { losses } = await byHand(1);
  const step = makeStep();
  const set = data.from(async function* () {
    let left = 4;
    for await (const batch of makeData()) {
      if (!left--) throw new RangeError('gone');
      yield batch;
    }
  });
  const { place } = await sn.fit(step, firstOf(step), set).catch((error) => error);
  assert.equal(place.index, 4);
  assert.equal(place.lossSum, losses.slice(0, 4).reduce((a, b) => a + b, 0));
});

test('validation and early stopping', async () => {
  const step = makeStep(0.5);
  const seen = [];
  const validation = { data: data.fromArrays([x, y]).batch(25), step: (state, a, b) => loss(step.params(state), a, b) };
  const result = await sn.fit(step, firstOf(step), makeData(), {
    epochs: 200,
    validation,
    earlyStopping: { patience: 3, minDelta: 1e-4 },
    onEpoch: ({ validationLoss, state }) => {
      const [a, b] = [sn.tidy(() => loss(step.params(state), x.slice([0, 0], [25, 4]), y.slice([0, 0], [25, 1])).item()), sn.tidy(() => loss(step.params(state), x.slice([25, 0], [25, 4]), y.slice([25, 0], [25, 1])).item())];
      assert.equal(validationLoss, (a + b) / 2);
      seen.push(validationLoss);
    },
  });
  assert.equal(result.stopped, 'early');
  assert.ok(seen.length < 200);
  assert.equal(result.validationLoss, seen.at(-1));
  const best = Math.min(...seen.slice(0, -3));
  assert.ok(seen.slice(-3).every((value) => value >= best - 1e-4), String(seen));
  assert.equal(result.place.waited, 3);
});

test('any step and any batches', async () => {
  const seen = [];
  const count = (state, item) => ({ state: { n: state.n + item.k }, loss: sn.tensor(item.k) });
  const { state, loss: mean } = await sn.fit(count, { n: 0 }, [{ k: 1 }, { k: 2 }, { k: 3 }], { epochs: 2, onStep: ({ timeLeft }) => seen.push(timeLeft) });
  assert.deepEqual([state.n, mean], [12, 2]);
  assert.equal(seen.length, 6);
  const aux = [];
  const withAux = (s) => ({ state: s, loss: sn.tensor(1), aux: { a: sn.tensor([5]) } });
  await sn.fit(withAux, {}, [1, 2], { onStep: (report) => aux.push([report.aux.a.item(), report.aux.a]) });
  assert.deepEqual(aux.map(([value, t]) => [value, t.isDisposed]), [[5, true], [5, true]]);
  const { tensors } = await settledMemory(sn);
  for (const made of [() => sn.ones([2]), () => ({ loss: sn.ones([]) }), () => ({ state: 1, loss: 2 }), () => undefined])
    await assertRejects(sn.fit(made, {}, [1, 2]), sn.FitError, { message: /^fit: step 1: fit: the step returned .+, expected \{ state, loss \}, the loss a tensor/ });
  const odd = { data: [1], step: () => ({ mean: sn.ones([]) }) };
  await assertRejects(sn.fit(count, { n: 0 }, [{ k: 1 }], { validation: odd }), sn.FitError, { message: /the step returned .+, expected the loss, a tensor, or \{ loss \}/ });
  assert.equal(sn.memory().tensors, tensors);
  const none = await sn.fit(count, { n: 1 }, [], { epochs: 2 });
  assert.deepEqual([none.state.n, none.stopped], [1, 'end']);
});

test('fitBatchSize: the largest batch whose step keeps within the bytes, about', () => {
  const step = makeStep();
  const state = firstOf(step);
  const batch = [sn.zeros([1, 4]), sn.zeros([1, 1])];
  const { bytesInUse, tensors } = sn.memory();
  const bytesOf = (n) => sn.tidy(() => {
    const inspection = sn.inspect((s, a, b) => step(s, a, b))(state, sn.zeros([n, 4]), sn.zeros([n, 1]));
    inspection.dispose();
    return inspection.memory.arenaBytes + n * 5 * 4;
  });
  for (const memory of [20_000, 1e6]) {
    const n = sn.fitBatchSize(step, memory, { state, batch });
    assert.ok(bytesOf(n) <= memory, `${n}: ${bytesOf(n)}`);
    assert.ok(bytesOf(Math.ceil(n * 1.07) + 1) > memory, `${n} is far below`);
  }
  assert.equal(sn.fitBatchSize(step, 1e9, { state, batch, most: 100 }), 100);
  const parts = sn.trainStep(loss, optim.adam(), { accumulate: 3 });
  const size = sn.fitBatchSize(parts, 20_000, { state, batch, multipleOf: 3 });
  assert.ok(size % 3 === 0 && size > 3 && size <= 20_000 / 20, String(size));
  assertThrows(() => sn.fitBatchSize(parts, 10, { state, batch, multipleOf: 3 }), sn.OutOfMemoryError, { message: /a batch of 3 takes/ });
  assertThrows(() => sn.fitBatchSize(step, 1e6, { state, batch, most: 2, multipleOf: 3 }), sn.SinterError, { message: /most is 2/ });
  assertThrows(() => sn.fitBatchSize(step, 10, { state, batch }), sn.OutOfMemoryError, { message: /a batch of one takes \d+ bytes, more than 10/ });
  assert.deepEqual(sn.memory().tensors, tensors);
  assert.ok(bytesInUse > 0);
});

test('arguments that are none', async () => {
  const step = makeStep();
  const state = firstOf(step);
  const refused = (message, ...args) => assertRejects(sn.fit(...args), sn.SinterError, { message });
  await refused(/expected a function/, 1, state, []);
  await refused(/did you mean 'epochs'/, step, state, [], { epoch: 3 });
  await refused(/epochs is -1/, step, state, [], { epochs: -1 });
  await refused(/patience/, step, state, [], { earlyStopping: {} });
  await refused(/checkpoint.to is 1, expected slots/, step, state, [], { checkpoint: { to: 1 } });
  await refused(/no training state/, step, {}, makeData());
  await refused(/expected an iterable/, step, state, 5);
  await refused(/validation/, step, state, [], { validation: { data: [] } });
  assertThrows(() => sn.fitBatchSize(step, 1e6, { state, batch: 3 }), sn.SinterError, { message: /batch is 3/ });
  assertThrows(() => sn.fitBatchSize(step, -1, { state, batch: [] }), sn.SinterError, { message: /-1/ });
});
