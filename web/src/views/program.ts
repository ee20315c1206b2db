// The program of an example, as it runs: the files of trainer/programs, loaded when they are first asked for.

import '../style/code.css';
import { Choice } from '../compiler/views/choice.ts';
import type { CodeView } from '../compiler/views/code-view.ts';
import type { ExampleName } from '../state/examples.ts';
import { element } from './dom.ts';

const TEXTS = {
  mlp: () => import('../trainer/programs/mlp.ts?raw'),
  cnn: () => import('../trainer/programs/cnn.ts?raw'),
  text: () => import('../trainer/programs/transformer.ts?raw'),
  training: () => import('../trainer/programs/training.ts?raw'),
};

export class ProgramCard {
  private readonly box = element<HTMLDetailsElement>('program');
  private readonly choice = new Choice('program-network', () => void this.write());
  private example: ExampleName = 'mlp';
  private view: Promise<CodeView> | null = null;

  constructor() {
    this.box.addEventListener('toggle', () => void this.write());
  }

  show(example: ExampleName): void {
    this.example = example;
    void this.write();
  }

  private get asked(): keyof typeof TEXTS {
    return this.choice.value === 'program-network' ? this.example : 'training';
  }

  private async write(): Promise<void> {
    if (!this.box.open) return;
    this.view ??= import('../compiler/views/code-view.ts').then(
      ({ CodeView: View }) => new View(element('program-code'), 'The program'),
    );
    const { asked } = this;
    const [view, { default: text }] = await Promise.all([this.view, TEXTS[asked]()]);
    if (asked === this.asked) view.show(text, 'ts');
  }
}
