// Files of others, as they ship them: Silero's voice detection, which has LSTMs in conditions, against onnxruntime.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as ort from 'onnxruntime-web';
import * as sn from '../../js/dist/index.js';
import * as onnx from '../../js/dist/onnx.js';

await sn.init({ threads: 1 });
ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';

const fileOf = (name) => readFileSync(new URL(`../../node_modules/@ricky0123/vad-web/dist/${name}.onnx`, import.meta.url));
const sound = (n, k) => Float32Array.from({ length: n }, (_, i) => 0.3 * Math.sin((i + k) * 0.07) + 0.2 * Math.sin((i + k) ** 2 * 1e-3));

/** Names of states, and the outputs that are the next ones. */
const CASES = {
  silero_vad_v5: { count: 512, states: { state: 'stateN' }, shape: [2, 1, 128] },
  silero_vad_v6: { count: 512, states: { state: 'stateN' }, shape: [2, 1, 128] },
  // Its states are those of a loop over 1,536 samples, in which what differs in the last bits adds up.
  silero_vad_legacy: { count: 1536, states: { h: 'hn', c: 'cn' }, shape: [2, 1, 64], ofStates: 2e-3 },
};

for (const [name, { count, states, shape, ofStates = 1e-4 }] of Object.entries(CASES)) {
  test(`${name} hears what it hears in onnxruntime, at both rates, from call to call`, async () => {
    const bytes = fileOf(name);
    const model = onnx.load(bytes);
    const session = await ort.InferenceSession.create(bytes);
    for (const rate of [16000, 8000]) {
      const n = rate === 16000 ? count : count / 2;
      const size = shape.reduce((a, b) => a * b);
      let given = Object.fromEntries(Object.keys(states).map((key) => [key, new Float32Array(size)]));
      for (let k = 0; k < 3; k++) {
        const audio = sound(n, k * n);
        const tensors = Object.entries(given).map(([key, values]) => [key, sn.tensor(values, { shape })]);
        const got = model.run({ input: sn.tensor(audio, { shape: [1, n] }), sr: sn.tensor(rate, { dtype: 'int32' }), ...Object.fromEntries(tensors) });
        const feeds = Object.entries(given).map(([key, values]) => [key, new ort.Tensor('float32', values, shape)]);
        const want = await session.run({ input: new ort.Tensor('float32', audio, [1, n]), sr: new ort.Tensor('int64', BigInt64Array.of(BigInt(rate)), []), ...Object.fromEntries(feeds) });
        for (const output of Object.keys(want)) {
          const values = got[output].dataSync();
          const bound = Object.values(states).includes(output) ? ofStates : 1e-4;
          want[output].data.forEach((value, i) => assert.ok(Math.abs(values[i] - value) <= bound * (1 + Math.abs(value)), `${output} ${i}: ${values[i]}, expected ${value}`));
        }
        given = Object.fromEntries(Object.entries(states).map(([key, output]) => [key, want[output].data]));
      }
    }
    model.dispose();
    await session.release();
  });
}
