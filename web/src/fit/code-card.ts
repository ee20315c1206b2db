// Shows the gradient as code, in the chosen language. The code view is loaded when first needed.

import { Choice } from '../views/choice.ts';
import type { CodeView } from '../compiler/views/code-view.ts';
import { download } from '../views/download.ts';
import { element, setText } from '../views/dom.ts';
import { count } from '../views/format.ts';
import { nextTask } from '../views/tasks.ts';
import { STEPS } from './equations.ts';
import type { Code } from './protocol.ts';

const LANGUAGES = {
  js: { about: 'JavaScript over the package, to read and to paste', type: 'text/javascript' },
  c: { about: 'C11 that stand alone', type: 'text/x-c' },
} as const;

export class CodeCard {
  private readonly choice = new Choice('fit-code-js', () => void (this.code === null ? this.load() : this.write()));
  private readonly saveButton = element<HTMLButtonElement>('fit-code-save');
  private readonly note = element('fit-code-note');
  private view: Promise<CodeView> | null = null;
  private asked: Promise<Code> | null = null;
  private ask: (() => Promise<Code>) | null = null;
  private code: Code | null = null;

  constructor() {
    this.saveButton.addEventListener('click', () => {
      const { language } = this;
      if (this.code !== null) download(`gradient.${language}`, LANGUAGES[language].type, this.code[language]);
    });
  }

  async show(ask: () => Promise<Code>): Promise<void> {
    this.ask = ask;
    await this.load();
  }

  /** Loads and shows the code that was asked for last. */
  private async load(): Promise<void> {
    if (this.ask === null) return;
    const asked = (this.asked = this.ask());
    try {
      const code = await asked;
      if (this.asked !== asked) return;
      this.code = code;
      this.saveButton.disabled = false;
      await this.write();
    } catch (error) {
      if (this.asked !== asked) return;
      // The code at hand belongs to another equation.
      this.code = null;
      this.saveButton.disabled = true;
      (await this.view)?.show('', this.language);
      setText(this.note, `The code could not be written: ${error instanceof Error ? error.message : String(error)}. A language asks once more.`);
    }
  }

  private get language(): keyof Code {
    return this.choice.value === 'fit-code-js' ? 'js' : 'c';
  }

  private async write(): Promise<void> {
    this.view ??= import('../compiler/views/code-view.ts').then(async ({ CodeView: View }) => {
      await nextTask(); // evaluating the editor took one task
      return new View(element('fit-code'), 'The gradient');
    });
    const view = await this.view;
    await nextTask(); // and so did making the view
    const { language } = this;
    const text = this.code?.[language] ?? '';
    view.show(text, language);
    const lines = count(text.trimEnd().split('\n').length);
    setText(
      this.note,
      `Derived by the compiler: ${STEPS} Runge-Kutta steps forward, then back through them. ${lines} lines of ${LANGUAGES[language].about}.`,
    );
  }
}
