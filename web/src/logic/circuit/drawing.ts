// A circuit as an SVG of gates, with inputs on the left and outputs on the right, whose wires show values. Positions come from
// the layout worker of the compiler's graphs, with the axes exchanged.

import { Rpc } from '../../compiler/rpc.ts';
import type { Layout, LayoutMethods } from '../../compiler/protocol.ts';
import type { CircuitFacts } from '../automaton/protocol.ts';
import { inputName, inputTitle } from './names.ts';
import { HEIGHT, SYMBOLS, WIDTH, pathsOf, portOf } from './symbols.ts';

const LABEL_WIDTH = 40;
const LABEL_HEIGHT = 20;
const MARGIN = 12;
const LIMIT_MS = 30_000;
const SVG = 'http://www.w3.org/2000/svg';

/** An input or a gate with its signal, or an output, which reads a signal. */
interface Node {
  kind: 'input' | 'gate' | 'output';
  signal: number;
  /** The signals it reads, each with its side. */
  reads: { signal: number; side: 0 | 1 }[];
  label: string;
}

interface Wire {
  from: number;
  to: number;
  side: 0 | 1;
}

function make(tag: string, attributes: Record<string, string>, ...children: (Element | string)[]): SVGElement {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The inputs that are read, the gates, and the outputs that change their channel. */
function nodesOf({ inputs, gates, outputs, names }: CircuitFacts): Node[] {
  const own = gates.map(([f, a, b], i): Node => {
    const { reads } = SYMBOLS[f];
    const all = [{ signal: a, side: 0 as const }, { signal: b, side: 1 as const }];
    const read = all.filter(({ side }) => reads === 'both' || reads === (side === 0 ? 'a' : 'b'));
    return { kind: 'gate', signal: inputs + i, reads: read, label: names[f] };
  });
  const ends = outputs.flatMap((signal, channel): Node[] =>
    signal === 9 * channel + 4 ? [] : [{ kind: 'output', signal, reads: [{ signal, side: 0 }], label: `${channel} ′` }],
  );
  const read = new Set([...own, ...ends].flatMap(({ reads }) => reads.map(({ signal }) => signal)));
  const begins = [...read].filter((signal) => signal < inputs).sort((a, b) => a - b);
  const first = begins.map((signal): Node => ({ kind: 'input', signal, reads: [], label: inputName(signal) }));
  return [...first, ...own, ...ends];
}

/** A path through all points that is horizontal at each of them. */
function curve(points: readonly [number, number][]): string {
  const [[x, y], ...rest] = points;
  let [px, py] = [x, y];
  let path = `M${x.toFixed(1)} ${y.toFixed(1)}`;
  for (const [nx, ny] of rest) {
    const middle = ((px + nx) / 2).toFixed(1);
    path += `C${middle} ${py.toFixed(1)} ${middle} ${ny.toFixed(1)} ${nx.toFixed(1)} ${ny.toFixed(1)}`;
    [px, py] = [nx, ny];
  }
  return path;
}

export interface Drawing {
  svg: SVGElement;
  width: number;
  height: number;
  /** Shows the value of each signal. */
  light(signals: Uint8Array): void;
}

export class Drawer {
  private readonly rpc = new Rpc<LayoutMethods>(
    () => new Worker(new URL('../../compiler/workers/layout.ts', import.meta.url), { type: 'module', name: 'layout' }),
  );

  async draw(circuit: CircuitFacts): Promise<Drawing> {
    const nodes = nodesOf(circuit);
    const places = new Map(nodes.flatMap(({ kind, signal }, i) => (kind === 'output' ? [] : [[signal, i]])));
    const wires = nodes.flatMap(({ reads }, to) => reads.map(({ signal, side }): Wire => ({ from: places.get(signal)!, to, side })));
    const isGate = ({ kind }: Node): boolean => kind === 'gate';
    const layout = await this.rpc.ask('layout', [{
      widths: Float32Array.from(nodes, (node) => (isGate(node) ? HEIGHT : LABEL_HEIGHT)),
      heights: Float32Array.from(nodes, (node) => (isGate(node) ? WIDTH : LABEL_WIDTH)),
      edges: Uint32Array.from(wires.flatMap(({ from, to }) => [from, to])),
    }], LIMIT_MS);
    return drawingOf(circuit, nodes, wires, layout);
  }

  cancel(): void {
    this.rpc.end();
  }
}

function drawingOf({ gates, inputs }: CircuitFacts, nodes: readonly Node[], wires: readonly Wire[], layout: Layout): Drawing {
  const [width, height] = [layout.height + 2 * MARGIN, layout.width + 2 * MARGIN];
  const centre = (i: number): [number, number] => [layout.centres[2 * i + 1] + MARGIN, layout.centres[2 * i] + MARGIN];
  const half = (i: number): number => (nodes[i].kind === 'gate' ? WIDTH : LABEL_WIDTH) / 2;
  const lit: { element: SVGElement; signal: number }[] = [];
  const lines = wires.map(({ from, to, side }, e) => {
    const between: [number, number][] = [];
    for (let p = layout.starts[e] + 1; p < layout.starts[e + 1] - 1; p++) between.push([layout.points[2 * p + 1] + MARGIN, layout.points[2 * p] + MARGIN]);
    const [[x, y], [endX, endY]] = [centre(from), centre(to)];
    const node = nodes[to];
    const port = node.kind === 'gate' ? portOf(gates[node.signal - inputs][0], side) : 0;
    const begin = x + half(from);
    const end = endX - half(to);
    const inside = between.filter(([at]) => at > begin && at < end);
    const element = make('path', { class: 'wire', d: curve([[begin, y], ...inside, [end, endY + port]]) });
    lit.push({ element, signal: nodes[from].signal });
    return element;
  });
  const boxes = nodes.map((node, i) => {
    const [x, y] = centre(i);
    const element = make('g', { class: node.kind, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` }, ...insides(node, gates[node.signal - inputs]?.[0]));
    lit.push({ element, signal: node.signal });
    return element;
  });
  const svg = make('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img' }, ...lines, ...boxes);
  return {
    svg,
    width,
    height,
    light: (signals) => {
      for (const { element, signal } of lit) element.classList.toggle('on', signals[signal] === 1);
    },
  };
}

function insides({ kind, label }: Node, f: number): SVGElement[] {
  const title = make('title', {}, kind === 'input' ? inputTitle(label) : kind === 'output' ? `the next state of channel ${parseInt(label)}` : label);
  if (kind !== 'gate') {
    const box = { x: String(-LABEL_WIDTH / 2), y: String(-LABEL_HEIGHT / 2), width: String(LABEL_WIDTH), height: String(LABEL_HEIGHT), rx: '5' };
    return [title, make('rect', box), make('text', { y: '4' }, label)];
  }
  const { body, lines } = pathsOf(f);
  return [title, make('path', { class: 'lead', d: lines }), make('path', { class: 'body', d: body })];
}
