// Does this engine know an instruction? A module with it is valid or not; nothing is compiled.

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

/** One type () -> v128, one function of it, and its body. */
const bodyModule = (...body: number[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from([
    ...HEADER,
    ...[1, 5, 1, 0x60, 0, 1, 0x7b],
    ...[3, 2, 1, 0],
    ...[10, body.length + 4, 1, body.length + 2, 0, ...body, 0x0b],
  ]);

// (i8x16.splat (i32.const 0))
const SIMD = bodyModule(0x41, 0, 0xfd, 0x0f);
// (f32x4.relaxed_madd (three splats of f32 bits 0))
const RELAXED = bodyModule(
  ...[0x41, 0, 0xfd, 0x11],
  ...[0x41, 0, 0xfd, 0x11],
  ...[0x41, 0, 0xfd, 0x11],
  ...[0xfd, 0x85, 0x02],
);

export const hasSimd = (): boolean => WebAssembly.validate(SIMD);
export const hasRelaxedSimd = (): boolean => WebAssembly.validate(RELAXED);
