// evaluate.mjs - evaluates a traced graph in plain JS, op by op in float64: the meaning of the ops, written down a
// second time from docs/ops.md and without the core. float32 is taken as float64, as in the judge's wide evaluation
// (tests/native/judge.h), which has to agree with it.
//
// evaluate({ nodes: [[op, dtype, dims, attributes, inputs], ...], arguments: { number: elements } })
// gives the elements of every node.

const size = (dims) => dims.reduce((n, d) => n * d, 1);

/** Row-major strides. */
const strides = (dims) => {
  const steps = dims.map(() => 1);
  for (let i = dims.length - 2; i >= 0; i -= 1) steps[i] = steps[i + 1] * dims[i + 1];
  return steps;
};

/** Calls f(flat, place) for every place of an array of these dims. */
const each = (dims, f) => {
  const place = dims.map(() => 0);
  const n = size(dims);
  for (let flat = 0; flat < n; flat += 1) {
    f(flat, place);
    for (let i = dims.length - 1; i >= 0; i -= 1) {
      place[i] += 1;
      if (place[i] < dims[i]) break;
      place[i] = 0;
    }
  }
};

const flatten = (place, steps) => place.reduce((sum, at, i) => sum + at * steps[i], 0);

// ---- numbers ------------------------------------------------------------------------------------------

/** Rounds to `digits` binary digits, ties to even; subnormal below 2^least, infinite from 2^most on. */
const rounded = (x, digits, least, most) => {
  if (!Number.isFinite(x) || x === 0) return x;
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(x))), least);
  const unit = 2 ** (exponent - digits + 1);
  const scaled = x / unit;
  let whole = Math.round(scaled);
  if (Math.abs(scaled % 1) === 0.5 && whole % 2 !== 0) whole -= 1;
  const value = whole * unit;
  return Math.abs(value) >= 2 ** most ? Math.sign(x) * Infinity : value;
};

const clamp = (x, lo, hi) => (Number.isNaN(x) ? 0 : Math.min(Math.max(Math.trunc(x), lo), hi));

const convert = {
  float32: (x) => x, // wide
  float64: (x) => x,
  float16: (x) => rounded(Math.fround(x), 11, -14, 16),
  bfloat16: (x) => rounded(Math.fround(x), 8, -126, 128),
  int32: (x) => clamp(x, -(2 ** 31), 2 ** 31 - 1),
  int8: (x, from) => (/int32|bool|8/.test(from) ? (x << 24) >> 24 : clamp(x, -128, 127)),
  uint8: (x, from) => (/int32|bool|8/.test(from) ? x & 255 : clamp(x, 0, 255)),
  bool: (x) => Number(x !== 0),
};

/** 2 / sqrt(pi) times the integral of e^-t^2 from 0 to x, by its series, and far out by its continued fraction. */
const erf = (x) => {
  const a = Math.abs(x);
  if (a > 6) return Math.sign(x);
  if (a < 2.5) {
    let term = x, sum = x;
    for (let n = 1; n < 80; n += 1) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return (2 / Math.sqrt(Math.PI)) * sum;
  }
  let fraction = 0;
  for (let n = 120; n > 0; n -= 1) fraction = n / 2 / (a + fraction);
  return Math.sign(x) * (1 - Math.exp(-a * a) / ((a + fraction) * Math.sqrt(Math.PI)));
};

const sigmoid = (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
const even = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));
const largest = (a, b) => Math.max(a, b);
const smallest = (a, b) => Math.min(a, b);

const unary = {
  copy: (x) => x, marker: (x) => x, stop_gradient: (x) => x, neg: (x) => -x, abs: Math.abs, sign: Math.sign,
  floor: Math.floor, ceil: Math.ceil, trunc: Math.trunc, round: even, sqrt: Math.sqrt, rsqrt: (x) => 1 / Math.sqrt(x),
  square: (x) => x * x, reciprocal: (x) => 1 / x, exp: Math.exp, log: Math.log, log1p: Math.log1p, sin: Math.sin,
  cos: Math.cos, tanh: Math.tanh, sigmoid, erf, exp2: (x) => 2 ** x, expm1: Math.expm1, log2: Math.log2, tan: Math.tan,
  asin: Math.asin, acos: Math.acos, atan: Math.atan, sinh: Math.sinh, cosh: Math.cosh, asinh: Math.asinh,
  acosh: Math.acosh, atanh: Math.atanh, silu: (x) => x * sigmoid(x), softplus,
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)), mish: (x) => x * Math.tanh(softplus(x)),
  relu: (x) => (x <= 0 ? 0 : x), isnan: (x) => Number(Number.isNaN(x)), isfinite: (x) => Number(Number.isFinite(x)),
  logical_not: (x) => Number(!x),
};

const binary = {
  add: (a, b) => a + b, sub: (a, b) => a - b, mul: (a, b) => a * b, div: (a, b) => a / b, pow: (a, b) => a ** b,
  mod: (a, b) => a - Math.floor(a / b) * b, atan2: Math.atan2, maximum: largest, minimum: smallest,
  equal: (a, b) => Number(a === b), not_equal: (a, b) => Number(a !== b), less: (a, b) => Number(a < b),
  less_equal: (a, b) => Number(a <= b), greater: (a, b) => Number(a > b), greater_equal: (a, b) => Number(a >= b),
  logical_and: (a, b) => Number(a && b), logical_or: (a, b) => Number(a || b), logical_xor: (a, b) => Number(a !== b),
};

// ---- structure ----------------------------------------------------------------------------------------

const doubleOf = (bits) => {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigInt64(0, BigInt(bits));
  return view.getFloat64(0);
};

/** A constant as its dtype holds it, in float64. */
const constant = (bits, dtype) => (dtype === 'float32' ? Math.fround : convert[dtype])(doubleOf(bits), 'float64');

const fill = (dims, f) => {
  const out = new Float64Array(size(dims));
  each(dims, (flat, place) => (out[flat] = f(place)));
  return out;
};

/** An op along an axis: line(inputs as arrays along it) gives the result's line. */
const along = (node, inputs, axis, line) => {
  const out = new Float64Array(size(node.dims));
  const at = (dims) => ({ steps: strides(dims), n: dims[axis] });
  const result = at(node.dims);
  each(node.dims.with(axis, 1), (_, place) => {
    const lines = inputs.map(({ dims, values }) => {
      const { steps, n } = at(dims);
      const first = flatten(place, steps);
      return Array.from({ length: n }, (unused, i) => values[first + i * steps[axis]]);
    });
    const first = flatten(place, result.steps);
    line(...lines).forEach((value, i) => (out[first + i * result.steps[axis]] = value));
  });
  return out;
};

const reduce = (node, { dims, values }, mask, start, f) => {
  const out = new Float64Array(size(node.dims)).fill(start);
  const steps = strides(node.dims);
  each(dims, (flat, place) => {
    const at = flatten(place.filter((unused, i) => !((mask >> i) & 1)), steps);
    out[at] = f(out[at], values[flat]);
  });
  return out;
};

const matmul = (node, a, b) => {
  const k = a.dims.at(-1), n = b.dims.at(-1), [sa, sb] = [strides(a.dims), strides(b.dims)];
  return fill(node.dims, (place) => {
    const from = flatten(place.with(-1, 0), sa), column = flatten(place.with(-2, 0), sb);
    let sum = 0;
    for (let i = 0; i < k; i += 1) sum += a.values[from + i] * b.values[column + i * n];
    return sum;
  });
};

const conv = (node, x, w, attrs) => {
  const axes = node.dims.length - 2;
  const [low, step, dilation, spread] = [0, 1, 2, 3].map((i) => attrs.slice(i * axes, (i + 1) * axes));
  const [groups, transposeFilter] = attrs.slice(4 * axes);
  const channels = x.dims.at(-1) / groups, filters = node.dims.at(-1) / groups;
  const [sx, sw] = [strides(x.dims), strides(w.dims)];
  return fill(node.dims, (place) => {
    const filter = place.at(-1), group = Math.floor(filter / filters);
    let sum = 0;
    each([...w.dims.slice(0, axes), channels], (unused, k) => {
      const from = [place[0]], tap = [];
      for (let i = 0; i < axes; i += 1) {
        const at = place[i + 1] * step[i] + k[i] * dilation[i] - low[i];
        if (at < 0 || at % spread[i] !== 0 || at / spread[i] >= x.dims[i + 1]) return;
        from.push(at / spread[i]);
        tap.push(transposeFilter ? w.dims[i] - 1 - k[i] : k[i]);
      }
      from.push(group * channels + k[axes]);
      tap.push(...(transposeFilter ? [filter % filters, from.at(-1)] : [k[axes], filter]));
      sum += x.values[flatten(from, sx)] * w.values[flatten(tap, sw)];
    });
    return sum;
  });
};

const softmax = (line) => {
  const top = line.reduce(largest, -Infinity);
  const terms = line.map((x) => Math.exp(x - top));
  const sum = terms.reduce((a, b) => a + b, 0);
  return terms.map((term) => term / sum);
};

/** Places in order, stable, NaN last. */
const order = (line, descending) => line.map((unused, i) => i).sort((i, j) => {
  const [a, b] = [line[i], line[j]];
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b) || i - j;
  return (descending ? b - a : a - b) || i - j;
});

const scan = (line, reverse, exclusive, start, f) => {
  const out = [...line];
  let state = start;
  for (let i = 0; i < line.length; i += 1) {
    const at = reverse ? line.length - 1 - i : i, before = state;
    state = f(state, at);
    out[at] = exclusive ? before : state;
  }
  return out;
};

const index = (i, n) => Math.min(Math.max(i < 0 ? i + n : i, 0), n - 1);

const scatter = (x, indices, updates, f) => {
  const out = [...x];
  indices.forEach((i, k) => (out[index(i, x.length)] = f(out[index(i, x.length)], updates[k])));
  return out;
};

const view = (node, { dims, values }, place) => {
  const steps = strides(dims);
  return fill(node.dims, (to) => values[flatten(place(to), steps)]);
};

const ops = {
  constant: (node, unused, [bits]) => new Float64Array(size(node.dims)).fill(constant(bits, node.dtype)),
  iota: (node, unused, [axis]) => fill(node.dims, (place) => place[axis]),
  reshape: (node, [x]) => x.values,
  barrier: (node, [x]) => x.values,
  transpose: (node, [x], perm) => view(node, x, (to) => {
    const from = [];
    perm.forEach((axis, i) => (from[axis] = to[i]));
    return from;
  }),
  broadcast: (node, [x]) => view(node, x, (to) =>
    x.dims.map((d, i) => (d === 1 ? 0 : to[node.dims.length - x.dims.length + i]))),
  slice: (node, [x], attrs) => view(node, x, (to) => to.map((at, i) => attrs[i] + at * attrs[to.length + i])),
  windows: (node, [x], [axis, step, dilation]) => view(node, x, (to) =>
    [...to.slice(0, axis), to[axis] * step + to[axis + 1] * dilation, ...to.slice(axis + 2)]),
  pad: (node, [x], attrs, raw) => {
    const out = new Float64Array(size(node.dims)).fill(constant(raw.at(-1), node.dtype));
    const steps = strides(node.dims), rank = node.dims.length;
    each(x.dims, (flat, place) => {
      out[flatten(place.map((at, i) => attrs[i] + at * attrs[rank + i]), steps)] = x.values[flat];
    });
    return out;
  },
  concat: (node, inputs, [axis]) => along(node, inputs, axis, (...lines) => lines.flat()),
  matmul: (node, [a, b]) => matmul(node, a, b),
  conv: (node, [x, w], attrs) => conv(node, x, w, attrs),
  softmax: (node, inputs, [axis]) => along(node, inputs, axis, softmax),
  astype: (node, [x]) => x.values.map((value) => convert[node.dtype](value, x.dtype)),
  gather: (node, inputs, [axis]) => along(node, inputs, axis, (x, at) => at.map((i) => x[index(i, x.length)])),
  scatter_add: (node, inputs, [axis]) => along(node, inputs, axis, (...l) => scatter(...l, (a, b) => a + b)),
  scatter_set: (node, inputs, [axis]) => along(node, inputs, axis, (...l) => scatter(...l, (a, b) => b)),
  sort: (node, inputs, [axis, down]) => along(node, inputs, axis, (x) => order(x, down).map((i) => x[i])),
  argsort: (node, inputs, [axis, down]) => along(node, inputs, axis, (x) => order(x, down)),
  cumsum: (node, inputs, [axis, reverse, exclusive]) =>
    along(node, inputs, axis, (x) => scan(x, reverse, exclusive, 0, (state, i) => state + x[i])),
  cumprod: (node, inputs, [axis, reverse, exclusive]) =>
    along(node, inputs, axis, (x) => scan(x, reverse, exclusive, 1, (state, i) => state * x[i])),
  recurrence: (node, inputs, [axis, reverse, exclusive]) =>
    along(node, inputs, axis, (a, b) => scan(a, reverse, exclusive, 0, (state, i) => a[i] * state + b[i])),
  sum: (node, [x], [mask]) => reduce(node, x, mask, 0, (a, b) => a + b),
  prod: (node, [x], [mask]) => reduce(node, x, mask, 1, (a, b) => a * b),
  max: (node, [x], [mask]) => reduce(node, x, mask, x.dtype === 'int32' ? -(2 ** 31) : -Infinity, largest),
  min: (node, [x], [mask]) => reduce(node, x, mask, x.dtype === 'int32' ? 2 ** 31 - 1 : Infinity, smallest),
  where: (node, [c, x, y]) => c.values.map((holds, i) => (holds ? x.values[i] : y.values[i])),
};

const compute = (node, inputs, raw, given) => {
  if (node.op === 'input') return Float64Array.from(given[raw[0]], (x) => x ?? NaN);
  if (ops[node.op]) return ops[node.op](node, inputs, raw.map(Number), raw);
  const [a, b] = inputs.map(({ values }) => values);
  const f = b ? binary[node.op] : unary[node.op];
  if (!f) throw new Error(`evaluate.mjs does not know ${node.op}`);
  const wraps = node.dtype === 'int32' ? (x) => x | 0 : (x) => x;
  return b ? a.map((x, i) => wraps(f(x, b[i]))) : a.map((x) => wraps(f(x)));
};

export const evaluate = ({ nodes, arguments: given }) => {
  const done = [];
  for (const [op, dtype, dims, raw, inputs] of nodes) {
    const node = { op, dtype, dims };
    done.push({ ...node, values: compute(node, inputs.map((id) => done[id]), raw, given) });
  }
  return done.map(({ values }) => values);
};
