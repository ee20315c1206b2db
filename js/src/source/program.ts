// A traced function as a module of JavaScript: its comment, the helpers it needs, and the function.

import { SinterError } from '../errors.js';
import { leavesWithPaths, type TreeShape } from '../pytree.js';
import type { Tensor } from '../tensor.js';
import { Block, type Binding } from './block.js';
import { typeText, type Graph } from './graph.js';
import { lastWord, Names, parameterNames, resultNames } from './names.js';
import { HELPERS, numberText, optionsText, type HelperName } from './spell.js';

export interface Traced {
  graph: Graph;
  /** As the function was given, for its parameters' names. */
  f: (...args: never) => unknown;
  /** Of the list of arguments. */
  args: TreeShape;
  result: TreeShape;
  /** Arguments of the graph behind those of args. */
  captured: readonly Tensor[];
}

/** Captured tensors of at most so many elements are written down; others become parameters. */
const MOST_ELEMENTS = 32;

const key = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

function staticText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value === 'bigint') return `${value}n`;
  return typeof value === 'boolean' || value === null ? String(value) : 'undefined';
}

/** The tree of a result around texts, taken in order. */
function treeText(shape: TreeShape, texts: string[]): string {
  if (shape.kind === 'tensor') return texts.shift()!;
  if (shape.kind === 'static') return staticText(shape.value);
  const items = shape.items.map((item) => treeText(item, texts));
  if (shape.kind === 'array') return `[${items.join(', ')}]`;
  if (shape.kind === 'set') return `new Set([${items.join(', ')}])`;
  if (shape.kind === 'map') return `new Map([${items.map((item, i) => `[${staticText(shape.keys[i])}, ${item}]`).join(', ')}])`;
  const fields = items.map((item, i) => (item === shape.keys[i] ? item : `${key(shape.keys[i]!)}: ${item}`));
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

/** A tensor's elements as nested arrays, written down. */
function literal(t: Tensor): string {
  const dtype = t.dtype === 'float64' ? t.dtype : 'float32';
  const values = t.dtype === 'bool' ? Array.from(t.dataSync(), (value) => String(value !== 0)) : Array.from(t.dataSync(), (value) => numberText(value, dtype));
  let texts = values;
  for (let axis = t.ndim - 1; axis >= 0; axis--) {
    const width = t.shape[axis]!;
    texts = Array.from({ length: texts.length / width }, (_, i) => `[${texts.slice(i * width, (i + 1) * width).join(', ')}]`);
  }
  const options = optionsText({
    dtype: t.dtype === 'float32' || (t.dtype === 'bool' && t.size > 0) ? undefined : `'${t.dtype}'`,
    shape: t.size > 0 ? undefined : `[${t.shape.join(', ')}]`,
  });
  return `sn.tensor(${t.size > 0 ? texts[0] : '[]'}${options && `, ${options}`})`;
}

/** Where the tensors of an argument are, from its parameter on. */
const placesIn = (shape: TreeShape, parameter: string): string[] =>
  leavesWithPaths(shape, parameter).flatMap(({ path, isTensor }) => (isTensor ? [path] : []));

/** The module's text. name: of the function. */
export function jsSource({ graph, f, args, result, captured }: Traced, name: string): string {
  const names = new Names();
  if (names.claim(name) !== name) throw new SinterError('argument', 'jsSource', `${name} is a word of JavaScript, or of what is written`);
  const list = args.kind === 'array' ? args.items : [];
  const known = parameterNames(f, list.length);
  const parameters = known.map((each) => names.claim(each ?? 'x'));
  const places = list.map((arg, i) => placesIn(arg, parameters[i]!));
  const bindings: Binding[] = places.flat().map((text) => ({ text }));
  const constants: string[] = [];
  const comments: string[] = [];
  for (const [i, path] of places.flat().entries()) {
    const node = graph.nodes.find(({ op, attrs }) => op === 'input' && attrs['number'] === i);
    comments.push(`//   ${path}: ${node ? typeText(node) : 'not used'}`);
  }
  for (const t of captured) {
    const own = names.claim(t.size <= MOST_ELEMENTS ? 'known' : 'captured');
    bindings.push({ text: own });
    if (t.size <= MOST_ELEMENTS) {
      constants.push(`const ${own} = ${literal(t)}; // ${typeText(t)}`);
      continue;
    }
    parameters.push(own);
    comments.push(`//   ${own}: ${typeText(t)}, which the function captured`);
  }
  const hints = new Map<number, string>();
  resultNames(f, result, places.map((paths) => paths.map(lastWord))).forEach((hint, i) => hint && hints.set(graph.outputs[i]!, hint));
  const helpers = new Set<HelperName>();
  const block = new Block(graph, names, helpers, bindings, hints);
  const written = block.write();
  const outputs = written.length > 1 ? block.nameOutputs() : written;
  const [only] = graph.outputs;
  const type = graph.outputs.length === 1 && !/^[\w$]+$/.test(outputs[0]!) ? ` // ${typeText(graph.nodes[only!]!)}` : '';
  const body = [...constants, ...block.lines, `return ${treeText(result, outputs)};${type}`].map((line) => line.replace(/^(?=.)/gm, '  '));
  return [
    `import * as sn from 'sinter';\n`,
    ...[...helpers].map((helper) => `${HELPERS[helper]}\n`),
    `// ${name}: written by Sinter.`,
    ...comments,
    `export function ${name}(${parameters.join(', ')}) {`,
    ...body,
    '}\n',
  ].join('\n');
}
