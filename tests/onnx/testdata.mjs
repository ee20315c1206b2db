// Reads the inputs and outputs of ONNX's own cases: files of TensorProto, SequenceProto and OptionalProto. Written apart from
// the reader of the package, so that neither judges itself.

const FORMS = { 10: [5, 10, 15], 16: [8, 7, 127], 17: [4, 3, 7], 18: [4, 3, 8], 19: [5, 2, 15], 20: [5, 2, 16], 23: [2, 1, 1] };
const BITS = { 1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2 };
const SIGNED = [3, 5, 6, 7, 22, 26];

/** The fields of a message: [number, value], values as BigInt or bytes. */
export function fields(bytes) {
  const found = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    if (wire === 0) found.push([tag >> 3, varint()]);
    else {
      const size = wire === 2 ? Number(varint()) : wire === 5 ? 4 : 8;
      found.push([tag >> 3, bytes.subarray(at, at + size), wire]);
      at += size;
    }
  }
  return found;
}

const varints = (value) => (typeof value === 'bigint' ? [value] : [...packed(value)]);
function* packed(bytes) {
  let [value, shift] = [0n, 0n];
  for (const byte of bytes) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte < 128) {
      yield value;
      [value, shift] = [0n, 0n];
    }
  }
}

function small(code, type) {
  if (type === 24) return code === 255 ? NaN : 2 ** (code - 127);
  const [e, m, bias] = FORMS[type];
  const sign = (code >> (e + m)) & 1 ? -1 : 1;
  const [exponent, mantissa] = [(code >> m) & (2 ** e - 1), code & (2 ** m - 1)];
  if (type === 17 && (code & 127) === 127) return NaN;
  if ((type === 18 || type === 20) && code === 128) return NaN;
  if ([10, 16, 19].includes(type) && exponent === 2 ** e - 1) return mantissa ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + mantissa / 2 ** m) * 2 ** (exponent - bias) : mantissa * 2 ** (1 - bias - m));
}

/** A TensorProto as { type, shape, values }, values numbers, bigints beyond 2^53, or texts. */
export function readTensor(bytes) {
  const all = fields(bytes);
  const shape = all.filter(([n]) => n === 1).flatMap(([, v]) => varints(v)).map(Number);
  const type = Number(all.find(([n]) => n === 2)?.[1] ?? 0n);
  const count = shape.reduce((a, b) => a * b, 1);
  if (type === 8) return { type, shape, values: all.filter(([n]) => n === 6).map(([, v]) => new TextDecoder().decode(v)) };
  const raw = all.find(([n]) => n === 9)?.[1];
  let words;
  if (raw) {
    const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
    if (type === 1) return { type, shape, values: Array.from({ length: count }, (_, i) => view.getFloat32(4 * i, true)) };
    if (type === 11) return { type, shape, values: Array.from({ length: count }, (_, i) => view.getFloat64(8 * i, true)) };
    const bits = BITS[type];
    words = Array.from({ length: count }, (_, i) => {
      if (bits === 64) return view.getBigUint64(8 * i, true);
      if (bits === 32) return BigInt(view.getUint32(4 * i, true));
      if (bits === 16) return BigInt(view.getUint16(2 * i, true));
      return BigInt((view.getUint8(Math.floor((i * bits) / 8)) >> ((i * bits) % 8)) & (2 ** bits - 1));
    });
  } else {
    const floats = all.filter(([n]) => n === 4).flatMap(([, v]) => Array.from({ length: v.length / 4 }, (_, i) => new DataView(v.buffer, v.byteOffset).getFloat32(4 * i, true)));
    if (type === 1) return { type, shape, values: floats };
    const doubles = all.filter(([n]) => n === 10).flatMap(([, v]) => Array.from({ length: v.length / 8 }, (_, i) => new DataView(v.buffer, v.byteOffset).getFloat64(8 * i, true)));
    if (type === 11) return { type, shape, values: doubles };
    words = all.filter(([n]) => n === 5 || n === 7 || n === 11).flatMap(([, v]) => varints(v));
    const bits = BITS[type];
    if (bits < 8) words = Array.from({ length: count }, (_, i) => (words[Math.floor((i * bits) / 8)] >> BigInt((i * bits) % 8)) & BigInt(2 ** bits - 1));
  }
  const bits = BITS[type];
  const values = words.map((word) => {
    if (FORMS[type] || type === 24) return small(Number(word) & (2 ** bits - 1), type);
    const value = SIGNED.includes(type) ? BigInt.asIntN(bits, word) : BigInt.asUintN(bits, word);
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  });
  return { type, shape, values };
}

const tensors = (all) => all.filter(([n]) => n === 3).map(([, v]) => readTensor(v));

/** A file of an input or an output, whose kind the model tells: a tensor, an array of them, or null. */
export function readData(bytes, kind) {
  if (kind === 'tensor') return readTensor(bytes);
  const all = fields(bytes);
  if (kind === 'sequence') return tensors(all);
  const elem = Number(all.find(([n]) => n === 2)?.[1] ?? 0n);
  const value = all.find(([n]) => n === (elem === 1 ? 3 : elem === 3 ? 5 : -1))?.[1];
  if (!value) return null;
  return elem === 1 ? readTensor(value) : tensors(fields(value));
}
