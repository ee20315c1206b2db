// Shows the memory plan: every block of the arena as a box, with time to the right (a column per kernel) and addresses upwards.
// Blocks that share addresses at different times are what the plan saves.

import { create, element, setText } from '../../views/dom.ts';
import { bytes, plural, scaled } from '../../views/format.ts';
import { shapeText } from '../graph/scene.ts';
import { kernelHue } from '../graph/painter.ts';
import type { MemoryBlock, Report } from '../report.ts';
import type { Lit, Selection } from '../selection.ts';

const SVG = 'http://www.w3.org/2000/svg';
/** The margin around the picture, and the room below for the names of steps. */
const INSET = 8;
const AXIS = 20;
/** A lower block could not be seen or hit. */
const MIN_HEIGHT = 3;
const LABEL_HEIGHT = 15;
/** The width of a letter in a label, and the space beside its text. */
const [LETTER, BESIDE] = [7.3, 14];

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

/** Says what derivatives compute again instead of keeping it, and the cost. */
function sayAgain({ memory: { again }, flops }: Report): string {
  if (again === null) return '';
  const share = flops > 0 ? `, ${Math.round((100 * again.flops) / flops)} % of the work` : '';
  const kept = again.keptValues === 0 ? '' : `${plural(again.keptValues, 'value')} (${bytes(again.keptBytes)}) kept, `;
  return ` Derivatives make again what they do not keep: ${kept}${bytes(again.droppedBytes)} dropped, ${scaled(again.flops, 'FLOP')}${share}.`;
}

/** Says the cost of keeping within a budget. */
function sayPrice({ memory: { budget }, flops }: Report): string {
  if (budget === null) return '';
  if (budget.kernelsAgain === 0) return ' It keeps within the budget as it is.';
  const share = flops > 0 ? `, ${Math.round((100 * budget.flopsAgain) / flops)} % of the work` : '';
  return ` ${bytes(budget.savedBytes)} less: ${plural(budget.kernelsAgain, 'kernel')} run again, ${scaled(budget.flopsAgain, 'FLOP')}${share}.`;
}

/** Says why a block is still in use at a step: which kernel reads it later. */
function sayWhy({ kernels, stages }: Report, block: MemoryBlock, step: number): string {
  const later = kernels.filter(({ id, reads }) => id > step && reads.includes(block.value)).map(({ id }) => id);
  if (later.length === 0) return `b${block.value} ${bytes(block.bytes)} in use`;
  const derivatives = new Set(stages.at(-1)?.nodes.flatMap(({ id, derivative }) => (derivative ? [id] : [])));
  const isDerivative = (kernel: number): boolean => kernels[kernel].nodes.some((id) => derivatives.has(id));
  const kept = !derivatives.has(block.node) && later.some(isDerivative) ? ', for a derivative' : '';
  return `b${block.value} ${bytes(block.bytes)} until k${later.at(-1)} reads it${kept}`;
}

/** The plan is made once the slider has rested this long. */
const RESTS_MS = 120;
const MAX_LIVE = 6;

export class MemoryView {
  private readonly slider = element<HTMLInputElement>('memory-budget');
  /** The report of the program without a budget. */
  private whole: Report | null = null;
  private resting = 0;
  private readonly frame = element('memory');
  private readonly details = element('memory-details');
  private report: Report | null = null;

  /** plan: compiles the program again within so many bytes. */
  constructor(
    private readonly selection: Selection,
    private readonly plan: (budget: number) => Promise<Report>,
  ) {
    this.slider.addEventListener('input', () => {
      clearTimeout(this.resting);
      this.resting = window.setTimeout(() => void this.planAgain(), RESTS_MS);
      this.sayBudget();
    });
    selection.listen((lit) => this.light(lit));
    // The picture is drawn at its actual size, so that texts keep theirs.
    new ResizeObserver(() => this.draw()).observe(this.frame);
  }

  /** Called after a program is compiled. */
  show(report: Report): void {
    this.whole = report;
    this.slider.value = this.slider.max;
    this.slider.disabled = report.memory.arenaBytes === 0;
    this.sayBudget();
    this.present(report);
  }

  private get budget(): number | null {
    const share = Number(this.slider.value) / Number(this.slider.max);
    return share === 1 || this.whole === null ? null : Math.round(share * this.whole.memory.arenaBytes);
  }

  private sayBudget(): void {
    setText(element('memory-budget-value'), this.budget === null ? 'as much as it takes' : bytes(this.budget));
  }

  private async planAgain(): Promise<void> {
    const { whole, budget } = this;
    if (whole === null) return;
    if (budget === null) return this.present(whole);
    try {
      const report = await this.plan(budget);
      if (this.whole === whole && this.budget === budget) this.present(report);
    } catch (error) {
      if (this.whole !== whole || this.budget !== budget) return;
      this.present(whole);
      setText(element('memory-note'), `${error instanceof Error ? error.message : String(error)}. The picture shows the plan without a budget.`);
    }
  }

  private present(report: Report): void {
    const { memory } = report;
    this.report = report;
    this.frame.dataset.arena = String(memory.arenaBytes);
    this.frame.dataset.again = String(memory.budget?.kernelsAgain ?? 0);
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
    setText(element('memory-note'), plan + sayPrice(report) + sayAgain(report));
    this.frame.hidden = placed.length === 0;
    this.details.replaceChildren(create('p', 'muted', placed.length === 0 ? '' : 'Point at a block to see what it holds.'));
    this.draw();
  }

  private light(lit: Lit | null): void {
    if (this.report !== this.whole) lit = null;
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
    picture.append(...this.live(placed, kernels.length, column, height, perByte));
    picture.addEventListener('pointermove', (event) => {
      if ((event.target as Element).tagName === 'rect') return;
      const { left } = picture.getBoundingClientRect();
      this.sayLive(Math.floor((event.clientX - left) / column));
    });
    this.frame.replaceChildren(...(placed.length === 0 ? [] : [picture]));
    this.light(this.selection.lit);
  }

  /** The bytes in use at each step as a line, with its maximum labelled. */
  private live(placed: readonly Placed[], steps: number, column: number, bottom: number, perByte: number): SVGElement[] {
    const used = new Float64Array(steps);
    for (const { first, last, bytes: size } of placed) for (let step = first; step <= Math.min(last, steps - 1); step++) used[step] += size;
    if (steps === 0 || placed.length === 0) return [];
    const y = (step: number): number => Math.max(1, bottom - used[step] * perByte);
    const points = Array.from(used, (_, step) => `${step * column},${y(step)} ${(step + 1) * column},${y(step)}`);
    const peak = used.indexOf(Math.max(...used));
    const label = svg('text', { x: Math.max(4, Math.min(peak * column, steps * column - 150)), y: Math.max(12, y(peak) - 5), class: 'peak' });
    label.textContent = `peak at k${peak}: ${bytes(used[peak])} in use`;
    return [svg('polyline', { points: points.join(' '), class: 'live' }), label];
  }

  /** Lists what is in the arena at a step, and why. */
  private sayLive(step: number): void {
    const { report } = this;
    if (report?.kernels[step] === undefined) return;
    const live = report.memory.blocks
      .filter(({ offset, first, last }) => offset !== null && first <= step && step <= last)
      .sort((a, b) => b.bytes - a.bytes);
    const said = live.slice(0, MAX_LIVE).map((block) => sayWhy(report, block, step));
    const more = live.length > MAX_LIVE ? ` and ${live.length - MAX_LIVE} more` : '';
    this.details.replaceChildren(
      create('p', '', `At k${step} ${report.kernels[step].name}`),
      create('p', '', said.length === 0 ? 'Nothing is in the arena.' : `${said.join('; ')}${more}`),
    );
  }

  private drawSteps(picture: SVGElement, steps: number, column: number, height: number): void {
    const every = Math.ceil(36 / column);
    for (let step = 0; step < steps; step += every) {
      picture.append(svg('line', { x1: step * column, x2: step * column, y1: 0, y2: height, class: 'rule' }));
      if ((steps - step) * column < String(step).length * LETTER + BESIDE) continue;
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
    const box = svg('rect', { x: x + 1, y: y + 0.5, width: Math.max(2, width - 2), height: Math.max(2, height - 1), rx: 3, tabindex: 0, role: 'button' });
    // A block has the colour of the kernel that writes it, as in the graph.
    box.style.setProperty('--hue', String(kernelHue(block.first)));
    const say = (): void => this.details.replaceChildren(create('p', '', sayBlock(block)), create('p', '', this.report === null ? '' : sayWhy(this.report, block, block.first)));
    box.addEventListener('pointerenter', say);
    box.addEventListener('focus', say);
    box.dataset.block = String(block.value);
    const choose = (): void => {
      // With a budget, kernels have other numbers, so nothing is selected.
      if (this.report === this.whole) this.selection.choose({ what: 'block', value: block.value });
    };
    box.addEventListener('click', choose);
    box.addEventListener('keydown', (event) => {
      if ((event as KeyboardEvent).key === 'Enter') choose();
    });
    const title = svg('title', {});
    title.textContent = sayBlock(block);
    box.append(title);
    const name = `b${block.value}`;
    const text = [`${name} ${bytes(block.bytes)}`, name].find(({ length }) => length * LETTER + BESIDE <= width);
    if (height < LABEL_HEIGHT || text === undefined) return [box];
    const label = svg('text', { x: x + 8, y: y + Math.min(height / 2 + 4, 16), class: 'label' });
    label.textContent = text;
    return [box, label];
  }
}
