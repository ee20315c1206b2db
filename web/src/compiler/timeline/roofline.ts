// The roofline: the rate of each kernel over its operations per byte. The slope is the memory bandwidth, the level the
// arithmetic peak; both are measured on this machine.

import type { Roof } from 'sinter/report';
import { significant } from '../../views/format.ts';
import { kernelHue } from '../graph/painter.ts';

const SVG = 'http://www.w3.org/2000/svg';
/** The margins. Above a roof at the top there is room for its label. */
const [LEFT, BOTTOM, TOP, RIGHT] = [46, 26, 20, 14];

export interface Point {
  kernel: number;
  name: string;
  flops: number;
  bytes: number;
  /** Milliseconds per call. */
  ms: number;
  /** Its share of the total time, 0 to 1. */
  share: number;
}

function svg(tag: string, attributes: Record<string, string | number>, text = ''): SVGElement {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.textContent = text;
  return made;
}

/** The exponents of the powers of ten around the values. */
function decades(values: readonly number[]): [number, number] {
  const logs = values.filter((value) => value > 0).map(Math.log10);
  return [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs) + 1e-9)];
}

export function roofline(frame: HTMLElement, points: readonly Point[], { gflops, gbps }: Roof, choose: (kernel: number) => void): void {
  const seen = points.filter(({ flops, bytes, ms }) => flops > 0 && bytes > 0 && ms > 0);
  const [width, height] = [frame.clientWidth, frame.clientHeight];
  if (seen.length === 0 || width === 0) return frame.replaceChildren();
  const intensity = ({ flops, bytes }: Point): number => flops / bytes;
  const rate = ({ flops, ms }: Point): number => flops / ms / 1e6;
  const ridge = gflops / gbps;
  const [x0, x1] = decades([...seen.map(intensity), ridge, 10 * ridge]);
  const [y0, y1] = decades([...seen.map(rate), gflops]);
  const x = (value: number): number => LEFT + ((Math.log10(value) - x0) / (x1 - x0)) * (width - LEFT - RIGHT);
  const y = (value: number): number => height - BOTTOM - ((Math.log10(value) - y0) / (y1 - y0)) * (height - BOTTOM - TOP);
  const picture = svg('svg', { width, height, role: 'group', 'aria-label': 'Roofline: GFLOP/s of each kernel over its FLOP per byte' });
  for (let d = x0; d <= x1; d++)
    picture.append(
      svg('line', { x1: x(10 ** d), x2: x(10 ** d), y1: TOP, y2: height - BOTTOM, class: 'rule' }),
      svg('text', { x: x(10 ** d), y: height - 10, class: 'axis', 'text-anchor': 'middle' }, String(10 ** d)),
    );
  for (let d = y0; d <= y1; d++)
    picture.append(
      svg('line', { x1: LEFT, x2: width - RIGHT, y1: y(10 ** d), y2: y(10 ** d), class: 'rule' }),
      svg('text', { x: LEFT - 6, y: y(10 ** d) + 4, class: 'axis', 'text-anchor': 'end' }, String(10 ** d)),
    );
  const start = Math.max(10 ** x0, 10 ** y0 / gbps);
  picture.append(
    svg('polyline', { points: `${x(start)},${y(start * gbps)} ${x(ridge)},${y(gflops)} ${x(10 ** x1)},${y(gflops)}`, class: 'roof' }),
    svg('text', { x: width - RIGHT - 4, y: y(gflops) - 6, class: 'axis', 'text-anchor': 'end' }, `${significant(gflops)} GFLOP/s`),
    svg('text', { x: width - RIGHT - 4, y: height - BOTTOM - 6, class: 'axis', 'text-anchor': 'end' }, 'FLOP / byte'),
  );
  for (const point of seen) {
    const roof = Math.min(gflops, intensity(point) * gbps);
    const text = `k${point.kernel} ${point.name}: ${significant(rate(point))} GFLOP/s, ${Math.round((100 * rate(point)) / roof)} % of the roof`;
    const dot = svg('circle', { cx: x(intensity(point)), cy: y(rate(point)), r: 4 + 9 * Math.sqrt(point.share), tabindex: 0, role: 'button', 'aria-label': text });
    dot.style.setProperty('--hue', String(kernelHue(point.kernel)));
    dot.dataset.kernel = String(point.kernel);
    dot.append(svg('title', {}, text));
    dot.addEventListener('click', () => choose(point.kernel));
    dot.addEventListener('keydown', (event) => {
      if ((event as KeyboardEvent).key === 'Enter') choose(point.kernel);
    });
    picture.append(dot);
  }
  frame.replaceChildren(picture);
}
