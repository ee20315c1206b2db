// init: picks a module, makes its memory and its workers, and says what it chose and why.

import { shown } from './check.js';
import type { Device, DeviceInfo } from './device.js';
import { SinterError, UnsupportedError, errorOfStatus } from './errors.js';
import { readOptions, type OptionSchema } from './options.js';
import { CodeTable } from './runtime/code.js';
import { clockOrigin, hostImports, readText } from './runtime/host.js';
import { isPage, poisons } from './runtime/environment.js';
import { CORE_VERSION } from './runtime/exports.gen.js';
import type { Exports, ThreadExports } from './runtime/exports.js';
import { hasWorkers, moduleSource } from './runtime/files.js';
import { awaitAlive, isThreaded, loadModule, type WasmSource } from './runtime/loader.js';
import { ownMemory, sharedMemory, type Grant } from './runtime/memory.js';
import { fusesMultiplyAdd, hasRelaxedSimd, hasSimd } from './runtime/probe.js';
import { Runtime, runtime, setRuntime } from './runtime/runtime.js';
import { cores, isolation } from './runtime/sharing.js';
import { Workers } from './runtime/workers.js';
import { registerFormatter } from './show.js';

export interface InitOptions {
  /** The wasm module: a URL, bytes, a Response or a compiled module. Default: the file beside the
   *  package's code that fits the page. Passing sinter.wasm forces the module with one thread. */
  wasm?: WasmSource;
  /** Threads that compute, the caller included. 'auto' (default): one per core. */
  threads?: 'auto' | number;
  /** Emits kernels as WebAssembly for their shapes at run time (default true). Otherwise, and where the engine refuses
   *  such code, an interpreter computes the same. */
  jit?: boolean;
  /**
   * Uses relaxed SIMD instructions in emitted kernels, where the engine has them and they fuse a multiply with an add
   * (default true); never if deterministic. Functions such as exp then round differently in the last place
   * (docs/accuracy.md has both).
   */
  relaxedSimd?: boolean;
  /** Computes the same bits on every machine, natively and in WebAssembly, without fused multiply-adds, which costs
   *  speed. Default false. */
  deterministic?: boolean;
  /** Most bytes that tensors and programs may take together. */
  maxMemory?: number;
  /** A device beside the CPU, for jit(f, { device }) and tensor.to(): webgpu() of sinter/webgpu. */
  device?: Device;
}

export interface Info {
  version: string;
  /** Threads that compute, the caller included. */
  threads: number;
  simd: boolean;
  relaxedSimd: boolean;
  jit: boolean;
  /** Instruction set of the kernels, e.g. 'simd128'. */
  isa: string;
  deterministic: boolean;
  /** Whether memory can be shared with workers: in a page only if that is cross-origin isolated. */
  crossOriginIsolated: boolean;
  /** The device beside the CPU, or null. */
  device: DeviceInfo | null;
  /** Why something is off, such as threads or relaxed SIMD. */
  reasons: string[];
  /** The cache of compiled programs: how many are in it, how often an evaluation found its program there or not, and how
   *  many gave way to others. */
  programs: { cached: number; hits: number; misses: number; evicted: number };
  /** Modules of run-time code: how many are alive, their bytes, how often an equal one was shared, and how many the
   *  engine refused. */
  modules: { live: number; bytes: number; hits: number; refused: number };
}

type CacheCounts = [number, number, number, number, number, number, number, number];

const MAX_WORKERS = 64;

let started: { options: InitOptions; done: Promise<void> } | null = null;
/** What does not change after init, and the reasons known then. */
type Facts = Omit<Info, 'threads' | 'device' | 'programs' | 'modules'>;
let facts: Facts | null = null;

const OPTIONS: OptionSchema<InitOptions> = {
  wasm: 'any',
  threads: 'any',
  jit: 'boolean',
  relaxedSimd: 'boolean',
  deterministic: 'boolean',
  maxMemory: 'number',
  device: 'any',
};

/** The first option in which a second init differs from the first, or undefined. */
function difference(first: InitOptions, second: InitOptions): keyof InitOptions | undefined {
  const plain = (value: unknown): unknown => (value instanceof URL ? value.href : value);
  const isSame = (name: keyof InitOptions): boolean =>
    name === 'device' && second.device ? first.device?.equals(second.device) === true : plain(second[name]) === plain(first[name]);
  return (Object.keys(OPTIONS) as (keyof InitOptions)[]).find((name) => second[name] !== undefined && !isSame(name));
}

/**
 * Loads the core, which everything else needs. Idempotent: a second call with the same options or none resolves to the same
 * info, after it has asked again for a device that was lost; with other options it rejects (code 'argument') and changes
 * nothing.
 */
export async function init(given?: InitOptions): Promise<Info> {
  const options = readOptions('init', given, OPTIONS);
  if (started) {
    const name = difference(started.options, options);
    if (name) {
      throw new SinterError('argument', 'init', `already initialised with another ${name}`, {
        hint: 'one program has one core; call init once, or with the same options',
      });
    }
  } else {
    const attempt = { options: { ...options }, done: awaitAlive(start(options)) };
    started = attempt;
    attempt.done.catch(() => {
      started = null;
    });
  }
  await started.done;
  const { device } = runtime();
  await device?.open().catch((error: unknown) => { // again, where it was lost
    if (!device.isOptional) throw error;
  });
  return info();
}

/** What is in use, and the reasons for what is off. */
export function info(): Info {
  const rt = runtime();
  const known = facts as Facts;
  const failures = [...(rt.workers?.failures ?? [])];
  rt.exports.sinter_caches();
  const [cached, hits, misses, evicted, live, bytes, shared, refused] = rt.receive(0, 8) as CacheCounts;
  const isGone = rt.device?.isOptional && rt.device.lost !== '';
  if (rt.device?.lost) failures.push(`device: it was lost: ${rt.device.lost}`);
  if (refused > 0) failures.push(`jit: ${refused} modules of run-time code were refused`);
  return {
    ...known,
    threads: rt.workers?.count ?? 1,
    device: isGone ? null : (rt.device?.describe() ?? null),
    reasons: [...known.reasons, ...failures],
    programs: { cached, hits, misses, evicted },
    modules: { live, bytes, hits: shared, refused },
  };
}

function checkOptions({ threads = 'auto', maxMemory }: InitOptions): void {
  if (threads !== 'auto' && !(Number.isInteger(threads) && threads >= 1 && threads <= MAX_WORKERS)) {
    throw new SinterError('argument', 'init', `threads: ${shown(threads)}, expected 'auto' or 1 to ${MAX_WORKERS}`);
  }
  if (maxMemory !== undefined && !(Number.isFinite(maxMemory) && maxMemory > 0)) {
    throw new SinterError('argument', 'init', `maxMemory: ${String(maxMemory)}, expected a number of bytes`);
  }
  if (typeof WebAssembly !== 'object' || !hasSimd()) {
    throw new UnsupportedError('init', 'this engine has no WebAssembly SIMD');
  }
}

interface Choice extends Grant {
  module: WebAssembly.Module;
  shared: boolean;
  reasons: string[];
}

/** Chooses module and memory. A given module decides whether there are threads; without one there are, where memory can
 *  be shared. */
async function choose(source: WasmSource | undefined, device: Device | undefined): Promise<Choice> {
  const { isolated, reason } = isolation();
  if (source !== undefined) {
    const module = await loadModule(source);
    if (!isThreaded(module)) {
      return {
        module,
        ...ownMemory(),
        shared: false,
        reasons: ['one thread: the given module has no threads'],
      };
    }
    const grant = isolated ? sharedMemory() : null;
    if (!grant)
      throw new UnsupportedError('init', `the given module needs shared memory; ${reason || 'it was refused'}`);
    return { module, ...grant, shared: true, reasons: [] };
  }
  const shared = isolated ? sharedMemory() : null;
  const reasons = shared ? [] : [reason || 'one thread: the engine refused shared memory'];
  const module = await loadModule(device ? device.module(shared !== null) : moduleSource(shared !== null));
  return { module, ...(shared ?? ownMemory()), shared: shared !== null, reasons };
}

async function instantiate(
  { module, memory }: Choice,
  clockBase: number,
  workers: Workers | null,
  device: Device | undefined,
): Promise<WebAssembly.Instance> {
  const code = new CodeTable(memory);
  const imports = {
    ...(device && { gpu: device.imports(memory) }),
    ...hostImports(memory, clockBase, code, {
      jobDone: () => workers?.jobDone(),
      overslept: () => workers?.look(),
    }),
  };
  const instance = await WebAssembly.instantiate(module, imports).catch((cause: unknown) => {
    throw new SinterError('load', 'init', `the module does not fit this version: ${String(cause)}`, { cause });
  });
  code.attach(instance);
  return instance;
}

/** Sends the workers that were started into the pool of the context. */
async function enterPool(
  workers: Workers,
  { module, memory }: Choice,
  exports: Exports & ThreadExports,
  clockBase: number,
): Promise<void> {
  await workers.enter({ module, memory, exports, pool: exports.sinter_pool(), clockBase }, !isPage);
}

const usesRelaxedSimd = ({ relaxedSimd = true, deterministic = false }: InitOptions): boolean =>
  relaxedSimd && !deterministic && hasRelaxedSimd() && fusesMultiplyAdd();

/** Most bytes that the core may take; its interface passes them as a 32-bit number. */
const memoryLimit = ({ bytes }: Choice, { maxMemory }: InitOptions): number =>
  Math.min(maxMemory ?? bytes, bytes, 0xffffffff);

function createContext(exports: Exports, threads: number, options: InitOptions): void {
  const limit = Math.min(options.maxMemory ?? 0, 0xffffffff);
  const status = exports.sinter_create(
    threads,
    options.deterministic ? 1 : 0,
    options.jit === false ? 0 : 1,
    usesRelaxedSimd(options) ? 1 : 0,
    limit,
  );
  if (status !== 0) throw errorOfStatus(status, 'init', 'the core could not be created');
  if (poisons) exports.sinter_set_poison(1);
}

function createDevice(exports: Exports, device: Device): void {
  if (typeof exports.sinter_gpu_create !== 'function')
    throw new SinterError('load', 'init', 'device: the given module has none', { hint: 'pass sinter-gpu.wasm or sinter-gpu-mt.wasm as wasm' });
  const status = exports.sinter_gpu_create(device.buffers, device.sharedBytes);
  if (status !== 0) throw errorOfStatus(status, 'init', 'the device could not be set up');
}

/** Refuses a module of another version: its functions may take other arguments. */
function checkVersion(version: string): void {
  if (version === CORE_VERSION) return;
  throw new SinterError('load', 'init', `the module is of version ${version}, this script of version ${CORE_VERSION}`, {
    hint: 'serve the files of one release together; a cache may hold older ones',
  });
}

async function createCore(
  options: InitOptions,
  clockBase: number,
  threads: number,
  workers: Workers | null,
): Promise<[Choice, Exports & ThreadExports]> {
  const choice = await choose(options.wasm, options.device);
  const instance = await instantiate(choice, clockBase, workers, options.device);
  const exports = instance.exports as unknown as Exports & ThreadExports & { _initialize?: () => void };
  if (typeof exports.sinter_create !== 'function') {
    throw new SinterError('load', 'init', 'the given module is not that of sinter');
  }
  exports._initialize?.();
  checkVersion(readText(choice.memory, exports.sinter_version()));
  createContext(exports, choice.shared ? threads : 1, options);
  if (options.device) createDevice(exports, options.device);
  return [choice, exports];
}

/** Opens the device. Returns the options as they are; if the device is missing, and may be, those without it and the reason. */
async function withDevice(given: InitOptions): Promise<[InitOptions, string[]]> {
  const { device, ...others } = given;
  try {
    await device?.open();
    return [given, []];
  } catch (error) {
    if (!device?.isOptional) throw error;
    return [others, [(error as Error).message]];
  }
}

async function start(given: InitOptions): Promise<void> {
  checkOptions(given);
  const [options, missing] = await withDevice(given);
  const clockBase = clockOrigin();
  const threads = typeof options.threads === 'number' ? options.threads : Math.min(cores(), MAX_WORKERS);
  // Made first: the workers' scripts load while the module is compiled.
  let workers = isolation().isolated ? new Workers(threads) : null;
  try {
    const [choice, exports] = await createCore(options, clockBase, threads, workers);
    if (!choice.shared) {
      workers?.close();
      workers = null;
    }
    if (workers) await enterPool(workers, choice, exports, clockBase);
    const ready = new Runtime(exports, choice.memory, workers, isPage, memoryLimit(choice, options), options.device ?? null, missing.length > 0);
    choice.reasons.push(...missing);
    facts = describe(ready, choice, options);
    setRuntime(ready);
    registerFormatter();
  } catch (error) {
    workers?.close();
    throw error;
  }
}

function describe(ready: Runtime, { shared, reasons }: Choice, options: InitOptions): Facts {
  if (!shared && hasWorkers && options.wasm === undefined) console.info(`sinter: ${reasons.join('; ')}`);
  if (options.jit === false) reasons.push('jit: switched off');
  if (!hasRelaxedSimd()) reasons.push('relaxedSimd: not in this engine');
  else if (!fusesMultiplyAdd()) reasons.push('relaxedSimd: no fused multiply-add');
  else if (!usesRelaxedSimd(options)) reasons.push('relaxedSimd: switched off');
  return {
    version: ready.text(ready.exports.sinter_version()),
    simd: true,
    relaxedSimd: usesRelaxedSimd(options),
    jit: options.jit !== false,
    isa: ready.text(ready.exports.sinter_isa()),
    deterministic: options.deterministic ?? false,
    crossOriginIsolated: isolation().isolated,
    reasons,
  };
}
