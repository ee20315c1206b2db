// One thread of the pool: instantiates the module on the shared memory, takes its own stack and thread-local block, and
// stays in the loop of its worker (or of the driver) until the pool ends or it traps. Runs as a module worker and in Node's
// worker_threads.
//
// One worker of a page, the watch, computes nothing and stays in its event loop. It waits for the locks that the others
// hold while they live, and tells the core of a death even while the page's thread is inside a call and hears no events
// itself.

import { atOnce, copied } from './io/copying.js';
import { CodeTable } from './runtime/code.js';
import { DRIVER_SEAT, WATCH_SEAT, type ThreadExports } from './runtime/exports.js';
import { nodeModule } from './runtime/environment.js';
import { hostImports } from './runtime/host.js';
import type { CopyMessage, HoldMessage, Report, StartMessage, WatchMessage } from './runtime/messages.js';

const port = nodeModule('node:worker_threads')?.parentPort ?? null;

function report(message: Report, transfer: ArrayBuffer[] = []): void {
  if (port) port.postMessage(message, transfer);
  else globalThis.postMessage(message, { transfer });
}

function watch(exports: ThreadExports, pool: number): void {
  globalThis.onmessage = ({ data: { seat, lock } }: MessageEvent<WatchMessage>) => {
    void navigator.locks.request(lock, () => {
      exports.sn_worker_dead(pool, seat);
      report({ kind: 'freed', lock });
    });
  };
}

function enter(exports: ThreadExports, { pool, seat, stack, tls }: StartMessage): void {
  exports.__stack_pointer.value = stack;
  exports.__wasm_init_tls(tls);
  if (seat === WATCH_SEAT) watch(exports, pool);
  report({ kind: 'ready' });
  if (seat === DRIVER_SEAT) exports.sn_worker_driver(pool);
  else if (seat > 0) exports.sn_worker_enter(pool, seat);
}

function start(message: StartMessage): void {
  let exports: ThreadExports | null = null;
  try {
    const code = new CodeTable(message.memory);
    const imports = hostImports(message.memory, message.clockBase, code, {
      jobDone: (ticket) => report({ kind: 'done', ticket }),
      overslept: () => {},
    });
    // Only the caller's thread uses a device.
    const gpu = WebAssembly.Module.imports(message.module).filter(({ module }) => module === 'gpu');
    const stubs = Object.fromEntries(gpu.map(({ name }) => [name, () => 0]));
    const instance = new WebAssembly.Instance(message.module, { ...imports, gpu: stubs });
    code.attach(instance);
    exports = instance.exports as unknown as ThreadExports;
    enter(exports, message);
  } catch (error) {
    // First of all: a dispatch that waits for this worker must not depend on anyone's event loop.
    exports?.sn_worker_dead(message.pool, message.seat);
    report({ kind: 'dead', reason: String(error) });
  }
}

/** For a worker outside of the pool: makes a file of elements in the shared memory. */
function copy({ copy: plan, memory }: CopyMessage): void {
  const bytes = new Uint8Array(plan.size);
  atOnce(copied(plan, memory, bytes, true));
  report({ kind: 'copied', bytes }, [bytes.buffer]);
}

const begin = (message: StartMessage | CopyMessage): void => ('copy' in message ? copy(message) : start(message));

/** Reports that the worker has loaded, and holds the lock as long as it lives. */
function hold(lock: string): void {
  const forLife = (): Promise<void> => {
    report({ kind: 'loaded' });
    return new Promise(() => {});
  };
  void (lock ? navigator.locks.request(lock, forLife) : forLife());
}

if (port) {
  port.once('message', (message) => begin(message as StartMessage | CopyMessage));
  report({ kind: 'loaded' });
} else {
  globalThis.onmessage = ({ data }: MessageEvent<HoldMessage | StartMessage | CopyMessage>) =>
    'hold' in data ? hold(data.hold) : begin(data);
}
