// onnx.mjs - an ONNX model of one op, written as protocol-buffer fields, for onnxruntime.
const text = new TextEncoder();

const varint = (value) => {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
};
const int = (field, value) => [...varint(field * 8), ...varint(value)];
const block = (field, bytes) => [...varint(field * 8 + 2), ...varint(bytes.length), ...bytes];
const string = (field, value) => block(field, text.encode(value));

/** An integer attribute of a node. */
export const attribute = (name, value) => block(5, [...string(1, name), ...int(3, value), ...int(20, 2)]);

/** An attribute of several integers. */
export const attributes = (name, values) =>
  block(5, [...string(1, name), ...values.flatMap((value) => int(8, value)), ...int(20, 7)]);

export const node = (op, inputs, outputs, attributes = []) => [
  ...inputs.flatMap((name) => string(1, name)),
  ...outputs.flatMap((name) => string(2, name)),
  ...string(4, op),
  ...attributes.flat(),
];

const FLOAT = 1;
const tensor = (field, [name, shape]) => {
  const dims = shape.flatMap((d) => block(1, int(1, d)));
  return block(field, [...string(1, name), ...block(2, block(1, [...int(1, FLOAT), ...block(2, dims)]))]);
};

/** nodes, and lists of [name, shape] */
export const model = (nodes, inputs, outputs, opset = 20) => new Uint8Array([
  ...int(1, 9),
  ...block(7, [
    ...nodes.flatMap((n) => block(1, n)),
    ...string(2, 'graph'),
    ...inputs.flatMap((input) => tensor(11, input)),
    ...outputs.flatMap((output) => tensor(12, output)),
  ]),
  ...block(8, [...string(1, ''), ...int(2, opset)]),
]);
