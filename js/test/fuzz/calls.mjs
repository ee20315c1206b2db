// Calls every public function and method with arguments of which many are hostile. A call may return or throw a
// SinterError; a function or an object with methods that it returns is called as well.
import assert from 'node:assert/strict';
import * as sn from '../../dist/index.js';
import { xorshift } from '../random.mjs';

/** Thrown by getters, traps and callbacks of ours: a user's own error, which may come through. */
export class Own extends Error {}

const own = () => {
  throw new Own('own');
};

class Pair {
  constructor(t) {
    this.t = t;
    this.name = 'pair';
  }
}

const cyclic = () => {
  const a = [1];
  a.push(a, a);
  return a;
};
const deep = () => {
  let a = [1];
  for (let i = 0; i < 10_000; i++) a = [a];
  return a;
};
const detached = () => {
  const array = new Float32Array(4);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
};
const disposed = () => {
  const t = sn.ones([2]);
  t.dispose();
  return t;
};
const rejected = () => {
  const promise = Promise.reject(new Own('own'));
  promise.catch(() => {});
  return promise;
};
const int = (values) => sn.tensor(values, { dtype: 'int32' });

/** Makers of arguments that functions want. */
const PLAUSIBLE = [
  () => sn.tensor([[1, 2, 3], [4, 5, 6]]), () => sn.tensor([1, 2, 3]), () => sn.tensor(2), () => sn.zeros([0, 3]),
  () => sn.ones([1, 4, 4, 2]), () => sn.ones([3, 3, 2, 2]), () => sn.ones([1, 2, 3, 4]), () => int([0, 1]), () => int(1),
  () => sn.tensor([true, false]), () => sn.ones([2, 2], { dtype: 'float64' }), () => sn.ones([2], { dtype: 'float16' }),
  () => sn.ones([3], { dtype: 'uint8' }), () => sn.random.key(1), () => sn.ones([3]).add(1).mul(2),
  () => 0, () => 1, () => 2, () => -1, () => 0.5, () => 3, () => true, () => [1, 2], () => [[1, 2], [3, 4]], () => [0],
  () => [2, 3], () => [3, 2], () => [-1], () => [[0, 1], [1, 0]], () => [sn.ones([2]), sn.zeros([2])],
  () => ({ axis: 0 }), () => ({ axis: 1, keepdims: true }), () => ({ dtype: 'int32' }), () => ({ window: 2 }),
  () => ({ strides: 2, padding: 'same' }), () => ({ lr: 0.1 }), () => ({ donate: 0 }), () => ({ argnums: [0, 1] }),
  () => ({ ignoreIndex: -1 }), () => ({ begin: 0, end: 1 }), () => 'int32', () => 'float16', () => 'ij,jk->ik', () => 'ii',
  () => (x) => sn.sum(x), () => (x, y) => sn.mul(x, y), () => (p) => sn.square(p?.w ?? p).sum(), () => () => undefined,
  () => ({ w: sn.ones([2]), b: [sn.zeros([1])] }), () => new Pair(sn.ones([2])), () => new Map([['t', sn.ones([2])]]),
  () => new Float32Array([1, 2, 3]), () => new Int32Array([0, 1]), () => sn.optim.adam(), () => sn.optim.sgd({ lr: 0.1 }),
  () => sn.nn.linear(3, 2), () => sn.nn.relu(), () => sn.nn.linear(3, 2).init(sn.random.key(0)),
];

/** Makers of arguments that nobody wants. */
const HOSTILE = [
  () => undefined, () => null, () => false, () => NaN, () => Infinity, () => -Infinity, () => -0, () => -3, () => 1.5, () => 1e300,
  () => 2 ** 31, () => 2 ** 31 - 1, () => -(2 ** 31), () => 2 ** 32, () => 2 ** 32 + 1, () => 2 ** 53, () => 70_000,
  () => '', () => 'axis', () => '0', () => '\0', () => 'i'.repeat(5000), () => Symbol('s'), () => Symbol.iterator, () => 10n,
  () => ({}), () => Object.create(null), () => ({ axes: 0 }), () => ({ axis: '0' }), () => ({ axis: 2 ** 32 }), () => ({ axis: [0, 0] }),
  () => ({ axis: {} }), () => ({ dtype: 'complex' }), () => ({ dtype: null }), () => ({ shape: [2 ** 31] }), () => ({ length: 1e9 }),
  () => ({ length: -1 }), () => ({ padding: [[1]] }), () => ({ passes: { nothing: true } }), () => ({ lr: 'x' }),
  () => [], () => [[]], () => [null], () => [undefined], () => ['a'], () => [[1, 2], [3]], () => [[1], 2], () => new Array(5),
  () => new Array(2 ** 32 - 1), () => [NaN], () => [2 ** 32 + 1], () => [-5], () => [1, 1, 1, 1, 1, 1, 1, 1, 1], () => [2 ** 31],
  () => [2 ** 30, 2 ** 30], () => [Symbol('s')], () => [10n], () => [{}], () => [sn.ones([2]), null], cyclic, deep, detached, disposed,
  () => new Date(), () => /x/, () => new Map(), () => new Map([[{}, 1]]), () => new Set([1]), () => new WeakMap(),
  () => Promise.resolve(1), rejected, () => new Error('an error'), () => new (class Empty {})(),
  () => new Uint32Array(2), () => new BigInt64Array(2), () => new DataView(new ArrayBuffer(8)), () => new ArrayBuffer(8),
  () => new Float32Array(0), () => new Uint16Array([0x3c00]), () => own, () => async () => 1, () => async (x) => x?.data?.(),
  () => () => ({ a: [new Date()] }), () => () => [], () => (x) => x, () => sn, () => sn.scope(), () => globalThis.process,
  () => ({ get axis() { return own(); } }), () => new Proxy({}, { ownKeys: own, get: own, has: own, getPrototypeOf: own }),
  () => new Proxy([1, 2], { get: own }), () => ({ toString: own, valueOf: own, [Symbol.toPrimitive]: own, toJSON: own }),
];

/** What changes the whole library, goes on as long as it is told to, or is only called with the right arguments here. */
const LEFT_OUT = new Set(['whileLoop', 'setPass', 'setDebug', 'Tensor', 'SinterError', 'ShapeError', 'DTypeError', 'OutOfMemoryError',
  'DisposedError', 'UnsupportedError', 'WorkerError', 'FitError']);

const publicFunctions = () => {
  const found = [];
  const add = (space, prefix) => {
    for (const [name, f] of Object.entries(space)) {
      if (typeof f === 'function' && !LEFT_OUT.has(name)) found.push([`${prefix}${name}`, f]);
    }
  };
  add(sn, 'sn.');
  for (const space of ['random', 'nn', 'optim', 'tree']) add(sn[space], `sn.${space}.`);
  for (const name of Object.getOwnPropertyNames(sn.Tensor.prototype)) {
    const { value } = Object.getOwnPropertyDescriptor(sn.Tensor.prototype, name);
    const isInternal = ['constructor', 'use', 'unscope', 'donated', 'read', 'giveBack'].includes(name);
    if (typeof value === 'function' && !isInternal) {
      found.push([`tensor.${name}`, (x, ...rest) => (x instanceof sn.Tensor ? x[name](...rest) : x)]);
    }
  }
  return found;
};

/** Awaits what is a promise, and takes its own failure as that of the call. */
const settled = async (value) => (value instanceof Promise ? await value : value);

/** Makes count calls. Resolves to how many were refused, and to what else than SinterErrors and our own was thrown. */
async function fuzz(count, seed) {
  const random = xorshift(seed);
  const pick = (list) => list[random(list.length)];
  const functions = publicFunctions();
  const failures = new Map();
  let refused = 0;

  const argument = () => (random(100) < 62 ? pick(PLAUSIBLE) : pick(HOSTILE))();
  const argumentList = () => Array.from({ length: random(5) }, argument);

  /** What can be called of a result. */
  const callable = (result) => {
    if (typeof result === 'function') return [result];
    if (typeof result !== 'object' || result === null || result instanceof sn.Tensor || Array.isArray(result)) return [];
    const methods = ['init', 'apply', 'update', 'get', 'set', 'add', 'run', 'track', 'keep', 'cSource', 'jsSource', 'dispose'];
    return methods.flatMap((name) => (Object.hasOwn(result, name) && typeof result[name] === 'function' ? [result[name].bind(result)] : []));
  };

  const guarded = async (name, call) => {
    try {
      return await settled(call());
    } catch (error) {
      if (error instanceof sn.SinterError) {
        refused++;
        if (error.code === 'internal') failures.set(`${name}: ${error.message}`, error.stack);
      } else if (!(error instanceof Own)) {
        failures.set(`${name}: ${error?.name}: ${String(error?.message).slice(0, 100)}`, error?.stack);
      }
      return undefined;
    }
  };

  for (let i = 0; i < count; i++) {
    const [name, f] = pick(functions);
    const scope = sn.scope();
    let result = await guarded(name, () => {
      const made = scope.run(() => {
        const args = name.startsWith('tensor.') ? [pick(PLAUSIBLE)(), ...argumentList()] : argumentList();
        // A promise may not leave scope.run as its result.
        return [f(...args)];
      });
      return made[0];
    });
    const results = [result];
    for (let depth = 0; depth < 2; depth++) {
      const next = callable(result);
      if (next.length === 0) break;
      const method = pick(next);
      result = await guarded(`${name}()`, () => scope.run(() => [method(...argumentList())])[0]);
      results.push(result);
    }
    // What a call of keep took out of the scope, and programs that hold tensors: inspect's, compiled functions.
    sn.dispose(results);
    for (const each of results) if (each && Object.hasOwn(each, 'dispose')) await guarded(`${name}: dispose`, () => each.dispose());
    scope.dispose();
  }
  return { refused, failures };
}

/** That count calls throw SinterErrors only, and leave no tensor, no value and nothing broken behind. */
export async function checkCalls(count, seed) {
  await sn.init({ threads: 1, maxMemory: 256 * 2 ** 20 });
  const unhandled = [];
  const note = (error) => unhandled.push(error?.stack ?? String(error));
  process.on('unhandledRejection', note);
  // Values that the library keeps itself: the implicit key.
  const restart = () => {
    sn.random.seed(0);
    return sn.memory();
  };
  const before = restart();
  const { refused, failures } = await fuzz(count, seed);
  await new Promise((resolve) => setTimeout(resolve, 10));
  process.off('unhandledRejection', note);
  assert.deepEqual([...failures.entries()].map(([what, stack]) => `${what}\n${stack}`), []);
  assert.deepEqual(unhandled, []);
  assert.ok(refused > count / 4 && refused < count, `${refused} of ${count} were refused`);
  const after = restart();
  assert.equal(after.tensors, before.tensors);
  assert.equal(after.tensorBytes, before.tensorBytes);
  const next = sn.jit((x) => x.add(1));
  assert.deepEqual(sn.tidy(() => next(sn.tensor([1, 2])).toArray()), [2, 3]);
  next.dispose();
}
