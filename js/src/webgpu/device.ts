// The device: opens an adapter with the limits and features it has, and implements what the core asks of it.

import { Tensor, UnsupportedError, type Choice, type ChoiceInfo, type Device, type DeviceInfo, type DeviceSpan, type WasmSource } from '../index.js';
import { Buffers } from './buffers.js';
import { TimedChoice, type Timing } from './choice.js';
import { Flight } from './flight.js';
import { Order } from './order.js';
import { probe, type Arithmetic } from './probe.js';
import { Programs } from './programs.js';
import { MEMORY, lostFailure, type Failure, type DeviceState } from './devicestate.js';
import { ReadBack } from './readback.js';
import { SelfTest } from './selftest.js';
import { Variants } from './variants.js';
import { Watch } from './watch.js';

/** Limits that are raised to the adapter's. */
const LIMITS = [
  'maxStorageBuffersPerShaderStage',
  'maxStorageBufferBindingSize',
  'maxBufferSize',
  'maxComputeWorkgroupStorageSize',
] as const;

/** Features that are requested if the adapter has them. */
const FEATURES = ['timestamp-query'] as const;

/** The most storage buffers that the core uses per shader. Constants are uniforms and do not count. */
const MOST_BUFFERS = 16;
const MOST_CHOICES = 64;

/** Names of adapters implemented in software. */
const IN_SOFTWARE = /swiftshader|llvmpipe|lavapipe|basic render/i;

export interface DeviceOptions {
  gpu: GPU | undefined;
  powerPreference: GPUPowerPreference;
  sharesMemory: boolean | undefined;
  tune: boolean;
  fallback: boolean;
}

interface Parts {
  buffers: Buffers;
  variants: Variants;
  programs: Programs;
  readBack: ReadBack;
  watch: Watch;
}

export class GraphicsDevice implements Device {
  readonly name = 'webgpu';
  readonly #options: DeviceOptions;
  #adapter: GPUAdapter | null = null;
  #arithmetic: Arithmetic | null = null;
  #state: DeviceState | null = null;
  #parts: Parts | null = null;
  /** Why the core's last call was refused. */
  #why = '';
  generation = 0;
  readonly uncommitted = new WeakSet<Tensor>();
  readonly #choices: ChoiceInfo[] = [];
  readonly #timing: Timing = { under: null, isReading: false, note: (choice) => this.#note(choice) };
  /** Outputs of programs whose device is not chosen yet. */
  readonly #undecided = new WeakMap<Tensor, TimedChoice>();

  constructor(options: DeviceOptions) {
    this.#options = options;
  }

  get isOptional(): boolean {
    return this.#options.fallback;
  }

  get lost(): string {
    return this.#state?.lost ?? '';
  }

  get bytes(): number {
    return this.#parts?.buffers.bytes ?? 0;
  }

  equals(other: Device): boolean {
    if (!(other instanceof GraphicsDevice)) return false;
    const theirs = other.#options;
    return (Object.keys(theirs) as (keyof DeviceOptions)[]).every((name) => theirs[name] === this.#options[name]);
  }

  async open(): Promise<void> {
    if (this.#state && !this.#state.lost) return;
    const { gpu, powerPreference } = this.#options;
    if (!gpu)
      throw new UnsupportedError('init', 'device: there is no WebGPU here', {
        hint: 'a page needs a secure context (https or localhost); in Node pass webgpu({ gpu }) of the npm package webgpu',
      });
    const adapter = await gpu.requestAdapter({ powerPreference });
    if (!adapter) throw new UnsupportedError('init', 'device: WebGPU found no adapter');
    const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]));
    const requiredFeatures = FEATURES.filter((name) => adapter.features.has(name));
    const device = await adapter.requestDevice({ requiredLimits, requiredFeatures }).catch((cause: unknown) => {
      throw new UnsupportedError('init', `device: the adapter gave none: ${String(cause)}`, { cause });
    });
    this.#arithmetic = await probe(device).catch((cause: unknown) => {
      throw new UnsupportedError('init', `device: it does not compute: ${String(cause)}`, { cause });
    });
    this.#adapter = adapter;
    this.#attach(device);
  }

  /** Starts using a device. If it replaces a lost one, the content of all buffers is lost, but programs stay usable. */
  #attach(device: GPUDevice): void {
    this.generation++;
    const before = this.#state?.lost;
    const state = Object.assign((this.#state ??= {} as DeviceState), { device, lost: '', wrong: '', runs: this.#state.runs ?? 0 });
    device.addEventListener('uncapturederror', ({ error }) => {
      if (state.device === device) state.wrong ||= `the device refused what it was given: ${error.message}`;
    });
    void device.lost.then(({ reason, message }) => {
      if (state.device !== device) return;
      state.lost = message || reason;
      if (this.isOptional) this.generation++; // programs are made anew, for the CPU
    });
    if (!this.#parts || !before) return;
    this.#parts.buffers.renewAll(before);
    this.#parts.readBack.renew();
    this.#parts.programs.renew();
  }

  module(threaded: boolean): WasmSource {
    return threaded
      ? new URL('./sinter-gpu-mt.wasm', import.meta.url)
      : new URL('./sinter-gpu.wasm', import.meta.url);
  }

  get buffers(): number {
    return Math.min(this.#state!.device.limits.maxStorageBuffersPerShaderStage, MOST_BUFFERS);
  }

  get sharedBytes(): number {
    const shares = this.#options.sharesMemory ?? !IN_SOFTWARE.test(this.#adapterName);
    return shares ? this.#state!.device.limits.maxComputeWorkgroupStorageSize : 0;
  }

  imports(memory: WebAssembly.Memory): WebAssembly.ModuleImports {
    const state = this.#state!;
    const order = new Order((error) => (state.wrong ||= `a command failed: ${String(error)}`));
    const buffers = new Buffers(state, memory, order);
    const readBack = new ReadBack(state, buffers, order);
    const watch = new Watch(state);
    const variants = new Variants(state, this.#adapterName, this.#options.tune);
    const programs = new Programs(state, memory, buffers, order, readBack, watch, new Flight(state), variants);
    this.#parts = { buffers, variants, programs, readBack, watch };
    return {
      why: (at: number, room: number) => {
        const text = new TextEncoder().encode(this.#why).slice(0, room - 1);
        new Uint8Array(memory.buffer, at >>> 0, room).set([...text, 0]);
      },
      allocate: (bytes: number) => {
        const number = buffers.allocate(bytes >>> 0);
        if (!number) this.#refuse({ status: MEMORY, text: `${bytes >>> 0} bytes are more than a buffer of the device has, ${buffers.most}` });
        return number;
      },
      release: (buffer: number) => buffers.release(buffer),
      upload: (to: number, from: number, bytes: number) => buffers.upload(to, from >>> 0, bytes >>> 0),
      copy: (to: number, from: number, bytes: number) => buffers.copy(to, from, bytes >>> 0),
      program: (gateWords: number, nArguments: number) => programs.begin(gateWords, nArguments),
      step: (program: number, step: number) => programs.add(program, step >>> 0),
      forget: (program: number) => programs.forget(program),
      run: (program: number, list: number, count: number) => this.#refuse(programs.run(program, list >>> 0, count)),
    };
  }

  /** Keeps the reason of a failure for the core, and returns its status. */
  #refuse(failure: Failure | null): number {
    this.#why = failure?.text ?? '';
    return failure?.status ?? 0;
  }

  read(buffer: number, bytes: number, what: string): Promise<ArrayBuffer> {
    return this.#parts!.readBack.read(buffer, bytes, what);
  }

  has(list: readonly unknown[]): boolean {
    const tied = list.filter((x): x is Tensor => x instanceof Tensor && !this.uncommitted.has(x));
    return tied.length > 0 && tied.every((t) => !t.isDisposed && t.device === this.name);
  }

  noteSyncRead(t: Tensor): void {
    this.#undecided.get(t)?.stay();
  }

  watch(): () => Promise<DeviceSpan[]> {
    const { watch } = this.#parts!;
    watch.begin();
    return () => watch.end();
  }

  get pause(): Promise<void> | null {
    return this.#timing.isReading ? null : this.#timing.under;
  }

  choose(...given: Parameters<Device['choose']>): Choice {
    const lost = (): string => this.lost && lostFailure(this.lost).text;
    return new TimedChoice(this.#timing, lost, (t, choice) => this.#undecided.set(t, choice), ...given);
  }

  test(...given: Parameters<Device['test']>): ReturnType<Device['test']> {
    const test = new SelfTest(this.#timing, (text) => (this.#state!.wrong ||= text), ...given);
    return (inputs) => test.run(inputs);
  }

  #note(choice: ChoiceInfo): void {
    this.#choices.push(choice);
    if (this.#choices.length > MOST_CHOICES) this.#choices.shift();
  }

  get #adapterName(): string {
    const { info } = this.#adapter!;
    return info.description || [info.vendor, info.architecture].filter(Boolean).join(' ') || 'unknown';
  }

  describe(): DeviceInfo {
    const { features } = this.#adapter!;
    const { limits } = this.#state!.device;
    return {
      name: this.name,
      adapter: this.#adapterName,
      features: [...features].sort(),
      limits: Object.fromEntries(LIMITS.map((name) => [name, limits[name]])),
      arithmetic: { ...this.#arithmetic! },
      choices: this.#choices.map((choice) => ({ ...choice })),
      shaders: (this.#parts?.variants.noted ?? []).map((choice) => ({ ...choice })),
    };
  }
}
