// Runs one of ONNX's own cases, in Node or in a page: a model with its inputs and outputs.
import { readData } from './testdata.mjs';

/** Dtypes of tensors that hold what element types have. */
const DTYPES = { 1: 'float32', 2: 'uint8', 3: 'int8', 9: 'bool', 10: 'float16', 11: 'float64', 16: 'bfloat16', 21: 'uint8', 22: 'int8', 25: 'uint8', 26: 'int8', 17: 'float32', 18: 'float32', 19: 'float32', 20: 'float32', 23: 'float32', 24: 'float32' };

const nestedTexts = (texts, shape) => {
  let level = texts;
  for (let axis = shape.length - 1; axis > 0; axis--) {
    const count = shape.slice(0, axis).reduce((a, b) => a * b, 1);
    level = Array.from({ length: count }, (_, i) => level.slice(i * shape[axis], (i + 1) * shape[axis]));
  }
  return shape.length ? level : level[0];
};

/** A tensor of the package for one of the data; whole numbers beyond int32 are an error here, too. */
function toInput(sn, data) {
  if (data === null) return null;
  if (Array.isArray(data)) return data.map((each) => toInput(sn, each));
  const { type, shape, values } = data;
  if (type === 8) return nestedTexts(values, shape);
  const dtype = DTYPES[type] ?? 'int32';
  if (dtype === 'int32') {
    const wrong = values.find((value) => Number(value) !== (Number(value) | 0));
    if (wrong !== undefined) throw new RangeError(`an input has ${wrong}, more than int32 holds`);
  }
  const list = dtype === 'float64' ? Float64Array : dtype.includes('float') ? Float32Array : Int32Array;
  return sn.tensor(list.from(values, Number), { shape: [...shape] }).astype(dtype);
}

/** The largest of |got - want| / (atol + rtol |want|), as a multiple of the bound; Infinity where shapes or kinds differ. */
function compare(got, want, bound, path = '') {
  if (want === null) return got === null ? 0 : fail(`${path}: expected nothing`);
  if (Array.isArray(want)) {
    if (!Array.isArray(got) || got.length !== want.length) return fail(`${path}: expected a sequence of ${want.length}`);
    return Math.max(0, ...want.map((each, i) => compare(got[i], each, bound, `${path}[${i}]`)));
  }
  if (want.type === 8) {
    const same = JSON.stringify(got) === JSON.stringify(nestedTexts(want.values, want.shape));
    return same ? 0 : fail(`${path}: texts ${JSON.stringify(got).slice(0, 80)}`);
  }
  if (got.shape.join() !== want.shape.join()) return fail(`${path}: shape (${got.shape}), expected (${want.shape})`);
  const dtype = DTYPES[want.type] ?? 'int32';
  if (got.dtype !== dtype) return fail(`${path}: ${got.dtype}, expected ${dtype}`);
  const values = got.dataSync();
  let worst = 0;
  for (let i = 0; i < values.length; i++) {
    const [a, b] = [values[i], Number(want.values[i])];
    if (Object.is(a, b) || a === b || (Number.isNaN(a) && Number.isNaN(b))) continue;
    const error = Math.abs(a - b) / (bound.atol + bound.rtol * Math.abs(b));
    worst = Math.max(worst, Number.isNaN(error) ? Infinity : error);
  }
  return worst;
}

class Differs extends Error {}
const fail = (text) => {
  throw new Differs(text);
};

/** { error } as a multiple of the bound, or { problem }. read: the bytes of a file of the case, null if it has none. */
export function runCase({ sn, onnx }, read, bound) {
  let model;
  try {
    return sn.tidy(() => {
      model = onnx.load(read('model.onnx'));
      const kindOf = ({ dtype }) => (dtype === 'sequence' || dtype === 'optional' ? dtype : 'tensor');
      const inputs = {};
      model.inputs.forEach((port, i) => {
        const file = read(`test_data_set_0/input_${i}.pb`);
        if (file) inputs[port.name] = toInput(sn, readData(file, kindOf(port)));
      });
      const outputs = model.run(inputs);
      const wanted = model.outputs.map((port, i) => [port, readData(read(`test_data_set_0/output_${i}.pb`), kindOf(port))]);
      return { error: Math.max(0, ...wanted.map(([{ name }, want]) => compare(outputs[name], want, bound, name))) };
    });
  } catch (error) {
    return { problem: error };
  } finally {
    model?.dispose();
  }
}
