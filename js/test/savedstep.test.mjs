// Training steps as bytes: an imported step trains to the bits of the one that was exported; what is damaged or does not
// fit is an error.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import * as sn from 'sinter';
import { assertThrows } from './support.mjs';

before(() => sn.init({ threads: 2, deterministic: true }));

const { nn, optim, random } = sn;
const floats = (shape, seed) => random.uniform(random.key(seed), shape, { minval: -1, maxval: 1 });
const bitsOf = (tree) => Buffer.from(sn.io.saveState(tree)).toString('base64');
const BATCH = 8;
const batchOf = (i) => [floats([BATCH, 6], 100 + i), floats([BATCH, 2], 200 + i)];

/** Steps with all that a state can have: of modules, a key, a schedule, two optimizers, masters, aux. */
const KINDS = {
  mlp: () => {
    const net = nn.sequential(nn.linear(6, 16), nn.gelu(), nn.linear(16, 2));
    const step = sn.trainStep((params, x, y) => net.apply(params, x).sub(y).square().mean(), optim.adamw({ lr: 0.01 }), { clipNorm: 1 });
    return { step, first: () => step.init(net.init(random.key(1))) };
  },
  states: () => {
    const net = nn.sequential(nn.linear(6, 16), nn.batchNorm(16), nn.relu(), nn.dropout(0.3), nn.linear(16, 2));
    const loss = (params, x, y, { state, key }) => {
      const [out, next] = net.apply(params, x, { state, key, train: true });
      return [out.sub(y).square().mean(), { state: next, aux: { largest: out.max(), rows: out.sum({ axis: 1 }), kind: 'fixed' } }];
    };
    const step = sn.trainStep(loss, optim.sgd({ lr: optim.schedules.cosine({ lr: 0.1, steps: 20 }), momentum: 0.9 }));
    const { params, state } = net.init(random.key(2));
    return { step, first: () => step.init(params, { state, key: random.key(3) }) };
  },
  halves: () => {
    const net = nn.sequential(nn.linear(6, 16), nn.tanh(), nn.linear(16, 2));
    const optimizer = optim.groups([{ match: (path) => path.startsWith('0'), optimizer: optim.sgd({ lr: 0.1 }) }, { match: () => true, optimizer: optim.adam({ lr: 0.02 }) }]);
    const step = sn.trainStep((params, x, y) => net.apply(params, x).sub(y).square().mean(), optimizer, { precision: 'float16' });
    return { step, first: () => step.init(net.init(random.key(4))) };
  },
};

const trained = (step, state, steps, from = 0) => {
  let made = { state };
  for (let i = from; i < from + steps; i++) made = step(made.state, ...batchOf(i));
  return made;
};

for (const [name, make] of Object.entries(KINDS)) {
  test(`${name}: an imported step trains to the same bits`, () => {
    const { step, first } = make();
    const bytes = step.export(first(), ...batchOf(0));
    assert.ok(bytes instanceof Uint8Array);
    const imported = sn.importStep(bytes);
    assert.equal(bitsOf(imported.init()), bitsOf(first()));
    const [a, b] = [trained(step, first(), 5), trained(imported, imported.init(), 5)];
    assert.equal(bitsOf(b), bitsOf(a));
    assert.equal(bitsOf(imported.params(b.state)), bitsOf(step.params(a.state)));
    assert.deepEqual(imported.precision(b.state), step.precision(a.state));
    assert.equal(b.aux?.kind, a.aux?.kind);
    imported.dispose();
  });
}

test('a state is exported where training has come to, which goes on', () => {
  const { step, first } = KINDS.states();
  const { state } = trained(step, first(), 3);
  const bytes = step.export(state, ...batchOf(0));
  const ahead = trained(step, state, 2, 3);
  const imported = sn.importStep(bytes);
  for (let times = 0; times < 2; times++) assert.equal(bitsOf(trained(imported, imported.init(), 2, 3)), bitsOf(ahead));
});

test('the rate that the optimizer has now is exported', () => {
  const optimizer = optim.sgd({ lr: 1 });
  const step = sn.trainStep(({ w }, x) => w.mul(x).sum(), optimizer);
  optimizer.lr = 0.25;
  const imported = sn.importStep(step.export(step.init({ w: sn.tensor([1]) }), sn.tensor([2])));
  optimizer.lr = 8;
  assert.deepEqual(imported.params(imported(imported.init(), new Float32Array([2])).state).w.toArray(), [0.5]);
});

test('exporting uses nothing up, and compiles once for the step itself', () => {
  const { step, first } = KINDS.mlp();
  const state = first();
  const { tensors } = sn.memory();
  step.export(state, ...batchOf(0).map((t) => t.dataSync()).map((array, i) => sn.tensor(array, { shape: [BATCH, [6, 2][i]] })));
  assert.equal(step.cacheSize, 1);
  trained(step, state, 1);
  assert.equal(step.cacheSize, 1);
  assert.ok(sn.memory().tensors >= tensors);
});

test('another process trains it to the same bits', () => {
  const { step, first } = KINDS.states();
  const folder = mkdtempSync(join(tmpdir(), 'sinter-step-'));
  const file = join(folder, 'step.bin');
  writeFileSync(file, step.export(first(), ...batchOf(0)));
  const code = `
    import { readFileSync } from 'node:fs';
    import * as sn from ${JSON.stringify(import.meta.resolve('sinter'))};
    await sn.init({ threads: 1, deterministic: true });
    const floats = (shape, seed) => sn.random.uniform(sn.random.key(seed), shape, { minval: -1, maxval: 1 });
    const step = sn.importStep(readFileSync(${JSON.stringify(file)}));
    let made = { state: step.init() };
    for (let i = 0; i < 3; i++) made = step(made.state, floats([8, 6], 100 + i), floats([8, 2], 200 + i));
    console.log(Buffer.from(sn.io.saveState(made)).toString('base64'));
    process.exit(0);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  assert.equal(stderr, '');
  assert.equal(stdout.trim(), bitsOf(trained(step, first(), 3)));
});

test('what does not fit is refused by name, and nothing is lost', () => {
  const { step, first } = KINDS.mlp();
  const imported = sn.importStep(step.export(first(), ...batchOf(0)));
  const [x, y] = batchOf(0);
  const state = imported.init();
  assertThrows(() => imported(state, x.slice([0, 0], [7, 6]), y), sn.ShapeError, { message: /argument 14, batch\.0 has shape \(7, 6\), compiled for \(8, 6\)/ });
  assertThrows(() => imported(state, x, y.astype('float16')), sn.DTypeError, { message: /batch\.1 is float16, compiled for float32/ });
  assertThrows(() => imported(state, x), sn.SinterError, { op: 'importStep', message: /the batch differs in structure/ });
  assertThrows(() => imported({ ...state, key: random.key(0) }, x, y), sn.SinterError, { message: /the state differs in structure/ });
  assertThrows(() => imported({}, x, y), sn.SinterError, { op: 'importStep', message: /no training state/ });
  assertThrows(() => sn.jit((a) => imported(state, a, y).loss)(x), sn.SinterError, { code: 'unsupported', message: /cannot be part of a function that is traced/ });
  imported(state, x, y);
  assertThrows(() => imported(state, x, y), sn.DisposedError, { op: 'importStep', message: /used up by an earlier step/, hint: /go on with the state/ });
  imported.dispose();
  assertThrows(() => imported.init(), sn.DisposedError, { message: /disposed/ });
  assert.throws(() => imported(first(), x, y), sn.SinterError);
});

test('what cannot be exported says so', () => {
  const { step, first } = KINDS.mlp();
  const [x, y] = batchOf(0);
  assertThrows(() => step.export({}, x, y), sn.SinterError, { message: /no training state/ });
  assertThrows(() => step.export(first(), x, 'y'), sn.SinterError, {});
  class Own { w = sn.ones([2]); }
  const own = sn.trainStep((p, a) => p.w.mul(a).sum(), optim.sgd({ lr: 1 }));
  assertThrows(() => own.export(own.init(new Own()), sn.ones([2])), sn.SinterError, { op: 'export', message: /an instance of a class cannot be saved/ });
  const odd = sn.trainStep((p, a) => p['a\0b'].mul(a).sum(), optim.sgd({ lr: 1 }));
  assertThrows(() => odd.export(odd.init({ 'a\0b': sn.ones([2]) }), sn.ones([2])), sn.SinterError, { message: /NUL/ });
  const twins = sn.trainStep((p, a) => p['a.b'].mul(p.a.b).mul(a).sum(), optim.sgd({ lr: 1 }));
  const state = twins.init({ 'a.b': sn.ones([2]), a: { b: sn.ones([2]) } });
  assertThrows(() => twins.export(state, sn.ones([2])), sn.SinterError, { message: /two tensors of a state are called the same/ });
});

test('bytes that are damaged or no step are errors, and nothing is lost', () => {
  const { step, first } = KINDS.mlp();
  const bytes = step.export(first(), ...batchOf(0));
  const f = sn.jit((x) => x.add(1));
  const program = f.save(sn.ones([2]));
  const { tensors } = sn.memory();
  assertThrows(() => sn.importStep(program), sn.SinterError, { message: /no training step/, hint: /sn\.load/ });
  assertThrows(() => sn.load(bytes), sn.SinterError, { message: /are a training step/, hint: /importStep/ });
  assertThrows(() => sn.importStep('file'), sn.SinterError, { op: 'importStep', message: /expected a Uint8Array/ });
  assertThrows(() => sn.importStep(new Uint8Array(0)), sn.SinterError, { message: /these bytes are not a saved program/ });
  assertThrows(() => sn.importStep(bytes.subarray(0, 500)), sn.SinterError, { message: /damaged/ });
  const other = bytes.slice();
  other[12] = 0x39;
  assertThrows(() => sn.importStep(other), sn.SinterError, { message: /saved by version 9/ });
  for (let i = 0; i < bytes.length; i += 61) {
    const wrong = bytes.slice();
    wrong[i] ^= 1 + (i % 255);
    assert.throws(() => sn.importStep(wrong), sn.SinterError);
  }
  assert.equal(sn.memory().tensors, tensors);
});
