// sinter-train under mpirun: one, two and four processes reach the bits of Node, whatever ends them on the way; processes that
// do not have the same files end together.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import * as sn from 'sinter';
import { pipelineParallel, tensorParallel } from 'sinter/parallel';
import { root } from '../../scripts/lib/proc.mjs';
import {
  ALONE, BATCH, MPIRUN, ROWS, SEED, SETS, STEPS, TOOL, cnn, deep, exported, file, gpt, lossesIn, mlp, run, simulate, train, trainHere, wide,
} from './models.mjs';

const { nn, optim, random } = sn;

const MODELS = {
  'mlp, 4 blocks': () => mlp({ blocks: 4 }),
  'mlp, 8 blocks': () => mlp({ blocks: 8 }),
  'mlp of float16, 4 blocks': () => mlp({ blocks: 4, precision: 'float16' }),
  'cnn with batch norm and dropout, 4 blocks': () => cnn({ blocks: 4 }),
  'cnn, 4 blocks of 2 parts': () => cnn({ blocks: 4, accumulate: 2 }),
  'gpt, 4 blocks': () => gpt({ blocks: 4 }),
  'attention and products side by side': () => wide({}),
  'side by side, in bfloat16': () => wide({ precision: 'bfloat16' }),
  'one behind the other, 2 parts': () => deep(2, {}),
  'one behind the other, 8 parts': () => deep(8, { clipNorm: 0.5 }),
  'side by side in 4 blocks': () => wide({ blocks: 4 }),
  'one behind the other in 4 blocks': () => deep(1, { blocks: 4 }),
};

/* ---- equal bits ---- */

for (const [name, make] of Object.entries(MODELS))
  test(`${name}: one process, two and four reach the bits of Node; the last rows, which fill no batch, are left out`, async () => {
    const model = make();
    const args = exported(model);
    const here = await trainHere(model, STEPS);
    const [out, csv] = [file('out.safetensors'), file('losses.csv')];
    const alone = run(ALONE, [...args, '--out', out, '--losses', csv]);
    assert.deepEqual([alone.status, alone.stderr], [0, '']);
    assert.deepEqual(readFileSync(out), here.params);
    for (const [ranks, ...more] of [[1], [2], [4], [2, '--split-state'], [4, '--split-state']]) {
      rmSync(out);
      const { status, stdout, stderr } = train(ranks, [...args, '--out', out, '--losses', csv, ...more]);
      assert.deepEqual([status, stderr], [0, '']);
      assert.match(stdout, /^24 steps in/);
      if (ranks > 1) assert.match(stdout, new RegExp(`\n${ranks} processes exchanged`));
      assert.match(stdout, /leaves out its last 6 rows/);
      assert.deepEqual(lossesIn(csv), here.losses, `${ranks} processes ${more}: losses`);
      assert.deepEqual(readFileSync(out), here.params, `${ranks} processes ${more}`);
    }
  });

/* ---- gradients of 16 bits ---- */

for (const [dropLast, passes] of [[true, 'whole batches'], [false, 'smaller last batches']])
  test(`gradients as bfloat16, ${passes}: rounded twice, and what is left over goes into the next step`, async () => {
    const step = sn.trainStep((w, x) => w.mul(x).sum(), optim.sgd({ lr: 1 }), { blocks: 4 });
    const items = sn.data.fromArrays([SETS.flat.x()]).shuffle(random.key(SEED)).batch(BATCH, { dropLast }).repeat().start();
    const [rows, steps] = [[], 200];
    for (let i = 0; i < steps; i++) rows.push((await items.next()).value[0].toArray());
    await items.return();
    const out = file('linear.safetensors');
    const write = (n) => {
      const name = file(`linear-${n}.step`);
      writeFileSync(name, step.export(step.init(sn.zeros([10])), SETS.flat.x().slice([0, 0], [n, 10])));
      return name;
    };
    const args = [write(BATCH), ...(dropLast ? ['--drop-last'] : ['--last', write(ROWS % BATCH)])];
    const reach = (ranks, ...more) => {
      const { status, stderr } = train(ranks, [...args, '--data', file('flat-x.npy'), '--seed', SEED, '--steps', steps, '--out', out, ...more]);
      assert.deepEqual([status, stderr], [0, '']);
      const { tensors } = sn.io.safetensors.decode(readFileSync(out));
      return Object.values(tensors)[0].toArray();
    };
    const exact = reach(1);
    for (const ranks of [2, 4]) {
      const w = reach(ranks, '--gradients', 'bfloat16');
      assert.deepEqual(w, simulate(rows, ranks, true));
      const error = (a) => Math.max(...a.map((x, i) => Math.abs(x - exact[i])));
      assert.ok(error(w) < error(simulate(rows, ranks, false)) / 2, `${error(w)}, ${error(simulate(rows, ranks, false))}`);
      assert.deepEqual(reach(ranks, '--gradients', 'float32'), exact);
    }
    assert.deepEqual(reach(1, '--gradients', 'bfloat16'), exact);
  });

test('gradients as bfloat16 are half as many bytes, and a network learns as well by them', async () => {
  const args = exported(mlp({ blocks: 4 }));
  const megabytes = [];
  const last = [];
  for (const type of ['float32', 'bfloat16']) {
    const csv = file(`${type}.csv`);
    const { status, stdout, stderr } = train(4, [...args.slice(0, -1), 200, '--losses', csv, '--gradients', type]);
    assert.deepEqual([status, stderr], [0, '']);
    megabytes.push(Number(/exchanged ([\d.]+) MB/.exec(stdout)[1]));
    last.push(sn.tensor(lossesIn(csv).slice(-6)).mean().item());
  }
  assert.ok(Math.abs(megabytes[1] / megabytes[0] - 0.5) < 0.1, `${megabytes}`);
  assert.ok(last[1] < 1.2 * last[0] + 0.01, `${last}`);
});

/* ---- machines that differ ---- */

/** Two processes, each with what comes before the tool, and arguments of its own. */
const trainMixed = (args, each) =>
  run('mpirun', [...MPIRUN, ...each.flatMap(({ before = [], more = [] }, i) => [...(i ? [':'] : []), '-n', 1, ...before, TOOL, ...args, '--threads', 1, ...more])]);

test('in strict mode processes with other instruction sets reach the same bits', async () => {
  const model = mlp({ blocks: 4 });
  const out = file('mixed.safetensors');
  const { status, stderr } = trainMixed([...exported(model), '--out', out], [{ more: ['--isa', 'generic'] }, { more: ['--isa', 'avx2'] }]);
  assert.deepEqual([status, stderr], [0, '']);
  assert.deepEqual(readFileSync(out), (await trainHere(model, STEPS)).params);
});

test('processes whose parameters part are ended before a checkpoint has them', async () => {
  const shim = file('flips.so');
  const { status: made, stderr: said } = run('mpicc', ['-shared', '-fPIC', '-o', shim, join(root, 'tests/mpi/flips.c')]);
  assert.equal(made, 0, said);
  const kept = file('parted');
  const args = [...exported(mlp({ blocks: 4 })), '--checkpoint', kept, '--every', 20];
  const { status, stderr } = trainMixed(args, [{}, { before: ['env', `LD_PRELOAD=${shim}`] }]);
  assert.equal(status, 1, stderr);
  assert.match(stderr, /^sinter-train: process 1 has another state than process 0 after step 20: .*deterministic: true.*\n$/);
  assert.ok(!existsSync(join(kept, 'checkpoint-0.safetensors')));
  assert.equal(trainMixed(args, [{}, {}]).status, 0, 'without the fault');
});

/* ---- ends ---- */

for (const [name, make] of Object.entries({ cnn: () => cnn({ blocks: 4 }), wide, deep: () => deep(4, {}) }))
  test(`training goes on from a checkpoint with another number of processes, and with or without the state split: ${name}`, async () => {
    const model = make();
    const args = exported(model).slice(0, -1);
    const [kept, out] = [file(`resumed-${name}`), file(`resumed-${name}.safetensors`)];
    for (const [ranks, steps, ...more] of [[2, 6], [4, 11, '--split-state'], [1, 14], [2, 17, '--split-state'], [4, STEPS]]) {
      const { status, stderr } = train(ranks, [...args, steps, '--checkpoint', kept, '--resume', '--every', 5, '--out', out, ...more]);
      assert.deepEqual([status, stderr], [0, '']);
    }
    assert.deepEqual(readFileSync(out), (await trainHere(model, STEPS)).params);
  });

test('a process holds its part of what is split; parameters of modules that processes share do not travel', () => {
  const width = 192;
  const layers = (n, make) => Array.from({ length: n }, make);
  const own = (hidden) => nn.sequential(nn.linear(width, hidden), nn.gelu(), nn.linear(hidden, width));
  const x = random.normal(random.key(20), [BATCH, width]);
  writeFileSync(file('wide.npy'), sn.io.npy.encode(x));
  const measured = (net, options, ranks, ...more) => {
    const step = sn.trainStep((params, x) => net.apply(params, x).square().mean(), optim.adam({ lr: 1e-3 }), options);
    const name = file('memory.step');
    writeFileSync(name, step.export(step.init(net.init(random.key(21))), x));
    const { status, stdout, stderr } = train(ranks, [name, '--data', file('wide.npy'), '--steps', 4, ...more]);
    assert.deepEqual([status, stderr], [0, '']);
    const [held, all, sent] = /^each holds ([\d.]+) of ([\d.]+) MB of the state\n\d processes exchanged ([\d.]+) MB/m.exec(stdout).slice(1).map(Number);
    return { held: held / all, sent: sent / 4 / (all / 3) }; // of Adam's three numbers; of a step, in parameters
  };
  const near = (x, y) => assert.ok(Math.abs(x - y) < 0.01, `${x}, not ${y}`);
  const check = (net, options, ranks, more, held, sent) => {
    const made = measured(net, options, ranks, ...more);
    near(made.held, held);
    if (sent) near(made.sent, sent);
    else assert.ok(made.sent < 0.03, `${made.sent}`); // what is between modules
  };
  const all = nn.sequential(...layers(4, () => own(4 * width)));
  check(all, { blocks: 4 }, 2, [], 1, 1); // 2 (R - 1) / R
  check(all, { blocks: 4 }, 2, ['--split-state'], 2 / 3, 1);
  check(all, { blocks: 4 }, 4, [], 1, 3 / 2);
  check(all, { blocks: 4 }, 4, ['--split-state'], 1 / 2, 3 / 2);
  for (const net of [nn.sequential(...layers(4, () => tensorParallel(4, own(width)))), pipelineParallel(4, own(4 * width))]) {
    check(net, {}, 2, [], 1 / 2, 0);
    check(net, {}, 4, [], 1 / 4, 0);
  }
});

/** Processes of the tool whose parent is this one. */
const childrenOf = (pid) => run('pgrep', ['-P', pid]).stdout.trim().split('\n').filter(Boolean).map(Number);

const until = async (test, what) => {
  for (let i = 0; i < 400; i++) {
    const found = test();
    if (found) return found;
    await wait(25);
  }
  throw new Error(`never: ${what}`);
};

for (const victim of [0, 1])
  test(`where process ${victim} is killed all end, and training goes on from the last checkpoint`, async () => {
    const model = cnn({ blocks: 4 });
    const args = exported(model).slice(0, -1);
    const [kept, out] = [file(`killed-${victim}`), file(`killed-${victim}.safetensors`)];
    const child = spawn('mpirun', [...MPIRUN, '-n', 2, TOOL, ...args, 1e6, '--threads', 1, '--checkpoint', kept, '--every', 5].map(String), { stdio: 'ignore' });
    const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve([code, signal])));
    const pids = await until(() => existsSync(join(kept, 'checkpoint-1.safetensors')) && childrenOf(child.pid), 'a checkpoint');
    assert.equal(pids.length, 2);
    process.kill(pids[victim], 'SIGKILL');
    const [code] = await ended;
    assert.notEqual(code, 0);
    await until(() => pids.every((pid) => !existsSync(`/proc/${pid}`)), 'the others end');
    const kill = await readSteps(args, kept);
    const { status } = train(4, [...args, kill + 3, '--checkpoint', kept, '--resume', '--out', out]);
    assert.equal(status, 0);
    assert.deepEqual(readFileSync(out), (await trainHere(model, kill + 3)).params);
  });

/** At which step the newest checkpoint is: going on to none says it. */
const readSteps = async (args, kept) => {
  const { stderr } = run(ALONE, [...args, 0, '--checkpoint', kept, '--resume']);
  return Number(/is at step (\d+) already/.exec(stderr)[1]);
};

test('a signal ends all at the same step, with a checkpoint', async () => {
  const args = exported(mlp({ blocks: 4 })).slice(0, -1);
  const kept = file('signalled');
  const child = spawn('mpirun', [...MPIRUN, '-n', 2, TOOL, ...args, 1e6, '--threads', 1, '--checkpoint', kept, '--every', 1e6].map(String), { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  const pids = await until(() => childrenOf(child.pid).length === 2 && childrenOf(child.pid), 'two processes');
  await wait(1500);
  process.kill(pids[1], 'SIGINT'); // one of them alone: all hear of it
  assert.equal(await ended, 130);
  assert.ok(await readSteps(args, kept) > 0);
});

/* ---- what is wrong ---- */

test('processes with different files or arguments end together, with one line that says so', async () => {
  const args = exported(mlp({ blocks: 4 }));
  const other = exported(mlp({ blocks: 2 }));
  const one = (given) => ['-n', 1, TOOL, ...given, '--threads', 1];
  const seeded = args.map((arg) => (arg === SEED ? SEED + 1 : arg));
  const longer = [...args.slice(0, -1), STEPS + 1];
  for (const wrong of [other, seeded, longer, [...args, '--split-state'], [...args, '--checkpoint', file('one')]]) {
    const { status, stderr } = run('mpirun', [...MPIRUN, ...one(args), ':', ...one(wrong)]);
    assert.equal(status, 3, stderr);
    assert.match(stderr, /sinter-train: process 1 has another step, other data or other arguments than process 0\n/);
    assert.equal(stderr.match(/sinter-train:/g).length, 1, stderr);
  }
});

test('what is wrong for all is said once', async () => {
  const args = exported(mlp({ blocks: 4 }));
  const cases = [
    [3, args, 3, /4 blocks cannot be shared by 3 processes/],
    [8, args, 3, /4 blocks cannot be shared by 8 processes/],
    [2, exported(mlp({})), 3, /it was made for one process; .*blocks: 2/],
    [2, exported(deep(1, { accumulate: 2 })), 3, /it was made for one process; .*sinter\/parallel that are in no loop/],
    [2, ['/no/step', '--steps', 1], 3, /cannot read \/no\/step/],
    [2, [...args, '--out', '/no/folder/out'], 5, /cannot write \/no\/folder\/out/],
  ];
  for (const [ranks, given, code, message] of cases) {
    const { status, stderr } = train(ranks, given);
    assert.equal(status, code, stderr);
    assert.match(stderr, message);
    assert.equal(stderr.match(/sinter-train:/g).length, 1, stderr);
  }
});
