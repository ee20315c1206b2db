// GGUF files put together byte by byte from the published format, and a plain reader of them that trusts.

/** Numbers below 1 from 32-bit words, the same for a seed. */
export const uniforms = (seed) => {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
};

/** Weights as networks have them: normal, of deviation 0.02. */
export const weights = (count, seed = 12345) => {
  const next = uniforms(seed);
  return Float32Array.from({ length: count }, () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()) * 0.02);
};

/* ---- bytes ---- */

const word = (size, put) => {
  const bytes = new Uint8Array(size);
  put(new DataView(bytes.buffer));
  return [...bytes];
};
export const u8 = (n) => [n & 255];
export const u32 = (n) => word(4, (view) => view.setUint32(0, n, true));
export const f32 = (n) => word(4, (view) => view.setFloat32(0, n, true));
export const f64 = (n) => word(8, (view) => view.setFloat64(0, n, true));
export const u64 = (n) => word(8, (view) => view.setBigUint64(0, BigInt.asUintN(64, BigInt(n)), true));
export const text = (s) => {
  const bytes = typeof s === 'string' ? [...new TextEncoder().encode(s)] : s;
  return [...u64(bytes.length), ...bytes];
};

export const TYPE = { u8: 0, i8: 1, u16: 2, i16: 3, u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9, u64: 10, i64: 11, f64: 12 };

/** A name with its type and the bytes of its value. */
export const entry = (name, type, bytes) => [...text(name), ...u32(type), ...bytes];

/** A tensor's name, dimensions (the row first), kind and offset. */
export const info = (name, dims, kind, offset, rank = dims.length) =>
  [...text(name), ...u32(rank), ...dims.flatMap(u64), ...u32(kind), ...u64(offset)];

/** A file; counts are those of the lists unless they are said otherwise. */
export const file = ({ magic = 'GGUF', version = 3, entries = [], tensors = [], data = [], alignment = 32, entryCount = entries.length, tensorCount = tensors.length } = {}) => {
  const head = [...new TextEncoder().encode(magic), ...u32(version), ...u64(tensorCount), ...u64(entryCount), ...entries.flat(), ...tensors.flat()];
  while (head.length % alignment) head.push(0);
  return Uint8Array.from([...head, ...data]);
};

/* ---- the reader that trusts ---- */

const BLOCKS = { 0: [1, 4], 1: [1, 2], 2: [32, 18], 8: [32, 34], 12: [256, 144], 26: [1, 4], 30: [1, 2] };

/** What a file that is right says. */
export const plainRead = (bytes) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 24;
  const next = { u32: () => view.getUint32((at += 4) - 4, true), u64: () => Number(view.getBigUint64((at += 8) - 8, true)) };
  const string = () => {
    const length = next.u64();
    return Buffer.from(bytes.subarray(at, (at += length))).toString();
  };
  const sizes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
  const skip = (type) => (type === 8 ? string() : (at += sizes[type]));
  const metadata = {};
  for (let i = Number(view.getBigUint64(16, true)); i > 0; i--) {
    const name = string();
    const type = next.u32();
    if (type === 9) {
      const of = next.u32();
      const count = next.u64();
      for (let k = 0; k < count; k++) skip(of);
      metadata[name] = count;
    } else if (type === 4) metadata[name] = next.u32();
    else metadata[name] = skip(type);
  }
  const tensors = [];
  for (let i = Number(view.getBigUint64(8, true)); i > 0; i--) {
    const name = string();
    const dims = Array.from({ length: next.u32() }, () => next.u64());
    const [block, size] = BLOCKS[next.u32()] ?? [];
    tensors.push({ name, shape: dims.toReversed(), bytes: block && (dims.reduce((a, b) => a * b, 1) / block) * size, offset: next.u64() });
  }
  const alignment = metadata['general.alignment'] ?? 32;
  const begin = Math.ceil(at / alignment) * alignment;
  for (const t of tensors) t.offset += begin;
  return { version: view.getUint32(4, true), names: Object.keys(metadata), tensors };
};
