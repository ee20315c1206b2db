// Where tensors and programs live: on the CPU, or on a device that init was given, such as webgpu() of sinter/webgpu. A
// tensor is on one of them, and so is what is computed from it; the core refuses to combine tensors of both.
//
// Invariant: outside of a trace new tensors are on the CPU. While a function is traced for the device they are there, and a
// tensor of the CPU that the function captures is copied over, once.

import { checkChoice } from './check.js';
import { SinterError, WorkerError } from './errors.js';
import type { Program } from './program.js';
import type { DeviceSpan } from './profile.js';
import type { WasmSource } from './runtime/loader.js';
import { runtime } from './runtime/runtime.js';
import type { Tensor } from './tensor.js';

/** Where programs and tensors may be. */
export type DeviceName = 'cpu' | 'webgpu';

/** A description of an open device. */
export interface DeviceInfo {
  name: DeviceName;
  /** The adapter, in the words of its driver. */
  adapter: string;
  features: readonly string[];
  limits: Readonly<Record<string, number>>;
  /** How the adapter computes what WGSL leaves to it, as found when the device was opened: each is true where it follows
   *  IEEE 754. */
  arithmetic: Readonly<Record<'nan' | 'infinities' | 'unequalNan' | 'subnormals' | 'fusedMultiplyAdd', boolean>>;
  /** What became of programs compiled with device 'auto', the last 64. */
  choices: readonly ChoiceInfo[];
  /** Products whose shaders were timed against each other, the last 64. */
  shaders: readonly ShaderChoice[];
}

/** The shaders that a product may have, and the fastest of them. */
export interface ShaderChoice {
  kernel: string;
  /** Milliseconds of a run of each shader, by its number; null where the driver refused it. */
  ms: readonly (number | null)[];
  /** The number of the fastest one. */
  chosen: number;
}

/** A device for init({ device }): webgpu() of sinter/webgpu makes one. */
export interface Device {
  readonly name: DeviceName;
  /** @internal Asks for the device, again if it was lost; rejects if there is none. */
  open(): Promise<void>;
  /** @internal Changes whenever it is opened. Values of an earlier generation are lost. */
  readonly generation: number;
  /** @internal Whether another one was made with the same options. */
  equals(other: Device): boolean;
  /** @internal The wasm module that has a backend for it beside the CPU's. */
  module(threaded: boolean): WasmSource;
  /** @internal What that module imports as "gpu". */
  imports(memory: WebAssembly.Memory): WebAssembly.ModuleImports;
  /** @internal Most storage buffers that a shader may bind. */
  readonly buffers: number;
  /** @internal Bytes of memory that the threads of a workgroup may share; 0: none. */
  readonly sharedBytes: number;
  /** @internal The first bytes of a buffer once all that was submitted is done. what: the value's name in errors. */
  read(buffer: number, bytes: number, what: string): Promise<ArrayBuffer>;
  /** @internal Tensors made of arguments that were none, such as numbers: they go where the other operands are. */
  readonly uncommitted: WeakSet<Tensor>;
  /** @internal Whether an op's tensors are on this device: all but uncommitted ones, and at least one. */
  has(list: readonly unknown[]): boolean;
  /** @internal Tells it that a tensor of the CPU is read synchronously, which values on the device cannot be: an
   *  undecided choice whose result it is keeps the CPU. */
  noteSyncRead(t: Tensor): void;
  /** @internal Why it was lost, or ''. */
  readonly lost: string;
  /** @internal Bytes of its buffers, free ones included. */
  readonly bytes: number;
  /** @internal */
  describe(): DeviceInfo;
  /** @internal For a profile: records submissions from now on, until the function that it returns is called, which gives
   *  them. */
  watch(): () => Promise<DeviceSpan[]>;
  /** @internal Whether programs for it run on the CPU where there is no such device, or it was lost. */
  readonly isOptional: boolean;
  /** @internal For device 'auto': chooses between the program of the CPU and the one that make compiles for the device,
   *  by time. */
  choose(op: string, here: Program, donated: readonly boolean[], make: () => Program): Choice;
  /** @internal For debugging: makes a function that runs a program for it, and compares its results with those of the
   *  program that make compiles for the CPU. */
  test(op: string, there: Program, make: () => Program): (inputs: readonly Tensor[]) => Tensor[];
  /** @internal Settles when no program is being timed any more, for which reads of values wait; null: none is. */
  readonly pause: Promise<void> | null;
}

/** Two programs that compute the same, one of which is kept in the end. */
export interface Choice {
  /** The program for a call with these inputs. */
  of(inputs: readonly Tensor[]): Program;
  /** To be told what that program made. */
  made(outputs: readonly Tensor[]): void;
  release(): void;
}

/** What became of a choice: milliseconds of a call on either side, or the reason why only the CPU will do. */
export interface ChoiceInfo {
  /** What was compiled: 'jit' or 'trainStep'. */
  op: string;
  device: DeviceName;
  cpuMs?: number;
  deviceMs?: number;
  reason: string;
}

const DEVICES: readonly DeviceName[] = ['cpu', 'webgpu'];
/** Most tensors that an error names. */
const MOST_NAMED = 4;
const numberOf = (device: DeviceName): number => DEVICES.indexOf(device);

/** Resolves the device that a caller asks for: 'cpu' where a device that may be missing (webgpu({ fallback: true })) is
 *  missing or was lost. Throws for a device that init was not given. */
export function checkDevice(op: string, device: unknown): DeviceName {
  const name = DEVICES[checkChoice(op, 'device', device, DEVICES)]!;
  const { device: given, isDeviceMissing } = runtime();
  if (name === 'cpu' || isDeviceMissing || (given?.isOptional && given.lost)) return 'cpu';
  if (given?.name === name) return name;
  throw new SinterError('argument', op, `device: there is no ${name}`, {
    hint: "import { webgpu } from 'sinter/webgpu' and await sn.init({ device: webgpu() }) first",
  });
}

/** Refuses tensors that were on a device that was lost. */
export function checkNotLost(op: string, tensors: readonly Tensor[]): void {
  const { device } = runtime();
  if (!device?.lost) return;
  const lost = tensors.filter((t) => t.device !== 'cpu').map(String);
  const which = lost.length > MOST_NAMED ? `${lost.slice(0, MOST_NAMED).join(', ')} and ${lost.length - MOST_NAMED} more` : lost.join(', ');
  if (lost.length === 0 && device.isOptional) return;
  throw new WorkerError(op, `the device was lost${which && `, and with it ${which}`}: ${device.lost}`, { hint: 'await sn.init() asks for the device again' });
}

/** The generation of the device. Programs for it are of use only while this stays: the copies of what they captured are
 *  lost with the device. */
export const deviceGeneration = (): number => runtime().device?.generation ?? 0;

/** The device of the tensor at this address. */
export const deviceOf = (address: number): DeviceName =>
  runtime().device ? DEVICES[runtime().exports.sinter_gpu_device(address)]! : 'cpu';

/** While a function is traced for a device: addresses of captured tensors of the CPU -> those of their copies on the
 *  device. Null otherwise. */
let copies: Map<number, number> | null = null;

/** The address that the function under trace uses for a tensor: that of its copy on the device if one is traced for. */
export function addressForTrace(address: number): number {
  if (!copies || deviceOf(address) !== 'cpu') return address;
  let there = copies.get(address);
  if (there === undefined) copies.set(address, (there = copyToDevice(address, 'webgpu')));
  return there;
}

/** Whether a function is traced for a device, so that addresses have to go through addressForTrace(). */
export const isTracingForDevice = (): boolean => copies !== null;

/** Copies a tensor's value to a device. Returns the address of the copy, a reference that the caller owns. */
export function copyToDevice(address: number, device: DeviceName): number {
  const rt = runtime();
  return rt.check(rt.exports.sinter_gpu_copy(address, numberOf(device)));
}

/** Runs f, which traces a function for this device. Copies of captured tensors are released in the end. */
export function tracingFor<T>(device: DeviceName, f: () => T): T {
  if (device === 'cpu') return f();
  const { exports } = runtime();
  const outer = copies;
  const before = exports.sinter_gpu_enter(numberOf(device));
  const own = (copies = new Map<number, number>());
  try {
    return f();
  } finally {
    copies = outer;
    exports.sinter_gpu_enter(before);
    for (const copy of own.values()) exports.sinter_release(copy);
  }
}

/** Runs f with the addresses of the tensors on this device; copies of those that lie elsewhere last as long as f runs. */
export function withAddressesOn<T>(op: string, device: DeviceName, tensors: readonly Tensor[], f: (addresses: number[]) => T): T {
  const own: number[] = [];
  try {
    return f(
      tensors.map((t) => {
        const address = t.use(op);
        if (device === 'cpu' || deviceOf(address) === device) return address;
        own.push(copyToDevice(address, device));
        return own.at(-1)!;
      }),
    );
  } finally {
    for (const address of own) runtime().exports.sinter_release(address);
  }
}
