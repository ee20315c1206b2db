// What there is to say about a box of the graph: a node, or a kernel.

import { bytes, count } from '../../views/format.ts';
import { shapeText, type Scene } from '../graph/scene.ts';
import type { Kernel, Report, Stage } from '../report.ts';

export interface Line {
  label: string;
  value: string;
}

const MAX_NAMED = 8;

function list(names: string[]): string {
  const more = names.length - MAX_NAMED;
  return more > 0 ? `${names.slice(0, MAX_NAMED).join(', ')} and ${more} more` : names.join(', ');
}

function cutsOf({ kernels }: Report, kernel: Kernel): string[] {
  const texts = kernels.flatMap(({ cuts }) =>
    cuts
      .filter(({ from, to }) => from === kernel.id || to === kernel.id)
      .map(({ from, to, reason }) => `k${from ?? '–'} → k${to ?? '–'}: ${reason}`),
  );
  return [...new Set(texts)];
}

function describeKernel(report: Report, kernel: Kernel): Line[] {
  const lines = [
    { label: '', value: `k${kernel.id} · ${kernel.kind} · ${kernel.name}` },
    { label: 'work', value: `${count(kernel.flops)} FLOP, ${bytes(kernel.bytes)} read and written` },
  ];
  const cuts = cutsOf(report, kernel);
  if (cuts.length > 0) lines.push({ label: 'cut', value: list(cuts) });
  return lines;
}

function describeNode(report: Report, stage: Stage, id: number): Line[] {
  const nodes = new Map(stage.nodes.map((node) => [node.id, node]));
  const node = nodes.get(id);
  if (node === undefined) return [{ label: '', value: `%${id}` }];
  const name = (of: number): string => `%${of} ${nodes.get(of)?.op ?? ''}`;
  const kernel = report.kernels.find((each) => each.id === node.kernel);
  const reads = stage.edges.filter(({ to }) => to === id).map(({ from }) => name(from));
  const readers = stage.edges.filter(({ from }) => from === id).map(({ to }) => name(to));
  const detail = node.detail === '' ? '' : ` {${node.detail}}`;
  const lines = [
    { label: '', value: `%${id} ${node.op}${detail} · ${node.dtype} · ${shapeText(node.shape)}` },
    { label: 'kernel', value: kernel === undefined ? '' : `k${kernel.id} ${kernel.kind} ${kernel.name}` },
    { label: 'reads', value: list(reads) },
    { label: 'read by', value: list(readers) },
  ];
  if (stage.outputs.includes(id)) lines.push({ label: '', value: 'a result of the program' });
  if (kernel !== undefined) {
    const cuts = readers.length === 0 ? [] : cutsOf(report, kernel);
    lines.push({ label: 'cut', value: list(cuts) });
  }
  return lines.filter(({ value }) => value !== '');
}

export function describeBox(report: Report, stage: Stage, scene: Scene, box: number): Line[] {
  const { id } = scene.boxes[box];
  if (scene.of === 'nodes') return describeNode(report, stage, id);
  const kernel = report.kernels.find((each) => each.id === id);
  return kernel === undefined ? [] : describeKernel(report, kernel);
}
