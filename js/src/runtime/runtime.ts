// The running core: its exports, views of its memory, its errors. One per program.
//
// Invariant: no view of the memory outlives the call it was made for. The memory may grow in any call
// into the core, and then views of the old buffer are stale or detached.

import { OutOfMemoryError, SinterError, WorkerError, errorOfStatus } from '../errors.js';
import type { Device } from '../device.js';
import type { Exports } from './exports.js';
import { readText } from './host.js';
import { Turns } from './turns.js';
import type { Workers } from './workers.js';

/** Exports that run kernels or compilers: a trap in there is reported, never let through. */
const GUARDED = [
  'sinter_copy',
  'sinter_data',
  'sinter_eval',
  'sinter_eval_async',
  'sinter_synchronize',
  'sinter_turn',
  'sinter_gradients',
  'sinter_scan',
  'sinter_while',
  'sinter_cond',
  'sinter_checkpoint',
  'sinter_custom',
  'sinter_vjp',
  'sinter_jvp',
  'sinter_vmap',
  'sinter_compile',
  'sinter_compile_continue',
  'sinter_program_run',
  'sinter_program_run_async',
  'sinter_program_save',
  'sinter_program_load',
  'sinter_step_save',
  'sinter_step_init',
  'sinter_gpu_copy',
  'sinter_gpu_buffer',
] as const;

/** SN_ERR_MEMORY. */
const OUT_OF_MEMORY = 3;

/** Offsets in bytes of the fields of sn_error, and the size of one of its shapes. */
const ERROR = { message: 4, op: 388, count: 420, shapes: 424, shapeBytes: 72, line: 712, file: 716, hint: 720 };

/** The hint for want of memory, added to what the core says of it. */
const SPARE_MEMORY =
  'dispose of tensors that are done with (dispose, tidy, scope), use smaller batches, or raise init({ maxMemory }); ' +
  'the garbage collector helps only a program that awaits something now and then, such as data()';

type Call = (...args: number[]) => number;

function guard(name: string, call: Call, workers: Workers | null): Call {
  return (a = 0, b = 0, c = 0) => {
    if (workers?.isDeaf) throw new WorkerError('worker', 'the watch was lost and is being replaced');
    try {
      return call(a, b, c);
    } catch (cause) {
      throw new SinterError('internal', name, `the core stopped: ${String(cause)}`, { cause });
    }
  };
}

function guarded(raw: Exports, workers: Workers | null): Exports {
  const exports: Exports = { ...raw };
  for (const name of GUARDED) {
    const call = raw[name] as Call | undefined;
    if (call) exports[name] = guard(name, call, workers);
  }
  return exports;
}

export class Runtime {
  readonly exports: Exports;
  readonly memory: WebAssembly.Memory;
  /** Null: everything runs on the caller's thread. */
  readonly workers: Workers | null;
  /** Computes asynchronous runs on this thread; null where workers do. */
  readonly turns: Turns | null;
  /** Whether compiled functions run asynchronously, on the driver or in later turns, so that a page is not blocked. */
  runsAsync: boolean;
  /** Most bytes that tensors and programs may take together. */
  readonly memoryLimit: number;
  /** Null: there is only the CPU. */
  readonly device: Device | null;
  /** Whether a device was asked for that may be missing, and is missing: programs for it then run on the CPU. */
  readonly isDeviceMissing: boolean;
  #words: Int32Array;
  #scratch: number;
  #scratchWords = 0;

  constructor(
    exports: Exports,
    memory: WebAssembly.Memory,
    workers: Workers | null,
    runsAsync: boolean,
    memoryLimit: number,
    device: Device | null,
    isDeviceMissing: boolean,
  ) {
    this.exports = guarded(exports, workers);
    this.memoryLimit = memoryLimit;
    this.device = device;
    this.isDeviceMissing = isDeviceMissing;
    this.memory = memory;
    this.workers = workers;
    this.turns = workers ? null : new Turns(this.exports);
    this.runsAsync = runsAsync;
    this.#words = new Int32Array(memory.buffer);
    this.#scratch = 0;
  }

  /** Settles when an asynchronous run is completed, also if it failed: then reading its results throws. */
  async wait(ticket: number): Promise<void> {
    if (this.turns) await this.turns.wait(ticket);
    else if (this.workers && !this.exports.sinter_ticket_done(ticket)) await this.workers.wait(ticket);
  }

  /** Calls f; compiled functions in it run asynchronously. */
  asynchronously<T>(f: () => T): T {
    const before = this.runsAsync;
    this.runsAsync = true;
    try {
      return f();
    } finally {
      this.runsAsync = before;
    }
  }

  /** A view of the memory as words that is not stale. */
  words(): Int32Array {
    if (this.#words.buffer !== this.memory.buffer) this.#words = new Int32Array(this.memory.buffer);
    return this.#words;
  }

  /** Index in words() of a scratch block of at least count words. */
  scratch(count: number): number {
    if (count > this.#scratchWords) {
      const least = Math.max(count, 1024);
      const address = this.exports.sinter_scratch(least);
      if (address === 0) throw new OutOfMemoryError('sinter', `no memory for ${count} arguments`);
      this.#scratch = address >>> 2;
      this.#scratchWords = least;
    }
    return this.#scratch;
  }

  /** Writes words into the scratch block from its beginning. */
  send(values: readonly number[]): void {
    const at = this.scratch(values.length);
    const words = this.words();
    for (let i = 0; i < values.length; i++) words[at + i] = values[i]!;
  }

  /** Writes a text, with its NUL, into the scratch block behind the given words. */
  sendText(text: string, words: readonly number[] = []): void {
    const bytes = new TextEncoder().encode(`${text}\0`);
    const at = this.scratch(words.length + Math.ceil(bytes.length / 4));
    this.send(words);
    new Uint8Array(this.memory.buffer).set(bytes, (at + words.length) * 4);
  }

  /** count words of the scratch block from index first on. */
  receive(first: number, count: number): number[] {
    const at = this.scratch(first + count) + first;
    const words = this.words();
    const values: number[] = [];
    for (let i = 0; i < count; i++) values.push(words[at + i]!);
    return values;
  }

  /** One word of the scratch block. */
  word(index: number): number {
    return this.words()[this.scratch(index + 1) + index]!;
  }

  text(address: number): string {
    return readText(this.memory, address);
  }

  /** Throws the core's error unless the status is 0. */
  ok(status: number): void {
    if (status !== 0) throw this.takeError(status);
  }

  /** An address or handle, or the core's error when it is 0. */
  check(address: number): number {
    if (address === 0) throw this.takeError(OUT_OF_MEMORY);
    return address;
  }

  /** The fields of the core's sn_error. */
  #errorInfo() {
    const address = this.exports.sinter_error_info();
    const words = this.words();
    const word = (byte: number): number => words[(address + byte) >>> 2]!;
    const shapes = Array.from({ length: word(ERROR.count) }, (_, i) => {
      const at = ERROR.shapes + i * ERROR.shapeBytes;
      const size = (d: number): number => (word(at + 8 + 8 * d) >>> 0) + word(at + 12 + 8 * d) * 2 ** 32;
      return Array.from({ length: word(at) }, (_, d) => size(d));
    });
    const op = this.text(address + ERROR.op);
    const text = this.text(address + ERROR.message).slice(op ? op.length + 2 : 0);
    const hint = this.text(address + ERROR.hint);
    return { status: word(0), op, text, shapes, hint, line: word(ERROR.line), file: this.text(word(ERROR.file)) };
  }

  /** The pending error of the core, cleared. */
  takeError(fallback: number): SinterError {
    const { status, op, text, ...details } = this.#errorInfo();
    this.exports.sinter_error_clear();
    if ((status || fallback) === OUT_OF_MEMORY) details.hint += (details.hint && '; ') + SPARE_MEMORY;
    const error = status
      ? errorOfStatus(status, op, text, details)
      : errorOfStatus(fallback, 'sinter', 'out of memory', { hint: details.hint });
    // The pool refuses work until it is revived; the worker's own report comes later.
    if (error.code === 'worker') this.exports.sinter_revive();
    return error;
  }
}

let current: Runtime | null = null;

export function setRuntime(runtime: Runtime): void {
  current = runtime;
}

/** The running core. Throws an error that says what to do if there is none yet. */
export function runtime(): Runtime {
  if (!current) throw new SinterError('init', 'sinter', 'not initialised', { hint: 'await sn.init() first' });
  return current;
}

/** The running core, or null. */
export const runtimeOrNull = (): Runtime | null => current;
