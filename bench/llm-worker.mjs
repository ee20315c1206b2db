// llm-worker.mjs - measures sinter/llm, in Node or in a worker of a page (llm.mjs). A request is { name, kind, size, number }.
import * as sn from '../js/dist/index.js';
import * as llm from '../js/dist/llm.js';
import { modelFile, textOf } from './llm-model.mjs';

const DECODED = 32;
const MOST_COPIED = 2 ** 29;
let model;
let file;

const timed = async (f) => {
  const begin = performance.now();
  await f();
  return performance.now() - begin;
};

/** The milliseconds until the first token of an answer, and those of each further token. */
const written = async (prompt, count) => {
  const begin = performance.now();
  let first = 0;
  let seen = 0;
  const generator = model.generate(prompt, { temperature: 0, maxTokens: count });
  for (let next = await generator.next(); !next.done; next = await generator.next()) {
    first ||= performance.now() - begin;
    seen = Math.max(seen, performance.now() - begin);
  }
  return { first, each: (seen - first) / (count - 1) };
};

const ORDERS = {
  /** The bytes of the file, the time to load the model, and the memory that it takes relative to the bytes of the file. */
  async load({ kind, size }) {
    await sn.init({ threads: 2 });
    file ??= modelFile(kind, size);
    model?.dispose();
    const before = sn.memory();
    const ms = await timed(async () => {
      model = await llm.load(file);
    });
    return { bytes: file.length, ms, memory: (sn.memory().bytesInUse - before.bytesInUse) / file.length };
  },
  /** Gigabytes per second that a copy of as many bytes reads and writes, on the same threads, in memory that was written
   *  before. The copy changes the signs, since otherwise nothing would be copied. Of a large file a part is enough, and fits
   *  into memory twice. */
  copy: async () => {
    const bytes = Math.min(file.length, MOST_COPIED);
    const from = sn.zeros([bytes >> 2]);
    const copied = sn.jit((x) => x.neg());
    const once = () => timed(() => sn.tidy(() => void sn.slice(copied(from), [0], [1]).item()));
    const times = [];
    for (let round = 0; round < 8; round++) times.push(await once());
    from.dispose();
    copied.dispose();
    return (2 * bytes) / 1e6 / Math.min(...times.slice(1));
  },
  decode: ({ number }) => written(textOf(16, number), DECODED).then(({ each }) => each),
  /** The milliseconds until the first token of an answer to a prompt of 16 tokens. Right after load, they include
   *  compilation. */
  first: ({ number }) => written(textOf(16, number), 2).then(({ first }) => first),
  prompt: ({ number }) => written(textOf(512, number), 2).then(({ first }) => first),
  /** A step of LoRA of rank 8 on 128 tokens: its time, and the peak of the memory in use so far, relative to the bytes of
   *  the file. */
  async lora() {
    const lora = model.lora({ rank: 8 });
    const loss = (params, tokens, next) => lora.loss(params, tokens, next);
    const step = sn.trainStep(loss, sn.optim.adam({ lr: 1e-3 }));
    let state = step.init(lora.params);
    const tokens = sn.tensor(Int32Array.from({ length: 128 }, (_, i) => (i * 37) % 256), { shape: [1, 128] });
    const once = () => timed(() => sn.tidy(() => {
      const made = step(state, tokens, tokens);
      ({ state } = made);
      made.loss.item();
      return state;
    }));
    await once();
    const ms = Math.min(await once(), await once(), await once());
    return { ms, memory: sn.memory().bytesPeak / file.length };
  },
};

export const ask = (order) => ORDERS[order.name](order);

if (typeof WorkerGlobalScope === 'function') {
  onmessage = ({ data }) => ask(data).then((value) => postMessage({ value }), (error) => postMessage({ error: String(error.stack) }));
  postMessage({ value: 'ready' });
}
