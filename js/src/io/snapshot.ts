// Makes a state's bytes without blocking the caller's thread: where memory is shared, an extra worker copies them and
// computes their checksums; elsewhere this thread does, for a few milliseconds in each turn of its event loop.
//
// The tensors are held while they are copied: a step that uses up the state meanwhile finds their memory shared, and leaves
// it alone.

import { evaluateAsync } from '../core.js';
import { runtime, type Runtime } from '../runtime/runtime.js';
import { awaitLock, openLink } from '../runtime/link.js';
import { nextTurn } from '../runtime/turns.js';
import { keep } from '../scope.js';
import { copied, type Copy } from './copying.js';
import { makeBytes } from './elements.js';
import { layOutState } from './state.js';
import { copyOf } from './tensorfile.js';

/** Milliseconds that copying takes of a turn at most. */
const SLICE_MS = 8;

type Bytes = Uint8Array<ArrayBuffer>;

async function copyInSlices(op: string, rt: Runtime, copy: Copy): Promise<Bytes> {
  const bytes = makeBytes(op, copy.size);
  let since = performance.now();
  for (const _ of copied(copy, rt.memory, bytes, true)) {
    if (performance.now() - since < SLICE_MS) continue;
    await nextTurn();
    since = performance.now();
  }
  return bytes;
}

const copyInWorker = (rt: Runtime, copy: Copy): Promise<Bytes> =>
  new Promise((resolve, reject) => {
    const link = openLink({
      report: (report) => {
        if (report.kind === 'loaded') {
          awaitLock(link);
          link.start({ copy, memory: rt.memory });
        } else if (report.kind === 'copied') {
          resolve(report.bytes);
          link.end('done');
        }
      },
      death: reject,
    });
    link.keepAlive(true);
  });

/**
 * As saveState, but without blocking a page, and also for tensors on another device: a worker copies the bytes from the
 * core's memory, or without threads this thread does so in short slices. A step may use up the state meanwhile.
 */
export async function snapshot(state: unknown): Promise<Bytes> {
  const op = 'snapshot';
  const rt = runtime();
  const layout = layOutState(op, state);
  const held = await Promise.all(layout.tensors.map((t) => keep(t.to('cpu'))));
  try {
    await evaluateAsync(op, held);
    const copy = copyOf(layout, held.map((t) => rt.check(rt.exports.sinter_data(t.address)) >>> 0));
    const inSlices = (): Promise<Bytes> => copyInSlices(op, rt, copy);
    return await (rt.workers ? copyInWorker(rt, copy).catch(inSlices) : inSlices());
  } finally {
    for (const t of held) t.dispose();
  }
}
