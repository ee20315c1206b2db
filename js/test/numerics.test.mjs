// debug.checkNumerics: the first value that is not finite, named with its place, what it was made of, and the way to it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';

await sn.init();

const caught = (f) => {
  try {
    f();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing was thrown');
};
const mine = ({ places }) => places.filter(({ file }) => file.endsWith('numerics.test.mjs'));
const thisLine = () => Number(/numerics\.test\.mjs:(\d+)/.exec(new Error().stack.split('\n')[2])[1]);

test('finite results come back as they are', async () => {
  const f = (x, y) => ({ sum: x.add(y), parts: [x.mul(y)] });
  const checked = sn.debug.checkNumerics(f);
  const { sum, parts } = checked(sn.tensor([1, 2]), 3);
  assert.deepEqual([...(await sum.data()), ...(await parts[0].data())], [4, 5, 3, 6]);
});

test('the op, its line, the ranges of what it read, and the way to it', () => {
  let line;
  const f = (x) => {
    const y = x.sub(1);
    line = thisLine() + 1;
    const z = sn.log(y);
    return z.mul(2).sum();
  };
  const error = caught(() => sn.debug.checkNumerics(f)(sn.tensor([0.5, 1, 3])));
  assert.ok(error instanceof sn.debug.NumericsError && error instanceof sn.SinterError);
  assert.equal(error.code, 'numerics');
  const { value, inputs, path } = error;
  assert.deepEqual([value.op, value.type, value.nans, value.infinities, value.derivative], ['log', 'float32(3)', 1, 1, false]);
  assert.equal(mine(value)[0].line, line);
  assert.deepEqual(inputs.map(({ least, most, nans }) => [least, most, nans]), [[-0.5, 2, 0]]);
  assert.ok(path.some(({ op }) => op === 'sub'), JSON.stringify(path));
  assert.match(error.message, /^checkNumerics: log makes 1 NaN and 1 infinite in float32\(3\) at .*numerics\.test\.mjs:\d+:\d+, of sub float32\(3\) \(from -0\.5 to 2\)/);
});

test('a fault of a derivative is told as one, with the call that it is of', () => {
  const f = (x) => sn.sqrt(x).sum();
  const error = caught(() => sn.debug.checkNumerics(sn.valueAndGrad(f))(sn.tensor([0, 4])));
  assert.equal(error.value.derivative, true);
  assert.ok(mine(error.value).length > 0);
});

test('within a loop, and in a training step, whose state stays', async () => {
  const loop = (x) => sn.scan((c) => [sn.exp(c), null], x, null, { length: 6 })[0];
  const inside = caught(() => sn.debug.checkNumerics(loop)(sn.tensor([1, 2])));
  assert.equal(inside.value.op, 'exp');
  assert.ok(mine(inside.value).length > 0);

  const step = sn.trainStep((params, x) => x.mul(params.w).square().mean(), sn.optim.sgd({ lr: 1e30 }));
  const checked = sn.debug.checkNumerics((state, x) => step(state, x));
  let state = step.init({ w: sn.tensor([1, 2]) });
  const error = caught(() => {
    for (let i = 0; i < 5; i++) ({ state } = checked(state, sn.tensor([3, 4])));
  });
  assert.ok(error instanceof sn.debug.NumericsError);
  assert.equal((await step.params(state).w.data()).length, 2);
});

test('what is masked out is no fault, and neither are integers', () => {
  const f = (x) => sn.where(x.greater(0), sn.log(x), 0).sum();
  assert.equal(sn.debug.checkNumerics(f)(sn.tensor([-1, 1])).item(), 0);
  assert.equal(sn.debug.checkNumerics((x) => x.add(1))(sn.tensor([1], { dtype: 'int32' })).item(), 2);
});

test('what is not a function is refused', () => {
  assert.throws(() => sn.debug.checkNumerics(3), { name: 'SinterError', message: /^checkNumerics: / });
});
