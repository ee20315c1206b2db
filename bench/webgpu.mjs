// webgpu.mjs - measures Sinter on a graphics processor, in Node: node bench/webgpu.mjs [--only TEXT] [--rounds 5] [--ms 40]
// [--kernels] [--peers]
//
// Rates stand beside those that the same adapter reaches in the same run with fused multiply-adds in registers, and with a
// copy. A time is the median over rounds, each of --ms, of many calls that are waited for only at the end of the round.
// "kernels" is the time of the kernels alone, by the device's clock; "host" is the time until a call has returned. --kernels:
// lists each kernel. --peers: instead compares with jax-js on the same adapter, call by call (bench/peers must be installed:
// node bench/peers/run.mjs --webgpu does that).
import { parseArgs } from 'node:util';
import * as sn from 'sinter';
import { create, globals } from 'webgpu';
import { CASES, TRANSFORMERS } from './peers/cases.mjs';
import * as sinter from './peers/sinter.mjs';

const { values: given } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    ms: { type: 'string', default: '40' },
    kernels: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
  },
});
const ROUNDS = Number(given.rounds);
const PROFILED = 5;
const ROUND_MS = Number(given.ms);

Object.assign(globalThis, globals);
// Rounded clocks, as pages have them, are too coarse for a kernel.
const gpu = create(['disable-dawn-features=timestamp_quantization']);
Object.defineProperty(globalThis, 'navigator', { value: { gpu, hardwareConcurrency: 2, userAgent: 'node' }, configurable: true });

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

// ---- peaks -------------------------------------------------------------------------------------

const peakDevice = await (await gpu.requestAdapter({ powerPreference: 'high-performance' })).requestDevice();

/** The milliseconds of a dispatch: the time of many in one pass, less that of a pass with few. */
const msOf = async (code, buffers, groups, most) => {
  const pipeline = await peakDevice.createComputePipelineAsync({ layout: 'auto', compute: { module: peakDevice.createShaderModule({ code }) } });
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const bound = peakDevice.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  const run = async (count) => {
    const encoder = peakDevice.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bound);
    for (let i = 0; i < count; i += 1) pass.dispatchWorkgroups(...groups);
    pass.end();
    const begin = performance.now();
    peakDevice.queue.submit([encoder.finish()]);
    await peakDevice.queue.onSubmittedWorkDone();
    return performance.now() - begin;
  };
  await run(1);
  const count = Math.max(1, Math.min(most, Math.round(ROUND_MS / (await run(1)))));
  const list = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    const few = await run(count);
    list.push(((await run(3 * count)) - few) / (2 * count));
  }
  return median(list);
};

const storage = (size) => peakDevice.createBuffer({ size, usage: GPUBufferUsage.STORAGE });

/** TFLOP/s of fused multiply-adds in registers, 16 sums per thread. */
const multiplyAdds = async (isSoftware) => {
  const [sums, unrolled, rounds, groups] = [16, 4, isSoftware ? 16 : 2048, isSoftware ? 32 : 8192];
  const each = (text) => Array.from({ length: sums }, (_, i) => text(i)).join(' ');
  const code = `@group(0) @binding(0) var<storage, read_write> sums: array<f32>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) at: vec3<u32>) {
  let x = f32(at.x & 255u) * 1e-6 + 0.5; let y = x * 1e-9;
  ${each((i) => `var a${i} = f32(${i}) + y;`)}
  for (var k = 0; k < ${rounds}; k++) { ${Array.from({ length: unrolled }, () => each((i) => `a${i} = fma(a${i}, x, y);`)).join('\n')} }
  sums[at.x & 0xffffu] = ${Array.from({ length: sums }, (_, i) => `a${i}`).join(' + ')};
}`;
  const ms = await msOf(code, [storage(2 ** 18)], [groups], 64);
  return (2 * groups * 256 * sums * unrolled * rounds) / ms / 1e9;
};

/** GB/s of a copy; bytes read and bytes written both count. */
const copied = async (isSoftware) => {
  const fours = isSoftware ? 2 ** 18 : 2 ** 23; // 128 MiB, which every device binds
  const code = `@group(0) @binding(0) var<storage, read> source: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> target_: array<vec4<f32>>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) at: vec3<u32>) {
  let i = at.x + at.y * 16384u * 256u;
  if (i < ${fours}u) { target_[i] = source[i]; }
}`;
  const groups = fours / 256;
  const ms = await msOf(code, [storage(fours * 16), storage(fours * 16)], [Math.min(groups, 16384), Math.ceil(groups / 16384)], 256);
  return (fours * 32) / ms / 1e6;
};

// ---- cases -------------------------------------------------------------------------------------

const { prepare } = await sinter.open(true, { gpu });
const { device } = sn.info();
const isSoftware = /swiftshader|llvmpipe/i.test(device.adapter);
const peak = { tflops: await multiplyAdds(isSoftware), gbps: await copied(isSoftware) };
console.log(`${device.adapter}: ${peak.tflops.toFixed(2)} TFLOP/s of multiply-adds, a copy ${peak.gbps.toFixed(0)} GB/s`);
peakDevice.destroy();

const numbers = (shape, seed = 1) => sn.random.uniform(sn.random.key(seed), shape, { minval: -1, maxval: 1 }).to('webgpu');
/** A case of one function: the call, and what is released at the end. */
const each = (f, shapes, more) => ({
  open: () => {
    const inputs = shapes.map((shape, i) => numbers(shape, i + 1));
    const compiled = sn.jit(f, { device: 'webgpu' });
    return { call: () => results(compiled(...inputs)), release: () => [...inputs, compiled].forEach((x) => x.dispose()) };
  },
  ...more,
});
/** A case of training steps, each from the state of the last one. */
const training = (given) => ({
  ...given,
  asked: undefined,
  open: () => {
    const { next, release } = prepare(given);
    return { call: () => [next()], release };
  },
});
const product = (m, k, n, asked) => ({ name: `matmul ${m} x ${k} x ${n}`, ...each((a, b) => sn.matmul(a, b), [[m, k], [k, n]], { flops: 2 * m * k * n, asked }) });
const square = (size) => product(size, size, size, 0.6);
const attention = (heads, tokens, size, options, name = '') => {
  const shape = [1, heads, tokens, size];
  const flops = 4 * heads * tokens * tokens * size * (options.causal ? 0.5 : 1);
  return { name: `attention ${heads} x ${tokens} x ${size}${name}`, ...each((q, k, v) => sn.attention(q, k, v, options), [shape, shape, shape], { flops, asked: 0.4 }) };
};
const backward = (heads, tokens, size) => {
  const shape = [1, heads, tokens, size];
  const f = sn.grad((all, w) => sn.sum(sn.attention(...all).mul(w)));
  return { name: `attention ${heads} x ${tokens} x ${size}, derivative`, ...each((q, k, v, w) => f([q, k, v], w), [shape, shape, shape, shape], { flops: 14 * heads * tokens * tokens * size }) };
};
const LARGE = [4096, 4096];
const cases = [
  square(1024), square(2048), square(4096), product(1000, 1000, 1000), product(1024, 256, 1024), product(128, 784, 256),
  { name: 'conv 3 x 3, 64 to 64, 8 x 56 x 56', ...each((x, w) => sn.conv2d(x, w, { padding: 'same' }), [[8, 56, 56, 64], [3, 3, 64, 64]], { flops: 2 * 8 * 56 * 56 * 9 * 64 * 64 }) },
  attention(8, 2048, 64, {}), attention(8, 2048, 64, { causal: true }, ', causal'), backward(8, 2048, 64),
  { name: 'add 4096 x 4096', ...each((x, y) => sn.add(x, y), [LARGE, LARGE], { bytes: 3 * 4 * 4096 ** 2 }) },
  { name: 'gelu 4096 x 4096', ...each((x) => sn.gelu(x), [LARGE], { bytes: 2 * 4 * 4096 ** 2 }) },
  { name: 'sum 4096 x 4096', ...each((x) => sn.sum(x), [LARGE], { bytes: 4 * 4096 ** 2 }) },
  { name: 'sum of columns 4096 x 4096', ...each((x) => sn.sum(x, { axis: 0 }), [LARGE], { bytes: 4 * 4096 ** 2 }) },
  { name: 'softmax 4096 x 4096', ...each((x) => sn.softmax(x), [LARGE], { bytes: 2 * 4 * 4096 ** 2 }) },
  { name: 'layerNorm 4096 x 4096', ...each((x) => sn.layerNorm(x), [LARGE], { bytes: 2 * 4 * 4096 ** 2 }) },
  ...[...CASES.filter(({ op, batch }) => ['train', 'cnn'].includes(op) && batch !== 100), ...TRANSFORMERS].map(training),
].filter(({ name }) => !given.peers && name.includes(given.only));

/** Waits until all submitted work is done, by reading a value of the last result. */
const isOver = async (y) => {
  const value = y.slice(y.shape.map(() => 0), y.shape.map(() => 1));
  await value.data();
  value.dispose();
};
const results = (y) => (Array.isArray(y) ? y : [y]);

/** The times of a call: total, of its kernels, and until it returned. */
const timesOf = async (call) => {
  const run = async (count) => {
    let host = 0;
    let y;
    const begin = performance.now();
    for (let i = 0; i < count; i += 1) {
      const before = performance.now();
      y?.forEach((each) => each.dispose());
      y = call();
      host += performance.now() - before;
      if (i % 8 === 7) await null;
    }
    await isOver(y[0]);
    y.forEach((each) => each.dispose());
    return { ms: (performance.now() - begin) / count, host: host / count };
  };
  for (let i = 0; i < 3; i += 1) await run(1);
  const count = Math.max(2, Math.min(400, Math.round(ROUND_MS / (await run(4)).ms)));
  const list = [];
  for (let i = 0; i < ROUNDS; i += 1) list.push(await run(count));
  const { device: spans } = await sn.profile(async () => {
    for (let i = 0; i < PROFILED; i += 1) {
      const y = call();
      await y[0].data();
      y.forEach((made) => made.dispose());
    }
  });
  const kernels = spans[0]?.kernels.map(({ name }, i) => ({ name, ms: median(spans.map((span) => span.kernels[i].end - span.kernels[i].begin)) })) ?? [];
  return { ms: median(list.map(({ ms }) => ms)), host: median(list.map(({ host }) => host)), kernels };
};

/** Kernels with the same name added up, longest first. */
const longest = (kernels) => {
  const all = new Map();
  for (const { name, ms } of kernels) {
    const { ms: before = 0, calls = 0 } = all.get(name) ?? {};
    all.set(name, { name, ms: before + ms, calls: calls + 1 });
  }
  return [...all.values()].sort((a, b) => b.ms - a.ms).slice(0, 16);
};

const percent = (share) => `${Math.round(100 * share)}%`.padStart(6);
const rateOf = ({ flops, bytes }, ms) => (!flops && !bytes ? '' : flops
  ? `${(flops / ms / 1e9).toFixed(2)} TFLOP/s`.padStart(15) + percent(flops / ms / 1e9 / peak.tflops)
  : `${(bytes / ms / 1e6).toFixed(0)} GB/s`.padStart(15) + percent(bytes / ms / 1e6 / peak.gbps));

console.log(`${''.padEnd(38)}${'ms'.padStart(9)}${'kernels'.padStart(9)}${'host'.padStart(8)}`);
for (const each of cases) {
  const { call, release } = each.open();
  const { ms, host, kernels } = await timesOf(call);
  const alone = kernels.reduce((sum, kernel) => sum + kernel.ms, 0);
  console.log(each.name.padEnd(38) + ms.toFixed(3).padStart(9) + alone.toFixed(3).padStart(9) + host.toFixed(3).padStart(8) +
    rateOf(each, ms) + rateOf(each, alone) + (each.asked ? `  asked ${each.asked}` : ''));
  if (given.kernels) for (const kernel of longest(kernels)) console.log(`    ${kernel.name.slice(0, 60).padEnd(60)}${kernel.ms.toFixed(4).padStart(9)} in ${kernel.calls}`);
  release();
}
for (const { kernel, ms, chosen } of sn.info().device.shaders) console.log(`shaders of ${kernel}: ${ms.map((each) => each?.toFixed(3) ?? '-').join(' ')} ms, ${chosen} chosen`);

// ---- beside jax-js -----------------------------------------------------------------------------

const compare = async () => {
  const libraries = { sinter, jax: await import('./peers/jax.mjs') };
  const names = ['matmul 512', 'softmax 1024', 'layernorm 1024', 'conv 3x3 64', 'attention 8', 'training step 784-256-128-10', 'GPT'];
  const list = [...CASES, ...TRANSFORMERS].filter(({ name }) => names.some((part) => name.includes(part)) && name.includes(given.only));
  const open = {};
  for (const [name, library] of Object.entries(libraries)) open[name] = await library.open(true, { gpu });
  console.log(`\n${'ms a call, read'.padEnd(48)}${Object.keys(open).map((name) => name.padStart(9)).join('')}    ratio`);
  for (const each of list) {
    const times = {};
    const values = {};
    for (const [name, { prepare }] of Object.entries(open)) {
      const { call, result, release } = await prepare(each);
      values[name] = (await result())[0];
      for (let i = 0; i < 5; i += 1) await call();
      const calls = [];
      for (let begin = performance.now(); performance.now() - begin < 5 * ROUND_MS || calls.length < 5;) {
        const before = performance.now();
        await call();
        calls.push(performance.now() - before);
      }
      times[name] = median(calls);
      await release();
    }
    console.log(each.name.padEnd(48) + Object.values(times).map((ms) => ms.toFixed(3).padStart(9)).join('') + `${(times.jax / times.sinter).toFixed(2)}x`.padStart(9) +
      `   ${Object.values(values).map((value) => value.toPrecision(6)).join(' ')}`);
  }
};
if (given.peers) await compare();
process.exit(0);
