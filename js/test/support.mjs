// Shared by the package's tests.
import assert from 'node:assert/strict';

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
