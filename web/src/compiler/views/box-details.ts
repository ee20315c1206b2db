// What there is to say about a box of the graph: a node, or a kernel.

import { bytes, count } from '../../views/format.ts';
import { shapeText, type Scene } from '../graph/scene.ts';
import { isCut, type Kernel, type Report, type Stage } from '../report.ts';

export interface Line {
  label: string;
  value: string;
}

const MAX_NAMED = 8;

function list(names: string[]): string {
  const more = names.length - MAX_NAMED;
  return more > 0 ? `${names.slice(0, MAX_NAMED).join(', ')} and ${more} more` : names.join(', ');
}

/** The values that go through memory to or from one of these nodes, and why. */
function cutsOf(stage: Stage, name: (id: number) => string, isOne: (id: number) => boolean): string[] {
  return stage.edges
    .filter((edge) => isCut(edge) && isOne(edge.from) !== isOne(edge.to))
    .map(({ from, to, reason }) => `${name(from)} → ${name(to)}: ${reason}`);
}

function namesOf({ nodes }: Stage): (id: number) => string {
  const ops = new Map(nodes.map(({ id, op }) => [id, op]));
  return (id) => `%${id} ${ops.get(id) ?? ''}`;
}

function describeKernel(stage: Stage, kernel: Kernel): Line[] {
  const mine = new Set(stage.nodes.filter(({ group }) => group === kernel.id).map(({ id }) => id));
  const lines = [
    { label: '', value: `k${kernel.id} · ${kernel.kind} · ${kernel.name}` },
    { label: 'work', value: `${count(kernel.flops)} FLOP, ${bytes(kernel.bytes)} read and written` },
  ];
  const cuts = cutsOf(stage, namesOf(stage), (id) => mine.has(id));
  if (cuts.length > 0) lines.push({ label: 'through memory', value: list(cuts) });
  return lines;
}

function describeNode(report: Report, stage: Stage, id: number): Line[] {
  const node = stage.nodes.find((each) => each.id === id);
  if (node === undefined) return [{ label: '', value: `%${id}` }];
  const name = namesOf(stage);
  const kernel = report.kernels.find((each) => each.id === node.group);
  const reads = stage.edges.filter(({ to }) => to === id).map(({ from }) => name(from));
  const readers = stage.edges.filter(({ from }) => from === id).map(({ to }) => name(to));
  const detail = node.attrs === '' ? '' : ` {${node.attrs}}`;
  const lines = [
    { label: '', value: `%${id} ${node.op}${detail} · ${node.dtype} · ${shapeText(node.shape)}` },
    { label: 'kernel', value: kernel === undefined ? '' : `k${kernel.id} ${kernel.kind} ${kernel.name}` },
    { label: 'reads', value: list(reads) },
    { label: 'read by', value: list(readers) },
  ];
  if (stage.outputs.includes(id)) lines.push({ label: '', value: 'a result of the program' });
  lines.push({ label: 'through memory', value: list(cutsOf(stage, name, (each) => each === id)) });
  return lines.filter(({ value }) => value !== '');
}

export function describeBox(report: Report, stage: Stage, scene: Scene, box: number): Line[] {
  const { id } = scene.boxes[box];
  if (scene.of === 'nodes') return describeNode(report, stage, id);
  const kernel = report.kernels.find((each) => each.id === id);
  return kernel === undefined ? [] : describeKernel(stage, kernel);
}
