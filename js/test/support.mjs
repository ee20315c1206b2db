// Shared by the package's tests.
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Has the engine collect garbage, and runs the finalizers. */
export const collectGarbage = async () => {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  await setTimeout(5);
};

/** What is in memory when nothing of earlier tests is left to collect: finalizers run some time after a collection. */
export const settledMemory = async (sn) => {
  let { tensors } = sn.memory();
  for (let still = 0; still < 3; still++) {
    await collectGarbage();
    if (sn.memory().tensors !== tensors) still = -1;
    ({ tensors } = sn.memory());
  }
  const { tensorBytes, bytesInUse } = sn.memory();
  return { tensors, tensorBytes, bytesInUse };
};

/** Asserts that numbers in a tensor or (nested) array agree within a relative or absolute tolerance. */
export const assertClose = (actual, expected, tolerance = 1e-6) => {
  const a = typeof actual.toArray === 'function' ? actual.toArray() : actual;
  const flatA = [a].flat(Infinity);
  const flatB = [expected].flat(Infinity);
  assert.equal(flatA.length, flatB.length, 'number of elements');
  flatA.forEach((x, i) => {
    const y = flatB[i];
    if (Object.is(x, y)) return;
    const bound = tolerance * Math.max(1, Math.abs(y));
    assert.ok(Math.abs(x - y) <= bound, `element ${i}: ${x}, expected ${y} (tolerance ${bound})`);
  });
};

/** Asserts that f throws an error of a class whose fields have the given values or match them. */
export const assertThrows = (f, type, fields = {}) => {
  let error;
  try {
    f();
  } catch (caught) {
    error = caught;
  }
  checkError(error, type, fields);
};

/** As assertThrows, for a promise. */
export const assertRejects = async (promise, type, fields = {}) => {
  let error;
  await promise.catch((caught) => {
    error = caught;
  });
  checkError(error, type, fields);
};

const checkError = (error, type, fields) => {
  assert.ok(error, `no error, expected ${type.name}`);
  assert.ok(error instanceof type, `${error.name}: ${error.message}, expected ${type.name}`);
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof RegExp) assert.match(error[name], value);
    else assert.deepEqual(error[name], value);
  }
};

/** Asserts that the gradients of loss, a number made from float64 tensors of the shapes, are those of differences at
 *  the given numbers. */
export const assertSlopes = (sn, loss, inputs, tolerance = 1e-6) => sn.tidy(() => {
  const tensors = inputs.map(({ data, shape }) => sn.tensor(data, { shape, dtype: 'float64' }));
  const slopes = sn.grad(loss, { argnums: inputs.map((_, i) => i) })(...tensors);
  inputs.forEach(({ data, shape }, which) => {
    const at = (i, step) => sn.tidy(() => loss(...tensors.map((t, k) => (k === which
      ? sn.tensor(data.map((v, j) => (j === i ? v + step : v)), { shape, dtype: 'float64' })
      : t))).item());
    assertClose([...slopes[which].dataSync()], data.map((_, i) => (at(i, 1e-5) - at(i, -1e-5)) / 2e-5), tolerance);
  });
});
