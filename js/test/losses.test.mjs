// Losses against PyTorch's (tests/golden/loss_cases.py wrote them) and plain JavaScript; metrics against plain JavaScript.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { assertClose, assertThrows } from './support.mjs';

await sn.init();
const { losses, metrics, random } = sn;
const golden = JSON.parse(readFileSync(new URL('../../tests/golden/losses.json', import.meta.url), 'utf8'));

const sines = (seed, shape, scale = 1) =>
  sn.tensor(Float64Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i * 0.7 + seed) * 0.6 * scale), { shape, dtype: 'float64' });
const flat = (t) => [...t.dataSync()];
const int = (values) => sn.tensor(values, { dtype: 'int32' });

const [a, b] = [sines(1, [4, 5], 3), sines(2, [4, 5], 3)];
const bools = sn.tensor(Array.from({ length: 4 }, (_, i) => Array.from({ length: 5 }, (__, k) => (5 * i + k) % 3 === 0)));
const labels = int([0, 4, 2, 1]);
const weights = sn.tensor([1, 0.5, 2, 0.25, 3], { dtype: 'float64' });
const p = sn.where(sn.arange(0, 20).reshape([4, 5]).equal(7), 0, sines(3, [4, 5], 4).softmax());
const paths = int([[1, 2, 2, 3], [3, 3, 1, 0], [4, 0, 0, 0]]);
const sounds = sines(5, [3, 9, 5], 4);

/** (inputs, f of them and { reduction }) */
const CASES = {
  mse: [[a, b], losses.mse],
  mae: [[a, b], losses.mae],
  huber: [[a, b], (x, y, o) => losses.huber(x, y, { ...o, delta: 0.7 })],
  binaryCrossEntropy: [[a.mul(20)], (x, o) => losses.binaryCrossEntropy(x, bools, o)],
  klDivergence: [[a], (x, o) => losses.klDivergence(x.logSoftmax(), p, o)],
  cosine: [[a, b], losses.cosine],
  entropy: [[a], (x, o) => losses.softmaxCrossEntropy(x, labels, o)],
  entropyIgnored: [[a], (x, o) => losses.softmaxCrossEntropy(x, labels, { ...o, ignoreIndex: 4 })],
  entropyWeighted: [[a], (x, o) => losses.softmaxCrossEntropy(x, labels, { ...o, weights })],
  entropySmooth: [[a], (x, o) => losses.softmaxCrossEntropy(x, labels, { ...o, labelSmoothing: 0.1 })],
  entropyAll: [[a], (x, o) => losses.softmaxCrossEntropy(x, labels, { ...o, labelSmoothing: 0.1, weights, ignoreIndex: 2 })],
  distribution: [[a], (x, o) => losses.softmaxCrossEntropy(x, p, o)],
  distributionAll: [[a], (x, o) => losses.softmaxCrossEntropy(x, p, { ...o, labelSmoothing: 0.2, weights })],
  ctc: [[sounds], (x, o) => losses.ctc(x, paths, { ...o, inputLengths: [9, 7, 3], labelLengths: [4, 3, 1] })],
  ctcBlank: [[sounds], (x, o) => losses.ctc(x, [[0, 1], [2, 2], [3, 0]], { ...o, blank: 4 })],
};

for (const [name, [inputs, f]] of Object.entries(CASES))
  test(`${name}: values and gradients are PyTorch's, for every reduction`, () => {
    for (const [reduction, [value, ...slopes]] of Object.entries(golden[name])) {
      const options = { reduction };
      assertClose(flat(f(...inputs, options)), value, 1e-12);
      const whole = sn.jit(sn.grad((...x) => f(...x, options).sum(), { argnums: inputs.map((_, i) => i) }));
      whole(...inputs).forEach((slope, i) => assertClose(flat(slope), slopes[i], 1e-11));
    }
    assertClose(flat(f(...inputs, undefined)), golden[name].mean[0], 1e-12);
  });

test('ctc is the sum over all ways', () => {
  const [steps, classes, own] = [4, 3, [1, 2]];
  const x = sines(2, [1, steps, classes], 2);
  const probabilities = x.softmax().toArray()[0];
  const collapsed = (path) => path.filter((c, i) => c !== path[i - 1]).filter((c) => c !== 0);
  let total = 0;
  for (let code = 0; code < classes ** steps; code++) {
    const path = Array.from({ length: steps }, (_, i) => Math.floor(code / classes ** i) % classes);
    if (String(collapsed(path)) === String(own)) total += path.reduce((product, c, t) => product * probabilities[t][c], 1);
  }
  assertClose(losses.ctc(x, [own], { reduction: 'sum' }), -Math.log(total), 1e-12);
  assertClose(losses.ctc(x.logSoftmax(), [own], { reduction: 'sum' }), -Math.log(total), 1e-12);
});

test('ctc: what has no way is infinite, or nothing, and spoils no gradient', () => {
  const x = sines(2, [2, 3, 4]);
  const own = [[1, 1, 1], [1, 2, 3]]; // three equal ones need two blanks between them
  assert.deepEqual(flat(losses.ctc(x, own, { reduction: 'none' }))[0], Infinity);
  const blanks = x.logSoftmax().slice([0, 0, 0], [-1, -1, 1]).sum({ axis: [1, 2] }).neg(); // the only way without labels
  assertClose(losses.ctc(x, sn.zeros([x.shape[0], 0], { dtype: 'int32' }), { reduction: 'none' }), blanks.toArray(), 1e-6);
  const each = flat(losses.ctc(x, own, { reduction: 'none', zeroInfinity: true }));
  assert.ok(each[0] === 0 && Number.isFinite(each[1]));
  const slope = sn.grad((t) => losses.ctc(t, own, { zeroInfinity: true }))(x).toArray();
  assert.ok(slope.flat(2).every(Number.isFinite));
  assert.ok(slope[0].flat().every((v) => v === 0) && slope[1].flat().some((v) => v !== 0));
});

test('hinge and contrastive follow their formulas; equal vectors have a gradient', () => {
  const signs = [[1, -1, 1]];
  assertClose(losses.hinge([[0.5, 0.5, 2]], signs, { reduction: 'none' }), [[0.5, 1.5, 0]]);
  const [x, y] = [sn.tensor([[0, 3], [0, 0.6], [1, 1]]), sn.tensor([[4, 0], [0.8, 0], [1, 1]])];
  const both = (same, options) => losses.contrastive(x, y, same, { reduction: 'none', ...options });
  assertClose(both([true, true, true]), [25, 1, 0], 1e-6);
  assertClose(both([0, 0, 0], { margin: 3 }), [0, 4, 9], 1e-6);
  for (const same of [true, false]) {
    const slope = sn.grad((t) => losses.contrastive(t, y, [same, same, same]))(x);
    assert.ok(flat(slope).every(Number.isFinite), `${flat(slope)}`);
  }
  assert.ok(flat(sn.grad((t) => losses.cosine(t, y))(sn.zeros([3, 2]))).every(Number.isFinite));
});

test('losses refuse shapes that would broadcast, and options that are none', () => {
  assertThrows(() => losses.mse(sn.ones([4, 1]), sn.ones([4])), sn.ShapeError, { op: 'losses.mse', message: /\(4, 1\) and \(4,\)/ });
  assertThrows(() => losses.mae([1], [1], { reduction: 'average' }), sn.SinterError, { op: 'losses.mae', hint: /mean, sum, none/ });
  assertThrows(() => losses.huber([1], [1], { beta: 1 }), sn.SinterError, { message: /no option 'beta'/ });
  assertThrows(() => losses.softmaxCrossEntropy(a, labels, { weights: [1, 2] }), sn.ShapeError, { message: /weights \(2,\) of 5 classes/ });
  assertThrows(() => losses.softmaxCrossEntropy(a, [0, 1, 2, 5]), sn.SinterError, { message: /labels/ });
  assertThrows(() => losses.ctc(sounds, [1, 2]), sn.ShapeError, { op: 'losses.ctc' });
  assertThrows(() => losses.ctc(sounds, paths, { blank: 5 }), sn.SinterError, { message: /blank is 5/ });
  assertThrows(() => losses.ctc(sounds, paths, { labelLengths: [1] }), sn.ShapeError, { message: /of 3 sequences/ });
  assertThrows(() => losses.contrastive(a, b, [true]), sn.ShapeError, { op: 'losses.contrastive' });
});

const predicted = [0, 2, 1, 1, 0, 2, 2, 1];
const actual = [0, 1, 1, 2, 0, 2, 0, 1];

test('accuracy, confusion matrix and F1, of classes and of scores', () => {
  const scores = sn.oneHot(int(predicted), 3).mul(2).sub(0.3);
  const matrix = [[2, 0, 1], [0, 2, 1], [0, 1, 1]];
  const f1s = [4 / 5, 2 / 3, 2 / 5]; // 2 right / (row + column)
  for (const [given, options] of [[int(predicted), { classes: 3 }], [scores, {}]]) {
    assertClose(metrics.accuracy(given, int(actual)), 5 / 8);
    const counts = metrics.confusionMatrix(given, int(actual), options);
    assert.equal(counts.dtype, 'int32');
    assert.deepEqual(counts.toArray(), matrix);
    assertClose(metrics.f1(given, int(actual), { ...options, average: 'none' }), f1s);
    assertClose(metrics.f1(given, actual, options), f1s.reduce((x, y) => x + y) / 3);
    assertClose(metrics.f1(given, actual, { ...options, average: 'micro' }), 5 / 8);
    assertClose(metrics.f1(given, actual, { ...options, average: 'weighted' }), (3 * f1s[0] + 3 * f1s[1] + 2 * f1s[2]) / 8);
  }
  assertClose(metrics.f1([0, 0], [0, 0], { classes: 2, average: 'none' }), [1, 0]);
  assert.deepEqual(metrics.confusionMatrix([0, 3, 1], [1, 1, -1], { classes: 2 }).toArray(), [[0, 0], [1, 0]]);
  assertThrows(() => metrics.confusionMatrix(int(predicted), int(actual)), sn.SinterError, { hint: /classes/ });
  assertThrows(() => metrics.accuracy(sn.ones([3, 2, 2]), int([1, 2])), sn.ShapeError, { op: 'metrics.accuracy' });
  assertThrows(() => metrics.f1(scores, int(actual), { average: 'mean' }), sn.SinterError, { op: 'metrics.f1' });
});

test('topK', () => {
  const scores = [[0.1, 0.5, 0.3], [0.2, 0.1, 0.9], [0.3, 0.2, 0.1]];
  assertClose([1, 2, 3].map((k) => metrics.topK(scores, [2, 0, 2], { k }).item()), [0, 2 / 3, 1]);
  assertThrows(() => metrics.topK(scores, [2, 0, 2]), sn.SinterError, { op: 'metrics.topK', message: /k is 5/ });
});

test('auc is the share of pairs in order', () => {
  const scores = Array.from({ length: 60 }, (_, i) => Math.round(Math.sin(i * 7) * 4) / 4);
  const truth = Array.from({ length: 60 }, (_, i) => (Math.sin(i * 7) + Math.sin(i * 3) > 0 ? 1 : 0));
  let [won, pairs] = [0, 0];
  truth.forEach((t, i) => truth.forEach((u, k) => {
    if (t !== 1 || u !== 0) return;
    pairs++;
    won += scores[i] > scores[k] ? 1 : scores[i] === scores[k] ? 0.5 : 0;
  }));
  assertClose(metrics.auc(scores, truth), won / pairs);
  assertClose(metrics.auc(scores, truth.map((t) => t === 1)), won / pairs);
  assertClose(metrics.auc(scores.map((s) => -s), truth), 1 - won / pairs);
  assert.ok(Number.isNaN(metrics.auc([1, 2], [1, 1]).item()));
});

test('metrics are part of a compiled evaluation', () => {
  const evaluate = sn.jit((x, y) => ({ right: metrics.accuracy(x, y), f1: metrics.f1(x, y), first: metrics.topK(x, y, { k: 1 }), area: metrics.auc(x.slice([0, 1], [-1, 1]).reshape([-1]), y.greater(0)) }));
  const x = random.normal(random.key(1), [50, 3]);
  const y = x.argmax({ axis: 1 });
  const { right, f1, first } = evaluate(x, y);
  assert.deepEqual([right.item(), f1.item(), first.item()], [1, 1, 1]);
});

test('the gradient of softmaxCrossEntropy is made in the place of logits that nobody else reads', () => {
  const [rows, classes] = [8, 20000]; // rows that stay in no cache
  const grad = sn.grad((x) => sn.softmaxCrossEntropy(sn.cumsum(x, { axis: 1 }), sn.arange(0, rows, 1, { dtype: 'int32' })).mean());
  const { arenaBytes } = sn.inspect(grad)(sn.ones([rows, classes])).memory;
  assert.ok(arenaBytes < 1.1 * rows * classes * 4, `${arenaBytes}`);
});
