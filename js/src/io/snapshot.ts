// A state's bytes without blocking the caller's thread: where memory is shared, a worker of its own copies them out and
// computes their checksum; elsewhere this thread does, for a few milliseconds in a turn of its event loop.
//
// The tensors are held while they are copied: a step may use up the state meanwhile, and then leaves it where it is.

import { evaluateAsync } from '../core.js';
import { runtime, type Runtime } from '../runtime/runtime.js';
import { awaitLock, openLink } from '../runtime/link.js';
import { nextTurn } from '../runtime/turns.js';
import { keep } from '../scope.js';
import { copied, type Copy } from './copying.js';
import { makeBytes } from './elements.js';
import { layOutState } from './state.js';
import { copyOf } from './tensorfile.js';

/** Most of a turn that copying takes. */
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
 * As saveState, also of what lies on another device, and without blocking a page: a worker copies the bytes out of the
 * core's memory, or where there are no threads this thread does in short slices. The state may be used up by a step
 * meanwhile.
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
