// The large grid: a worker runs the circuit on it, turn by turn, while the user draws, damages and resizes. A turn begins once
// the picture of the previous one is shown.

import { Rpc, openPatiently } from '../../compiler/rpc.ts';
import { create, element, inside, setText, setValue } from '../../views/dom.ts';
import { count, plural, scaled } from '../../views/format.ts';
import type { CircuitFacts } from '../automaton/protocol.ts';
import type { Edit, Frame, GridMethods, Palette, Start, Tool } from './protocol.ts';

const TURN_MS = 24;
const LIMIT_MS = 30_000;
const SIDES = [64, 128, 256, 512, 1024, 2048];
/** The most cells of a grid, over all channels. */
const MOST_CELLS = 1 << 25;
const FIRST_SIDE = 512;
/** Cells between two seeds, so that pictures do not touch. */
const APART = 3;

interface Cell {
  x: number;
  y: number;
}

/** The direction in which a key moves the cursor, by the size of the brush. */
const ARROWS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export class LargeGrid {
  private readonly rpc = new Rpc<GridMethods>(
    () => new Worker(new URL('../workers/grid.ts', import.meta.url), { type: 'module', name: 'grid' }),
  );
  private readonly canvas = element<HTMLCanvasElement>('grid-canvas');
  private readonly side = element<HTMLSelectElement>('grid-side');
  private readonly speed = element<HTMLSelectElement>('grid-speed');
  private readonly channel = element<HTMLSelectElement>('grid-channel');
  private readonly brush = element<HTMLInputElement>('grid-brush');
  private readonly run = element<HTMLButtonElement>('grid-run');
  private readonly tools: HTMLButtonElement[];
  private facts: CircuitFacts | null = null;
  private start: Start = 'random';
  private edits: Edit[] = [];
  private running = false;
  private busy = false;
  /** A new picture is wanted, without a step. */
  private asked = false;
  private oneStep = false;
  private pen: number | null = null;
  private last: Cell | null = null;
  private cursor: Cell = { x: 0, y: 0 };
  private generation = 0;

  constructor(
    private readonly quiet: () => void,
    private readonly fail: (error: unknown) => void,
  ) {
    this.tools = [...element('grid-tools').querySelectorAll('button')];
    for (const button of this.tools) button.addEventListener('click', () => this.choose(button));
    this.run.addEventListener('click', () => this.setRunning(!this.running));
    element('grid-step').addEventListener('click', () => {
      this.setRunning(false);
      this.oneStep = true;
      this.look();
    });
    element('grid-again').addEventListener('click', () => void this.make(false));
    element('grid-damage').addEventListener('click', () => this.damage());
    this.side.addEventListener('change', () => void this.make(true));
    for (const input of [this.channel, this.speed]) input.addEventListener('change', () => this.look());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.look());
    this.bindPen();
  }

  clear(): void {
    this.facts = null;
    this.generation++;
    this.rpc.end();
    this.setRunning(false);
    this.busy = false;
    this.edits = [];
    element('grid-body').hidden = true;
    element('grid-empty').hidden = false;
  }

  /** Runs a circuit; starts: how its grids begin. */
  async show(facts: CircuitFacts, starts: Start): Promise<void> {
    this.clear();
    this.facts = facts;
    this.start = starts;
    const { channels, cells } = facts;
    // A circuit of a picture finds its place by the border, so the grid first has the size that it was trained on.
    const isGrown = starts === 'seeds';
    const sides = [...(isGrown ? [cells.width] : []), ...SIDES.filter((side) => channels * side * side <= MOST_CELLS)];
    this.fill(this.side, sides.map((side) => [String(side), `${count(side)} × ${count(side)}`]));
    this.side.value = String(isGrown ? cells.width : Math.min(FIRST_SIDE, sides[sides.length - 1]));
    if (isGrown) this.speed.value = '1';
    element('grid-note').hidden = !isGrown;
    this.fill(this.channel, Array.from({ length: Math.min(channels, 16) }, (_, i) => [String(i), `channel ${i}`]));
    inside(element('grid-tools'), '[data-tool=seed]').hidden = !isGrown && facts.taken !== null;
    this.choose(this.tools.find(({ dataset }) => dataset.tool === (isGrown ? 'seed' : 'draw'))!);
    element('grid-empty').hidden = true;
    element('grid-body').hidden = false;
    const { generation } = this;
    try {
      const threads = await openPatiently((limitMs) => this.rpc.ask('open', [facts.json], limitMs));
      if (generation !== this.generation) return;
      setText(element('grid-threads'), ` on ${plural(threads, 'thread')}`);
      await this.make(false);
    } catch (error) {
      if (generation === this.generation) this.fail(error);
    }
  }

  rest(): void {
    this.setRunning(false);
  }

  private fill(select: HTMLSelectElement, options: readonly (readonly string[])[]): void {
    select.replaceChildren(
      ...options.map(([value, text]) => {
        const option = create('option', '', text);
        option.value = value;
        return option;
      }),
    );
  }

  private async make(keep: boolean): Promise<void> {
    if (this.facts === null) return;
    const { width } = this.facts.cells;
    const side = Number(this.side.value);
    const apart = side === width ? width : APART * width;
    try {
      await this.rpc.ask('make', [side, this.start, apart, keep], LIMIT_MS);
      this.place({ x: side >> 1, y: side >> 1 });
      this.look();
    } catch (error) {
      this.fail(error);
    }
  }

  private setRunning(running: boolean): void {
    this.running = running && this.facts !== null;
    setText(inside(this.run, 'span'), this.running ? 'Pause' : 'Run');
    this.run.setAttribute('aria-pressed', String(this.running));
    if (!this.running) return;
    this.quiet();
    void this.turns();
  }

  private look(): void {
    this.asked = true;
    void this.turns();
  }

  private async turns(): Promise<void> {
    if (this.busy || this.facts === null) return;
    this.busy = true;
    const { generation } = this;
    try {
      while (generation === this.generation && (this.running || this.asked)) {
        this.asked = false;
        this.paint(await this.rpc.ask('advance', [this.turn()], LIMIT_MS));
        await new Promise((drawn) => requestAnimationFrame(drawn));
      }
    } catch (error) {
      if (generation === this.generation) {
        this.setRunning(false);
        this.fail(error);
      }
    }
    if (generation === this.generation) this.busy = false;
  }

  private turn(): Parameters<GridMethods['advance']>[0] {
    const most = this.oneStep ? 1 : this.running ? Number(this.speed.value) : 0;
    this.oneStep = false;
    const edits = this.edits;
    this.edits = [];
    return { ms: TURN_MS, most, edits, channel: Number(this.channel.value), palette: palette() };
  }

  private paint({ side, pixels, steps, cellsPerSecond }: Frame): void {
    if (this.canvas.width !== side) this.canvas.width = this.canvas.height = side;
    this.canvas.getContext('2d')?.putImageData(new ImageData(pixels, side, side), 0, 0);
    setValue(element('grid-steps'), count(steps), steps);
    setValue(element('grid-speed-now'), cellsPerSecond === null ? '–' : scaled(cellsPerSecond), cellsPerSecond);
  }

  private choose(button: HTMLButtonElement): void {
    for (const each of this.tools) each.setAttribute('aria-pressed', String(each === button));
  }

  private get tool(): Tool {
    return (this.tools.find((button) => button.getAttribute('aria-pressed') === 'true')?.dataset.tool ?? 'draw') as Tool;
  }

  /** Clears a square, of a quarter of the side, at a random place. */
  private damage(): void {
    const side = Number(this.side.value);
    const place = (): number => Math.floor(side * (0.2 + 0.6 * Math.random()));
    this.edits.push({ tool: 'damage', x: place(), y: place(), size: side >> 2 });
    this.look();
  }

  private bindPen(): void {
    const { canvas } = this;
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || this.pen !== null) return;
      this.pen = event.pointerId;
      canvas.setPointerCapture(event.pointerId);
      this.last = null;
      this.stroke(this.at(event));
    });
    canvas.addEventListener('pointermove', (event) => {
      this.place(this.at(event));
      if (event.pointerId === this.pen && this.tool !== 'seed') this.stroke(this.at(event));
    });
    for (const end of ['pointerup', 'pointercancel'] as const) canvas.addEventListener(end, () => (this.pen = null));
    this.brush.addEventListener('input', () => this.place(this.cursor));
    canvas.addEventListener('keydown', (event) => {
      const [dx, dy] = ARROWS[event.key] ?? [0, 0];
      const isPress = event.key === ' ' || event.key === 'Enter';
      if ((dx === 0 && dy === 0 && !isPress) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const { x, y } = this.cursor;
      const within = (to: number): number => Math.min(Number(this.side.value) - 1, Math.max(0, to));
      this.place({ x: within(x + dx * this.size), y: within(y + dy * this.size) });
      this.last = null;
      if (isPress) this.stroke(this.cursor);
    });
  }

  private at(event: PointerEvent): Cell {
    const box = this.canvas.getBoundingClientRect();
    const side = Number(this.side.value);
    return { x: Math.floor(((event.clientX - box.left) / box.width) * side), y: Math.floor(((event.clientY - box.top) / box.height) * side) };
  }

  /** The side of the brush, in cells. */
  private get size(): number {
    return Math.max(1, Math.round((Number(this.brush.value) / 100) * Number(this.side.value)));
  }

  /** Shows the place of the brush. */
  private place(cell: Cell): void {
    this.cursor = cell;
    const share = (cells: number): string => `${((100 * cells) / Number(this.side.value)).toFixed(3)}%`;
    const { style } = element('grid-brush-place');
    const size = this.tool === 'seed' ? 1 : this.size;
    [style.left, style.top, style.width, style.height] = [share(cell.x - (size >> 1)), share(cell.y - (size >> 1)), share(size), share(size)];
  }

  /** Edits along the pen's path since its last position, without gaps. */
  private stroke(to: Cell): void {
    const from = this.last ?? to;
    const { size, tool } = this;
    const squares = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / Math.max(1, size / 2)));
    for (let i = 1; i <= squares; i++) {
      const at = (a: number, b: number): number => Math.round(a + (i / squares) * (b - a));
      this.edits.push({ tool, x: at(from.x, to.x), y: at(from.y, to.y), size });
    }
    this.last = to;
    this.look();
  }
}

/** The page's colours as RGBA words. */
function palette(): Palette {
  const word = (name: string): number => {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  };
  return { off: word('--cell-off'), on: word('--cell-on') };
}
