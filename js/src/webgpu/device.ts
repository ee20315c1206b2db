// The device: an adapter asked for all that it can do, and what the core does with it.

import { UnsupportedError, type Device, type DeviceInfo, type WasmSource } from '../index.js';
import { Buffers } from './buffers.js';
import { Order } from './order.js';
import { Programs } from './programs.js';
import { ReadBack } from './readback.js';

/** Limits that are raised to what the adapter has. */
const LIMITS = [
  'maxStorageBuffersPerShaderStage',
  'maxStorageBufferBindingSize',
  'maxBufferSize',
  'maxComputeWorkgroupStorageSize',
] as const;

/** Storage buffers that the core counts on at most: a shader's constants take none. */
const MOST_BUFFERS = 16;

/** Adapters that are programs. */
const IN_SOFTWARE = /swiftshader|llvmpipe|lavapipe|basic render/i;

export class GraphicsDevice implements Device {
  readonly name = 'webgpu';
  readonly #gpu: GPU | undefined;
  readonly #powerPreference: GPUPowerPreference;
  readonly #sharesMemory: boolean | undefined;
  #adapter: GPUAdapter | null = null;
  #device: GPUDevice | null = null;
  #readBack: ReadBack | null = null;
  #lost = '';
  /** What the driver refused first: a defect of a shader or of what it was given. */
  #wrong = '';

  constructor(gpu: GPU | undefined, powerPreference: GPUPowerPreference, sharesMemory: boolean | undefined) {
    this.#sharesMemory = sharesMemory;
    this.#gpu = gpu;
    this.#powerPreference = powerPreference;
  }

  async open(): Promise<void> {
    if (this.#device) return;
    if (!this.#gpu)
      throw new UnsupportedError('init', 'device: there is no WebGPU here', {
        hint: 'a page needs a secure context (https or localhost); in Node pass webgpu({ gpu }) of the npm package webgpu',
      });
    const adapter = await this.#gpu.requestAdapter({ powerPreference: this.#powerPreference });
    if (!adapter) throw new UnsupportedError('init', 'device: WebGPU found no adapter');
    const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]));
    const device = await adapter.requestDevice({ requiredLimits }).catch((cause: unknown) => {
      throw new UnsupportedError('init', `device: the adapter gave none: ${String(cause)}`, { cause });
    });
    device.addEventListener('uncapturederror', ({ error }) => (this.#wrong ||= error.message));
    void device.lost.then(({ reason, message }) => (this.#lost = message || reason));
    this.#adapter = adapter;
    this.#device = device;
  }

  module(threaded: boolean): WasmSource {
    return threaded
      ? new URL('./sinter-gpu-mt.wasm', import.meta.url)
      : new URL('./sinter-gpu.wasm', import.meta.url);
  }

  get buffers(): number {
    return Math.min(this.#device!.limits.maxStorageBuffersPerShaderStage, MOST_BUFFERS);
  }

  get sharedBytes(): number {
    const shares = this.#sharesMemory ?? !IN_SOFTWARE.test(this.describe().adapter);
    return shares ? this.#device!.limits.maxComputeWorkgroupStorageSize : 0;
  }

  imports(memory: WebAssembly.Memory): WebAssembly.ModuleImports {
    const device = this.#device!;
    const order = new Order();
    const buffers = new Buffers(device, memory, order);
    const readBack = new ReadBack(device, buffers, order, {
      lost: () => this.#lost,
      wrong: () => this.#wrong,
    });
    const refused = (text: string): void => void (this.#wrong ||= text);
    const programs = new Programs(device, memory, buffers, order, readBack, refused);
    this.#readBack = readBack;
    return {
      allocate: (bytes: number) => buffers.allocate(bytes >>> 0),
      release: (buffer: number) => buffers.release(buffer),
      upload: (to: number, from: number, bytes: number) => buffers.upload(to, from >>> 0, bytes >>> 0),
      copy: (to: number, from: number, bytes: number) => buffers.copy(to, from, bytes >>> 0),
      program: (gateWords: number) => programs.begin(gateWords),
      step: (program: number, step: number) => programs.add(program, step >>> 0),
      forget: (program: number) => programs.forget(program),
      run: (program: number, list: number, count: number) => {
        if (this.#lost) return 1;
        programs.run(program, list >>> 0, count);
        return 0;
      },
    };
  }

  read(buffer: number, bytes: number): Promise<ArrayBuffer> {
    return this.#readBack!.read(buffer, bytes);
  }

  describe(): DeviceInfo {
    const { info, features } = this.#adapter!;
    const { limits } = this.#device!;
    return {
      name: this.name,
      adapter: info.description || [info.vendor, info.architecture].filter(Boolean).join(' ') || 'unknown',
      features: [...features].sort(),
      limits: Object.fromEntries(LIMITS.map((name) => [name, limits[name]])),
    };
  }
}
