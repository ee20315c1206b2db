// One thread of the pool: instantiates the module on the shared memory, takes its own stack and
// thread-local block, and stays in the loop of its lane (or of the driver) until the pool ends or a
// trap throws it out. Runs as a module worker and in Node's worker_threads.

import { CodeTable } from './runtime/code.js';
import { DRIVER_LANE, type ThreadExports } from './runtime/exports.js';
import { nodeModule } from './runtime/environment.js';
import { hostImports } from './runtime/host.js';
import type { Report, StartMessage } from './runtime/messages.js';

const port = nodeModule('node:worker_threads')?.parentPort ?? null;

function report(message: Report): void {
  if (port) port.postMessage(message);
  else globalThis.postMessage(message);
}

function enter(exports: ThreadExports, { pool, lane, stack, tls }: StartMessage): void {
  exports.__stack_pointer.value = stack;
  exports.__wasm_init_tls(tls);
  report({ kind: 'ready' });
  if (lane === DRIVER_LANE) exports.sn_worker_driver(pool);
  else exports.sn_worker_lane(pool, lane);
}

function start(message: StartMessage): void {
  let exports: ThreadExports | null = null;
  try {
    const code = new CodeTable(message.memory);
    const imports = hostImports(message.memory, message.clockBase, code, (ticket) =>
      report({ kind: 'done', ticket }),
    );
    const instance = new WebAssembly.Instance(message.module, imports);
    code.attach(instance);
    exports = instance.exports as unknown as ThreadExports;
    enter(exports, message);
  } catch (error) {
    // Before the message: a dispatch that waits for this lane must not depend on anyone's event loop.
    exports?.sn_worker_dead(message.pool, message.lane);
    report({ kind: 'dead', reason: String(error) });
  }
}

/** Whoever holds the lock lives; the main thread queues behind it to learn of a silent death. */
function startHolding(lock: string, message: StartMessage): void {
  void navigator.locks.request(lock, () => start(message));
}

if (port) port.once('message', (message) => start(message as StartMessage));
else {
  globalThis.onmessage = ({ data }: MessageEvent<{ lock: string; start: StartMessage }>) =>
    data.lock ? startHolding(data.lock, data.start) : start(data.start);
}
