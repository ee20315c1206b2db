// Random nested programs - loops, conditions, checkpoints, functions with derivatives of their own, maps over examples, in
// each other - as source: it has the bits of the program, and so has that of its derivative; and the derivative of what was
// written is that of the program, rules of its own included. Every other program has whiles, and forward mode alone.
//
//   SINTER_TEST_NESTED=5000 SINTER_TEST_SEED=7 node --test js/test/jssource-nested.test.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sn from '../dist/index.js';
import { load, met, roundTrip } from './jssource.mjs';

await sn.init({ threads: 1 });

const programs = Number(process.env.SINTER_TEST_NESTED ?? 60);
const firstSeed = Number(process.env.SINTER_TEST_SEED ?? 1);
const DEPTH = 3;

/** Whole numbers below a bound, the same for the same seed. */
const random = (seed) => {
  let state = seed | 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % bound;
  };
};

const ELEMENTWISE = [
  (a) => a.sin(), (a, b) => a.add(b), (a, b) => a.mul(b), (a, b) => sn.tanh(a.sub(b)), (a, b) => sn.where(a.greater(b), a, b.mul(0.5)),
  (a) => a.mul(2).sub(1), (a, b) => sn.maximum(a, b.neg()), (a) => a.sum().mul(a).tanh(),
];

/** A program of vectors of three: nested ones are made of the seed anew whenever they are traced. */
const block = (seed, depth, given, whiles) => {
  const inner = (k, depthOfIt, list) => block(seed * 16 + k, depthOfIt, list, whiles);
  const draw = random(seed);
  const values = [...given];
  const pick = () => values[draw(values.length)];
  const rows = () => sn.stack([pick(), pick()]);
  const own = [
    () => sn.scan((c, x) => [inner(1, depth - 1, [c, x, ...given]), c.mul(x)], pick(), rows(), { reverse: draw(2) === 1 })[draw(2)].reshape([-1, 3]).sum(0).tanh(),
    () => sn.scan((c) => [inner(2, depth - 1, [c, ...given]), null], pick(), null, { length: 4, checkpoint: 2 })[0],
    () => sn.foriLoop(0, 1 + draw(3), (i, c) => inner(3, depth - 1, [c, ...given]), pick()),
    () => (whiles ? sn.whileLoop((c) => c.sum().less(4), (c) => c.abs().add(inner(4, depth - 1, [c]).abs()).add(0.5), pick()).tanh() : pick()),
    () => sn.cond(pick().sum().greater(0), (a) => inner(5, depth - 1, [a, ...given]), (a) => a.mul(0.5), pick()),
    () => sn.checkpoint((a, b) => sn.saveAs(inner(6, depth - 1, [a, b]), 'h').sin().mul(pick()), { policy: [['h'], 'nothing', 'products'][draw(3)] })(pick(), pick()),
    () => sn.customVjp((a, b) => inner(0, 0, [a, b]), {
      forward: (a, b) => [inner(0, 0, [a, b]), [a, b]], backward: ([a, b], ct) => [ct.mul(b.sin()), ct.mul(a).mul(2)],
    })(pick(), pick()),
    () => sn.customJvp((a) => inner(8, 0, [a]), { jvp: ([a], [da]) => [inner(8, 0, [a]), da.mul(a.cos())] })(pick()),
    () => sn.vmap((a) => inner(9, depth - 1, [a]))(rows()).sum(0).tanh(),
  ];
  for (let i = 2 + draw(3); i > 0; i--)
    values.push(depth > 0 && draw(2) === 0 ? own[draw(own.length)]() : ELEMENTWISE[draw(ELEMENTWISE.length)](pick(), pick()));
  return sn.tanh(values.at(-1).add(values.at(-2)));
};

const args = [[0.3, -1.2, 0.8], [1.1, 0.4, -0.6]].map((data) => sn.tensor(data));

/** The derivative of f that its loops have. */
const derivative = (f, whiles) =>
  whiles ? (a, b) => sn.jvp(f, [a, b], [b, a])[1] : sn.grad((a, b) => f(a, b).sum(), { argnums: [0, 1] });

test(`${programs} nested programs and their derivatives as source have equal bits, and the source has their derivatives`, () => {
  for (let seed = firstSeed; seed < firstSeed + programs; seed++) {
    const whiles = seed % 2 === 0;
    const f = (a, b) => block(seed, DEPTH, [a, b], whiles);
    try {
      const source = roundTrip(f, args);
      roundTrip(derivative(f, whiles), args);
      const values = (g) => sn.tidy(() => sn.tree.leaves(sn.jit(derivative(g, whiles))(...args)).flatMap((t) => [...t.dataSync()]));
      const [want, got] = [f, load(source)].map(values);
      want.forEach((x, i) => assert.ok(Math.abs(got[i] - x) <= 1e-4 * Math.max(1, Math.abs(x)), `derivative ${i}: ${got[i]}, not ${x}\n${source}`));
    } catch (error) {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    }
  }
  for (const op of ['scan', 'while_loop', 'cond', 'checkpoint', 'custom']) assert.ok(met.has(op), `no program has ${op}`);
});
