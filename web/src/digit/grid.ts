// Shows test digits with the network's answers, and marks wrong ones: either the first digits of the sample, or its first
// mistakes.

import { digitAddress } from './paint.ts';
import type { DigitSample } from '../state/protocol.ts';
import { create, element, setText } from '../views/dom.ts';
import { NONE, plural } from '../views/format.ts';

const SHOWN = 48;
const PIXELS = 28 * 28;

interface Cell {
  element: HTMLLIElement;
  picture: HTMLImageElement;
  answer: HTMLElement;
  digit: number;
}

function makeCell(): Cell {
  const picture = create('img', '');
  picture.alt = '';
  const answer = create('span', '', NONE);
  return { element: create('li', '', picture, answer), picture, answer, digit: -2 };
}

export class DigitGrid {
  private readonly grid = element('digits');
  private readonly foot = element('digits-foot');
  private readonly showSample = element<HTMLButtonElement>('show-sample');
  private readonly showWrong = element<HTMLButtonElement>('show-wrong');
  private readonly cells = Array.from({ length: SHOWN }, makeCell);
  private sample: DigitSample | null = null;
  private predicted: Uint8Array | null = null;
  private onlyWrong = false;

  constructor() {
    this.grid.append(...this.cells.map((cell) => cell.element));
    this.showSample.addEventListener('click', () => this.choose(false));
    this.showWrong.addEventListener('click', () => this.choose(true));
  }

  setSample(sample: DigitSample): void {
    this.sample = sample;
    this.draw();
  }

  /** null: the answers are not known yet. */
  setPredictions(predicted: Uint8Array | null): void {
    this.predicted = predicted;
    this.draw();
  }

  private choose(onlyWrong: boolean): void {
    this.onlyWrong = onlyWrong;
    this.showSample.setAttribute('aria-pressed', String(!onlyWrong));
    this.showWrong.setAttribute('aria-pressed', String(onlyWrong));
    this.draw();
  }

  private draw(): void {
    const { sample, predicted } = this;
    if (sample === null) return;
    const all = Array.from(sample.labels.keys());
    const wrong = predicted === null ? [] : all.filter((i) => predicted[i] !== sample.labels[i]);
    const shown = this.onlyWrong ? wrong : all;
    this.cells.forEach((cell, place) => this.fill(cell, shown[place] ?? -1, sample));
    setText(
      this.foot,
      predicted === null
        ? 'No predictions yet.'
        : `${plural(wrong.length, 'mistake')} in a sample of ${plural(all.length, 'digit')}.`,
    );
  }

  private fill(cell: Cell, digit: number, { images, labels }: DigitSample): void {
    cell.element.classList.toggle('blank', digit < 0);
    if (digit !== cell.digit) {
      cell.digit = digit;
      const pixels = images.subarray(
        Math.max(0, digit) * PIXELS,
        (Math.max(0, digit) + 1) * PIXELS,
      );
      cell.picture.src = digitAddress(digit < 0 ? new Uint8Array(PIXELS) : pixels, 255);
    }
    const label = labels[Math.max(0, digit)];
    const answer = digit < 0 || this.predicted === null ? null : this.predicted[digit];
    const wrong = answer !== null && answer !== label;
    cell.element.classList.toggle('wrong', wrong);
    setText(cell.answer, answer === null ? NONE : String(answer));
    const said = `A written ${label}${wrong ? ', read wrongly as' : ''}`;
    if (cell.picture.alt !== said) cell.picture.alt = said;
    const title = wrong ? `a ${label}, read as ${answer}` : '';
    if (cell.element.title !== title) cell.element.title = title;
  }
}
