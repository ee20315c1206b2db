// Probes how an adapter computes where WGSL leaves it open. A shader computes with numbers that are known only at run time, so
// that no compiler can fold them.

/** Properties of the adapter's arithmetic. */
export interface Arithmetic {
  /** Whether NaN + 1 is NaN. */
  nan: boolean;
  /** Whether infinite or overflowing sums and products are infinities. */
  infinities: boolean;
  /** Whether NaN != NaN; Sinter does not rely on it. */
  unequalNan: boolean;
  /** Whether half of the smallest normal number is not 0. */
  subnormals: boolean;
  /** Whether fma() rounds once. */
  fusedMultiplyAdd: boolean;
}

const CODE = `@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1) fn main() {
  y[0] = bitcast<u32>(x[0] + x[4]);
  y[1] = bitcast<u32>(x[1] * x[4]);
  y[2] = bitcast<u32>(x[2] * x[2]);
  y[3] = select(0u, 1u, x[0] != x[0]);
  y[4] = bitcast<u32>(x[3] * 0.5);
  y[5] = bitcast<u32>(fma(x[4], x[4], x[5]));
}`;

/** Its square is 1 + 2 ** -11 + 2 ** -24, which float32 cannot represent. */
const ODD = 1 + 2 ** -12;
const NUMBERS = [NaN, Infinity, 3e38, 2 ** -126, ODD, -(1 + 2 ** -11)];
const INFINITY_BITS = 0x7f800000;
const SIZE = NUMBERS.length * 4;

export async function probe(device: GPUDevice): Promise<Arithmetic> {
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const x = device.createBuffer({ size: SIZE, usage: STORAGE, mappedAtCreation: true });
  const y = device.createBuffer({ size: SIZE, usage: STORAGE | COPY_SRC });
  const staging = device.createBuffer({ size: SIZE, usage: COPY_DST | MAP_READ });
  try {
    new Float32Array(x.getMappedRange()).set(NUMBERS);
    x.unmap();
    const module = device.createShaderModule({ code: CODE });
    const pipeline = await device.createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint: 'main' } });
    const entries = [x, y].map((buffer, binding) => ({ binding, resource: { buffer } }));
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    pass.dispatchWorkgroups(1);
    pass.end();
    encoder.copyBufferToBuffer(y, 0, staging, 0, SIZE);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    return read(new Uint32Array(staging.getMappedRange()));
  } finally {
    for (const buffer of [x, y, staging]) buffer.destroy();
  }
}

function read(bits: Uint32Array): Arithmetic {
  const [nan = 0, product, overflow, unequal, half = 0, fused] = bits;
  return {
    nan: (nan & 0x7fffffff) > INFINITY_BITS,
    infinities: product === INFINITY_BITS && overflow === INFINITY_BITS,
    unequalNan: unequal === 1,
    subnormals: half !== 0,
    fusedMultiplyAdd: fused !== 0,
  };
}
