// Draws a circuit: a column per depth, gates near those that they read, and wires as lines.

import * as sn from '../../index.js';
import { NAMES } from '../gates16.js';
import type { CircuitData } from './circuit.js';
import { signalsOf } from './simplify.js';

/** The most gates of a drawing: more than anyone can follow. */
const MOST = 4000;
const [ROOM_X, ROOM_Y, BOX_X, BOX_Y] = [120, 30, 64, 20];

interface Node {
  label: string;
  reads: readonly number[];
  column: number;
  /** Centre of the box. */
  y: number;
}

/** A node for each input that is read, each gate and each output. A node reads others by their index. */
function nodesOf({ inputs, gates, outputs }: CircuitData): Node[] {
  const nodes: Node[] = [];
  const made = new Map<number, number>();
  const at = (signal: number): number => {
    if (!made.has(signal)) made.set(signal, nodes.push({ label: `in ${signal}`, reads: [], column: 0, y: 0 }) - 1);
    return made.get(signal)!;
  };
  gates.forEach((gate, i) => {
    const reads = signalsOf(gate).map(at);
    const column = 1 + Math.max(0, ...reads.map((n) => nodes[n]!.column));
    made.set(inputs + i, nodes.push({ label: NAMES[gate[0]]!, reads, column, y: 0 }) - 1);
  });
  const last = 1 + nodes.reduce((most, { column }) => Math.max(most, column), 0);
  outputs.forEach((signal, i) => {
    const read = at(signal);
    nodes.push({ label: `out ${i}`, reads: [read], column: last, y: 0 });
  });
  return nodes;
}

/** Orders each column, from left to right, by the mean height of what its nodes read. */
function arrange(nodes: readonly Node[]): { width: number; height: number } {
  const columns: Node[][] = [];
  for (const node of nodes) (columns[node.column] ??= []).push(node);
  const most = Math.max(1, ...columns.map((column) => column.length));
  const height = most * ROOM_Y;
  const wish = ({ reads }: Node): number => reads.reduce((sum, n) => sum + nodes[n]!.y, 0) / Math.max(reads.length, 1);
  for (const column of columns) {
    const order = column.map((node) => ({ node, wish: wish(node) })).sort((a, b) => a.wish - b.wish);
    order.forEach(({ node }, i) => (node.y = ((i + 0.5) * height) / order.length));
  }
  return { width: columns.length * ROOM_X, height };
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

export function toSvg(data: CircuitData): string {
  if (data.gates.length > MOST)
    throw new sn.SinterError('argument', 'circuit.toSvg', `${data.gates.length} gates, at most ${MOST} can be drawn`, {
      hint: 'toGraphviz has no limit',
    });
  const nodes = nodesOf(data);
  const { width, height } = arrange(nodes);
  const x = ({ column }: Node): number => (column + 0.5) * ROOM_X;
  const wires = nodes.flatMap((node) =>
    node.reads.map((n) => {
      const from = nodes[n]!;
      const [x1, x2] = [x(from) + BOX_X / 2, x(node) - BOX_X / 2];
      const middle = (x1 + x2) / 2;
      return `<path d="M${x1} ${from.y}C${middle} ${from.y} ${middle} ${node.y} ${x2} ${node.y}"/>`;
    }),
  );
  const boxes = nodes.map(
    (node) =>
      `<rect x="${x(node) - BOX_X / 2}" y="${node.y - BOX_Y / 2}" width="${BOX_X}" height="${BOX_Y}" rx="3"/>` +
      `<text x="${x(node)}" y="${node.y + 4}">${escaped(node.label)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<g fill="none" stroke="#888">${wires.join('')}</g>
<g fill="#fff" stroke="#333" font-family="monospace" font-size="11" text-anchor="middle">${boxes.join('').replaceAll('<text', '<text fill="#111" stroke="none"')}</g>
</svg>
`;
}
