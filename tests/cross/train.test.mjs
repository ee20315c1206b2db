// sinter-train reaches the bits that Node reaches on the same data, key and steps; its checkpoints survive whatever ends it;
// what is wrong with its files has an exit code and a line that says so.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import * as sn from 'sinter';
import { root } from '../../scripts/lib/proc.mjs';

const TOOL = join(root, 'build/native/tools/train/sinter-train');
const { nn, optim, random } = sn;
const [ROWS, BATCH, SEED, STEPS] = [50, 8, 7, 40];

let folder;
before(async () => {
  await sn.init({ threads: 2, deterministic: true });
  folder = mkdtempSync(join(tmpdir(), 'sinter-train-'));
  for (const [name, { x, y }] of Object.entries(SETS)) {
    writeFileSync(join(folder, `${name}-x.npy`), sn.io.npy.encode(x()));
    writeFileSync(join(folder, `${name}-y.npy`), sn.io.npy.encode(y()));
  }
});
after(() => rmSync(folder, { recursive: true }));

const file = (name) => join(folder, name);
const train = (args) => {
  const { status, signal, stdout, stderr } = spawnSync(TOOL, args.map(String), { encoding: 'utf8' });
  return { status, signal, stdout, stderr };
};

/* ---- what is trained ---- */

const classes = () => random.bits(random.key(12), [ROWS]).bitwiseAnd(3);
const SETS = {
  flat: { x: () => random.normal(random.key(11), [ROWS, 10]), y: classes },
  images: { x: () => random.normal(random.key(13), [ROWS, 8, 8, 1]), y: classes },
};
const mlp = (precision) => {
  const net = nn.sequential(nn.linear(10, 32), nn.gelu(), nn.linear(32, 4));
  const step = sn.trainStep((params, x, y) => sn.softmaxCrossEntropy(net.apply(params, x), y).mean(), optim.adamw({ lr: 0.01 }), { precision });
  return { set: 'flat', step, first: () => step.init(net.init(random.key(1))) };
};
const cnn = () => {
  const net = nn.sequential(nn.conv2d(1, 8, 3, { padding: 'same' }), nn.batchNorm(8), nn.relu(), nn.flatten(), nn.dropout(0.25), nn.linear(512, 4));
  const loss = (params, x, y, { state, key }) => {
    const [logits, next] = net.apply(params, x, { state, key, train: true });
    return [sn.softmaxCrossEntropy(logits, y).mean(), { state: next, aux: logits.argmax({ axis: 1 }) }];
  };
  const step = sn.trainStep(loss, optim.sgd({ lr: optim.schedules.cosine({ lr: 0.05, steps: STEPS }), momentum: 0.9 }), { clipNorm: 1 });
  const { params, state } = net.init(random.key(2));
  return { set: 'images', step, first: () => step.init(params, { state, key: random.key(3) }) };
};
const MODELS = { mlp: () => mlp('float32'), cnn, half: () => mlp('float16') };

const batches = (set, dropLast) => sn.data.fromArrays([SETS[set].x(), SETS[set].y()]).shuffle(random.key(SEED)).batch(BATCH, { dropLast });

/** What Node makes of so many steps: the file of the parameters, the state, the losses. */
const trainHere = async ({ set, step, first }, steps, { dropLast = true } = {}) => {
  let state = first();
  const losses = [];
  const items = batches(set, dropLast).repeat().start();
  while (losses.length < steps) {
    const { value: [x, y] } = await items.next();
    const made = step(state, x, y);
    ({ state } = made);
    losses.push(await made.loss.item());
  }
  await items.return();
  return { params: Buffer.from(sn.io.safetensors.encode(step.params(state))), state, losses };
};

/** Writes a model's step, and the arguments that train it. */
const exported = (name, dropLast = true) => {
  const model = MODELS[name]();
  const write = (rows) => {
    const path = file(rows === BATCH ? `${name}.step` : `${name}-${rows}.step`);
    const firstRows = (t) => t.take(sn.arange(0, rows, 1, { dtype: 'int32' }));
    writeFileSync(path, model.step.export(model.first(), firstRows(SETS[model.set].x()), firstRows(SETS[model.set].y())));
    return path;
  };
  const data = ['--data', file(`${model.set}-x.npy`), '--labels', file(`${model.set}-y.npy`)];
  const last = dropLast ? ['--drop-last'] : ['--last', write(ROWS % BATCH)];
  return { model, args: [write(BATCH), ...data, ...last, '--batch', BATCH, '--seed', SEED, '--steps', STEPS] };
};

const lossesIn = (path) => readFileSync(path, 'utf8').trim().split('\n').slice(1).map((line) => line.split(',').map(Number));

/* ---- equal bits ---- */

for (const name of Object.keys(MODELS))
  for (const dropLast of [true, false])
    test(`${name}, the last 2 rows ${dropLast ? 'left out' : 'as a batch'}: the native program reaches the bits of Node, on one thread and on two`, async () => {
      const { model, args } = exported(name, dropLast);
      const here = await trainHere(model, STEPS, { dropLast });
      for (const threads of [1, 2]) {
        const [out, csv] = [file(`${name}-${threads}.safetensors`), file(`${name}-${threads}.csv`)];
        const { status, stdout, stderr } = train([...args, '--out', out, '--losses', csv, '--threads', threads]);
        assert.equal(stderr, '');
        assert.equal(status, 0);
        assert.match(stdout, /^40 steps in [\d.]+ s.*\nloss [\d.]+ at first, [\d.]+ at last\n/);
        assert.match(stdout, dropLast ? /\na pass leaves out its last 2 rows/ : /\na pass ends with a batch of 2 rows, the others have 8\n/);
        assert.deepEqual(readFileSync(out), here.params);
        assert.deepEqual(lossesIn(csv).map(([step, loss]) => [step, Math.fround(loss)]), here.losses.map((loss, i) => [i + 1, loss]));
      }
    });

test('a checkpoint is a state from which sn.fit goes on, by the step itself or by what was exported', async () => {
  const { model, args } = exported('cnn');
  const kept = file('to-node');
  assert.equal(train([...args.slice(0, -1), 20, '--checkpoint', kept]).status, 0);
  const newest = readFileSync(join(kept, 'checkpoint-0.safetensors'));
  const { params } = await trainHere(model, 30);
  for (const step of [model.step, sn.importStep(readFileSync(args[0]))]) {
    const { state, place } = sn.io.loadState(newest, { state: model.first(), place: sn.fitStart });
    assert.deepEqual([place.pass, place.index, place.steps], [3, 2, 20]);
    const fitted = await sn.fit(step, state, batches(model.set, true), { epochs: 5, place });
    assert.equal(fitted.place.steps, 30);
    assert.deepEqual(Buffer.from(sn.io.safetensors.encode(step.params(fitted.state))), params);
  }
});

test('sn.fit goes on behind the smaller batch of a pass', async () => {
  const { model, args } = exported('cnn', false);
  const kept = file('behind');
  assert.equal(train([...args.slice(0, -1), 21, '--checkpoint', kept]).status, 0);
  const { state, place } = sn.io.loadState(readFileSync(join(kept, 'checkpoint-0.safetensors')), { state: model.first(), place: sn.fitStart });
  assert.deepEqual([place.pass, place.index, place.steps], [2, 7, 21]);
  const fitted = await sn.fit(model.step, state, batches(model.set, false), { epochs: 4, place });
  assert.equal(fitted.place.steps, 28);
  const { params } = await trainHere(model, 28, { dropLast: false });
  assert.deepEqual(Buffer.from(sn.io.safetensors.encode(model.step.params(fitted.state))), params);
});

/* ---- going on ---- */

test('training that is ended and resumed has equal bits and one row for each step', async () => {
  const { model, args } = exported('cnn');
  const here = await trainHere(model, STEPS);
  const [kept, out, csv] = [file('resumed'), file('resumed.safetensors'), file('resumed.csv')];
  let before = 0;
  for (const steps of [7, 7, 23, 40]) {
    const { status, stdout, stderr } = train([...args.slice(0, -1), steps, '--checkpoint', kept, '--resume', '--every', 5, '--out', out, '--losses', csv]);
    assert.deepEqual([status, stderr], [0, '']);
    assert.ok(stdout.startsWith(`${steps - before} steps in `), stdout); // from the newest of the two checkpoints
    before = steps;
  }
  assert.deepEqual(readFileSync(out), here.params);
  assert.deepEqual(lossesIn(csv).map(([step]) => step), here.losses.map((_, i) => i + 1));
});

test('kill -9 at any moment costs the steps since the last checkpoint alone', async () => {
  const { model, args } = exported('cnn');
  const steps = 2000;
  const [kept, out, csv] = [file('killed'), file('killed.safetensors'), file('killed.csv')];
  const all = [...args.slice(0, -1), steps, '--threads', 1, '--checkpoint', kept, '--resume', '--every', 10, '--out', out, '--losses', csv].map(String);
  let killed = 0;
  for (let i = 0; i < 12; i++) {
    const child = spawn(TOOL, all, { stdio: 'ignore' });
    const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal)));
    await wait(15 + 17 * i);
    child.kill('SIGKILL');
    if ((await ended) === 'SIGKILL') killed++;
  }
  const { status, stderr } = train(all);
  assert.deepEqual([status, stderr], [0, '']);
  assert.ok(killed > 3);
  assert.deepEqual(readFileSync(out), (await trainHere(model, steps)).params);
  assert.deepEqual(lossesIn(csv).map(([step]) => step), Array.from({ length: steps }, (_, i) => i + 1));
});

test('a signal writes a checkpoint first', async () => {
  const { args } = exported('mlp');
  const kept = file('ended');
  const child = spawn(TOOL, [...args.slice(0, -1), 1e9, '--checkpoint', kept, '--every', 1e9].map(String), { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  await wait(300);
  child.kill('SIGTERM');
  assert.equal(await ended, 143);
  assert.ok(existsSync(join(kept, 'checkpoint-0.safetensors')));
});

test('of two checkpoints a damaged one is left out; where both are, that is an error', async () => {
  const { model, args } = exported('mlp');
  const here = await trainHere(model, STEPS);
  const [kept, saved, out] = [file('kept'), file('saved'), file('kept.safetensors')];
  assert.equal(train([...args.slice(0, -1), 30, '--checkpoint', kept, '--every', 10]).status, 0);
  mkdirSync(saved);
  const names = readdirSync(kept);
  assert.deepEqual(names.sort(), ['checkpoint-0.safetensors', 'checkpoint-1.safetensors']);
  for (const name of names) copyFileSync(join(kept, name), join(saved, name));
  const damages = [
    (path) => truncateSync(path, 100),
    (path) => truncateSync(path, 0),
    (path) => truncateSync(path, readFileSync(path).length - 1),
    (path) => writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.from('more')])),
    (path) => writeFileSync(path, readFileSync(path).map((byte, i) => (i === 3000 ? byte ^ 1 : byte))),
    (path) => writeFileSync(path, readFileSync(path).map((byte, i) => (i === 7 ? 0xff : byte))),
    (path) => writeFileSync(path, 'no checkpoint at all'),
  ];
  const resume = [...args, '--checkpoint', kept, '--resume', '--out', out];
  for (const damage of damages) {
    for (const which of names) {
      for (const name of names) copyFileSync(join(saved, name), join(kept, name));
      damage(join(kept, which));
      const { status, stderr } = train(resume);
      assert.equal(status, 0, stderr);
      assert.match(stderr, new RegExp(`${which}: damaged: .*; going on from the other checkpoint`));
      assert.deepEqual(readFileSync(out), here.params);
    }
    for (const name of names) {
      copyFileSync(join(saved, name), join(kept, name));
      damage(join(kept, name));
    }
    const { status, stderr } = train(resume);
    assert.equal(status, 4);
    assert.match(stderr, /^sinter-train: .*checkpoint-\d\.safetensors: damaged: /);
  }
});

test('a checkpoint of another training is refused, and one is never begun over another', async () => {
  const { args } = exported('mlp');
  const kept = file('of-one');
  assert.equal(train([...args, '--checkpoint', kept]).status, 0);
  const refuse = (more, message) => {
    const { status, stderr } = train(more);
    assert.equal(status, 4, stderr);
    assert.match(stderr, message);
  };
  refuse([...args, '--checkpoint', kept], /has checkpoints: --resume goes on/);
  refuse([...args, '--seed', 8, '--checkpoint', kept, '--resume'], /of another training: .*seed 7; this one: .*seed 8/);
  refuse([...args.slice(0, -1), 39, '--checkpoint', kept, '--resume', '--out', file('early')], /is at step 40 already, --steps is 39/);
  assert.ok(!existsSync(file('early')));
  const other = exported('half');
  refuse([...other.args, '--checkpoint', kept, '--resume'], /of another training/);
});

/* ---- what is wrong ---- */

test('wrong arguments and files have exit codes, and a line that says what', async () => {
  const { args } = exported('mlp');
  const [step, , x, , y] = args;
  const image = file('images-x.npy');
  const written = (name, bytes) => {
    writeFileSync(file(name), bytes);
    return file(name);
  };
  const npy = readFileSync(x);
  const header = (from, to) => Buffer.from(npy.toString('latin1').replace(from, to), 'latin1');
  const bytes = readFileSync(step);
  const cases = [
    [[], 2, /expected one file/],
    [[step], 2, /--steps is missing/],
    [[step, '--steps', '-1'], 2, /--steps is -1/],
    [[step, '--steps', '1x'], 2, /--steps is 1x/],
    [[step, '--nothing'], 2, /unrecognized option/],
    [[step, '--steps', 1, '--resume'], 2, /--resume needs --checkpoint/],
    [[...args, '--last', step], 2, /--last trains the batch that --drop-last leaves out/],
    [[step, '--steps', 1, '--data', x, '--labels', y], 3, /ends with 2 rows behind its batches of 8: --last FILE takes the step exported for a batch of 2, --drop-last/],
    [[step, '--steps', 1, '--data', x, '--labels', y, '--last', step], 3, /exported for batches of 8 rows, a pass ends with 2 rows behind its batches of 8/],
    [[step, '--steps', 1, '--isa', 'z80'], 2, /--isa is z80, which this machine does not have/],
    [[step, '--steps', 1, '--gradients', 'int8'], 2, /--gradients is int8, expected float32 or bfloat16/],
    [['/no/step', '--steps', 1], 3, /cannot read \/no\/step: No such file/],
    [[folder, '--steps', 1], 3, /cannot read/],
    [[written('a.step', 'text'), '--steps', 1], 3, /not a saved program/],
    [[written('b.step', bytes.subarray(0, 999)), '--steps', 1], 3, /damaged/],
    [[written('c.step', sn.jit((t) => t.add(1)).save(sn.ones([2]))), '--steps', 1], 3, /no training step/],
    [[step, '--steps', 1], 3, /takes 2 arrays, 0 are given/],
    [[step, '--steps', 1, '--data', x, '--labels', y, '--batch', 9], 3, /--batch is 9, .* batches of 8/],
    [[step, '--steps', 1, '--data', '/no/x', '--labels', y], 3, /cannot read \/no\/x/],
    [[step, '--steps', 1, '--data', image, '--labels', y], 3, /float32 \(50, 8, 8, 1\) does not fit batch\.0 of the step, float32 \(8, 10\)/],
    [[step, '--steps', 1, '--data', x, '--labels', x], 3, /does not fit/],
    [[step, '--steps', 1, '--data', x, '--labels', written('few.npy', sn.io.npy.encode(sn.zeros([49], { dtype: 'int32' })))], 3, /49 rows, .* 50/],
    [[step, '--steps', 1, '--data', written('short.npy', npy.subarray(0, npy.length - 4)), '--labels', y], 3, /do not fill the shape/],
    [[step, '--steps', 1, '--data', written('magic.npy', header('NUMPY', 'NUMPX')), '--labels', y], 3, /no npy/],
    [[step, '--steps', 1, '--data', written('order.npy', header('False', 'True ')), '--labels', y], 3, /ascontiguousarray/],
    [[step, '--steps', 1, '--data', written('swapped.npy', header('<f4', '>f4')), '--labels', y], 3, /highest bytes first/],
    [[step, '--steps', 1, '--data', written('kind.npy', header('<f4', '|O8')), '--labels', y], 3, /no dtype of tensors/],
    [[step, '--steps', 1, '--data', written('shape.npy', header('(50, 10)', '(-1, 10)')), '--labels', y], 3, /shape is not one/],
    [[step, '--steps', 1, '--data', written('huge.npy', header('(50, 10), }          ', '(99999999999, 99999999999), }'.slice(0, 21))), '--labels', y], 3, /damaged/],
    [[step, '--steps', 1, '--data', written('twice.npy', header("'descr'", "'shape'")), '--labels', y], 3, /damaged/],
    [[step, '--steps', 1, '--data', written('bools.npy', Buffer.concat([header('<f4', '|b1').subarray(0, 128), Buffer.alloc(500, 2)])), '--labels', y], 3, /a bool is neither 0 nor 1/],
    [[...args, '--out', '/no/folder/out'], 5, /cannot write \/no\/folder\/out/],
    [[...args, '--losses', '/no/folder/csv'], 5, /cannot write/],
    [[...args, '--checkpoint', '/no/folder/kept'], 5, /cannot make/],
  ];
  for (const [given, code, message] of cases) {
    const { status, stderr } = train(given);
    assert.equal(status, code, `${given.join(' ')}: ${stderr}`);
    assert.match(stderr, message);
  }
  assert.equal(train(['--help']).status, 0);
});

test('losses and parameters go through a pipe, which stays one', async () => {
  const { model, args } = exported('mlp');
  const here = await trainHere(model, 3);
  const pipe = file('pipe');
  execFileSync('mkfifo', [pipe]);
  const read = async (option) => {
    const reader = spawn('cat', [pipe]);
    const pieces = [];
    reader.stdout.on('data', (piece) => pieces.push(piece));
    const { status, stderr } = spawnSync('timeout', ['20', TOOL, ...args.slice(0, -1), '3', option, pipe].map(String), { encoding: 'utf8' });
    if (status !== 0) reader.kill();
    await once(reader, 'close');
    assert.deepEqual([status, statSync(pipe).isFIFO()], [0, true], stderr);
    return Buffer.concat(pieces);
  };
  assert.deepEqual((await read('--losses')).toString().split('\n').map((line) => Math.fround(line.split(',')[1])).slice(1, -1), here.losses);
  assert.deepEqual(await read('--out'), here.params);
});

test('labels of int64 are read as int32, unless one is too large', async () => {
  const { model, args } = exported('mlp');
  const asWide = (values) => {
    const [count, text] = [values.length, `{'descr': '<i8', 'fortran_order': False, 'shape': (${values.length},), }`];
    const head = Buffer.from(`\x93NUMPY\x01\x00v\x00${text.padEnd(117)}\n`, 'latin1');
    return Buffer.concat([head, Buffer.from(BigInt64Array.from(values, BigInt).buffer)]).subarray(0, head.length + 8 * count);
  };
  const labels = [...SETS.flat.y().dataSync()];
  writeFileSync(file('wide.npy'), asWide(labels));
  writeFileSync(file('wider.npy'), asWide([...labels.slice(1), 2 ** 31]));
  const with64 = (name) => args.map((arg) => (arg === file('flat-y.npy') ? file(name) : arg));
  assert.equal(train([...with64('wide.npy'), '--out', file('wide.safetensors')]).status, 0);
  assert.deepEqual(readFileSync(file('wide.safetensors')), (await trainHere(model, STEPS)).params);
  assert.match(train(with64('wider.npy')).stderr, /element 49 is more than int32 holds/);
});

test('damaged data and steps end it by an exit code, never by a signal', async () => {
  const { args } = exported('mlp');
  const [step, , x] = args;
  const { xorshift } = await import('../../js/test/random.mjs');
  const random32 = xorshift(5);
  for (let i = 0; i < 150; i++) {
    const which = i % 2 ? step : x;
    const bytes = Buffer.from(readFileSync(which));
    const reach = which === x ? 128 : bytes.length;
    for (let times = 1 + random32(3); times > 0; times--) bytes[random32(reach)] = random32(256);
    writeFileSync(file('damaged'), random32(4) ? bytes : bytes.subarray(0, random32(bytes.length)));
    const { status, signal, stderr } = train(args.map((arg) => (arg === which ? file('damaged') : arg)));
    assert.ok(signal === null && [0, 3].includes(status), `file ${i}: ${status} ${signal} ${stderr}`);
  }
});
