// A confusion table: what was answered, by what is right. Each cell opens its examples: the test digits that the page shows, or
// for other programs the rows of a batch.

import type { DigitSample, Evaluation } from '../state/protocol.ts';
import type { ConfusionReport, Example } from '../state/inside.ts';
import { create, setText } from '../views/dom.ts';
import { count, percent, plural } from '../views/format.ts';
import { addressOf } from '../views/picture.ts';

const SIDE = 28;
const MOST_EXAMPLES = 60;
/** With more classes, only those with the most mistakes are shown. */
const MOST_CLASSES = 20;

function picture({ pixels, height, width, colours }: Exclude<Example, { text: string }>, label: string): HTMLElement {
  const made = create('img', 'example');
  const image = new ImageData(width, height);
  const [low, high] = [Math.min(...pixels), Math.max(...pixels)];
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = (255 * (pixels[colours === 3 ? 3 * i + c : i] - low)) / (high - low || 1);
    image.data[4 * i + 3] = 255;
  }
  made.src = addressOf(image);
  made.alt = label;
  return made;
}

const draw = (example: Example, label: string): HTMLElement =>
  'text' in example ? create('code', 'example', example.text) : picture(example, label);

/** n: how many of the `total` examples of class `truth` were answered with `answer`. */
function fillCell(cell: HTMLTableCellElement, n: number, total: number, truth: string, answer: string): void {
  const share = String(total === 0 ? 0 : Math.sqrt(n / total));
  if (cell.style.getPropertyValue('--share') !== share) cell.style.setProperty('--share', share);
  const there = cell.querySelector('button');
  if (n === 0) {
    there?.remove();
    return;
  }
  const button = there ?? create('button', '');
  setText(button, String(n));
  button.setAttribute('aria-label', `${truth} answered with ${answer}: ${n}`);
  if (there !== null) return;
  button.type = 'button';
  Object.assign(button.dataset, cell.dataset);
  cell.append(button);
}

export class ConfusionView {
  readonly element = create('div', 'confusion');
  private readonly summary = create('p', 'muted', 'Asked of the program while this is open.');
  private readonly table = create('table', '');
  private readonly title = create('p', 'muted');
  private readonly list = create('div', 'examples-of-cell');
  private cells: HTMLTableCellElement[][] = [];
  private filled = '';
  private sample: DigitSample | null = null;
  private report: ConfusionReport | null = null;
  private chosen: { truth: number; answer: number } | null = null;

  constructor() {
    this.table.dataset.testid = 'confusion';
    this.list.dataset.testid = 'confusion-examples';
    this.title.setAttribute('role', 'status');
    this.element.append(this.summary, create('div', 'wide', this.table), this.title, this.list);
    this.table.addEventListener('click', ({ target }) => {
      const button = (target as Element).closest<HTMLButtonElement>('button');
      if (button === null) return;
      this.chosen = { truth: Number(button.dataset.truth), answer: Number(button.dataset.answer) };
      this.mark();
      this.open();
    });
  }

  clear(): void {
    this.report = null;
    this.chosen = null;
    this.filled = '';
    this.table.replaceChildren();
    this.list.replaceChildren();
    setText(this.title, '');
    setText(this.summary, 'Asked of the program while this is open.');
  }

  /** The test digits of the page, which every evaluation answers; null for other programs. */
  set digits(sample: DigitSample | null) {
    this.sample = sample;
  }
  get hasDigits(): boolean {
    return this.sample !== null;
  }

  evaluated({ sample: answers, step }: Evaluation): void {
    if (this.sample === null || answers === null) return;
    const { images, labels } = this.sample;
    const pixels = (i: number): Float32Array => Float32Array.from(images.subarray(i * SIDE ** 2, (i + 1) * SIDE ** 2));
    this.show({
      step,
      of: 'test digits',
      names: Array.from({ length: 10 }, (_, i) => String(i)),
      truth: Int32Array.from(labels),
      answers: Int32Array.from(answers),
      examples: Array.from(labels, (_, i) => ({ get pixels() { return pixels(i); }, height: SIDE, width: SIDE, colours: 1 })),
    });
  }

  refuse(why: string): void {
    this.clear();
    setText(this.summary, why);
  }

  show(report: ConfusionReport): void {
    this.report = report;
    const { names, truth, answers, step, of } = report;
    const counts = names.map(() => new Int32Array(names.length));
    truth.forEach((right, i) => counts[right][answers[i]]++);
    const right = truth.reduce((sum, each, i) => sum + Number(each === answers[i]), 0);
    setText(this.summary, `Step ${count(step)}: ${percent(right / truth.length)} of ${count(truth.length)} ${of}. Rows are what is right, columns what is answered.`);
    this.fill(counts, this.shown(counts));
    this.table.dataset.step = String(step);
    this.mark();
    // The open cell stays open while training goes on.
    if (this.chosen !== null && this.list.childElementCount === 0) this.open();
  }

  /** The classes that the table shows. */
  private shown(counts: Int32Array[]): number[] {
    const all = counts.map((_, i) => i);
    if (all.length <= MOST_CLASSES) return all;
    const wrong = (i: number): number => all.reduce((sum, j) => sum + (i === j ? 0 : counts[i][j] + counts[j][i]), 0);
    return all.sort((a, b) => wrong(b) - wrong(a)).slice(0, MOST_CLASSES).sort((a, b) => a - b);
  }

  /** Fills the table. Cells are kept while the classes stay the same, and only changed values are written. */
  private fill(counts: Int32Array[], classes: number[]): void {
    const names = classes.map((i) => (this.report?.names[i] ?? '').replace(' ', '␣').replace('\n', '⏎'));
    const asked = JSON.stringify([classes, names]);
    if (asked !== this.filled) this.build(classes, names);
    this.filled = asked;
    classes.forEach((i, row) => {
      const total = counts[i].reduce((a, b) => a + b, 0);
      classes.forEach((j, column) => fillCell(this.cells[row][column], counts[i][j], total, names[row], names[column]));
    });
  }

  private build(classes: number[], names: string[]): void {
    this.cells = classes.map((i) => classes.map((j) => {
      const cell = create('td', i === j ? 'right' : 'wrong');
      Object.assign(cell.dataset, { truth: i, answer: j });
      return cell;
    }));
    const head = create('tr', '', create('td', ''), ...names.map((name) => create('th', '', name)));
    const rows = this.cells.map((cells, row) => create('tr', '', create('th', '', names[row]), ...cells));
    this.table.replaceChildren(create('thead', '', head), create('tbody', '', ...rows));
  }

  private mark(): void {
    for (const button of this.table.querySelectorAll('button')) {
      const isChosen = Number(button.dataset.truth) === this.chosen?.truth && Number(button.dataset.answer) === this.chosen.answer;
      button.setAttribute('aria-pressed', String(isChosen));
    }
  }

  private open(): void {
    const { report, chosen } = this;
    if (report === null || chosen === null) return;
    const { truth, answers, names, examples } = report;
    const own = Array.from(truth, (_, i) => i).filter((i) => truth[i] === chosen.truth && answers[i] === chosen.answer);
    const label = `${names[chosen.truth]} answered with ${names[chosen.answer]}`;
    setText(this.title, `${label}: ${plural(own.length, 'example')}${own.length > MOST_EXAMPLES ? `, ${MOST_EXAMPLES} of them shown` : ''}, at step ${count(report.step)}.`);
    this.list.replaceChildren(...own.slice(0, MOST_EXAMPLES).map((i) => draw(examples[i], label)));
  }
}
