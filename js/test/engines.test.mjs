// engines.test.mjs - init's options of the engine: without code made at run time the bits are the same, where
// the engine has relaxed SIMD (the newer Node), too.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/** What a program prints, as JSON, in a process that starts with these options. */
const alone = (options, env = {}) => JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', `
  import { createHash } from 'node:crypto';
  import * as sn from 'sinter';
  const info = await sn.init(${JSON.stringify(options)});
  const UNARY = ['exp', 'exp2', 'expm1', 'log', 'log1p', 'log2', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh',
    'tanh', 'asinh', 'acosh', 'atanh', 'sigmoid', 'erf', 'gelu', 'silu', 'softplus', 'mish', 'rsqrt'];
  const digest = (t) => createHash('sha256').update(new Uint8Array(t.dataSync().buffer.slice(0))).digest('hex');
  const bits = {};
  for (const dtype of ['float32', 'float64']) {
    const x = sn.iota([40, 50], 1, { dtype }).mul(0.37).sub(9).add(sn.iota([40, 50], 0, { dtype }).mul(1e-3));
    for (const f of UNARY) {
      bits[f + dtype] = digest(sn.jit((v) => sn[f](v).mul(1.7).add(v))(x));
      bits[f + dtype + ' lazily'] = digest(sn[f](x));
    }
    const pow = (v) => v.abs().pow(v.mul(0.3)).add(sn.atan2(v, v.square().add(1)));
    bits['pow ' + dtype] = digest(sn.jit(pow)(x));
    bits['matmul ' + dtype] = digest(sn.jit((v) => sn.softmax(sn.tanh(v).matmul(v.transpose()).mul(0.01)))(x));
    bits['gradient ' + dtype] = digest(sn.jit(sn.grad((v) => sn.layerNorm(v.sin()).mul(v.exp().mean({ axis: 0 })).sum()))(x));
    bits['constant ' + dtype] = digest(sn.exp(sn.full([3], 0.7, { dtype })));
  }
  console.log(JSON.stringify({ info, bits }));
  process.exit(0);`], { cwd: new URL('..', import.meta.url), encoding: 'utf8', env: { ...process.env, ...env } })
  .trim().split('\n').pop());

for (const options of [{}, { relaxedSimd: false }, { deterministic: true }]) {
  test(`jit: false has the bits of the default, ${JSON.stringify(options)}`, () => {
    const coded = alone({ threads: 1, ...options });
    const plain = alone({ threads: 2, jit: false, ...options });
    assert.equal(coded.info.jit, true);
    assert.equal(plain.info.jit, false);
    assert.equal(plain.info.relaxedSimd, coded.info.relaxedSimd);
    assert.deepEqual(plain.bits, coded.bits);
  });
}

test('memory that is filled with NaN before it is written changes no bit', () => {
  const options = { threads: 2 };
  assert.deepEqual(alone(options, { SINTER_POISON: '1' }).bits, alone(options).bits);
});
