// Writes a traced function as a JavaScript module: a comment, the helpers it needs, and the function.

import type { ResultKind } from '../origin.js';
import type { TreeShape } from '../pytree.js';
import { Block, type Binding } from './block.js';
import { typeText, type Graph } from './graph.js';
import { lastWord, Names } from './names.js';
import { HELPERS, numberText, optionsText, type HelperName } from './spell.js';

/** A tensor that the function captured. */
export interface Captured {
  dtype: string;
  shape: readonly number[];
  /** The elements, row-major. */
  values: () => ArrayLike<number>;
}

/** What is known about a traced function. */
export interface Traced {
  graph: Graph;
  /** The names of the parameters; null for one without a name. */
  parameters: readonly (string | null)[];
  /** For each argument, the paths of its tensors: '.w1', or '' for the argument itself. */
  places: readonly (readonly string[])[];
  result: TreeShape;
  /** The paths of the tensors in the result. */
  resultPlaces: readonly string[];
  kind: ResultKind;
  /** Inputs of the graph after those for the function's arguments. */
  captured: readonly Captured[];
}

/** Captured tensors of up to so many elements are written as literals; larger ones become parameters. */
const MOST_ELEMENTS = 32;

const key = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

function staticText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value === 'bigint') return `${value}n`;
  return typeof value === 'boolean' || value === null ? String(value) : 'undefined';
}

/** The text of a result's tree; its leaves are taken from texts in order. */
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

const sizeOf = (shape: readonly number[]): number => shape.reduce((n, dim) => n * dim, 1);

/** A tensor as a literal of nested arrays. */
function literal({ dtype, shape, values }: Captured): string {
  const wide = dtype === 'float64' ? dtype : 'float32';
  let texts = Array.from(values(), (value) => (dtype === 'bool' ? String(value !== 0) : numberText(value, wide)));
  const isEmpty = texts.length === 0;
  for (const width of isEmpty ? [] : [...shape].reverse())
    texts = Array.from({ length: texts.length / width }, (_, i) => `[${texts.slice(i * width, (i + 1) * width).join(', ')}]`);
  const options = optionsText({
    dtype: dtype === 'float32' || (dtype === 'bool' && !isEmpty) ? undefined : `'${dtype}'`,
    shape: isEmpty ? `[${shape.join(', ')}]` : undefined,
  });
  return `sn.tensor(${isEmpty ? '[]' : texts[0]}${options && `, ${options}`})`;
}

/** Names for the leaves of the result, '' if nothing is known: derivatives after what they derive by, others after their
 *  keys. */
function resultNames({ kind, places, resultPlaces }: Traced, parameters: readonly string[]): string[] {
  const leaves = (kind.gradsOf ?? []).flatMap((n) => (places[n] ?? []).map((path) => `d${lastWord(`${parameters[n]}${path}`)}`));
  const known = kind.hasValue ? ['value', ...leaves] : leaves;
  return resultPlaces.map((path, i) => known[i] ?? lastWord(path));
}

/** The text of a module with the function under this name; null if the name is a word of JavaScript, or used in the text. */
export function moduleText(traced: Traced, name: string): string | null {
  const { graph, captured } = traced;
  const names = new Names();
  if (names.claim(name) !== name) return null;
  const parameters = traced.parameters.map((each) => names.claim(each ?? 'x'));
  const places = traced.places.flatMap((paths, i) => paths.map((path) => `${parameters[i]}${path}`));
  const bindings: Binding[] = places.map((text) => ({ text }));
  const constants: string[] = [];
  const comments = places.map((path, i) => {
    const node = graph.nodes.find(({ op, attrs }) => op === 'input' && attrs['number'] === i);
    return `//   ${path}: ${node ? typeText(node) : 'not used'}`;
  });
  const given = [...parameters];
  for (const t of captured) {
    const isSmall = sizeOf(t.shape) <= MOST_ELEMENTS;
    const own = names.claim(isSmall ? 'known' : 'captured');
    bindings.push({ text: own });
    if (isSmall) {
      constants.push(`const ${own} = ${literal(t)}; // ${typeText(t)}`);
      continue;
    }
    given.push(own);
    comments.push(`//   ${own}: ${typeText(t)}, which the function captured`);
  }
  const hints = new Map<number, string>();
  resultNames(traced, parameters).forEach((hint, i) => hint && hints.set(graph.outputs[i]!, hint));
  const helpers = new Set<HelperName>();
  const block = new Block(graph, names, helpers, bindings, hints);
  const written = block.write();
  const outputs = written.length > 1 ? block.nameOutputs() : written;
  const [only] = graph.outputs;
  const type = graph.outputs.length === 1 && !/^[\w$]+$/.test(outputs[0]!) ? ` // ${typeText(graph.nodes[only!]!)}` : '';
  const body = [...constants, ...block.lines, `return ${treeText(traced.result, outputs)};${type}`].map((line) => line.replace(/^(?=.)/gm, '  '));
  return [
    `import * as sn from 'sinter';\n`,
    ...[...helpers].map((helper) => `${HELPERS[helper]}\n`),
    `// ${name}: written by Sinter.`,
    ...comments,
    `export function ${name}(${given.join(', ')}) {`,
    ...body,
    '}\n',
  ].join('\n');
}
