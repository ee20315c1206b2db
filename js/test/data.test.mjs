// Datasets: what a pass gives, in which order, from any place on, and who owns it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import * as sn from '../dist/index.js';
import { assertRejects, assertThrows, settledMemory } from './support.mjs';

/** A tensor that datasets borrow. */
let held;
before(async () => {
  await sn.init();
  held = sn.arange(100);
});

const { data, random } = sn;

/** The items of a pass as arrays; gives their tensors back. */
const collect = async (items) => {
  const all = [];
  for await (const item of items) {
    all.push(sn.tree.map((t) => t.toArray(), item));
    sn.dispose(item);
  }
  return all;
};

/** f is awaited, and leaves no tensor behind, nor what was being loaded for it. */
const withoutLoss = async (f) => {
  const { tensors } = await settledMemory(sn);
  await f();
  for (let tries = 0; tries < 100 && sn.memory().tensors !== tensors; tries++) await setTimeout(20);
  assert.equal(sn.memory().tensors, tensors);
};

const numbers = (n) => Float32Array.from({ length: n }, (_, i) => i);
const rows = (n) => [sn.arange(2 * n).reshape([n, 2]), numbers(n)];

test('rows of arrays, one by one and in batches', async () => {
  const set = data.fromArrays(rows(5));
  assert.equal(set.size, 5);
  assert.deepEqual(await collect(set), [0, 1, 2, 3, 4].map((i) => [[2 * i, 2 * i + 1], i]));
  assert.deepEqual(await collect(set.batch(2)), [[[[0, 1], [2, 3]], [0, 1]], [[[4, 5], [6, 7]], [2, 3]], [[[8, 9]], [4]]]);
  assert.deepEqual([set.batch(2).size, set.batch(2, { dropLast: true }).size], [3, 2]);
  assert.equal((await collect(set.batch(2, { dropLast: true }))).length, 2);
  assert.deepEqual(await collect(data.fromArrays({ x: [[1], [2]], y: Int32Array.of(3, 4) }).batch(2)), [{ x: [[1], [2]], y: [3, 4] }]);
});

test('rows of every dtype', async () => {
  for (const dtype of ['f32', 'f64', 'i32', 'bool', 'f16', 'bf16', 'i8', 'u8']) {
    const x = sn.tensor([[1, 0], [0, 1], [1, 1]], { dtype });
    const [[batch]] = await Promise.all([(async () => { for await (const item of data.fromArrays([x]).batch(2)) return item; })()]);
    assert.equal(batch.dtype, x.dtype);
    assert.deepEqual(batch.astype('f32').toArray(), [[1, 0], [0, 1]]);
  }
});

const parts = {};
/** Datasets of the numbers 0 to n - 1, with and without access to rows. */
const SOURCES = {
  'rows of tensors': (n) => data.fromArrays([n === 100 ? held : (parts[n] ??= held.slice([0], [n]))]),
  'an iterable': (n) => data.from(() => Array.from(numbers(n), (x) => [x])),
  'an async iterable': (n) => data.from(async function* () { for (const x of numbers(n)) yield [x]; }),
};

for (const [name, make] of Object.entries(SOURCES)) {
  describe(name, () => {
    const flat = async (items) => (await collect(items)).flat(2);

    test('a shuffle has every item once, another order for each pass and key, and the same one again', async () => {
      const set = make(100).shuffle(random.key(1), { window: 30 }).batch(7);
      const orders = [await flat(set), await flat(set.start({ pass: 1 })), await flat(make(100).shuffle(random.key(2), { window: 30 }).batch(7))];
      for (const order of orders) assert.deepEqual([...order].sort((a, b) => a - b), [...numbers(100)]);
      assert.equal(new Set(orders.map(String)).size, 3);
      assert.notDeepEqual(orders[0], [...numbers(100)]);
      assert.deepEqual(await flat(make(100).shuffle(random.key(1), { window: 30 }).batch(7)), orders[0]);
    });

    test('every place gives what follows there', async () => {
      const sets = {
        plain: make(20).batch(3),
        shuffled: make(20).shuffle(random.key(3), { window: 6 }).batch(3),
        mapped: make(20).shuffle(random.key(3), { window: 6 }).batch(3).map(([x]) => [x.mul(2)]).prefetch(2),
        repeated: make(7).shuffle(random.key(4), { window: 3 }).batch(2).repeat(3),
        'repeated, then batched': make(7).shuffle(random.key(4), { window: 3 }).repeat(2).batch(4),
      };
      for (const [what, set] of Object.entries(sets)) {
        const all = await collect(set.start({ pass: 2 }));
        const pass = set.start({ pass: 2 });
        for (let index = 0; index <= all.length; index++) {
          assert.deepEqual(pass.place, { pass: 2, index });
          assert.deepEqual(await collect(set.start(pass.place)), all.slice(index), `${what} from ${index} on`);
          const { value } = await pass.next();
          sn.dispose(value);
        }
      }
    });

    test('nothing is lost: to the end, or left early', async () => {
      make(50);
      await withoutLoss(async () => {
        const key = random.key(5);
        const set = make(50).shuffle(key, { window: 8 }).batch(4).map(([x]) => [x.add(1).mul(2).reshape([-1])]).repeat(2).prefetch(3);
        await collect(set);
        for (let taken = 0; taken < 3; taken++) {
          const pass = set.start();
          for (let i = 0; i < taken; i++) sn.dispose((await pass.next()).value);
          await pass.return();
        }
        for await (const item of set) {
          sn.dispose(item);
          break;
        }
        key.dispose();
      });
    });
  });
}

describe('files', () => {
  const bytes = Uint8Array.from({ length: 3 + 4 * 25 }, (_, i) => i);
  const expected = Array.from({ length: 25 }, (_, row) => [0, 1, 2, 3].map((i) => 3 + 4 * row + i));

  test('records of a Blob, of a Response and of bytes: shuffled whole, from any place on', () => withoutLoss(async () => {
    for (const source of [() => new Blob([bytes]), () => new Response(bytes), () => bytes]) {
      const set = await data.fromRecords(source(), 4, { skip: 3 });
      assert.equal(set.size, 25);
      const items = [];
      for await (const item of set) items.push([...item]);
      assert.deepEqual(items, expected);
      const key = random.key(6);
      const batches = set.shuffle(key, { window: 2 }).batch(4).prefetch(2);
      key.dispose();
      const all = await collect(batches);
      assert.deepEqual(all.flat().sort((a, b) => a[0] - b[0]), expected);
      assert.notDeepEqual(all.flat().slice(0, 4).map(([first]) => first < 40), [true, true, true, true]); // not of a window
      for (let index = 0; index <= 7; index++) assert.deepEqual(await collect(batches.start({ index })), all.slice(index));
      const [first] = await set.batch(4).map((x) => [x.slice([0, 0], [4, 1]).astype('f32').div(2)])[Symbol.asyncIterator]().next().then(({ value }) => value);
      assert.deepEqual(first.toArray(), expected.slice(0, 4).map((each) => [each[0] / 2]));
      first.dispose();
    }
  }));

  test('lines: of every kind, across pieces, of every pass', async () => {
    const long = 'ä'.repeat(100_000);
    const lines = ['one', '', 'zwei ü', long, 'end'];
    for (const text of [lines.join('\n'), `${lines.join('\r\n')}\r\n`]) {
      for (const source of [new Blob([text]), new Response(text), new TextEncoder().encode(text)]) {
        const set = data.fromLines(source);
        for (let pass = 0; pass < 2; pass++) assert.deepEqual(await collect(set.start({ pass })), lines);
        assert.deepEqual(await collect(set.start({ index: 3 })), lines.slice(3));
        for await (const line of set) if (line === '') break;
      }
    }
    assert.deepEqual(await collect(data.fromLines(new Blob([]))), []);
  });

  test('what is no such file', async () => {
    await assertRejects(data.fromRecords(new Blob([bytes]), 4), sn.SinterError, { op: 'data.fromRecords', message: /103 bytes are not 0 and whole records of 4/ });
    await assertRejects(data.fromRecords(bytes, 4, { skip: 107 }), sn.SinterError, { message: /103 bytes are not 107/ });
    await assertRejects(data.fromRecords(bytes, 0), sn.SinterError, { message: /the number of bytes is 0/ });
    await assertRejects(data.fromRecords(bytes, 4, { skp: 3 }), sn.SinterError, { message: /did you mean 'skip'/ });
    await assertRejects(data.fromRecords(7, 4), sn.SinterError, { message: /expected a Response, a Blob, bytes or a path/ });
    await assertRejects(data.fromRecords(new Response('', { status: 404 }), 4), sn.SinterError, { code: 'storage', message: /answered 404/ });
    await assertRejects(collect(data.fromLines(Uint8Array.of(0xff, 0x0a))), sn.SinterError, { op: 'data.fromLines', code: 'storage' });
    await assertRejects(collect(data.fromLines('/no/such/file')), sn.SinterError, { code: 'storage' });
  });
});

test('a worker of the user loads and transforms while its items are used', () => withoutLoss(async () => {
  const loaded = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(`
    const { parentPort, workerData } = require('node:worker_threads');
    parentPort.on('message', (i) => {
      Atomics.add(workerData, 0, 1);
      parentPort.postMessage(Float32Array.of(i, i * i));
    });
  `, { eval: true, workerData: loaded });
  const set = data.from(async function* () {
    for (let i = 0; i < 12; i++) {
      worker.postMessage(i);
      yield (await once(worker, 'message'))[0];
    }
  }).batch(2).prefetch(2);
  const pass = set.start();
  const { value: first } = await pass.next();
  assert.deepEqual(first.toArray(), [[0, 0], [1, 1]]);
  for (let tries = 0; tries < 1000 && loaded[0] < 6; tries++) await setTimeout(10);
  assert.equal(loaded[0], 6); // three batches, of which one was taken: two are ahead
  first.dispose();
  assert.deepEqual((await collect(pass)).flat(), Array.from({ length: 10 }, (_, i) => [i + 2, (i + 2) ** 2]));
  await worker.terminate();
}));

test('map: sync functions are tidied, async ones keep what they return', () => withoutLoss(async () => {
  const source = () => data.from(() => [1, 2, 3].map((x) => ({ x: sn.tensor([x, x]), name: `n${x}` })));
  const sums = [];
  for await (const { sum, name } of source().map(({ x, name }) => ({ sum: x.mul(2).add(1).sum(), name }))) {
    sums.push([sum.item(), name]);
    sum.dispose();
  }
  assert.deepEqual(sums, [[6, 'n1'], [10, 'n2'], [14, 'n3']]);
  for await (const kept of source().map(async ({ x }) => {
    await null;
    return x;
  })) {
    assert.equal(kept.shape[0], 2);
    kept.dispose();
  }
}));

test('items that fit into no batch are given back', () => withoutLoss(async () => {
  const made = (sizes) => data.from(() => sizes.map((n) => sn.ones([n])));
  await assertRejects(collect(made([2, 3, 2]).batch(3)), sn.ShapeError);
  await assertRejects(collect(made([2, 3]).map((x) => ({ [x.shape[0]]: x })).batch(2)), sn.SinterError);
}));

test('batches of numbers, arrays and trees', async () => {
  const set = data.from([1, 2, 3].map((x) => ({ x: Float32Array.of(x, x), y: x, flag: x > 1, more: [sn.tensor([x])] })));
  assert.deepEqual(await collect(set.batch(2)), [
    { x: [[1, 1], [2, 2]], y: [1, 2], flag: [false, true], more: [[[1], [2]]] },
    { x: [[3, 3]], y: [3], flag: [true], more: [[[3]]] },
  ]);
  await assertRejects(collect(data.from([[1, 2], [1, 2, 3]].map((x) => Float32Array.from(x))).batch(2)), sn.ShapeError, { message: /items differ: float32\(2,\), and float32\(3,\) 1 items later/ });
  const unlike = (items, message) => assertRejects(collect(data.from(items).batch(items.length)), sn.SinterError, { message });
  await unlike([{ a: 1 }, { a: 2 }, { b: 3 }], /batch: item\.a is a tensor, 2 items later nothing there/);
  await unlike(['a', 'b'], /batch: item is "a", 1 items later "b" there/);
  assert.deepEqual(await collect(data.from([{ x: 1, of: 'a' }, { x: 2, of: 'a' }]).batch(2)), [{ of: 'a', x: [1, 2] }]);
});

test('prefetch loads ahead, in order, and no further', async () => {
  let loaded = 0;
  const set = data.from(async function* () {
    for (let i = 0; i < 10; i++) {
      loaded++;
      yield [i];
    }
  }).prefetch(3);
  const seen = [];
  for await (const [i] of set) {
    await setTimeout(5);
    seen.push(i);
    assert.ok(loaded <= i + 5 && loaded >= Math.min(10, i + 3), `${loaded} at ${i}`);
  }
  assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('errors of a source and of a function come through where their item would', async () => {
  const broken = () => data.from(function* () {
    yield [sn.ones([2])];
    throw new RangeError('broken');
  });
  for (const set of [broken(), broken().batch(1), broken().prefetch(4), broken().map((x) => x)]) {
    const pass = set.start();
    sn.dispose((await pass.next()).value);
    await assertRejects(pass.next(), RangeError, { message: 'broken' });
  }
  await assertRejects(collect(data.from([1]).map(() => { throw new TypeError('mine'); })), TypeError, { message: 'mine' });
});

test('an iterator can be read once, what is made anew as often as one likes', async () => {
  const generator = (function* () { yield 1; })();
  const set = data.from(generator);
  for await (const x of set) assert.equal(x, 1);
  await assertRejects(set.start().next(), sn.SinterError, { message: /read once.*function/ });
  const passes = [];
  const anew = data.from((pass) => {
    passes.push(pass);
    return [pass];
  }).repeat(3);
  for await (const x of anew) assert.equal(x, passes.at(-1));
  assert.deepEqual(passes, [0, 1, 2]);
});

test('an array lends its tensors: every pass has them', async () => {
  const blob = new Blob(['x']);
  const items = [[sn.tensor([1, 2]), { x: sn.tensor(3), blob }], [sn.tensor([4, 5]), { x: sn.tensor(6), blob }]];
  for (let pass = 0; pass < 2; pass++) {
    const seen = [];
    for await (const [a, { x, blob: same }] of data.from(items)) {
      seen.push([a.toArray(), x.item()]);
      assert.equal(same, blob);
      sn.dispose([a, x]);
    }
    assert.deepEqual(seen, [[[1, 2], 3], [[4, 5], 6]]);
  }
  const set = data.from([sn.tensor([1, 2])]).map((x) => x.sum()).batch(1).repeat(2);
  assert.deepEqual(await collect(set), [[3], [3]]);
});

test('without an end', async () => {
  const set = data.fromArrays([numbers(3)]).repeat();
  assert.equal(set.size, null);
  const seen = [];
  for await (const [x] of set) {
    seen.push(x.item());
    if (seen.length === 7) break;
  }
  assert.deepEqual(seen, [0, 1, 2, 0, 1, 2, 0]);
  assert.deepEqual(await collect(data.from([]).repeat()), []);
});

test('arguments that are none', async () => {
  const set = data.from([1]);
  assertThrows(() => data.fromArrays(sn.ones([2])), sn.SinterError, { message: /fromArrays\(\[x, y\]\)/ });
  assertThrows(() => data.fromArrays([sn.ones([2]), sn.ones([3])]), sn.ShapeError, { message: /2, 3 rows/ });
  assertThrows(() => data.fromArrays([sn.tensor(1)]), sn.ShapeError, { message: /no rows/ });
  assertThrows(() => data.fromArrays([]), sn.ShapeError);
  assertThrows(() => data.from(5), sn.SinterError, { message: /5, expected an iterable/ });
  await assertRejects(data.from(() => 5).start().next(), sn.SinterError, { message: /returned 5/ });
  assertThrows(() => set.shuffle(1), sn.SinterError, { message: /1 is no key/ });
  assertThrows(() => set.shuffle(sn.ones([2])), sn.SinterError);
  assertThrows(() => set.batch(0), sn.SinterError, { message: /data.batch: the number of items is 0/ });
  assertThrows(() => set.batch(2, { droplast: true }), sn.SinterError, { message: /did you mean 'dropLast'/ });
  assertThrows(() => set.prefetch(0), sn.SinterError);
  assertThrows(() => set.repeat(-1), sn.SinterError);
  assertThrows(() => set.map(3), sn.SinterError, { message: /data.map: expected a function/ });
  assertThrows(() => set.start({ index: -1 }), sn.SinterError, { message: /index/ });
});
