// Passes that end with a smaller batch, and blocks that are not equal: sinter-train alone and under mpirun reaches the bits of
// Node, goes on from any place of a pass, and says what does not fit.
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import * as sn from 'sinter';
import {
  ALONE, MPIRUN, SETS, STEPS, TOOL, cnn, deep, exportRows, exported, file, gpt, lossesIn, mlp, run, train, trainHere, wide,
} from './models.mjs';

/** A number, as blocks that are not equal cannot tell of each row. */
const likeliest = (logits) => logits.max({ axis: 1 }).mean();

/** Of 54 rows: batches of 8 leave 6, so 4 blocks are of 1, 1, 2, 2 rows; of 17 leave 3, and one block is empty. */
const CASES = {
  'mlp, 4 blocks': [8, () => mlp({ blocks: 4 })],
  'mlp, 4 blocks of 4 or 5 rows, of 1 or none': [17, () => mlp({ blocks: 4 })],
  'mlp, 8 blocks': [8, () => mlp({ blocks: 8 })],
  'mlp of float16, 4 blocks': [8, () => mlp({ blocks: 4, precision: 'float16' })],
  'cnn with batch norm and dropout, 4 blocks': [8, () => cnn({ blocks: 4 }, likeliest)],
  'gpt, 4 blocks': [8, () => gpt({ blocks: 4 })],
  'attention and products side by side': [8, () => wide({})],
  'one behind the other, 2 parts': [8, () => deep(2, {})],
  'side by side in 4 blocks': [8, () => wide({ blocks: 4 })],
};

for (const [name, [batch, make]] of Object.entries(CASES))
  test(`${name}: one process, two and four reach the bits of Node over passes that end with a smaller batch`, async () => {
    const [model, pass] = [make(), { batch, dropLast: false }];
    const args = exported(model, pass);
    const here = await trainHere(model, STEPS, pass);
    const [out, csv] = [file('out.safetensors'), file('losses.csv')];
    const check = ({ status, stdout, stderr }, said) => {
      assert.deepEqual([status, stderr], [0, ''], said);
      assert.match(stdout, new RegExp(`\na pass ends with a batch of ${54 % batch} rows, the others have ${batch}\n`));
      assert.deepEqual(lossesIn(csv), here.losses, `${said}: losses`);
      assert.deepEqual(readFileSync(out), here.params, said);
      rmSync(out);
    };
    check(run(ALONE, [...args, '--out', out, '--losses', csv]), 'alone');
    for (const [ranks, ...more] of [[1], [2], [4], [2, '--split-state'], [4, '--split-state']])
      check(train(ranks, [...args, '--out', out, '--losses', csv, ...more]), `${ranks} processes ${more}`);
  });

test('the smaller batch counts: without it other parameters are reached', async () => {
  const model = mlp({ blocks: 4 });
  const [whole, dropped] = [false, true].map((dropLast) => trainHere(model, STEPS, { batch: 8, dropLast }));
  assert.notDeepEqual((await whole).params, (await dropped).params);
});

test('training goes on before a smaller batch, behind it, and in the next pass', async () => {
  const [model, pass] = [cnn({ blocks: 4 }, likeliest), { batch: 8, dropLast: false }];
  const args = exported(model, pass).slice(0, -1);
  const [kept, out] = [file('resumed'), file('resumed.safetensors')];
  for (const [ranks, steps, ...more] of [[2, 6], [4, 7, '--split-state'], [1, 13], [4, 15], [2, STEPS, '--split-state']]) {
    const { status, stderr } = train(ranks, [...args, steps, '--checkpoint', kept, '--resume', '--every', 5, '--out', out, ...more]);
    assert.deepEqual([status, stderr], [0, '']);
    assert.deepEqual(readFileSync(out), (await trainHere(model, steps, pass)).params, `${steps} steps`);
  }
});

/* ---- what does not fit ---- */

test('rows that are left over need a program or a word', () => {
  const model = mlp({ blocks: 4 });
  const [step, ...rest] = exported(model).filter((arg) => arg !== '--drop-last');
  const [args, last] = [[step, ...rest], exportRows(model, 6)];
  const few = file('48.npy');
  writeFileSync(few, sn.io.npy.encode(SETS.flat.x().slice([0, 0], [48, 10])));
  const fewLabels = file('48-labels.npy');
  writeFileSync(fewLabels, sn.io.npy.encode(SETS.flat.y().slice([0], [48])));
  const cases = [
    [args, 3, /flat-x\.npy ends with 6 rows behind its batches of 8: --last FILE takes the step exported for a batch of 6, --drop-last leaves them out\n/],
    [[...args, '--last', last, '--drop-last'], 2, /--last trains the batch that --drop-last leaves out/],
    [[...args, '--last', exportRows(model, 5)], 3, /\.step was exported for batches of 5 rows, a pass ends with 6 rows behind its batches of 8\n/],
    [[step, '--data', few, '--labels', fewLabels, '--steps', 3, '--last', last], 3, /exported for batches of 6 rows, a pass ends with 0 rows behind/],
    [[...args, '--last', exportRows(deep(2, {}), 6)], 3, /has another state than .*: --last takes the same step for fewer rows\n/],
    [[...args, '--last', '/no/step'], 3, /cannot read \/no\/step/],
  ];
  for (const [given, code, message] of cases)
    for (const ranks of [1, 2]) {
      const { status, stderr } = train(ranks, given);
      assert.equal(status, code, stderr);
      assert.match(stderr, message);
      assert.equal(stderr.match(/sinter-train:/g).length, 1, stderr);
    }
  // Another program for it may have another part of the state in each process.
  const shared = exported(wide({}), { batch: 8, dropLast: false }).map((arg, i, all) => (all[i - 1] === '--last' ? exportRows(wide({ blocks: 4 }), 6) : arg));
  for (const [given, message] of [[[...args, '--last', exportRows(mlp({}), 6)], /it was made for one process/], [shared, /has another state than/]]) {
    const { status, stderr } = train(2, given);
    assert.equal(status, 3, stderr);
    assert.match(stderr, message);
  }
});

test('what a training goes on with, and what processes are given, has to be the same smaller batch', () => {
  const model = mlp({ blocks: 4 });
  const args = exported(model, { batch: 8, dropLast: false });
  const changed = args.map((arg, i) => (args[i - 1] === '--last' ? exportRows(mlp({ blocks: 4, clipNorm: 1 }), 6) : arg));
  const dropped = args.flatMap((arg, i) => (arg === '--last' ? ['--drop-last'] : args[i - 1] === '--last' ? [] : [arg]));
  const kept = file('other-last');
  assert.equal(train(2, [...args, '--checkpoint', kept]).status, 0);
  const one = (given) => ['-n', 1, TOOL, ...given, '--threads', 1];
  for (const other of [changed, dropped]) {
    const resumed = train(1, [...other.slice(0, -1), STEPS + 1, '--checkpoint', kept, '--resume']);
    assert.equal(resumed.status, 4, resumed.stderr);
    const { status, stderr } = run('mpirun', [...MPIRUN, ...one(args), ':', ...one(other)]);
    assert.equal(status, 3, stderr);
    assert.match(stderr, /process 1 has another step, other data or other arguments than process 0\n/);
  }
});
