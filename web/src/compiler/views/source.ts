// The program as text in another language. It is written when first shown, and can be saved as a file.

import { download } from '../../views/download.ts';
import { element } from '../../views/dom.ts';
import type { Report } from '../report.ts';
import { CodeView, type Language } from './code-view.ts';

export interface SourceForm {
  /** The prefix of the ids of its elements. */
  id: string;
  label: string;
  language: Language;
  file: string;
  type: string;
}

export class SourceView {
  private readonly code: CodeView;
  private readonly save: HTMLButtonElement;
  private shown: Report | null = null;

  /** ask: gets the text for the last report. */
  constructor(
    private readonly form: SourceForm,
    private readonly ask: () => Promise<string>,
  ) {
    const { id, label, file, type } = form;
    this.code = new CodeView(element(`${id}-code`), label);
    this.save = element<HTMLButtonElement>(`${id}-save`);
    this.save.addEventListener('click', () => download(file, type, this.code.text));
  }

  async show(report: Report): Promise<void> {
    if (this.shown === report) return;
    this.shown = report;
    let text: string;
    let written = true;
    try {
      text = await this.ask();
    } catch (error) {
      written = false;
      text = `/* ${error instanceof Error ? error.message : String(error)} */`;
    }
    if (this.shown !== report) return;
    this.save.disabled = !written;
    this.code.show(text, this.form.language);
  }
}
