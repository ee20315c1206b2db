// onnx-models.mjs - makes ONNX files with random weights at published sizes, in the form in which exporters write them: a
// sentence encoder of MiniLM-L6's size, in float32 or with 8-bit products as dynamic quantisation makes them; MobileNetV2; and
// layers of a language model with 4-bit weights in blocks, of the sizes of Qwen2.5-0.5B.
import { attribute, field, float, graph, message, node, value } from '../tests/onnx/write.mjs';

const FLOAT = 1;
const UINT8 = 2;
const INT8 = 3;
const INT64 = 7;

let state = 12345;
const uniform = () => {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return state / 2 ** 31;
};

/** A file being written: nodes as bytes, and weights separately, since a file has millions of numbers. */
class File {
  nodes = [];
  weights = [];
  #count = 0;

  weight(name, type, dims, elements) {
    const raw = new Uint8Array(elements.buffer);
    const head = Uint8Array.from(message(...dims.map((size) => field(1, size)), field(2, type), field(8, name)));
    const size = lengthOf(9, raw.length);
    this.weights.push(Uint8Array.from(lengthOf(5, head.length + size.length + raw.length)), head, size, raw);
    return name;
  }

  random(name, dims, most) {
    return this.weight(name, FLOAT, dims, Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, () => uniform() * most));
  }

  scalar(name, number) {
    return this.weight(name, FLOAT, [], Float32Array.of(number));
  }

  shape(name, sizes) {
    return this.weight(name, INT64, [sizes.length], BigInt64Array.from(sizes, BigInt));
  }

  /** Adds a node with one output, and returns the output's name. */
  add(type, inputs, attributes = {}, output = `${type}_${this.#count++}`) {
    this.nodes.push(node(type, inputs, [output], ...Object.entries(attributes).map(([name, given]) => attribute(name, given))));
    return output;
  }

  /** x times a 4-bit matrix in blocks of 32, by the op of onnxruntime's domain. */
  product(name, x, from, to, accuracy) {
    const blocks = from / 32;
    const codes = this.weight(`${name}.codes`, UINT8, [to, blocks, 16], Uint8Array.from({ length: to * blocks * 16 }, () => 128 + 127 * uniform()));
    const scales = this.weight(`${name}.scales`, FLOAT, [to, blocks], Float32Array.from({ length: to * blocks }, () => (1 + 0.5 * uniform()) / 512));
    const attributes = { K: from, N: to, bits: 4, block_size: 32, accuracy_level: accuracy };
    this.nodes.push(node('MatMulNBits', [x, codes, scales], [name], field(7, 'com.microsoft'), ...Object.entries(attributes).map(([key, given]) => attribute(key, given))));
    return name;
  }

  finish(inputs, outputs) {
    const parts = [Uint8Array.from(graph({ nodes: this.nodes, inputs, outputs })), ...this.weights];
    const size = parts.reduce((sum, { length }) => sum + length, 0);
    const head = Uint8Array.from([...message(field(1, 8), ...[['', 13], ['com.microsoft', 1]].map(([domain, version]) => field(8, message(field(1, domain), field(2, version))))), ...lengthOf(7, size)]);
    const out = new Uint8Array(head.length + size);
    let at = 0;
    for (const part of [head, ...parts]) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }
}

/** The bytes before a field of this length. */
const lengthOf = (number, length) => {
  const out = [number * 8 + 2];
  for (; length > 127; length = Math.floor(length / 128)) out.push((length % 128) + 128);
  return Uint8Array.from([...out, length]);
};

const ENCODER = { layers: 6, width: 384, heads: 12, inner: 1536, vocab: 30522, positions: 512 };

/** (x - mean) / sqrt(variance + eps) * weight + bias, in the ops of opset 13. */
const layerNorm = (f, name, x, width) => {
  const centred = f.add('Sub', [x, f.add('ReduceMean', [x], { axes: [-1] })]);
  const variance = f.add('ReduceMean', [f.add('Pow', [centred, 'two'])], { axes: [-1] });
  const scaled = f.add('Div', [centred, f.add('Sqrt', [f.add('Add', [variance, 'eps'])])]);
  return f.add('Add', [f.add('Mul', [scaled, f.random(`${name}.weight`, [width], 1)]), f.random(`${name}.bias`, [width], 0.1)]);
};

const gelu = (f, x) => f.add('Mul', [f.add('Mul', [x, f.add('Add', [f.add('Erf', [f.add('Div', [x, 'root'])]), 'one'])]), 'half']);

/** x times a matrix, plus a bias: with 8-bit numbers whose scale follows from x, or in float32. */
const linear = (f, name, x, from, to, isSmall, quantised) => {
  const bias = f.random(`${name}.bias`, [to], 0.1);
  if (!isSmall) return f.add('Add', [f.add('MatMul', [x, f.random(`${name}.weight`, [from, to], (3 / from) ** 0.5)]), bias]);
  const w = f.weight(`${name}.weight_quantized`, INT8, [from, to], Int8Array.from({ length: from * to }, () => uniform() * 127));
  const zero = f.weight(`${name}.weight_zero_point`, INT8, [], Int8Array.of(0));
  if (!quantised.has(x)) {
    f.nodes.push(node('DynamicQuantizeLinear', [x], [`${x}_quantized`, `${x}_scale`, `${x}_zero_point`]));
    quantised.add(x);
  }
  const sum = f.add('Cast', [f.add('MatMulInteger', [`${x}_quantized`, w, `${x}_zero_point`, zero])], { to: FLOAT });
  const scale = f.add('Mul', [`${x}_scale`, f.scalar(`${name}.weight_scale`, (3 / from) ** 0.5 / 127)]);
  return f.add('Add', [f.add('Mul', [sum, scale]), bias]);
};

const attention = (f, name, x, mask, isSmall, quantised) => {
  const { width, heads } = ENCODER;
  const [q, k, v] = ['query', 'key', 'value'].map((part) =>
    f.add('Transpose', [f.add('Reshape', [linear(f, `${name}.${part}`, x, width, width, isSmall, quantised), 'split'])], { perm: part === 'key' ? [0, 2, 3, 1] : [0, 2, 1, 3] }));
  const scores = f.add('Add', [f.add('Div', [f.add('MatMul', [q, k]), f.scalar(`${name}.scale`, (width / heads) ** 0.5)]), mask]);
  const mixed = f.add('MatMul', [f.add('Softmax', [scores], { axis: -1 }), v]);
  const joined = f.add('Reshape', [f.add('Transpose', [mixed], { perm: [0, 2, 1, 3] }), 'joined']);
  return linear(f, `${name}.output`, joined, width, width, isSmall, quantised);
};

const embedding = (f, name, rows, width, indices, isSmall) => {
  if (!isSmall) return f.add('Gather', [f.random(`${name}.weight`, [rows, width], 1), indices]);
  const table = f.weight(`${name}.weight_quantized`, INT8, [rows, width], Int8Array.from({ length: rows * width }, () => uniform() * 127));
  const zero = f.weight(`${name}.weight_zero_point`, INT8, [], Int8Array.of(0));
  return f.add('DequantizeLinear', [f.add('Gather', [table, indices]), f.scalar(`${name}.weight_scale`, 1 / 127), zero]);
};

/** input_ids, attention_mask, token_type_ids (batch, sequence) -> last_hidden_state. */
export function encoder({ isSmall = false, sequence }) {
  const { layers, width, heads, inner, vocab, positions } = ENCODER;
  const f = new File();
  for (const [name, number] of Object.entries({ two: 2, eps: 1e-12, root: 2 ** 0.5, one: 1, half: 0.5, lowest: -3.4028234663852886e38 })) f.scalar(name, number);
  f.shape('split', [0, 0, heads, width / heads]);
  f.shape('joined', [0, 0, width]);
  f.shape('axes', [1, 2]);
  f.shape('places', Array.from({ length: sequence }, (_, i) => i));
  const quantised = new Set();
  const open = f.add('Cast', [f.add('Unsqueeze', ['attention_mask', 'axes'])], { to: FLOAT });
  const mask = f.add('Mul', [f.add('Sub', ['one', open]), 'lowest']);
  const words = f.add('Add', [embedding(f, 'word', vocab, width, 'input_ids', isSmall), embedding(f, 'type', 2, width, 'token_type_ids', isSmall)]);
  let x = layerNorm(f, 'embeddings', f.add('Add', [words, embedding(f, 'position', positions, width, 'places', isSmall)]), width);
  for (let i = 0; i < layers; i++) {
    const name = `layer.${i}`;
    x = layerNorm(f, `${name}.attention.norm`, f.add('Add', [attention(f, `${name}.attention`, x, mask, isSmall, quantised), x]), width);
    const wide = gelu(f, linear(f, `${name}.inner`, x, width, inner, isSmall, quantised));
    x = layerNorm(f, `${name}.norm`, f.add('Add', [linear(f, `${name}.outer`, wide, inner, width, isSmall, quantised), x]), width);
  }
  f.add('Identity', [x], {}, 'last_hidden_state');
  const ids = ['input_ids', 'attention_mask', 'token_type_ids'].map((name) => value(name, INT64, ['batch', 'sequence']));
  return f.finish(ids, [value('last_hidden_state', FLOAT, ['batch', 'sequence', width])]);
}

/** For each stage: the expansion factor, channels, blocks, and the stride of the first block. */
const STAGES = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1]];

/** A convolution with batch norm folded into it, followed by a clip to 0..6. */
const conv = (f, name, x, [from, to], size, { stride = 1, group = 1, isLinear = false } = {}) => {
  const pad = (size - 1) / 2;
  const w = f.random(`${name}.weight`, [to, from / group, size, size], (6 / ((from / group) * size * size)) ** 0.5);
  const y = f.add('Conv', [x, w, f.random(`${name}.bias`, [to], 0.1)],
    { dilations: [1, 1], group, kernel_shape: [size, size], pads: [pad, pad, pad, pad], strides: [stride, stride] });
  return isLinear ? y : f.add('Clip', [y, 'least', 'most']);
};

/** image (batch, 3, 224, 224) -> logits (batch, 1000). */
export function mobileNet() {
  const f = new File();
  f.scalar('least', 0);
  f.scalar('most', 6);
  let x = conv(f, 'features.0', 'image', [3, 32], 3, { stride: 2 });
  let [from, number] = [32, 1];
  for (const [wider, to, blocks, first] of STAGES)
    for (let i = 0; i < blocks; i++, number++) {
      const [name, stride, inner] = [`features.${number}`, i === 0 ? first : 1, from * wider];
      const wide = wider === 1 ? x : conv(f, `${name}.expand`, x, [from, inner], 1);
      const deep = conv(f, `${name}.depthwise`, wide, [inner, inner], 3, { stride, group: inner });
      const y = conv(f, `${name}.project`, deep, [inner, to], 1, { isLinear: true });
      x = stride === 1 && from === to ? f.add('Add', [x, y], {}, `${name}.out`) : f.add('Identity', [y], {}, `${name}.out`);
      from = to;
    }
  x = conv(f, 'features.18', x, [from, 1280], 1);
  const flat = f.add('Flatten', [f.add('GlobalAveragePool', [x])], { axis: 1 });
  f.nodes.push(node('Gemm', [flat, f.random('classifier.weight', [1000, 1280], 0.03), f.random('classifier.bias', [1000], 0.01)], ['logits'],
    field(5, message(field(1, 'alpha'), float(2, 1), field(20, 1))), attribute('transB', 1)));
  return f.finish([value('image', FLOAT, ['batch', 3, 224, 224])], [value('logits', FLOAT, ['batch', 1000])]);
}

/** The numbers of a token's vector. */
export const WIDTH = 896;
const INNER = 4864;
const LAYERS = 4;

/** The dense halves of transformer blocks. accuracy: accuracy_level of their products; 4 allows x to be quantised. */
export function fourBits(accuracy) {
  const f = new File();
  let x = 'x';
  for (let i = 0; i < LAYERS; i++) {
    const [gate, up] = ['gate', 'up'].map((name) => f.product(`${name}.${i}`, x, WIDTH, INNER, accuracy));
    const active = f.add('Mul', [f.add('Mul', [gate, f.add('Sigmoid', [gate])]), up]);
    x = f.add('Add', [x, f.product(`down.${i}`, active, INNER, WIDTH, accuracy)], {}, i + 1 === LAYERS ? 'y' : `x.${i}`);
  }
  return f.finish([value('x', FLOAT, ['rows', WIDTH])], [value('y', FLOAT, ['rows', WIDTH])]);
}
