// A clock of the tests' own, by which some shaders of a product are the fastest: which one is chosen is no chance then.
import { asked } from './device.mjs';

/** The last product that was run; what joins its parts is none. */
let under = '';
export const lastProduct = () => under;
const codes = new WeakMap();
const instead = (of, method, make) => {
  of.prototype[method] = make(of.prototype[method]);
};
instead(GPUDevice, 'createShaderModule', (original) => function noted({ code }) {
  const module = original.call(this, { code });
  codes.set(module, code);
  return module;
});
instead(GPUDevice, 'createComputePipelineAsync', (original) => async function noted(options) {
  const pipeline = await original.call(this, options);
  codes.set(pipeline, codes.get(options.compute.module));
  return pipeline;
});
instead(GPUComputePassEncoder, 'setPipeline', (original) => function noted(pipeline) {
  if (!/var part = 1/.test(codes.get(pipeline))) under = codes.get(pipeline);
  return original.call(this, pipeline);
});
/** Rows of a tile in the memory of a workgroup, which has 16 terms of them, and of a four more; 0: none. */
export const tileOf = (code) => {
  const fours = Number(/tile_a: array<vec4<[fi]32>, (\d+)>/.exec(code)?.[1] ?? 16);
  return (fours / 16 - 1) * 4;
};

/** Runs f on a clock by which shaders are the fastest whose text is so. */
export const withClock = (isFast, f) => {
  let before = asked.submissions;
  return onClock(() => {
    const ms = asked.submissions === before ? 0 : isFast(under) ? 5 : 8;
    before = asked.submissions;
    return ms;
  }, f);
};

/** Runs f on a clock that has gone on by so many milliseconds, tick(), whenever it is read. */
export const onClock = async (tick, f) => {
  const { now } = performance;
  let at = 0;
  performance.now = () => (at += tick());
  try {
    return await f();
  } finally {
    performance.now = now;
  }
};
