// Shows where the time of kernels goes: by kind, then by line of the program, then by kernel. The width of a bar is its share.

import { create } from '../../views/dom.ts';
import { significant } from '../../views/format.ts';
import { kernelHue } from '../graph/painter.ts';
import type { Report } from '../report.ts';
import type { Chosen } from '../selection.ts';

/** For each kernel the line that most of its nodes come from; null if none is known. */
function linesOfKernels({ kernels, stages, lines }: Report): (number | null)[] {
  const calls = new Map(stages.at(-1)?.nodes.map(({ id, call }) => [id, call ?? 0]));
  return kernels.map(({ nodes }) => {
    const counts = new Map<number, number>();
    for (const id of nodes) {
      const [line] = lines[calls.get(id) ?? 0] ?? [];
      if (line !== undefined) counts.set(line, (counts.get(line) ?? 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
  });
}

interface Part {
  name: string;
  ms: number;
  hue: number | null;
  chosen: Chosen | null;
  parts: Part[];
}

function group(parts: readonly Part[], key: (part: Part) => string, chosen: (name: string) => Chosen | null): Part[] {
  const groups = new Map<string, Part>();
  for (const part of parts) {
    const name = key(part);
    const known = groups.get(name) ?? { name, ms: 0, hue: null, chosen: chosen(name), parts: [] };
    known.ms += part.ms;
    known.parts.push(part);
    groups.set(name, known);
  }
  return [...groups.values()].sort((a, b) => b.ms - a.ms);
}

function rows(report: Report, ms: readonly number[]): Part[] {
  const lines = linesOfKernels(report);
  const leaves = report.kernels
    .map(({ id, name, kind }) => ({
      part: { name: `k${id} ${name}`, ms: ms[id] ?? 0, hue: kernelHue(id), chosen: { what: 'kernel', kernel: id } as const, parts: [] },
      kind,
      line: lines[id],
    }))
    .filter(({ part }) => part.ms > 0);
  const facts = new Map<Part, (typeof leaves)[number]>(leaves.map((leaf) => [leaf.part, leaf]));
  const kinds = group(leaves.map(({ part }) => part), (part) => facts.get(part)?.kind ?? '', () => null);
  return kinds.map((kind) => ({
    ...kind,
    parts: group(
      kind.parts,
      (part) => (facts.get(part)?.line == null ? 'no line' : `line ${facts.get(part)?.line}`),
      (name) => (name === 'no line' ? null : { what: 'line', line: Number(name.slice(5)) }),
    ),
  }));
}

function bar(part: Part, left: number, total: number, depth: number, choose: (chosen: Chosen) => void): HTMLElement[] {
  const share = part.ms / total;
  const text = `${part.name} · ${significant(part.ms, 2)} ms · ${(100 * share).toFixed(0)} %`;
  const made = create('button', 'flame-bar', part.name);
  made.type = 'button';
  made.title = text;
  made.setAttribute('aria-label', text);
  made.style.left = `${100 * left}%`;
  made.style.width = `${100 * share}%`;
  made.style.top = `${26 * depth}px`;
  if (part.hue !== null) {
    made.style.setProperty('--hue', String(part.hue));
    made.classList.add('kernel');
  }
  const { chosen } = part;
  if (chosen === null) made.classList.add('still');
  else {
    made.addEventListener('click', () => choose(chosen));
    if (chosen.what === 'kernel') made.dataset.kernel = String(chosen.kernel);
  }
  let at = left;
  const inner = [...part.parts].sort((a, b) => b.ms - a.ms).flatMap((each) => {
    const bars = bar(each, at, total, depth + 1, choose);
    at += each.ms / total;
    return bars;
  });
  return [made, ...inner];
}

/** ms: for each kernel the time of all its calls. */
export function flame(report: Report, ms: readonly number[], choose: (chosen: Chosen) => void): HTMLElement[] {
  const total = ms.reduce((sum, each) => sum + each, 0);
  if (total === 0) return [];
  let left = 0;
  return rows(report, ms).flatMap((kind) => {
    const bars = bar(kind, left, total, 0, choose);
    left += kind.ms / total;
    return bars;
  });
}
