// Reads the messages of an ONNX file into plain structures. Elements of tensors are not read: a tensor knows its place in the
// file (tensors.ts reads it). Graphs within nodes are read from a worklist, not by recursion.

import { internals, SinterError, UnsupportedError } from '../index.js';
import { Reader, type Range } from './protobuf.js';

const { shown } = internals;

/** The deepest nesting of graphs within nodes. */
export const MOST_DEPTH = 64;
/** The most axes that a tensor of Sinter has. */
const MOST_AXES = 8;

export interface TensorProto {
  name: string;
  /** The number of the element type (types.ts). */
  type: number;
  dims: number[];
  /** The whole message. */
  range: Range;
  /** The elements as raw bytes, if the file stores them so. */
  raw: Range | null;
  /** Where the elements lie outside the file: location, offset, length. */
  external: Map<string, string> | null;
}

export interface AttributeProto {
  name: string;
  /** The attribute of the enclosing function whose value this one takes; '' if it has a value of its own. */
  refersTo: string;
  float?: number;
  int?: number;
  text?: string;
  tensor?: TensorProto;
  graph?: GraphProto;
  floats: number[];
  ints: number[];
  texts: string[];
}

export interface NodeProto {
  /** Its index among the nodes of its graph. */
  number: number;
  name: string;
  type: string;
  domain: string;
  overload: string;
  inputs: string[];
  outputs: string[];
  attributes: AttributeProto[];
}

/** The kind of a value. The element type of a sequence or an optional is not read. */
export interface ValueInfo {
  name: string;
  kind: 'tensor' | 'sequence' | 'optional' | 'other';
  type: number;
  /** Sizes along the axes: a number; a name that calls decide; '' if neither is given. null: any rank. */
  shape: (number | string)[] | null;
}

export interface GraphProto {
  name: string;
  nodes: NodeProto[];
  initializers: TensorProto[];
  inputs: ValueInfo[];
  outputs: ValueInfo[];
}

export interface FunctionProto {
  name: string;
  domain: string;
  overload: string;
  inputs: string[];
  outputs: string[];
  attributes: string[];
  /** Attributes with defaults, for calls that do not give them. */
  defaults: AttributeProto[];
  nodes: NodeProto[];
  opsets: Map<string, number>;
}

export interface ModelProto {
  bytes: Uint8Array;
  /** The program that wrote the file, and its version. */
  producer: string;
  opsets: Map<string, number>;
  graph: GraphProto;
  functions: FunctionProto[];
}

/** A graph still to be read, and where the result goes. */
interface Pending {
  reader: Reader;
  graph: GraphProto;
  depth: number;
}

const emptyGraph = (): GraphProto => ({ name: '', nodes: [], initializers: [], inputs: [], outputs: [] });

/** Normalises a domain's name: 'ai.onnx' is ''. */
const domainOf = (text: string): string => (text === 'ai.onnx' ? '' : text);

export function readTensorProto(reader: Reader): TensorProto {
  const t: TensorProto = { name: '', type: 0, dims: [], range: reader.range, raw: null, external: null };
  while (reader.next()) {
    if (reader.field === 1) reader.ints(t.dims);
    else if (reader.field === 2) t.type = reader.int();
    else if (reader.field === 8) t.name = reader.text();
    else if (reader.field === 9) t.raw = reader.bytes();
    else if (reader.field === 13) readEntry(reader.message('external_data'), (t.external ??= new Map()));
    else if (reader.field === 14 && reader.int() === 1) t.external ??= new Map();
    else if (reader.field === 3) throw new UnsupportedError('onnx', `${reader.where}: tensors in segments are not read`);
    else if (reader.field !== 14) reader.skip();
    if (t.dims.length > MOST_AXES) throw new UnsupportedError('onnx', `${reader.where}: a tensor of more than ${MOST_AXES} axes`);
  }
  const wrong = t.dims.find((size) => !Number.isSafeInteger(size) || size < 0);
  if (wrong !== undefined) throw reader.fail(`tensor ${shown(t.name)} has a size of ${wrong}`);
  return t;
}

function readEntry(reader: Reader, entries: Map<string, string>): void {
  let [key, value] = ['', ''];
  while (reader.next()) {
    if (reader.field === 1) key = reader.text();
    else if (reader.field === 2) value = reader.text();
    else reader.skip();
  }
  entries.set(key, value);
}

function readAttribute(reader: Reader, depth: number, pending: Pending[]): AttributeProto {
  const a: AttributeProto = { name: '', refersTo: '', floats: [], ints: [], texts: [] };
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        a.name = reader.text();
        break;
      case 2:
        a.float = reader.float();
        break;
      case 3:
        a.int = reader.int();
        break;
      case 4:
        a.text = reader.text();
        break;
      case 5:
        a.tensor = readTensorProto(reader.message('t'));
        break;
      case 6:
        if (depth >= MOST_DEPTH) throw new UnsupportedError('onnx', `${reader.where}: graphs in graphs, more than ${MOST_DEPTH} deep`);
        a.graph = emptyGraph();
        pending.push({ reader: reader.message('g'), graph: a.graph, depth: depth + 1 });
        break;
      case 7:
        reader.floats(a.floats);
        break;
      case 8:
        reader.ints(a.ints);
        break;
      case 9:
        a.texts.push(reader.text());
        break;
      case 21:
        a.refersTo = reader.text();
        break;
      default:
        reader.skip();
    }
  }
  return a;
}

function readNode(reader: Reader, number: number, depth: number, pending: Pending[]): NodeProto {
  const n: NodeProto = { number, name: '', type: '', domain: '', overload: '', inputs: [], outputs: [], attributes: [] };
  while (reader.next()) {
    if (reader.field === 1) n.inputs.push(reader.text());
    else if (reader.field === 2) n.outputs.push(reader.text());
    else if (reader.field === 3) n.name = reader.text();
    else if (reader.field === 4) n.type = reader.text();
    else if (reader.field === 5) n.attributes.push(readAttribute(reader.message(`attribute[${n.attributes.length}]`), depth, pending));
    else if (reader.field === 7) n.domain = domainOf(reader.text());
    else if (reader.field === 8) n.overload = reader.text();
    else reader.skip();
  }
  return n;
}

function readShape(reader: Reader): (number | string)[] {
  const shape: (number | string)[] = [];
  while (reader.next()) {
    if (reader.field !== 1) {
      reader.skip();
      continue;
    }
    const dim = reader.message('dim');
    let size: number | string = '';
    while (dim.next()) {
      if (dim.field === 1) size = dim.int();
      else if (dim.field === 2) size = dim.text();
      else dim.skip();
    }
    // Exporters also write unknown sizes as 0 or -1. Only negative ones count as unknown here, because 0 is a valid size.
    shape.push(typeof size === 'number' && size < 0 ? '' : size);
  }
  return shape;
}

function readType(reader: Reader, info: ValueInfo): void {
  while (reader.next()) {
    if (reader.field === 1) {
      info.kind = 'tensor';
      const tensor = reader.message('tensor_type');
      while (tensor.next()) {
        if (tensor.field === 1) info.type = tensor.int();
        else if (tensor.field === 2) info.shape = readShape(tensor.message('shape'));
        else tensor.skip();
      }
    } else if (reader.field === 4 || reader.field === 9) {
      info.kind = reader.field === 4 ? 'sequence' : 'optional';
      reader.skip();
    } else reader.skip();
  }
}

export function readValueInfo(reader: Reader): ValueInfo {
  const info: ValueInfo = { name: '', kind: 'other', type: 0, shape: null };
  while (reader.next()) {
    if (reader.field === 1) info.name = reader.text();
    else if (reader.field === 2) readType(reader.message('type'), info);
    else reader.skip();
  }
  return info;
}

function readGraph({ reader, graph, depth }: Pending, pending: Pending[]): void {
  while (reader.next()) {
    if (reader.field === 1) graph.nodes.push(readNode(reader.message(`node[${graph.nodes.length}]`), graph.nodes.length, depth, pending));
    else if (reader.field === 2) graph.name = reader.text();
    else if (reader.field === 5) graph.initializers.push(readTensorProto(reader.message(`initializer[${graph.initializers.length}]`)));
    else if (reader.field === 11) graph.inputs.push(readValueInfo(reader.message(`input[${graph.inputs.length}]`)));
    else if (reader.field === 12) graph.outputs.push(readValueInfo(reader.message(`output[${graph.outputs.length}]`)));
    else if (reader.field === 15) throw new UnsupportedError('onnx', `${reader.where}: sparse initializers are not read`);
    else reader.skip();
  }
}

function readOpset(reader: Reader, opsets: Map<string, number>): void {
  let [domain, version] = ['', 0];
  while (reader.next()) {
    if (reader.field === 1) domain = domainOf(reader.text());
    else if (reader.field === 2) version = reader.int();
    else reader.skip();
  }
  opsets.set(domain, version);
}

function readFunction(reader: Reader, pending: Pending[]): FunctionProto {
  const f: FunctionProto = { name: '', domain: '', overload: '', inputs: [], outputs: [], attributes: [], defaults: [], nodes: [], opsets: new Map() };
  while (reader.next()) {
    if (reader.field === 1) f.name = reader.text();
    else if (reader.field === 4) f.inputs.push(reader.text());
    else if (reader.field === 5) f.outputs.push(reader.text());
    else if (reader.field === 6) f.attributes.push(reader.text());
    else if (reader.field === 7) f.nodes.push(readNode(reader.message(`node[${f.nodes.length}]`), f.nodes.length, 0, pending));
    else if (reader.field === 9) readOpset(reader.message('opset_import'), f.opsets);
    else if (reader.field === 10) f.domain = domainOf(reader.text());
    else if (reader.field === 11) f.defaults.push(readAttribute(reader.message('attribute_proto'), 0, pending));
    else if (reader.field === 13) f.overload = reader.text();
    else reader.skip();
  }
  return f;
}

/** Reads a whole file, except the elements of its tensors. */
export function readModel(bytes: Uint8Array): ModelProto {
  const reader = new Reader(bytes, 'model');
  const pending: Pending[] = [];
  const [opsets, functions] = [new Map<string, number>(), [] as FunctionProto[]];
  const producer = ['', ''];
  let graph: GraphProto | null = null;
  while (reader.next()) {
    if (reader.field === 2 || reader.field === 3) producer[reader.field - 2] = reader.text();
    else if (reader.field === 7) {
      if (graph) throw reader.fail('a second graph');
      graph = emptyGraph();
      pending.push({ reader: reader.message('graph'), graph, depth: 0 });
    } else if (reader.field === 8) readOpset(reader.message('opset_import'), opsets);
    else if (reader.field === 25) functions.push(readFunction(reader.message(`functions[${functions.length}]`), pending));
    else reader.skip();
  }
  if (!graph) throw new SinterError('argument', 'onnx', 'damaged: there is no graph in it', { hint: 'expected the bytes of an .onnx file' });
  for (let next; (next = pending.pop()); ) readGraph(next, pending);
  return { bytes, producer: producer.join(' ').trim(), opsets, graph, functions };
}
