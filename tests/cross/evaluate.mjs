// evaluate.mjs THREADS [fast] < cases - the twin of tests/native/cross_cases.c, which describes the
// language: evaluates the cases through the package and prints the same text. THREADS 0 takes the
// module without threads.
import { createInterface } from 'node:readline';
import * as sn from 'sinter';

const camelCase = (name) => name.replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase());
const typedArrays = { float32: Float32Array, float64: Float64Array, int32: Int32Array, bool: Uint8Array };

/** Ops whose arguments have other places in JS than in C. An op that is not here is a function of its operands. */
const calls = {
  data: ([dtype, shape, hex = '']) => {
    const bytes = Uint8Array.from(Buffer.from(hex, 'hex'));
    return sn.tensor(new typedArrays[dtype](bytes.buffer), { shape: JSON.parse(shape), dtype });
  },
  iota: ([dtype, shape, axis]) => sn.iota(JSON.parse(shape), Number(axis), { dtype }),
  concat: ([axis, ...names], operand) => sn.concat(names.map(operand), { axis: Number(axis) }),
  slice: ([x, begin, size, strides], operand) =>
    sn.slice(operand(x), JSON.parse(begin), JSON.parse(size), { strides: JSON.parse(strides) }),
  softmax: ([x, axis], operand) => sn.softmax(operand(x), { axis: Number(axis) }),
  take: ([x, indices, axis], operand) => sn.take(operand(x), operand(indices), { axis: Number(axis) }),
  scatter_add: ([x, indices, updates, axis], operand) =>
    sn.scatterAdd(operand(x), operand(indices), operand(updates), { axis: Number(axis) }),
  conv: ([x, filter, stride, padded, groups], operand) =>
    sn.conv2d(operand(x), operand(filter), { strides: Number(stride), padding: padded === '1' ? 'same' : 'valid', groups: Number(groups) }),
  attention: ([q, k, v, causal], operand) => sn.attention(operand(q), operand(k), operand(v), { causal: causal === '1' }),
  pad: ([x, before, after, value], operand) => {
    const afters = JSON.parse(after);
    return sn.pad(operand(x), JSON.parse(before).map((n, i) => [n, afters[i]]), { value: Number(value) });
  },
};
for (const op of ['sum', 'mean', 'max', 'min', 'prod', 'logsumexp', 'argmax', 'argmin']) {
  calls[op] = ([x, axis, keepdims], operand) =>
    sn[op](operand(x), { axis: JSON.parse(axis), keepdims: keepdims === '1' });
}
for (const op of ['sort', 'argsort']) {
  calls[op] = ([x, axis, descending], operand) =>
    sn[op](operand(x), { axis: Number(axis), descending: descending === '1' });
}
for (const op of ['cumsum', 'cumprod']) {
  calls[op] = ([x, axis, reverse, exclusive], operand) =>
    sn[op](operand(x), { axis: Number(axis), reverse: reverse === '1', exclusive: exclusive === '1' });
}
for (const op of ['reshape', 'broadcast_to', 'transpose']) {
  calls[op] = ([x, list], operand) => sn[camelCase(op)](operand(x), JSON.parse(list));
}
for (const op of ['astype', 'bitcast']) calls[op] = ([x, dtype], operand) => sn[op](operand(x), dtype);

const values = new Map();
let name = '';
let failure = null;
/** The lines since `begin`: they become the function that is differentiated. */
let traced = null;

const operand = (word) => (/^[a-z]/i.test(word) ? values.get(word) : Number(word));

const bind = (key, value) => {
  const old = values.get(key);
  if (old !== value) old?.dispose();
  values.set(key, value);
};

const forget = () => {
  for (const value of values.values()) value.dispose();
  values.clear();
  failure = null;
};

const compute = ([result, op, ...args]) => {
  bind(result, calls[op]?.(args, operand) ?? sn[camelCase(op)](...args.map(operand)));
};

const differentiate = (variables, lines, [loss, ...gradients]) => {
  const originals = variables.map(operand);
  const f = (...list) => {
    list.forEach((variable, i) => values.set(variables[i], variable));
    lines.forEach(compute);
    return values.get(loss);
  };
  try {
    const both = sn.valueAndGrad(f, { argnums: originals.map((_, i) => i) });
    const [value, grads] = both(...originals);
    bind(loss, value);
    grads.forEach((gradient, i) => bind(gradients[i], gradient));
  } finally {
    originals.forEach((original, i) => values.set(variables[i], original));
  }
};

const print = (key) => {
  if (failure) return console.log(`${name} error ${failure.message}`);
  const value = values.get(key);
  const data = value.dataSync();
  const hex = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('hex');
  return console.log(`${name} ${value.dtype} ${hex}`);
};

const statements = {
  case: ([given]) => {
    forget();
    name = given;
  },
  begin: (variables) => (traced = { variables, lines: [] }),
  end: (results) => {
    const { variables, lines } = traced;
    traced = null;
    differentiate(variables, lines, results);
  },
  eval: (names) => sn.eval(names.map(operand)),
  out: ([key]) => print(key),
};

const run = (words) => {
  const statement = statements[words[0]];
  try {
    if (traced && !statement) traced.lines.push(words);
    else if (statement && (!failure || words[0] === 'case' || words[0] === 'out')) statement(words.slice(1));
    else if (!failure) compute(words);
  } catch (error) {
    if (!(error instanceof sn.SinterError)) throw error;
    failure = error;
    if (words[0] === 'out') print(words[1]);
  }
};

const [threads, mode] = process.argv.slice(2);
await sn.init({
  deterministic: mode !== 'fast',
  ...(threads === '0' ? { wasm: new URL(import.meta.resolve('sinter/sinter.wasm')) } : { threads: Number(threads) }),
});
for await (const line of createInterface({ input: process.stdin })) {
  if (line) run(line.split(' '));
}
// A full pipe takes the rest later, and an exit would lose it.
process.stdout.write('', () => process.exit(0));
