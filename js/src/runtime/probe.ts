// Whether this engine knows an instruction, by validating a module with it; and whether multiply-adds are fused.

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

const F32 = 0x7d;
const V128 = 0x7b;

/** One function () -> type, exported as "f", and its body. */
const bodyModule = (type: number, ...body: number[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from([
    ...HEADER,
    ...[1, 5, 1, 0x60, 0, 1, type],
    ...[3, 2, 1, 0],
    ...[7, 5, 1, 1, 0x66, 0, 0],
    ...[10, body.length + 4, 1, body.length + 2, 0, ...body, 0x0b],
  ]);

/** (f32x4.splat (f32.const value)) */
const splat = (value: number): number[] => [0x43, ...new Uint8Array(Float32Array.of(value).buffer), 0xfd, 0x13];

// (i8x16.splat (i32.const 0))
const SIMD = bodyModule(V128, 0x41, 0, 0xfd, 0x0f);
// x x - (1 + 2^-11) with x = 1 + 2^-12: 2^-24 if rounded once, 0 if the product is rounded, too.
// (f32x4.extract_lane 0 (f32x4.relaxed_madd ...))
const RELAXED = bodyModule(
  F32,
  ...splat(1 + 2 ** -12),
  ...splat(1 + 2 ** -12),
  ...splat(-1 - 2 ** -11),
  ...[0xfd, 0x85, 0x02],
  ...[0xfd, 0x1f, 0],
);

export const hasSimd = (): boolean => WebAssembly.validate(SIMD);
export const hasRelaxedSimd = (): boolean => WebAssembly.validate(RELAXED);

/** Whether multiply-adds of relaxed SIMD are rounded once, as they are wherever the processor has an
 *  instruction for it. False also where the page may not compile code. */
export const fusesMultiplyAdd = (): boolean => {
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(RELAXED));
    return (exports['f'] as () => number)() !== 0;
  } catch {
    return false;
  }
};
