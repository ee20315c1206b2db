// The memory plan: every block of the arena as a box, time to the right (one column per kernel), address
// upwards. Blocks that share an address at different times are what the plan saves.

import { create, element, setText } from '../../views/dom.ts';
import { bytes, plural, scaled } from '../../views/format.ts';
import { shapeText } from '../graph/scene.ts';
import { kernelHue } from '../graph/painter.ts';
import type { MemoryBlock, Report } from '../report.ts';
import type { Lit, Selection } from '../selection.ts';

const SVG = 'http://www.w3.org/2000/svg';
/** The margin around the picture, with room below for the names of the steps. */
const INSET = 8;
const AXIS = 20;
/** A thinner block could not be seen or hit. */
const MIN_HEIGHT = 3;
const LABEL_HEIGHT = 15;
const LABEL_WIDTH = 60;

type Placed = MemoryBlock & { offset: number };

function svg(tag: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

function sayBlock({ value, node, dtype, shape, bytes: size, offset, first, last }: Placed): string {
  const when = first === last ? `during k${first}` : `from k${first} to k${last}`;
  return `b${value} = %${node} ${dtype} ${shapeText(shape)}, ${bytes(size)} at ${offset}, ${when}`;
}

/** What derivatives make again, and its price. */
function sayAgain({ memory: { again }, flops }: Report): string {
  if (again === null) return '';
  const share = flops > 0 ? `, ${Math.round((100 * again.flops) / flops)} % of the work` : '';
  const kept = again.keptValues === 0 ? '' : `${plural(again.keptValues, 'value')} (${bytes(again.keptBytes)}) kept, `;
  return ` Derivatives make again what they do not keep: ${kept}${bytes(again.droppedBytes)} dropped, ${scaled(again.flops)}FLOP${share}.`;
}

export class MemoryView {
  private readonly frame = element('memory');
  private readonly details = element('memory-details');
  private report: Report | null = null;

  constructor(private readonly selection: Selection) {
    selection.listen((lit) => this.light(lit));
    // Drawn at its actual size, so that texts keep theirs.
    new ResizeObserver(() => this.draw()).observe(this.frame);
  }

  show(report: Report): void {
    const { memory } = report;
    this.report = report;
    const placed = memory.blocks.filter((block): block is Placed => block.offset !== null);
    const { arenaBytes, naiveBytes } = memory;
    const share = naiveBytes > 0 ? ` (${Math.round((100 * arenaBytes) / naiveBytes)} %)` : '';
    const hasLoops = report.kernels.some(({ kind }) => kind === 'control');
    const instead = hasLoops
      ? ', with the memory that loops have for a round'
      : `; each in a block of its own they would take ${bytes(naiveBytes)}${share}`;
    const plan =
      placed.length === 0
        ? 'No intermediate value needs memory: there is nothing to plan.'
        : `${plural(placed.length, 'value')} in an arena of ${bytes(arenaBytes)}${instead}.`;
    setText(element('memory-note'), plan + sayAgain(report));
    this.frame.hidden = placed.length === 0;
    this.details.replaceChildren(create('p', 'muted', placed.length === 0 ? '' : 'Point at a block to see what it holds.'));
    this.draw();
  }

  private light(lit: Lit | null): void {
    this.frame.classList.toggle('dimmed', lit !== null);
    for (const box of this.frame.querySelectorAll<SVGElement>('[data-block]'))
      box.classList.toggle('lit', lit?.blocks.has(Number(box.dataset.block)) ?? false);
  }

  private draw(): void {
    const width = this.frame.clientWidth - 2 * INSET;
    const height = this.frame.clientHeight - 2 * INSET - AXIS;
    if (this.report === null || width <= 0 || height <= 0) return;
    const { memory, kernels } = this.report;
    const placed = memory.blocks.filter((block): block is Placed => block.offset !== null);
    const picture = svg('svg', {
      width,
      height: height + AXIS,
      role: 'group',
      'aria-label': 'Blocks of the arena over the steps of the program',
    });
    const column = width / Math.max(1, kernels.length);
    this.drawSteps(picture, kernels.length, column, height);
    const perByte = height / Math.max(1, memory.arenaBytes);
    for (const block of placed) picture.append(...this.block(block, column, height, perByte));
    this.frame.replaceChildren(...(placed.length === 0 ? [] : [picture]));
    this.light(this.selection.lit);
  }

  private drawSteps(picture: SVGElement, steps: number, column: number, height: number): void {
    const every = Math.ceil(36 / column);
    for (let step = 0; step < steps; step += every) {
      picture.append(svg('line', { x1: step * column, x2: step * column, y1: 0, y2: height, class: 'rule' }));
      const label = svg('text', { x: step * column + 3, y: height + 15, class: 'axis' });
      label.textContent = `k${step}`;
      picture.append(label);
    }
  }

  private block(block: Placed, column: number, bottom: number, perByte: number): SVGElement[] {
    const x = block.first * column;
    const width = (block.last - block.first + 1) * column;
    const height = Math.max(MIN_HEIGHT, block.bytes * perByte);
    const y = Math.max(0, bottom - block.offset * perByte - height);
    const box = svg('rect', { x: x + 1, y: y + 0.5, width: Math.max(2, width - 2), height: Math.max(2, height - 1), rx: 3, tabindex: 0 });
    // A block has the colour of the kernel that writes it, here as in the graph.
    box.style.setProperty('--hue', String(kernelHue(block.first)));
    const say = (): void => this.details.replaceChildren(create('p', '', sayBlock(block)));
    box.addEventListener('pointerenter', say);
    box.addEventListener('focus', say);
    box.dataset.block = String(block.value);
    box.addEventListener('click', () => this.selection.choose({ what: 'block', value: block.value }));
    const title = svg('title', {});
    title.textContent = sayBlock(block);
    box.append(title);
    if (height < LABEL_HEIGHT || width < LABEL_WIDTH) return [box];
    const label = svg('text', { x: x + 8, y: y + Math.min(height / 2 + 4, 16), class: 'label' });
    label.textContent = `b${block.value} ${bytes(block.bytes)}`;
    return [box, label];
  }
}
