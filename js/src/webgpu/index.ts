// sinter/webgpu: programs on the graphics processor. An entry point of its own: a page that does not import it downloads
// nothing of it, and one that does loads the core's modules that have it (sinter-gpu.wasm, sinter-gpu-mt.wasm).

import { internals, type Device } from '../index.js';
import { GraphicsDevice } from './device.js';

export interface WebGpuOptions {
  /** Where adapters come from: navigator.gpu by default; in Node create([]) of the npm package webgpu. */
  gpu?: object;
  /** 'high-performance' (default) or 'low-power', where a machine has two. */
  powerPreference?: 'high-performance' | 'low-power';
  /** Whether the threads of a workgroup share memory. Default: true, but false on adapters in software, which are slow at it. */
  sharesMemory?: boolean;
  /** Whether the shaders that a product may have are timed before its first run, and the fastest is kept. Default true; with
   *  false it is the first one, and programs begin sooner. */
  tune?: boolean;
  /** Whether programs for the device run on the CPU where there is none, or it was lost; sn.info().reasons then says why.
   *  Default false. */
  fallback?: boolean;
}

const OPTIONS: internals.OptionSchema<WebGpuOptions> = { gpu: 'any', powerPreference: 'any', sharesMemory: 'boolean', tune: 'boolean', fallback: 'boolean' };

/** A device for init: await sn.init({ device: webgpu() }). */
export function webgpu(options?: WebGpuOptions): Device {
  const { gpu = globalThis.navigator?.gpu, powerPreference = 'high-performance', sharesMemory, tune = true, fallback = false } = internals.readOptions(
    'webgpu',
    options,
    OPTIONS,
  );
  internals.checkChoice('webgpu', 'powerPreference', powerPreference, ['high-performance', 'low-power']);
  return new GraphicsDevice({ gpu: gpu as GPU | undefined, powerPreference, sharesMemory, tune, fallback });
}
