// Writes ONNX files for tests: protocol buffers field by field.

const varint = (value) => {
  let rest = BigInt.asUintN(64, BigInt(value));
  const out = [];
  for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  return [...out, Number(rest)];
};

/** A field: a whole number, or bytes of a text, of a message or of packed numbers. */
export const field = (number, value) => {
  if (typeof value === 'number' || typeof value === 'bigint') return [...varint(number * 8), ...varint(value)];
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  return [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes];
};
export const float = (number, value) => [...varint(number * 8 + 5), ...new Uint8Array(Float32Array.of(value).buffer)];
export const message = (...fields) => fields.flat();

/** TensorProto: type 1 float32, 7 int64, with its elements as bytes. */
export const tensor = (name, type, dims, values) => {
  const list = type === 1 ? Float32Array.from(values) : type === 11 ? Float64Array.from(values) : BigInt64Array.from(values, BigInt);
  return message(...dims.map((size) => field(1, size)), field(2, type), field(8, name), field(9, new Uint8Array(list.buffer)));
};

const dim = (size) => field(1, typeof size === 'number' ? field(1, size) : field(2, size));
/** ValueInfoProto. */
export const value = (name, type, shape) =>
  message(field(1, name), field(2, field(1, message(field(1, type), field(2, message(...shape.map(dim)))))));

/** An attribute: a number, a text, a list of whole numbers or of texts, floats as a Float32Array; or how another is written. */
export const attribute = (name, given) => {
  if (given instanceof Float32Array) return field(5, message(field(1, name), ...Array.from(given, (each) => float(7, each)), field(20, 6)));
  if (Array.isArray(given) && typeof given[0] === 'string') return field(5, message(field(1, name), ...given.map((each) => field(9, each)), field(20, 8)));
  if (Array.isArray(given)) return field(5, message(field(1, name), ...given.map((each) => field(8, each)), field(20, 7)));
  if (typeof given === 'number') return field(5, message(field(1, name), field(3, given), field(20, 2)));
  if (typeof given === 'string') return field(5, message(field(1, name), field(4, given), field(20, 3)));
  return field(5, message(field(1, name), field(given.field, given.bytes), field(20, given.type)));
};
/** An attribute that is a graph. */
export const graphAttribute = (name, bytes) => attribute(name, { field: 6, type: 5, bytes });

export const node = (type, inputs, outputs, ...more) =>
  field(1, message(...inputs.map((name) => field(1, name)), ...outputs.map((name) => field(2, name)), field(4, type), ...more));

export const graph = ({ nodes = [], initializers = [], inputs = [], outputs = [] }) =>
  message(...nodes, field(2, 'graph'), ...initializers.map((t) => field(5, t)), ...inputs.map((v) => field(11, v)), ...outputs.map((v) => field(12, v)));

export const model = (parts, { opset = 17, functions = [] } = {}) =>
  Uint8Array.from(message(field(1, 8), field(8, message(field(1, ''), field(2, opset))), field(7, graph(parts)), ...functions.map((f) => field(25, f))));
