// The network's answer to the drawn digit, with a bar per class.

import { create, element, setText, setValue } from '../views/dom.ts';
import { NONE } from '../views/format.ts';

interface Bar {
  element: HTMLLIElement;
  fill: HTMLElement;
  value: HTMLElement;
}

function makeBar(digit: number): Bar {
  const fill = create('i', '');
  const value = create('span', 'value');
  const row = create(
    'li',
    '',
    create('span', 'digit', String(digit)),
    create('span', 'track', fill),
    value,
  );
  return { element: row, fill, value };
}

export class PredictionView {
  private readonly answer = element('prediction');
  private readonly bars = Array.from({ length: 10 }, (_, digit) => makeBar(digit));

  constructor() {
    element('probabilities').append(...this.bars.map((bar) => bar.element));
    this.clear();
  }

  clear(): void {
    setValue(this.answer, NONE, null);
    for (const bar of this.bars) {
      bar.element.classList.remove('best');
      bar.fill.style.transform = 'scaleX(0)';
      setText(bar.value, '');
    }
  }

  show(probabilities: Float32Array): void {
    const best = probabilities.indexOf(Math.max(...probabilities));
    if (best < 0) return this.clear();
    setValue(this.answer, String(best), best);
    this.bars.forEach((bar, digit) => {
      bar.element.classList.toggle('best', digit === best);
      bar.fill.style.transform = `scaleX(${probabilities[digit]})`;
      setText(bar.value, `${(100 * probabilities[digit]).toFixed(0)} %`);
    });
  }
}
