// cases.mjs - the cases themselves, in the language of tests/native/cross_cases.c. The ops, their dtypes and
// domains come from the op table; values are drawn here and passed as bytes, so that both sides compute on
// the same ones.

const RANDOM_GRAPHS = 60;
const TRAINING_STEPS = 20;

/** splitmix32: small whole numbers and doubles in [0, 1) from a seed. */
const generator = (seed) => {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  };
  return {
    below: (n) => next() % n,
    between: (lo, hi) => lo + ((hi - lo) * next()) / 2 ** 32,
  };
};

const arrays = { float32: Float32Array, float64: Float64Array, int32: Int32Array, bool: Uint8Array };
const sizeOf = (shape) => shape.reduce((size, dim) => size * dim, 1);
const list = (numbers) => `[${numbers.join()}]`;

/** The arguments of `data`. */
const literal = (dtype, shape, values) => {
  const bytes = Buffer.from(arrays[dtype].from(values).buffer);
  return `${dtype} ${list(shape)} ${bytes.toString('hex')}`;
};

const floats = (tiny, huge) => [
  0, -0, 1, -1, Infinity, -Infinity, NaN, tiny, -tiny, huge, -huge, 0.5, -0.5, 1.5, 2.5, -2.5,
  2 ** 23, -(2 ** 31), 2147483647.5, 3e-5, 88.5, -104, 1e10, 7,
];
const specials = {
  float32: floats(2 ** -149, 3.4028234663852886e38),
  float64: [...floats(5e-324, Number.MAX_VALUE), 2 ** 52, 1e300],
  int32: [0, 1, -1, 2, -(2 ** 31), 2 ** 31 - 1, 31, 32, 33, -31, 65536, 46341, 0x55555555],
  bool: [0, 1],
};

const draw = (random, dtype, size, lo, hi) => {
  const value = () => {
    if (dtype === 'bool') return random.below(2);
    const drawn = random.between(lo, hi);
    return dtype === 'int32' ? Math.round(drawn) : drawn;
  };
  return Array.from({ length: size }, value);
};

const random = generator(2024);
const drawn = (dtype, shape, lo = -2, hi = 2) =>
  literal(dtype, shape, draw(random, dtype, sizeOf(shape), lo, hi));

const INPUTS = ['x', 'y', 'z'];

/** Operand i of an op with `arity`; `where` takes a bool first. */
const dtypeOf = (op, i, dtype) => (op.name === 'where' && i === 0 ? 'bool' : dtype);

/** Every value of the domain's kind, broadcast against each other; a number for the last operand. */
const onDomain = (op, dtype) => {
  const shapes = [[3, 1, 23], [5, 1], [3, 5, 23]].slice(0, op.arity);
  const operands = INPUTS.slice(0, op.arity);
  const lines = [`case ${op.name}.${dtype}`];
  operands.forEach((x, i) => lines.push(`${x} data ${drawn(dtypeOf(op, i, dtype), shapes[i], op.lo, op.hi)}`));
  lines.push(`r ${op.name} ${operands.join(' ')}`, 'out r');
  if (op.arity === 2 && dtype !== 'bool') lines.push(`n ${op.name} x 1`, 'out n');
  return lines;
};

/** All combinations of special values. */
const onSpecials = (op, dtype) => {
  const lines = [`case ${op.name}.${dtype}.specials`];
  const operands = INPUTS.slice(0, op.arity);
  operands.forEach((x, i) => {
    const type = dtypeOf(op, i, dtype);
    const shape = operands.map((_, k) => (k === i ? specials[type].length : 1));
    lines.push(`${x} data ${literal(type, shape, specials[type])}`);
  });
  return [...lines, `r ${op.name} ${operands.join(' ')}`, 'out r'];
};

/** The gradient of a weighted sum with respect to every operand. */
const gradient = (op, dtype) => {
  const operands = INPUTS.slice(0, op.arity);
  const wrt = operands.filter((_, i) => dtypeOf(op, i, dtype) !== 'bool');
  return [
    `case ${op.name}.${dtype}.gradient`,
    ...operands.map((x, i) => `${x} data ${drawn(dtypeOf(op, i, dtype), i === 0 ? [4, 9] : [9], op.lo, op.hi)}`),
    `w data ${drawn(dtype, [4, 9])}`,
    `begin ${wrt.join(' ')}`,
    `r ${op.name} ${operands.join(' ')}`,
    'f astype r ' + dtype,
    'p mul f w',
    'l sum p [0,1] 0',
    `end l ${wrt.map((x) => `d${x}`).join(' ')}`,
    ...wrt.map((x) => `out d${x}`),
  ];
};

const elementwise = (ops) => ops.flatMap((op) => op.dtypes.flatMap((dtype) => [
  ...onDomain(op, dtype),
  ...onSpecials(op, dtype),
  ...(dtype.startsWith('float') ? gradient(op, dtype) : []),
]));

const reductions = () => {
  const lines = [];
  const shapes = [[3, 5], [300, 7], [7, 300], [2, 33, 17], [1], [0, 4]];
  for (const dtype of ['float32', 'float64', 'int32']) {
    for (const shape of shapes) {
      lines.push(`case reduce.${dtype}.${shape.join('x')}`, `x data ${drawn(dtype, shape, -99, 99)}`);
      const all = shape.map((_, i) => i);
      for (const axes of [all, ...all.map((i) => [i])]) {
        const empty = axes.some((i) => shape[i] === 0);
        for (const op of empty ? ['sum'] : ['sum', 'mean', 'max', 'min']) {
          lines.push(`r ${op} x ${list(axes)} ${axes.length % 2}`, 'out r');
        }
      }
      if (sizeOf(shape) === 0) continue;
      for (const op of ['argmax', 'argmin']) lines.push(...all.flatMap((i) => [`r ${op} x ${i} 0`, 'out r']));
    }
    lines.push(`case reduce.${dtype}.specials`, `x data ${literal(dtype, [specials[dtype].length], specials[dtype])}`);
    for (const op of ['sum', 'max', 'min']) lines.push(`r ${op} x [0] 0`, 'out r');
    lines.push('r argmax x 0 0', 'out r', 'r argmin x 0 0', 'out r');
  }
  return lines;
};

const products = () => {
  const lines = [];
  const shapes = [
    [[1, 1], [1, 1]], [[3, 5], [5, 4]], [[17, 33], [33, 9]], [[128, 200], [200, 65]], [[6, 1000], [1000, 8]],
    [[5], [5, 3]], [[3, 5], [5]], [[2, 3, 4], [4, 5]], [[2, 1, 3, 4], [5, 4, 2]], [[3, 0], [0, 2]], [[0, 3], [3, 2]],
  ];
  for (const dtype of ['float32', 'float64']) {
    for (const [a, b] of shapes) {
      lines.push(`case matmul.${dtype}.${a.join('x')}.${b.join('x')}`);
      lines.push(`x data ${drawn(dtype, a)}`, `y data ${drawn(dtype, b)}`, 'r matmul x y', 'out r');
    }
    lines.push(`case matmul.${dtype}.transposed`, `x data ${drawn(dtype, [40, 31])}`, `y data ${drawn(dtype, [27, 40])}`);
    lines.push('a transpose x [1,0]', 'b transpose y [1,0]', 'r matmul a b', 'out r');
    lines.push(`b data ${drawn(dtype, [27])}`, 'y transpose y [1,0]', 'm matmul a y', 's add m b', 't tanh s', 'out t');
  }
  return lines;
};

const shapeOps = () => {
  const lines = [];
  for (const dtype of Object.keys(arrays)) {
    lines.push(`case shapes.${dtype}`, `x data ${drawn(dtype, [4, 5, 6])}`, `y data ${drawn(dtype, [4, 2, 6])}`);
    lines.push('t transpose x [2,0,1]', 'out t', 'r reshape t [8,15]', 'out r');
    lines.push('s slice x [3,0,1] [2,3,2] [-2,2,3]', 'out s', 'c concat 1 x y x', 'out c');
    lines.push('p pad x [1,0,2] [0,3,0] 1', 'out p', 'b slice x [0,0,0] [4,1,6] [1,1,1]', 'b broadcast_to b [2,4,3,6]', 'out b');
    for (const to of Object.keys(arrays)) {
      lines.push(`case astype.${dtype}.${to}`);
      lines.push(`x data ${literal(dtype, [specials[dtype].length], specials[dtype])}`, `r astype x ${to}`, 'out r');
    }
  }
  lines.push('case bitcast', `x data ${drawn('float32', [50])}`, 'r bitcast x int32', 'out r', 'b bitcast r float32', 'out b');
  lines.push('case iota', 'x iota float32 [3,4] 1', 'out x', 'y iota int32 [3,4] 0', 'out y');
  return lines;
};

/** Elements by index, order and running sums along each axis, and gradients through them. */
const alongAxes = () => {
  const lines = [];
  const indices = literal('int32', [9], [3, -1, 0, 3, 99, -99, 2, 2, -4]);
  for (const dtype of ['float32', 'float64', 'int32']) {
    const wild = specials[dtype];
    lines.push(`case axis.${dtype}`, `x data ${drawn(dtype, [7, 40], -9, 9)}`, `i data ${indices}`);
    lines.push('r take x i 0', 'out r', 'r take x i 1', 'out r', 'u take x i 1', 'r scatter_add x i u 1', 'out r');
    for (const axis of [0, 1]) {
      lines.push(`r sort x ${axis} ${axis}`, 'out r', `r argsort x ${axis} 0`, 'out r', `r prod x [${axis}] 0`, 'out r');
      lines.push(`r cumsum x ${axis} 0 1`, 'out r', `r cumprod x ${axis} 1 0`, 'out r');
    }
    lines.push(`s data ${literal(dtype, [wild.length], wild)}`);
    lines.push('r sort s 0 0', 'out r', 'r argsort s 0 1', 'out r', 'r cumsum s 0 0 0', 'out r');
    if (dtype === 'int32') continue;
    lines.push('begin x', 'a take x i 0', 'a sort a 1 0', 'b cumprod x 1 0 0', 'b softmax b 0', 'c prod x [1] 0');
    lines.push('a cumsum a 0 0 0', 'a mul a a', 'l sum a [0,1] 0', 'm logsumexp b [0,1] 0', 'n sum c [0] 0');
    lines.push('l add l m', 'l add l n', 'end l dx', 'out l', 'out dx');
  }
  return lines;
};

const entropy = () => [
  'case softmax_cross_entropy',
  `x data ${drawn('float32', [33, 10], -30, 30)}`,
  `c data ${literal('int32', [33], draw(random, 'int32', 33, 0, 9))}`,
  'begin x', 'e softmax_cross_entropy x c', 'l mean e [0] 0', 'end l dx',
  'out l', 'out dx',
];

/** A float32 result as the sum of its bits. */
const fold = (name) => [`${name} bitcast ${name} int32`, `${name} reshape ${name} [-1]`, `${name} sum ${name} [0] 0`, `out ${name}`];

/** Sizes whose work is divided among threads. */
const large = () => {
  const lines = [];
  lines.push('case large.map', 'i iota float32 [300001] 0', 'x mul i 0.001', 'x sin x', 'y mul x x', 'y add y 0.5');
  for (const op of ['tanh', 'exp', 'log', 'erf', 'sigmoid', 'sqrt']) lines.push(`r ${op} y`, ...fold('r'));
  for (const op of ['sum', 'mean', 'max', 'min']) lines.push(`r ${op} x [0] 0`, 'out r');
  lines.push('r argmax x 0 0', 'out r');
  lines.push('case large.rows', 'i iota float32 [300000] 0', 'x mul i 0.37', 'x cos x', 'x reshape x [400,750]');
  for (const axis of [0, 1]) lines.push(`r sum x [${axis}] 0`, 'out r', `r max x [${axis}] 0`, 'out r');
  lines.push('case large.matmul', 'i iota float32 [77357] 0', 'x mul i 0.11', 'x sin x', 'a reshape x [257,301]', 'b transpose a [1,0]');
  lines.push('r matmul a b', ...fold('r'), 'r matmul b a', ...fold('r'));
  return lines;
};

/** Products that an instruction set might read, swap or sum in its own way, and their gradients: windows in runs
 *  or not, few filters, long sums of few rows; rows in blocks. */
const networks = () => {
  const lines = [];
  const values = (name, shape) => [
    `${name} iota float32 [${sizeOf(shape)}] 0`, `${name} mul ${name} ${random.between(0.1, 0.9)}`, `${name} sin ${name}`,
    `${name} reshape ${name} ${list(shape)}`,
  ];
  const withGradients = (line, names, rank) => [
    `begin ${names.join(' ')}`, `r ${line}`, `s mul r r`, `l sum s ${list([...Array(rank).keys()])} 0`,
    `end l ${names.map((x) => `d${x}`).join(' ')}`, 'out l', ...names.flatMap((x) => fold(`d${x}`)),
  ];
  for (const [x, filter, stride, padded, groups] of [
    [[2, 9, 8, 3], [3, 3, 3, 5], 1, 1, 1], [[4, 28, 28, 1], [3, 3, 1, 16], 1, 1, 1], [[3, 14, 14, 16], [3, 3, 16, 32], 1, 1, 1],
    [[1, 12, 12, 512], [3, 3, 512, 64], 1, 0, 1], [[1, 9, 9, 300], [3, 3, 300, 200], 1, 0, 1], [[1, 35, 35, 40], [4, 4, 40, 10], 2, 0, 1],
    [[1, 10, 10, 256], [3, 3, 256, 33], 1, 1, 1], [[2, 8, 8, 32], [3, 3, 8, 24], 2, 1, 4],
  ]) {
    lines.push(`case conv.${x.join('x')}.${filter.join('x')}`, ...values('x', x), ...values('w', filter));
    lines.push(`r conv x w ${stride} ${padded} ${groups}`, ...fold('r'), ...withGradients(`conv x w ${stride} ${padded} ${groups}`, ['x', 'w'], 4));
  }
  for (const [q, k, causal] of [[[2, 3, 40, 16], [2, 3, 40, 16], 0], [[4, 200, 64], [2, 200, 64], 1], [[1, 300, 24], [1, 333, 24], 0]]) {
    lines.push(`case attention.${q.join('x')}.${causal}`, ...values('q', q), ...values('k', k), ...values('v', k));
    lines.push(`r attention q k v ${causal}`, ...fold('r'), ...withGradients(`attention q k v ${causal}`, ['q', 'k', 'v'], q.length));
  }
  return lines;
};

/** 784-less, but every kind of kernel of a training step: products, relu, cross-entropy, Adam. */
const training = () => {
  const sizes = [64, 48, 24, 10];
  const names = sizes.slice(1).flatMap((_, i) => [`w${i}`, `b${i}`]);
  const lines = ['case training', `x data ${drawn('float32', [96, sizes[0]], 0, 1)}`];
  lines.push(`c data ${literal('int32', [96], draw(random, 'int32', 96, 0, 9))}`);
  sizes.slice(1).forEach((size, i) => {
    lines.push(`w${i} data ${drawn('float32', [sizes[i], size], -0.2, 0.2)}`);
    lines.push(`b${i} data ${literal('float32', [size], Array(size).fill(0))}`);
  });
  for (const p of names) lines.push(`m${p} mul ${p} 0`, `v${p} mul ${p} 0`);
  for (let step = 1; step <= TRAINING_STEPS; step++) {
    lines.push(`begin ${names.join(' ')}`, 'h matmul x w0', 'h add h b0', 'h relu h', 'h matmul h w1', 'h add h b1', 'h relu h');
    lines.push('h matmul h w2', 'h add h b2', 'e softmax_cross_entropy h c', 'l mean e [0] 0');
    lines.push(`end l ${names.map((p) => `d${p}`).join(' ')}`);
    for (const p of names) {
      lines.push(`m${p} mul m${p} 0.9`, `t mul d${p} 0.1`, `m${p} add m${p} t`);
      lines.push(`v${p} mul v${p} 0.999`, `t square d${p}`, `t mul t 0.001`, `v${p} add v${p} t`);
      lines.push(`t div v${p} ${1 - 0.999 ** step}`, 't sqrt t', 't add t 1e-8', `u div m${p} ${1 - 0.9 ** step}`);
      lines.push('u div u t', 'u mul u 0.01', `${p} sub ${p} u`);
    }
    lines.push(`eval l ${names.flatMap((p) => [p, `m${p}`, `v${p}`]).join(' ')}`, 'out l');
  }
  return [...lines, ...names.map((p) => `out ${p}`)];
};

/** Random expressions: some ops on whatever is there, and a gradient through them. */
const randomGraph = (ops, number) => {
  const rng = generator(number);
  const pick = (from) => from[rng.below(from.length)];
  const dtype = pick(['float32', 'float32', 'float64']);
  const smooth = ops.filter((op) => op.dtypes.includes(dtype) && op.arity < 3);
  const [rows, columns] = [1 + rng.below(40), 1 + rng.below(40)];
  const shapes = [[rows, columns], [1, columns], [rows, 1], [columns]];
  const lines = [`case graph.${number}`];
  const known = shapes.map((shape, i) => {
    lines.push(`i${i} data ${literal(dtype, shape, draw(rng, dtype, sizeOf(shape), -2, 2))}`);
    return `i${i}`;
  });
  lines.push('begin i0 i1');
  for (let i = 0; i < 12; i++) {
    const op = pick(smooth);
    const operands = Array.from({ length: op.arity }, () => pick(known));
    lines.push(`t${i} ${op.name} ${operands.join(' ')}`, `t${i} astype t${i} ${dtype}`);
    if (rng.below(4) === 0) lines.push(`s sum t${i} [0] 1`, `t${i} add t${i} s`);
    known.push(`t${i}`);
  }
  lines.push('r mul t11 t10', 'r add r i0', 'r sin r', 'l sum r [0,1] 0', 'end l d0 d1', 'out l', 'out d0', 'out d1');
  return lines;
};

const refusals = () => [
  'case refused.matmul', `x data ${drawn('float32', [2, 3])}`, `y data ${drawn('float32', [4, 5])}`, 'r matmul x y', 'out r',
  'case refused.add', `x data ${drawn('float32', [2, 3])}`, `y data ${drawn('float32', [2])}`, 'r add x y', 'out r',
  'case refused.bits', `x data ${drawn('float32', [2])}`, 'r bitwise_and x x', 'out r',
];

/** ops: [{ name, arity, dtypes, lo, hi }]. Returns the text of all cases. */
export const writeCases = (ops) => [
  ...elementwise(ops),
  ...reductions(),
  ...products(),
  ...shapeOps(),
  ...alongAxes(),
  ...entropy(),
  ...large(),
  ...networks(),
  ...training(),
  ...Array.from({ length: RANDOM_GRAPHS }, (_, i) => randomGraph(ops, i + 1)).flat(),
  ...refusals(),
].join('\n') + '\n';
