// Where tensors and programs live: the CPU, or a device that init was given, as sinter/webgpu makes one. A tensor belongs to
// one of them, and what is made of it lives there; the core refuses what comes from two.
//
// Invariant: outside of a trace new tensors are the CPU's. While a function is traced for the device, they are the device's,
// and a tensor of the CPU that the function captures is brought over, once.

import { checkChoice } from './check.js';
import { SinterError, WorkerError } from './errors.js';
import type { Program } from './program.js';
import type { DeviceSpan } from './profile.js';
import type { WasmSource } from './runtime/loader.js';
import { runtime } from './runtime/runtime.js';
import type { Tensor } from './tensor.js';

/** The names of places for programs and tensors. */
export type DeviceName = 'cpu' | 'webgpu';

/** What is known of a device. */
export interface DeviceInfo {
  name: DeviceName;
  /** The adapter, in the words of its driver. */
  adapter: string;
  features: readonly string[];
  limits: Readonly<Record<string, number>>;
  /** What the adapter makes of numbers that WGSL leaves to it, as found when it was opened: each true where it is IEEE 754's. */
  arithmetic: Readonly<Record<'nan' | 'infinities' | 'unequalNan' | 'subnormals' | 'fusedMultiplyAdd', boolean>>;
  /** Of programs compiled for 'auto', the last 64. */
  choices: readonly ChoiceInfo[];
  /** Of products that were timed, the last 64. */
  shaders: readonly ShaderChoice[];
}

/** Which of the shaders that a product may have was the fastest. */
export interface ShaderChoice {
  kernel: string;
  /** Of a run of each, by their numbers; null where the driver refused it. */
  ms: readonly (number | null)[];
  chosen: number;
}

/** A device for init({ device }): webgpu() of sinter/webgpu makes one. */
export interface Device {
  readonly name: DeviceName;
  /** @internal Asks for the device, again if it was lost; rejects if there is none. */
  open(): Promise<void>;
  /** @internal How often it was opened: what lay there before is lost. */
  readonly times: number;
  /** @internal Whether another one was made with the same options. */
  equals(other: Device): boolean;
  /** @internal The module that has it beside the CPU. */
  module(threaded: boolean): WasmSource;
  /** @internal What that module imports as "gpu". */
  imports(memory: WebAssembly.Memory): WebAssembly.ModuleImports;
  /** @internal Storage buffers that a shader may bind. */
  readonly buffers: number;
  /** @internal Memory that the threads of a workgroup are to share; 0: none. */
  readonly sharedBytes: number;
  /** @internal The first bytes of a buffer, when all that was submitted is done; what: it is, in errors. */
  read(buffer: number, bytes: number, what: string): Promise<ArrayBuffer>;
  /** @internal Tensors made of arguments that were none: they go where the others are. */
  readonly loose: WeakSet<Tensor>;
  /** @internal Whether arguments of an op lie there, all that do not go where the others are. */
  has(list: readonly unknown[]): boolean;
  /** @internal A tensor of the CPU is being read at once, which those that lie there cannot be. */
  readAtOnce(t: Tensor): void;
  /** @internal Why it was lost, or ''. */
  readonly lost: string;
  /** @internal Bytes of its buffers. */
  readonly bytes: number;
  /** @internal */
  describe(): DeviceInfo;
  /** @internal For a profile: from now on, until what it returns is called. */
  watch(): () => Promise<DeviceSpan[]>;
  /** @internal Whether programs for it run on the CPU where there is none, or it was lost. */
  readonly isOptional: boolean;
  /** @internal For device 'auto': the program of the CPU, or one for the device, whichever is faster. */
  choose(op: string, here: Program, donated: readonly boolean[], make: () => Program): Choice;
  /** @internal For debugging: runs a program for it, and tests the results against those of the CPU's. */
  test(op: string, there: Program, make: () => Program): (inputs: readonly Tensor[]) => Tensor[];
  /** @internal Until when values are better not read, as programs are being timed; or null. */
  readonly pause: Promise<void> | null;
}

/** Two programs that compute the same. */
export interface Choice {
  /** The one for a call with these. */
  of(inputs: readonly Tensor[]): Program;
  /** Told what that made. */
  made(outputs: readonly Tensor[]): void;
  release(): void;
}

/** What became of a choice: a call's time on either side, or why only the CPU will do. */
export interface ChoiceInfo {
  /** What was compiled: 'jit' or 'trainStep'. */
  op: string;
  device: DeviceName;
  cpuMs?: number;
  deviceMs?: number;
  reason: string;
}

const DEVICES: readonly DeviceName[] = ['cpu', 'webgpu'];
/** Tensors that an error names. */
const MOST_NAMED = 4;
const numberOf = (device: DeviceName): number => DEVICES.indexOf(device);

/** Where what is asked for on a device is to be: on the CPU where it may be missing (webgpu({ fallback: true })) and there is
 *  none, or it was lost. Refuses a device that init was not given. */
export function checkDevice(op: string, device: unknown): DeviceName {
  const name = DEVICES[checkChoice(op, 'device', device, DEVICES)]!;
  const { device: given, isDeviceMissing } = runtime();
  if (name === 'cpu' || isDeviceMissing || (given?.isOptional && given.lost)) return 'cpu';
  if (given?.name === name) return name;
  throw new SinterError('argument', op, `device: there is no ${name}`, {
    hint: "import { webgpu } from 'sinter/webgpu' and await sn.init({ device: webgpu() }) first",
  });
}

/** Refuses tensors that lay on a device that was lost. */
export function checkNotLost(op: string, tensors: readonly Tensor[]): void {
  const { device } = runtime();
  if (!device?.lost) return;
  const lost = tensors.filter((t) => t.device !== 'cpu').map(String);
  const which = lost.length > MOST_NAMED ? `${lost.slice(0, MOST_NAMED).join(', ')} and ${lost.length - MOST_NAMED} more` : lost.join(', ');
  if (lost.length === 0 && device.isOptional) return;
  throw new WorkerError(op, `the device was lost${which && `, and with it ${which}`}: ${device.lost}`, { hint: 'await sn.init() asks for the device again' });
}

/** Of programs for a device: they are of use as long as this stays. What they captured here was brought over, and is lost
 *  there with the device. */
export const deviceTimes = (): number => runtime().device?.times ?? 0;

/** Of a tensor that is there. */
export const deviceOf = (address: number): DeviceName =>
  runtime().device ? DEVICES[runtime().exports.sinter_gpu_device(address)]! : 'cpu';

/** Captured tensors of the CPU -> what stands for them on the device that is traced for; null: it is the CPU. */
let brought: Map<number, number> | null = null;

/** The address of a tensor where the function under trace has it. */
export function here(address: number): number {
  if (!brought || deviceOf(address) !== 'cpu') return address;
  let there = brought.get(address);
  if (there === undefined) brought.set(address, (there = carry(address, 'webgpu')));
  return there;
}

/** Whether tensors that are used have to be looked up with here(). */
export const isElsewhere = (): boolean => brought !== null;

/** The value of a CPU's tensor on a device: a reference of its own. */
export function carry(address: number, device: DeviceName): number {
  const rt = runtime();
  return rt.check(rt.exports.sinter_gpu_copy(address, numberOf(device)));
}

/** Runs f, which traces for a device. */
export function tracingFor<T>(device: DeviceName, f: () => T): T {
  if (device === 'cpu') return f();
  const { exports } = runtime();
  const outer = brought;
  const before = exports.sinter_gpu_enter(numberOf(device));
  const own = (brought = new Map<number, number>());
  try {
    return f();
  } finally {
    brought = outer;
    exports.sinter_gpu_enter(before);
    for (const copy of own.values()) exports.sinter_release(copy);
  }
}

/** Runs f with the addresses of tensors on a device: those of others are brought over for as long as f runs. */
export function withAll<T>(op: string, device: DeviceName, tensors: readonly Tensor[], f: (addresses: number[]) => T): T {
  const own: number[] = [];
  try {
    return f(
      tensors.map((t) => {
        const address = t.use(op);
        if (device === 'cpu' || deviceOf(address) === device) return address;
        own.push(carry(address, device));
        return own.at(-1)!;
      }),
    );
  } finally {
    for (const address of own) runtime().exports.sinter_release(address);
  }
}
