// What the tests of several processes train, here and by sinter-train under mpirun, in a folder of each test's own.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import * as sn from 'sinter';
import { pipelineParallel, tensorParallel } from 'sinter/parallel';
import { root } from '../../scripts/lib/proc.mjs';

export const ALONE = join(root, 'build/native/tools/train/sinter-train');
export const TOOL = join(root, 'build/native-mpi/tools/train/sinter-train');
export const MPIRUN = ['--allow-run-as-root', '--oversubscribe', '--bind-to', 'none', '--quiet'];
const { nn, optim, random } = sn;
export const [ROWS, BATCH, SEED, STEPS] = [54, 8, 7, 24];

let folder;
before(async () => {
  await sn.init({ threads: 2, deterministic: true });
  folder = mkdtempSync(join(tmpdir(), 'sinter-mpi-'));
  for (const [name, { x, y }] of Object.entries(SETS)) {
    writeFileSync(file(`${name}-x.npy`), sn.io.npy.encode(x()));
    writeFileSync(file(`${name}-y.npy`), sn.io.npy.encode(y()));
  }
});
after(() => rmSync(folder, { recursive: true }));

export const file = (name) => join(folder, name);
export const run = (command, args, env = {}) => {
  const { status, signal, stdout, stderr } = spawnSync(command, args.map(String), { encoding: 'utf8', env: { ...process.env, ...env }, timeout: 120_000 });
  return { status, signal, stdout, stderr };
};
export const train = (ranks, args, env) => run('mpirun', [...MPIRUN, '-n', ranks, TOOL, ...args, '--threads', 1], env);

/* ---- what is trained ---- */

const classes = () => random.bits(random.key(12), [ROWS]).bitwiseAnd(3);
const letters = (seed) => random.bits(random.key(seed), [ROWS, 6]).bitwiseAnd(15);
export const SETS = {
  flat: { x: () => random.normal(random.key(11), [ROWS, 10]), y: classes },
  images: { x: () => random.normal(random.key(13), [ROWS, 8, 8, 1]), y: classes },
  texts: { x: () => letters(14), y: () => letters(15) },
};

export const mlp = (options) => {
  const net = nn.sequential(nn.linear(10, 32), nn.gelu(), nn.linear(32, 4));
  const loss = (params, x, y) => sn.softmaxCrossEntropy(net.apply(params, x), y).mean();
  const step = sn.trainStep(loss, optim.adamw({ lr: 0.01 }), options);
  return { set: 'flat', step, first: () => step.init(net.init(random.key(1))) };
};
/** aux: what the loss makes of the logits, beside. */
export const cnn = (options, aux = (logits) => logits.argmax({ axis: 1 })) => {
  const net = nn.sequential(nn.conv2d(1, 8, 3, { padding: 'same' }), nn.batchNorm(8), nn.relu(), nn.flatten(), nn.dropout(0.25), nn.linear(512, 4));
  const loss = (params, x, y, { state, key }) => {
    const [logits, next] = net.apply(params, x, { state, key, train: true });
    return [sn.softmaxCrossEntropy(logits, y).mean(), { state: next, aux: aux(logits) }];
  };
  const lr = optim.schedules.cosine({ lr: 0.05, steps: STEPS });
  const step = sn.trainStep(loss, optim.sgd({ lr, momentum: 0.9 }), { clipNorm: 1, ...options });
  const { params, state } = net.init(random.key(2));
  return { set: 'images', step, first: () => step.init(params, { state, key: random.key(3) }) };
};
export const gpt = (options) => {
  const [table, block, norm] = [nn.embedding(16, 24), nn.transformerBlock(24, 2), nn.layerNorm(24)];
  const loss = ({ t, b, n }, x, y) => {
    const out = norm.apply(n, block.apply(b, table.apply(t, x)));
    return sn.softmaxCrossEntropy(out.matmul(t.weight.transpose()), y).mean();
  };
  const step = sn.trainStep(loss, optim.adamw({ lr: 0.01 }), options);
  const [a, b, c] = [0, 1, 2].map((i) => random.foldIn(random.key(4), i));
  return { set: 'texts', step, first: () => step.init({ t: table.init(a), b: block.init(b), n: norm.init(c) }) };
};

/** Heads and hidden units side by side. */
export const wide = (options) => {
  const [size, heads, parts] = [24, 4, 4];
  const attend = tensorParallel(parts, nn.multiHeadAttention(size, heads / parts, { width: size / heads, causal: true, rope: true }));
  const feed = tensorParallel(parts, nn.sequential(nn.linear(size, 24), nn.gelu(), nn.dropout(0.1), nn.linear(24, size)));
  const net = nn.sequential(nn.residual(nn.layerNorm(size), attend), nn.residual(nn.layerNorm(size), feed));
  const table = nn.embedding(16, size);
  const loss = ({ t, b }, x, y, { key }) => sn.softmaxCrossEntropy(net.apply(b, table.apply(t, x), { key, train: true }).matmul(t.weight.transpose()), y).mean();
  const step = sn.trainStep(loss, optim.adamw({ lr: 0.01 }), { clipNorm: 1, ...options });
  return { set: 'texts', step, first: () => step.init({ t: table.init(random.key(5)), b: net.init(random.key(6)) }, { key: random.key(7) }) };
};
/** Blocks one behind the other. */
export const deep = (parts, options) => {
  const block = nn.residual(nn.rmsNorm(16), nn.linear(16, 16), nn.gelu(), nn.linear(16, 16));
  const net = nn.sequential(nn.linear(10, 16), pipelineParallel(4, block, { parts }), nn.linear(16, 4));
  const loss = (params, x, y) => sn.softmaxCrossEntropy(net.apply(params, x), y).mean();
  const step = sn.trainStep(loss, optim.sgd({ lr: 0.1, momentum: 0.9, nesterov: true }), options);
  return { set: 'flat', step, first: () => step.init(net.init(random.key(8))) };
};

/* ---- here, and for the program ---- */

/** A pass is of whole batches, or ends with a smaller one. */
const PASS = { batch: BATCH, dropLast: true };

const batches = (set, { batch, dropLast }) =>
  sn.data.fromArrays([SETS[set].x(), SETS[set].y()]).shuffle(random.key(SEED)).batch(batch, { dropLast });

/** What Node makes of so many steps. */
export const trainHere = async ({ set, step, first }, steps, pass = PASS) => {
  let state = first();
  const items = batches(set, pass).repeat().start();
  const losses = [];
  for (let i = 0; i < steps; i++) {
    const made = step(state, ...(await items.next()).value);
    ({ state } = made);
    losses.push(made.loss.item());
  }
  await items.return();
  return { params: Buffer.from(sn.io.safetensors.encode(step.params(state))), losses };
};

let count = 0;
/** Writes a model's step for so many rows of its set. */
export const exportRows = ({ set, step, first }, rows) => {
  const name = file(`${count++}.step`);
  writeFileSync(name, step.export(first(), ...[SETS[set].x(), SETS[set].y()].map((t) => t.take(sn.arange(0, rows, 1, { dtype: 'int32' })))));
  return name;
};

/** Writes a model's step, and the arguments that train it. */
export const exported = (model, { batch, dropLast } = PASS) => {
  const last = dropLast ? ['--drop-last'] : ['--last', exportRows(model, ROWS % batch)];
  const data = ['--data', file(`${model.set}-x.npy`), '--labels', file(`${model.set}-y.npy`)];
  return [exportRows(model, batch), ...data, ...last, '--batch', batch, '--seed', SEED, '--steps', STEPS];
};

export const lossesIn = (path) => readFileSync(path, 'utf8').trim().split('\n').slice(1).map((line) => Math.fround(line.split(',')[1]));

/* ---- sums that are rounded on their way ---- */

const bits = new DataView(new ArrayBuffer(4));
/** The nearest bfloat16, ties to even. */
const bfloat16 = (x) => {
  bits.setFloat32(0, x);
  const word = bits.getUint32(0);
  bits.setUint32(0, (word + 0x7fff + ((word >>> 16) & 1)) & 0xffff0000);
  return bits.getFloat32(0);
};

/** x and what is left of before as a bfloat16, of which something is left again; before: null: nothing is ever left. */
const rounded = (x, left, i) => {
  const wanted = Math.fround(x + (left?.[i] ?? 0));
  const y = bfloat16(wanted);
  if (left) left[i] = Math.fround(wanted - y);
  return y;
};

const pairs = (list) => (list.length === 1 ? list[0] : pairs(list.flatMap((x, i) => (i % 2 ? [] : [i + 1 < list.length ? Math.fround(x + list[i + 1]) : x]))));

/** The sum of column i of each of 4 blocks of rows; of blocks that are not equal, times their rows. */
const blocksOf = (rows, i) =>
  [0, 1, 2, 3].map((b) => {
    const few = Math.floor(rows.length / 4);
    const short = 4 - (rows.length % 4);
    const [from, to] = [b, b + 1].map((at) => at * few + Math.max(0, at - short));
    const sum = rows.slice(from, to).reduce((all, row) => Math.fround(all + row[i]), 0);
    return short === 4 ? sum : Math.fround(sum * (to - from));
  });

/**
 * w after steps of w - mean over 4 blocks of the sum of their rows, by so many processes; what each sends, and what it sends
 * back, is rounded. What is left over goes into the next step of as many rows.
 */
export const simulate = (batchesOfRows, ranks, feedback) => {
  const w = new Float32Array(10);
  const lefts = new Map();
  for (const rows of batchesOfRows) {
    if (!lefts.has(rows.length)) lefts.set(rows.length, Array.from({ length: ranks + 1 }, () => feedback && []));
    const [back, ...given] = lefts.get(rows.length);
    for (let i = 0; i < w.length; i++) {
      const blocks = blocksOf(rows, i);
      const own = given.map((left, r) => rounded(pairs(blocks.slice(r * 4 / ranks, (r + 1) * 4 / ranks)), left, i));
      w[i] -= Math.fround(rounded(pairs(own), back, i) / (rows.length % 4 ? rows.length : 4));
    }
  }
  return [...w];
};
