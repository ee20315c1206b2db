// Code made at run time: the same results with and without it, also where the engine refuses it; how
// often functions are traced, and why; what the caches hold.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { before, test } from 'node:test';
import * as sn from 'sinter';

before(() => sn.init({ threads: 2 }));

const ramp = (shape, scale = 0.37) => {
  const n = shape.reduce((a, b) => a * b, 1);
  const values = Float32Array.from({ length: n }, (_, i) => Math.sin(i * scale) * 4);
  return sn.tensor(values, { shape });
};
const bits = (t) => new Uint32Array(Float32Array.from(t.dataSync()).buffer);

const programs = {
  map: [(x, y) => sn.sigmoid(x.mul(y).add(y)).mul(x).sub(y.square().div(2)), [37, 29], [29]],
  chain: [(x) => sn.gelu(sn.tanh(x)).add(sn.erf(x)).mul(sn.exp(x.neg().abs())), [1001]],
  rows: [(x) => sn.softmax(x, { axis: -1 }), [33, 257]],
  norm: [(x, w) => sn.layerNorm(x, { weight: w }), [17, 130], [130]],
  columns: [(x) => sn.sum(x.square(), { axis: 0 }), [300, 65]],
  whole: [(x) => sn.max(x).add(sn.sum(x)), [40, 1031]],
  views: [(x) => sn.flip(x.transpose()).add(1).mul(x.transpose()), [31, 7]],
  mixed: [(x) => sn.where(x.greater(0), x.astype('int32').astype('float32'), sn.floor(x)), [999]],
};

for (const [name, [f, ...shapes]] of Object.entries(programs)) {
  test(`${name}: equal bits with and without code`, () => {
    const args = shapes.map((shape) => ramp(shape));
    const live = sn.info().modules.live;
    const withCode = sn.jit(f)(...args);
    assert.ok(sn.info().modules.live > live, 'a module was made');
    const without = sn.jit(f, { jit: false })(...args);
    assert.deepEqual(bits(withCode), bits(without));
  });
}

test('released programs leave no module behind', () => {
  const live = sn.info().modules.live;
  const { evicted } = sn.info().programs;
  for (let n = 1; n < 300; n += 1) {
    const f = sn.jit((x) => sn.tanh(x.mul(n)).add(n));
    f(ramp([n])).dispose();
    f.dispose();
  }
  // The core's own cache keeps a bounded number of programs.
  assert.ok(sn.info().modules.live <= live + 130, `${sn.info().modules.live} modules`);
  assert.ok(sn.info().programs.cached <= 128);
  assert.ok(sn.info().programs.evicted >= evicted + 299 - 128, `${sn.info().programs.evicted} evicted`);
});

test('equal programs are found again, in eager use too', () => {
  const x = ramp([64]);
  const run = () => sn.exp(x).add(x).dataSync();
  run();
  const { hits } = sn.info().programs;
  run();
  assert.equal(sn.info().programs.hits, hits + 1);
});

test('a function is traced once per kind of arguments, and says why', () => {
  let calls = 0;
  const seen = [];
  const f = sn.jit((x, k) => ((calls += 1), x.mul(k)), { onTrace: ({ reason }) => seen.push(reason) });
  const [a, b] = [ramp([4]), ramp([5])];
  for (let i = 0; i < 5; i += 1) f(a, 2);
  assert.equal(calls, 1);
  f(b, 2);
  f(b, 3);
  f(a, 2);
  assert.equal(calls, 3);
  assert.deepEqual(seen, [
    'first call',
    'argument 0 changed from float32(4,) to float32(5,)',
    'argument 1 changed from 2 to 3: numbers are part of the program, pass a tensor',
  ]);
  assert.equal(f.traces.length, 3);
});

test('calls of plain tensors take the program of their shapes', () => {
  const f = sn.jit((x, y) => x.add(y));
  const [a, b] = [ramp([6]), ramp([1])];
  for (const [x, y] of [[a, a], [a, b], [b, a], [a, a], [b, b]]) {
    assert.deepEqual(f(x, y).shape, [Math.max(x.size, y.size)]);
  }
  assert.equal(f.traces.length, 4);
  f.dispose();
  assert.deepEqual(f(a, a).shape, [6]);
});

/** Runs a script in a process of its own; its last line is JSON. */
const alone = (script) =>
  JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: new URL('..', import.meta.url),
    encoding: 'utf8',
  }).trim().split('\n').pop());

const PROGRAM = `
  const x = sn.tensor(Float32Array.from({ length: 2100 }, (_, i) => (i % 700) / 50 - 7), { shape: [21, 100] });
  const y = sn.jit((v) => sn.softmax(sn.tanh(v).matmul(v.transpose())))(x);
  const again = sn.jit((v) => sn.exp(v).sum())(x);
  console.log(JSON.stringify({ y: [...y.dataSync()], again: again.item(), info: sn.info() }));
  process.exit(0);`;

test('an engine that refuses run-time code gets the same results from the interpreter', () => {
  const refusing = alone(`
    import * as sn from 'sinter';
    const Module = WebAssembly.Module;
    await sn.init({ threads: 1, deterministic: true });
    WebAssembly.Module = new Proxy(Module, { construct() { throw new Error('refused'); } });
    ${PROGRAM}`);
  const plain = alone(`import * as sn from 'sinter';
    await sn.init({ threads: 1, deterministic: true, jit: false }); ${PROGRAM}`);
  const coded = alone(`import * as sn from 'sinter';
    await sn.init({ threads: 2, deterministic: true }); ${PROGRAM}`);
  assert.ok(refusing.info.modules.refused > 0);
  assert.match(refusing.info.reasons.join(), /refused/);
  assert.equal(plain.info.jit, false);
  assert.equal(plain.info.modules.live, 1); // products' micro-kernels
  assert.ok(coded.info.modules.live > 1);
  assert.deepEqual(refusing.y, plain.y);
  assert.deepEqual(coded.y, plain.y);
  assert.equal(coded.again, plain.again);
});

test('the function table grows to what lives at a time, not with every program', () => {
  const lengths = alone(`
    import * as sn from 'sinter';
    const { grow } = WebAssembly.Table.prototype;
    let places = 0;
    WebAssembly.Table.prototype.grow = function (n) { places += n; return grow.call(this, n); };
    await sn.init({ threads: 1 });
    const x = sn.tensor([1, 2, 3]);
    const run = (from, to) => {
      for (let n = from; n < to; n += 1) {
        const f = sn.jit((v) => v.mul(n).add(1));
        f(x).dispose();
        f.dispose();
      }
      return places;
    };
    console.log(JSON.stringify([run(1, 200), run(200, 800)]));
    process.exit(0);`);
  assert.ok(lengths[0] > 0);
  assert.equal(lengths[1], lengths[0]);
});

test('a table that may not grow: the interpreter runs', () => {
  const result = alone(`
    import * as sn from 'sinter';
    WebAssembly.Table.prototype.grow = () => { throw new RangeError('no'); };
    await sn.init({ threads: 1 });
    const values = sn.jit((v) => v.mul(2).sum())(sn.tensor([1, 2, 3])).item();
    console.log(JSON.stringify({ values, refused: sn.info().modules.refused }));
    process.exit(0);`);
  assert.equal(result.values, 12);
  assert.ok(result.refused > 0);
});

test('a module whose bytes are broken is refused, and the next program runs', () => {
  const result = alone(`
    import * as sn from 'sinter';
    const Module = WebAssembly.Module;
    let broken = 1;
    await sn.init({ threads: 1 });
    WebAssembly.Module = new Proxy(Module, {
      construct(target, [bytes]) {
        if (broken-- > 0) bytes = bytes.subarray(0, bytes.length - 3);
        return new target(bytes);
      },
    });
    const x = sn.tensor([1, 2, 3]);
    const first = sn.jit((v) => sn.tanh(v))(x).toArray();
    const second = sn.jit((v) => sn.tanh(v).neg())(x).toArray();
    console.log(JSON.stringify({ first, second, refused: sn.info().modules.refused }));
    process.exit(0);`);
  assert.equal(result.refused, 1);
  assert.deepEqual(result.first, result.second.map((value) => -value));
});
