// The row of examples. What the page shows of one is marked in body[data-example], which the style sheet reads.

import { EXAMPLES, isExample, type Example, type ExampleName } from '../state/examples.ts';
import { create, element, setText } from './dom.ts';

export class ExampleChoice {
  private readonly buttons = new Map<ExampleName, HTMLButtonElement>();

  constructor(private readonly onChoose: (example: ExampleName) => void) {
    for (const [name, { title }] of Object.entries(EXAMPLES)) {
      if (!isExample(name)) continue;
      const button = create('button', '', title);
      button.type = 'button';
      button.dataset.testid = `example-${name}`;
      button.addEventListener('click', () => {
        if (button.getAttribute('aria-pressed') === 'false') this.choose(name);
      });
      this.buttons.set(name, button);
    }
    element('examples').replaceChildren(...this.buttons.values());
  }

  /** What the page speaks of from now on. */
  show(name: ExampleName): void {
    const example: Example = EXAMPLES[name];
    document.body.dataset.example = name;
    document.body.dataset.data = example.data;
    for (const [other, button] of this.buttons) button.setAttribute('aria-pressed', String(other === name));
    setText(element('purpose'), example.purpose);
    setText(element('sizes-label'), example.sizesLabel);
    setText(element('accuracy-sample'), example.data === 'digits' ? '1,000 digits' : 'letters guessed right');
    element('accuracy-whole').hidden = example.data !== 'digits';
  }

  private choose(name: ExampleName): void {
    this.show(name);
    this.onChoose(name);
  }
}
