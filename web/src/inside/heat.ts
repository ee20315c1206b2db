// Histograms over time as a picture: a column per look, darker where there are more values. When there are too many columns,
// every second one is removed, and from then on every second look is skipped.

import { rgb } from '../views/colour.ts';
import { addressOf } from '../views/picture.ts';
import { BINS, LEAST_POWER, MOST_POWER } from '../state/inside.ts';
import { create, setText } from '../views/dom.ts';
import { count, short } from '../views/format.ts';

const COLUMNS = 160;
const HEIGHT = 64;

interface Column {
  step: number;
  /** For values: bins have equal widths from -range to range. For powers: 0. */
  range: number;
  counts: Float32Array;
}

export class Heat {
  readonly figure: HTMLElement;
  private readonly picture = create('img', 'heat');
  private readonly words = create('figcaption', '');
  private columns: Column[] = [];
  private stride = 1;
  private looks = 0;
  private isNews = false;

  /** isPowers: whether the axis shows the magnitudes of values, logarithmically. */
  constructor(
    private readonly title: string,
    private readonly colour: string,
    private readonly isPowers: boolean,
  ) {
    this.picture.decoding = 'sync'; // so that the previous picture stays until this one is decoded
    this.figure = create('figure', '', this.picture, this.words);
  }

  add(column: Column): void {
    if (this.looks++ % this.stride !== 0) return;
    // After a rewind, later columns are no longer valid.
    while ((this.columns.at(-1)?.step ?? -1) >= column.step) this.columns.pop();
    this.columns.push(column);
    if (this.columns.length === COLUMNS) {
      this.columns = this.columns.filter((_, i) => i % 2 === 0);
      this.stride *= 2;
    }
    this.isNews = true;
  }

  /** The columns, to be saved in a file. */
  get table(): Column[] {
    return this.columns;
  }

  paint(): void {
    if (!this.isNews) return;
    this.isNews = false;
    const [low, high] = this.ends();
    const width = this.columns.length;
    const image = new ImageData(width, HEIGHT);
    const [r, g, b] = rgb(this.colour);
    this.columns.forEach(({ range, counts }, x) => {
      const most = counts.reduce((a, each) => Math.max(a, each), 1);
      for (let y = 0; y < HEIGHT; y++) {
        const value = high - ((y + 0.5) / HEIGHT) * (high - low);
        const place = this.isPowers ? (value - LEAST_POWER) / (MOST_POWER - LEAST_POWER) : (value / range + 1) / 2;
        if (place < 0 || place >= 1) continue;
        const share = counts[Math.floor(place * BINS)] / most;
        const at = 4 * (y * width + x);
        image.data[at] = r;
        image.data[at + 1] = g;
        image.data[at + 2] = b;
        image.data[at + 3] = share === 0 ? 0 : 255 * (0.08 + 0.92 * Math.sqrt(share));
      }
    });
    this.picture.src = addressOf(image);
    this.say(low, high);
  }

  /** The ends of the axis, which includes all columns. */
  private ends(): [number, number] {
    if (!this.isPowers) {
      const range = Math.max(...this.columns.map((each) => each.range));
      return [-range, range];
    }
    const used = Array.from({ length: BINS }, (_, bin) => bin).filter((bin) => this.columns.some(({ counts }) => counts[bin] > 0));
    const power = (bin: number): number => LEAST_POWER + (bin / BINS) * (MOST_POWER - LEAST_POWER);
    return [Math.floor(power(used[0] ?? 0)), Math.ceil(power((used.at(-1) ?? BINS - 1) + 1))];
  }

  private say(low: number, high: number): void {
    const written = (value: number): string => (this.isPowers ? short(10 ** value) : short(value));
    const [first, last] = [this.columns[0], this.columns.at(-1)];
    setText(this.words, `${this.title}, ${written(low)} to ${written(high)}`);
    const steps = first === undefined || last === undefined ? '' : `, steps ${count(first.step)} to ${count(last.step)}`;
    this.picture.alt = `${this.title} over time, from ${written(low)} to ${written(high)}${steps}`;
  }
}
