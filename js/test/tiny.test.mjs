// Loops over tiny tensors, which are one function of emitted code: the bits of the kernels, whatever the body is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';

await sn.init({ threads: 2 });

const bits = (t) => Buffer.from(t.dataSync().buffer, t.dataSync().byteOffset, t.dataSync().byteLength).toString('hex');

/** Numbers where all NaN are one: which one an operation makes is nobody's promise. */
const exactly = (t) => (/float(32|64)/.test(t.dtype) ? [...t.dataSync()].map((x) => (Object.is(x, -0) ? '-0' : String(x))).join() : bits(t));

const loopEngines = async (f, args) => {
  for (let i = 0; i < 3; i++) sn.dispose(f(...args));
  const { kernels } = await sn.profile(() => sn.dispose([f(...args)].flat(Infinity).map((t) => (t.dataSync(), t))));
  return kernels.filter(({ kind, calls }) => kind === 'control' && calls > 0).map(({ engine }) => engine);
};

const same = (f, args, what) => {
  const [emitted, interpreted] = [sn.jit(f), sn.jit(f, { jit: false })].map((run) => {
    const results = [run(...args)].flat(Infinity);
    const values = results.map(exactly);
    sn.dispose(results);
    run.dispose();
    return values;
  });
  assert.deepEqual(emitted, interpreted, what);
};

const generator = (seed) => {
  let state = seed >>> 0;
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  return { random, pick: (list) => list[Math.floor(random() * list.length)], below: (n) => Math.floor(random() * n) };
};

const UNARY = ['sin', 'tanh', 'neg', 'abs', 'square', 'exp', 'sign', 'floor'];
const BINARY = ['add', 'sub', 'mul', 'maximum', 'minimum', 'div'];
const REDUCE = ['sum', 'prod', 'max', 'min', 'mean'];

/** Something of the shape and dtype of `like` from the values at hand, bounded. */
const expression = (g, values, like, depth) => {
  const { dtype, shape } = like;
  const fit = (t) => {
    const wanted = like.size;
    const flat = t.reshape([-1]);
    if (flat.size === wanted) return flat.reshape(shape);
    if (flat.size === 0 || wanted === 0) return sn.zeros(shape, { dtype });
    if (flat.size > wanted) return flat.slice([g.below(flat.size - wanted + 1)], [wanted]).reshape(shape);
    return sn.concat(Array.from({ length: Math.ceil(wanted / flat.size) }, () => flat)).slice([0], [wanted]).reshape(shape);
  };
  if (depth === 0) return fit(g.pick(values)).astype(dtype);
  const sub = () => expression(g, values, like, depth - 1);
  const float = dtype !== 'int32';
  switch (g.below(12)) {
    case 0: return float ? sub()[g.pick(UNARY)]() : sub().neg();
    case 1:
    case 2: return sub()[g.pick(float ? BINARY : BINARY.slice(0, 5))](sub());
    case 3: return sn.where(sub().greater(sub()), sub(), sub());
    case 4: {
      const x = sub();
      const reduction = g.pick(float ? REDUCE : REDUCE.slice(0, 4));
      return x.ndim && x.size ? x.add(x[reduction]({ axis: g.below(x.ndim), keepdims: true })) : x;
    }
    case 5: {
      const x = sub();
      return fit(x[g.pick(REDUCE.slice(0, x.size ? 4 : 2))]()).astype(dtype);
    }
    case 6: {
      const x = sub().reshape([-1]);
      return x.size ? fit(sn.matmul(x.reshape([-1, 1]), x.reshape([1, -1])).matmul(x)).astype(dtype) : x.reshape(shape);
    }
    case 7: return fit(sn.concat([sub().reshape([-1]), sub().reshape([-1])]).slice([0], [-1], { strides: [2] })).astype(dtype);
    case 8: return sub().reshape([-1]).flip().reshape(shape);
    case 9: return float && like.ndim && like.size ? sn.softmax(sub()) : sub();
    case 10: {
      const x = sub();
      return x.ndim > 1 ? fit(x.transpose().sum({ axis: 0 })) : x;
    }
    default: return sub().add(g.below(5) - 2);
  }
};

const SHAPES = [[], [1], [3], [5], [2, 3], [3, 3], [0], [17], [2, 1, 3], [9, 3], [1, 40]];

const bounded = (t) => (t.dtype === 'int32' ? t : sn.clip(t, -8, 8));

/** A loop whose body has loops and conditions of its own, up to a depth. */
const control = (g, values, like, depth) => {
  const body = (inner) => (depth > 0 && g.random() < 0.5 ? control(g, inner, like, depth - 1) : bounded(expression(g, inner, like, 2)));
  switch (g.below(4)) {
    case 0: {
      const length = g.pick([0, 1, 3]);
      const xs = sn.concat(Array.from({ length }, (_, i) => sn.expandDims(like.mul(i + 1), 0)).concat(sn.zeros([0, ...like.shape], { dtype: like.dtype })));
      const reverse = g.random() < 0.5;
      const [c, ys] = sn.scan((c, x) => [body([...values, c, x]), c.add(x)], like, xs, { reverse });
      return length && g.random() < 0.5 ? c.add(ys.sum({ axis: 0 })) : c;
    }
    case 1: return sn.foriLoop(0, g.pick([0, 1, 4]), (i, c) => bounded(body([...values, c]).add(i.astype(like.dtype))), like);
    case 2: return sn.cond(g.pick(values).astype('float32').sum().greater(g.below(3) - 1), (x) => body([...values, x]), (x) => x.neg(), like);
    default:
      return sn.whileLoop(({ n }) => n.less(3), ({ n, c }) => ({ n: n.add(1), c: body([...values, c]) }), { n: sn.tensor(0, { dtype: 'int32' }), c: like }).c;
  }
};

test('random bodies: one and many rounds, nested, both directions, NaN and nothing in them', () => {
  const seed = Number(process.env.SEED ?? 1);
  for (let n = 0; n < 150; n++) {
    const dtype = ['float32', 'float64', 'int32'][n % 3];
    const shape = SHAPES[n % SHAPES.length];
    const rounds = [0, 1, 2, 33][n % 4];
    const f = (x, y, xs) => {
      const g = generator(seed * 7919 + n);
      return sn.scan((c, x) => {
        const next = n % 2 ? control(g, [c, x, y], c, 2) : bounded(expression(g, [c, x, y], c, 3));
        return [bounded(next), [next, expression(g, [c, next], x, 1)]];
      }, x, xs, { reverse: n % 5 === 0 });
    };
    sn.tidy(() => {
      const numbers = (key, s) => sn.astype(sn.random.normal(sn.random.key(key), s).mul(2), dtype);
      const xs = numbers(3 * n, [rounds, 3]);
      const special = dtype === 'int32' || n % 7 ? xs : sn.where(xs.greater(2), NaN, sn.where(xs.less(-2), -0, xs));
      same(f, [numbers(n, shape), numbers(n + 1, [4]), special], `program ${n}, seed ${seed}`);
    });
  }
});

const rk4 = (f, y, h) => {
  const k1 = f(y);
  const k2 = f(y.add(k1.mul(h / 2)));
  const k3 = f(y.add(k2.mul(h / 2)));
  const k4 = f(y.add(k3.mul(h)));
  return y.add(k1.add(k2.mul(2)).add(k3.mul(2)).add(k4).mul(h / 6));
};

test('a field of five, its gradient and a solver within a loop are one function each', async () => {
  const a = sn.random.normal(sn.random.key(1), [5, 5]).mul(0.3);
  const y = sn.tensor([1, 0.5, 0.2, -0.3, 0.7]);
  const path = (y, a) => sn.scan((s) => { const n = rk4((v) => sn.tanh(a.matmul(v)).sub(v), s, 0.02); return [n, n]; }, y, null, { length: 50 })[1].square().sum();
  const solved = (y, a) => sn.odeint((v, t, a) => sn.tanh(a.matmul(v)).sub(v.mul(t)), y, [0, 0.4, 1], { args: a, maxSteps: 40 }).sum();
  for (const f of [path, solved]) {
    for (const g of [f, sn.grad(f, { argnums: [0, 1] })]) {
      same(g, [y, a]);
      const engines = await loopEngines(sn.jit(g), [y, a]);
      assert.ok(engines.length > 0 && engines.every((engine) => engine === 'jit'), `${f} ${engines}`);
    }
  }
});

test('a loop with much to do in a round runs kernel by kernel', async () => {
  const w = sn.random.normal(sn.random.key(2), [64, 64]);
  const f = sn.jit((x) => sn.scan((c) => [sn.tanh(c.matmul(w)), null], x, null, { length: 3 })[0]);
  assert.deepEqual((await loopEngines(f, [sn.ones([32, 64])])).filter((engine) => engine === 'jit'), []);
});

test('a loop with more carries than one function can hold runs kernel by kernel', () => {
  for (const [carries, size] of [[16, 12], [64, 12], [64, 64], [128, 12], [200, 64]]) {
    const begin = Array.from({ length: carries }, (_, k) => sn.full([1, size], k, { dtype: 'int32' }));
    // Most of them stay as they are: little to do in a round.
    const f = sn.jit((xs, rounds) => sn.foriLoop(0, rounds, (_, now) => now.map((x, k) => (k ? x : now[1].bitwiseXor(x))), xs));
    const end = f(begin, sn.tensor(3, { dtype: 'int32' }));
    assert.deepEqual(end.map((t) => t.dataSync()[size - 1]), begin.map((_, k) => (k === 0 ? 1 : k)), `${carries} x ${size}`);
    f.dispose();
  }
});
