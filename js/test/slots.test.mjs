// Where bytes come from, and slots: what is found after a crash, a full disk, or half a write is a whole state.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { execFileSync, fork } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as sn from '../dist/index.js';
import { assertRejects } from './support.mjs';

const { io } = sn;
let folder;

before(async () => {
  await sn.init();
  folder = mkdtempSync(join(tmpdir(), 'sinter-slots-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** A state whose tensors all say which one it is. */
const stateOf = (n) => ({ a: sn.full([1000], n), b: [sn.full([7], n, { dtype: 'i32' })], n });

const check = (state) => {
  assert.deepEqual([...new Set([...state.a.dataSync(), ...state.b[0].dataSync()])], [state.n]);
  return state.n;
};

const streamOf = (bytes, size) => new ReadableStream({
  start(controller) {
    for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size));
    controller.close();
  },
});

test('bytes of every source', async () => {
  const bytes = io.saveState(stateOf(3));
  const path = join(folder, 'a file');
  await io.write(path, bytes);
  await io.write(pathToFileURL(join(folder, 'another one')), bytes.buffer);
  assert.deepEqual(readdirSync(folder).sort(), ['a file', 'another one']);
  for (const source of [path, pathToFileURL(path), new Blob([bytes]), new Response(bytes), bytes.buffer, new DataView(bytes.buffer)])
    assert.deepEqual(new Uint8Array(await io.read(source)), bytes);
  const own = await io.read(bytes);
  assert.equal(own.buffer, bytes.buffer, 'not copied');
});

test('a pipe is written in its place', async () => {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const [read] = await Promise.all([readFile(path), io.write(path, Uint8Array.of(1, 2, 3))]);
  assert.deepEqual([...read], [1, 2, 3]);
  assert.ok(statSync(path).isFIFO() && !existsSync(`${path}.new`));
});

test('progress', async () => {
  const bytes = io.saveState(stateOf(3));
  const seen = [];
  const response = new Response(streamOf(bytes, 1000), { headers: { 'Content-Length': String(bytes.length) } });
  await io.read(response, { onProgress: (progress) => seen.push(progress) });
  assert.equal(seen.length, Math.ceil(bytes.length / 1000));
  assert.deepEqual(seen[0], { loaded: 1000, total: bytes.length });
  const packed = new Response(streamOf(bytes, 4000), { headers: { 'Content-Length': '17', 'Content-Encoding': 'gzip' } });
  await io.read(packed, { onProgress: (progress) => assert.equal(progress.total, null) });
});

test('sources that fail', async () => {
  await assertRejects(io.read(new Response('no', { status: 404 })), sn.SinterError, { code: 'storage', message: /answered 404/ });
  await assertRejects(io.read(join(folder, 'nothing')), sn.SinterError, { code: 'storage', message: /io.read: .*ENOENT/ });
  await assertRejects(io.read(5), sn.SinterError, { code: 'argument', message: /expected a Response/ });
  const broken = new ReadableStream({ pull: (controller) => controller.error(new TypeError('network')) });
  await assertRejects(io.read(new Response(broken)), sn.SinterError, { code: 'storage', message: /network/ });
  await assertRejects(io.write(join(folder, 'no', 'folder'), new Uint8Array(1)), sn.SinterError, { code: 'storage' });
  await assertRejects(io.write(folder, new Uint8Array(1)), sn.SinterError, { code: 'storage' });
  assert.ok(!existsSync(`${folder}.new`), 'nothing is left');
});

test('snapshot has the bytes of saveState, also of what a step uses up meanwhile', async () => {
  const lazy = () => ({ x: sn.tensor([1, 2, 3]).mul(2), empty: sn.zeros([0]), big: sn.iota([600_000], 0) });
  assert.deepEqual(await io.snapshot(lazy()), io.saveState(lazy()));
  const add = sn.jit((t) => t.add(1), { donate: 0 });
  const t = sn.iota([600_000], 0);
  sn.eval(t);
  const expected = io.saveState({ t });
  const copying = io.snapshot({ t });
  const next = add(t);
  assert.deepEqual(await copying, expected);
  assert.ok(t.isDisposed);
  assert.equal(next.slice([5], [1]).item(), 6);
});

test('slots hold the state saved last', async () => {
  const place = join(folder, 'two', 'deep');
  const slots = await io.openSlots(place);
  assert.equal(await slots.load(), null);
  for (let n = 1; n <= 5; n++) {
    await slots.save(stateOf(n));
    assert.equal(check(await slots.load(stateOf(0))), n);
    assert.equal(check(await (await io.openSlots(place)).load()), n);
  }
  assert.deepEqual(readdirSync(place).sort(), ['a.safetensors', 'b.safetensors']);
  await Promise.all([slots.save(stateOf(6)), slots.write(io.saveState(stateOf(7))), slots.save(stateOf(8))]);
  assert.ok([6, 7, 8].includes(check(await slots.load())), 'one after the other');
  await assertRejects(slots.load({ other: sn.ones([1]) }), sn.SinterError, { message: /missing: other/ });
  await assertRejects(slots.write(new Uint8Array(9)), sn.SinterError, { code: 'argument' });
  await assertRejects(io.openSlots(''), sn.SinterError, { message: /expected a name/ });
});

test('of saves that nobody waits for the last one is kept, however large those before it are', async () => {
  const slots = await io.openSlots(join(folder, 'unawaited'));
  const large = (n) => ({ ...stateOf(n), rest: sn.full([2_000_000], n) });
  sn.eval(large(0));
  const saves = [large(1), large(2), stateOf(3)].map((state) => slots.save(state));
  const refused = assertRejects(slots.save({ f: () => 1 }), sn.SinterError, { message: /a function/ });
  await Promise.all([...saves, refused]);
  assert.equal(check(await slots.load()), 3);
});

test('after every part of a write the state is the old or the new one', async () => {
  const place = join(folder, 'torn');
  const slots = await io.openSlots(place);
  await slots.save(stateOf(1));
  await slots.save(stateOf(2));
  const files = ['a.safetensors', 'b.safetensors'].map((name) => join(place, name));
  const [old, newest] = files.map((file) => readFileSync(file));
  for (let size = 0; size < old.length; size += 97) {
    // What a writer of the third state leaves: some of its bytes, behind them the old ones or none.
    const third = Buffer.from(io.saveState(stateOf(3)));
    writeFileSync(files[0], third.subarray(0, size));
    assert.equal(check(await (await io.openSlots(place)).load()), 2);
    writeFileSync(files[0], Buffer.concat([third.subarray(0, size), old.subarray(size)]));
    assert.ok([1, 2].includes(check(await (await io.openSlots(place)).load())));
    assert.deepEqual(readFileSync(files[1]), newest);
  }
  // The damaged slot is the one to be written to.
  const again = await io.openSlots(place);
  await again.save(stateOf(4));
  assert.deepEqual(readFileSync(files[1]), newest);
  assert.equal(check(await again.load()), 4);
});

test('a disk that is full, or may not be written to', { skip: existsSync('/dev/full') ? false : 'no /dev/full' }, async () => {
  const place = join(folder, 'full');
  const slots = await io.openSlots(place);
  await slots.save(stateOf(1)); // in a
  symlinkSync('/dev/full', join(place, 'b.safetensors'));
  const error = await slots.save(stateOf(2)).then(() => null, (caught) => caught);
  assert.ok(error instanceof sn.SinterError);
  assert.equal(error.code, 'storage');
  assert.match(error.message, /slots.write: .*ENOSPC/);
  assert.match(error.cause.code, /ENOSPC/);
});

test('a process killed while it saves leaves a whole state', async () => {
  const place = join(folder, 'killed');
  const script = fileURLToPath(new URL('slots.child.mjs', import.meta.url));
  let last = 0;
  for (let round = 0; round < 6; round++) {
    const child = fork(script, [place, String(last)], { execArgv: [] });
    const [first] = await once(child, 'message');
    await new Promise((resolve) => setTimeout(resolve, 3 + 7 * round));
    child.kill('SIGKILL');
    await once(child, 'exit');
    last = check(await (await io.openSlots(place)).load());
    assert.ok(last >= first, `${last} after ${first}`);
  }
});
