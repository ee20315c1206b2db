// The device of these tests: the driver in software that Debian's chromium brings, through the npm package webgpu. The
// suite's command sets where the driver is found (scripts/test.mjs).
import assert from 'node:assert/strict';
import { create, globals } from 'webgpu';
import * as sn from '../../js/dist/index.js';
import { webgpu } from '../../js/dist/webgpu.js';

Object.assign(globalThis, globals);

/** While the npm package waits for the driver it asks for events in each turn of the event loop, by a callback without script
 *  and parameters. That takes a core from the driver, whose compiler of shaders takes most of the time here: so it asks once
 *  a millisecond. */
const asksForEvents = (f) => f.length === 0 && Function.prototype.toString.call(f) === 'function () { [native code] }';
const { setImmediate } = globalThis;
globalThis.setImmediate = (f, ...given) => (asksForEvents(f) ? setTimeout(f, 1) : setImmediate(f, ...given));

/** What the package has asked of WebGPU so far. */
export const asked = { shaders: [], submissions: 0, dispatches: 0, buffers: 0 };

/** Has `note` called before a method of one of WebGPU's classes. */
const watch = (of, method, note) => {
  const original = of.prototype[method];
  of.prototype[method] = function watched(...given) {
    note(...given);
    return original.apply(this, given);
  };
};

const gpu = create([]);

/** Of the device; a file that wants others sets them before it starts. Products have their first shader: each of the others
 *  would be compiled and timed, too, which takes longer here than all else. */
export const settings = { tune: false };

let started = null;
/** The package with the device. */
export const start = () => (started ??= open());

const open = async () => {
  watch(GPUDevice, 'createShaderModule', ({ code }) => asked.shaders.push(code));
  watch(GPUDevice, 'createBuffer', () => (asked.buffers += 1));
  watch(GPUQueue, 'submit', () => (asked.submissions += 1));
  watch(GPUComputePassEncoder, 'dispatchWorkgroups', () => (asked.dispatches += 1));
  await sn.init({ threads: 2, device: webgpu({ gpu, ...settings }) });
  return sn;
};

const spacing = (x) => {
  const size = Math.max(Math.abs(x), 2 ** -126);
  return 2 ** (Math.floor(Math.log2(size)) - 23);
};

/** Asserts that numbers agree within units in the last place of the expected one, of `least` where that is smaller. */
export const assertWithin = (what, got, want, units, least = 0) => {
  assert.equal(got.length, want.length, what);
  for (let i = 0; i < want.length; i += 1) {
    const [x, y] = [got[i], want[i]];
    if (Object.is(x, y) || x === y || (Number.isNaN(x) && Number.isNaN(y))) continue;
    const off = Math.abs(x - y) / Math.max(spacing(y), spacing(least));
    assert.ok(off <= units, `${what}, element ${i}: ${x}, expected ${y}: ${off} units of ${units}`);
  }
};

/** Values of f of the arguments on the CPU and on the device: lists of typed arrays. */
export const onBoth = async (f, args, options = {}) => {
  const read = (tensors) => Promise.all([tensors].flat().map((t) => t.data()));
  const cpu = sn.jit(f, options);
  const device = sn.jit(f, { ...options, device: 'webgpu' });
  const both = [await read(cpu(...args)), await read(device(...args))];
  cpu.dispose();
  device.dispose();
  return both;
};
