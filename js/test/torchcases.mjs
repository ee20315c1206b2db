// What tests/golden/torch_cases.py wrote: cases, their inputs, and the public functions that they are of.
import { readFileSync } from 'node:fs';
import * as sn from '../dist/index.js';

const golden = (name) => readFileSync(new URL(`../../tests/golden/${name}`, import.meta.url));
export const { cases } = JSON.parse(golden('torch.json'));
const bytes = new Uint8Array(golden('torch.bin')).buffer;

const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
export const doubles = (at, shape) => new Float64Array(bytes, at, sizeOf(shape));
export const input = (at, shape, dtype) =>
  sn.tensor(Float64Array.from(new Int16Array(bytes, at, sizeOf(shape)), (n) => n / 16384), { shape, dtype });

const windowed = (name) => (options, labels, ...x) => sn[name](...x, options);
const along = (name) => (options, labels, x) => sn[name](x, options);
const flip = (x, turn) => (turn ? sn.swapaxes(x, -1, -2) : x);

/** (options, labels or undefined, ...inputs) => y */
export const OPS = {
  matmul: ({ turns }, labels, a, b) => sn.matmul(flip(a, turns.includes('a')), flip(b, turns.includes('b'))),
  einsum: ({ spec }, labels, ...x) => sn.einsum(spec, ...x),
  conv1d: windowed('conv1d'),
  conv2d: windowed('conv2d'),
  conv3d: windowed('conv3d'),
  convTranspose2d: windowed('convTranspose2d'),
  maxPool2d: windowed('maxPool2d'),
  avgPool2d: windowed('avgPool2d'),
  batchNorm: ({ given, ...options }, labels, x, ...rest) => {
    const [weight, bias] = rest.slice(-2);
    const [mean, variance] = given ? rest : [];
    return sn.batchNorm(x, { ...options, weight, bias, mean, variance });
  },
  layerNorm: (options, labels, x, weight, bias) => sn.layerNorm(x, { ...options, weight, bias }),
  softmax: along('softmax'),
  logSoftmax: along('logSoftmax'),
  softmaxCrossEntropy: (options, labels, x, p) => sn.softmaxCrossEntropy(x, labels ?? p),
  attention: ({ masked, ...options }, labels, q, k, v, added) => {
    const seen = masked === 'seen' ? sn.equal(labels, 1) : undefined;
    return sn.attention(q, k, v, { ...options, mask: seen ?? added });
  },
};

