// sinter/webgpu: programs on the graphics processor. It is an entry point of its own: a page that does not import it downloads
// nothing of it; one that does loads modules of the core that include it (sinter-gpu.wasm, sinter-gpu-mt.wasm).

import { internals, type Device } from '../index.js';
import { GraphicsDevice } from './device.js';

export interface WebGpuOptions {
  /** The source of adapters. Default navigator.gpu; in Node use create([]) of the npm package webgpu. */
  gpu?: object;
  /** Which graphics processor to prefer, if a machine has two: 'high-performance' (default) or 'low-power'. */
  powerPreference?: 'high-performance' | 'low-power';
  /** Whether kernels use memory shared by a workgroup. Default true, but false on adapters in software, where it is slow. */
  sharesMemory?: boolean;
  /** Whether the shader variants of a product are timed before its first run, and the fastest is kept. Default true; with
   *  false the first variant is used, and programs start sooner. */
  tune?: boolean;
  /** Whether programs for the device run on the CPU if there is no device, or it was lost; sn.info().reasons then says why.
   *  Default false. */
  fallback?: boolean;
}

const OPTIONS: internals.OptionSchema<WebGpuOptions> = { gpu: 'any', powerPreference: 'any', sharesMemory: 'boolean', tune: 'boolean', fallback: 'boolean' };

/** The device for init: await sn.init({ device: webgpu() }). */
export function webgpu(options?: WebGpuOptions): Device {
  const { gpu = globalThis.navigator?.gpu, powerPreference = 'high-performance', sharesMemory, tune = true, fallback = false } = internals.readOptions(
    'webgpu',
    options,
    OPTIONS,
  );
  internals.checkChoice('webgpu', 'powerPreference', powerPreference, ['high-performance', 'low-power']);
  return new GraphicsDevice({ gpu: gpu as GPU | undefined, powerPreference, sharesMemory, tune, fallback });
}
