// The page of rules: a program in the editor, what it derives round by round, answers, proofs, and how it is computed.

import { ProblemError } from '../../compiler/rpc.ts';
import { Editor } from '../../compiler/views/editor.ts';
import type { Problem } from '../../compiler/protocol.ts';
import { create, element, setText, setValue } from '../../views/dom.ts';
import { beginningOf, count, milliseconds, plural, withHint } from '../../views/format.ts';
import { readRules, writeRules, type AskedRules } from '../address.ts';
import type { Surroundings } from '../tab.ts';
import { TITLES, generations, type Example } from './examples.ts';
import { rulesLanguage } from './language.ts';
import { Matrices } from './matrices.ts';
import panel from './panel.html?raw';
import { proofTree } from './proof.ts';
import type { Answers, Result, Semantics, Source } from './protocol.ts';
import { Reasoner } from './reasoner.ts';
import { Rounds } from './rounds.ts';
import { answersTable, joinsTable } from './tables.ts';

const TYPING_MS = 350;
/** A check that takes longer is announced: what is said meanwhile would be of another text. */
const LONG_MS = 400;
const FIRST = 'family';
const OWN = 'own';

export class RulesPage {
  private readonly reasoner = new Reasoner();
  private readonly editor: Editor;
  private readonly matrices: Matrices;
  private readonly rounds: Rounds;
  private examples: Example[] = [];
  private typing: number | undefined;
  /** The number of the last request; answers to earlier ones are dropped. */
  private turn = 0;
  private busy = false;
  private wanted = false;
  /** The program whose results the page shows. */
  private source: Source | null = null;
  /** The example that the program started from. */
  private begun: Example | null = null;

  constructor(
    root: HTMLElement,
    private readonly around: Surroundings,
  ) {
    root.innerHTML = panel;
    this.editor = new Editor(element('rules-editor'), rulesLanguage, () => this.edited());
    this.matrices = new Matrices(element('rules-matrices'), (fact) => void this.explain(fact));
    this.rounds = new Rounds((iteration) => this.matrices.show(iteration));
    this.bind();
    void this.open();
  }

  rest(): void {
    this.rounds.play(false);
  }

  private get chosen(): HTMLSelectElement {
    return element('rules-example');
  }

  private get semantics(): HTMLSelectElement {
    return element('rules-semantics');
  }

  private get temperature(): HTMLInputElement {
    return element('rules-temperature');
  }

  private bind(): void {
    element('rules-run').addEventListener('click', () => void this.run());
    element('rules-editor').addEventListener(
      'keydown',
      (event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        event.stopPropagation();
        void this.run();
      },
      { capture: true },
    );
    this.chosen.addEventListener('change', () => this.choose(this.chosen.value));
    for (const input of [this.semantics, this.temperature])
      input.addEventListener('input', () => {
        this.showTemperature();
        this.keep();
        void this.run();
      });
    element('rules-ask').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.ask();
    });
  }

  private async open(): Promise<void> {
    this.say('Loading the library…');
    try {
      const found = await this.reasoner.open();
      const long: Example = { name: 'generations', title: TITLES.generations, text: generations(), semantics: 'boolean', temperature: 0, params: {} };
      this.examples = [...found, long];
    } catch (error) {
      this.fail(error);
      return;
    }
    this.fillExamples();
    const { example, text, semantics, temperature, damaged } = readRules();
    const first = this.examples.some(({ name }) => name === example) ? example! : FIRST;
    this.choose(first, { text, semantics, temperature });
    if (example !== null && example !== first && text === null) this.around.address(`there is no example ${beginningOf(example)} of rules; this is ${TITLES[first]}`);
    else if (damaged.length > 0) this.around.address(`the address has no usable ${damaged.join(', ')} of rules: the usual is taken`);
  }

  private fillExamples(): void {
    const options = [...this.examples, { name: OWN, title: 'Your own' }].map(({ name, title }) => {
      const option = create('option', '', title);
      option.value = name;
      option.hidden = name === OWN;
      return option;
    });
    this.chosen.replaceChildren(...options);
  }

  /** asked: replaces the example's text and settings. */
  private choose(name: string, asked: Omit<AskedRules, 'example'> = { text: null, semantics: null, temperature: null }): void {
    const example = this.examples.find((each) => each.name === name);
    if (example === undefined) return;
    this.begun = example;
    this.editor.text = asked.text ?? example.text;
    this.semantics.value = asked.semantics ?? example.semantics;
    this.temperature.value = String(asked.temperature ?? example.temperature);
    this.chosen.value = asked.text === null ? name : OWN;
    this.showTemperature();
    this.keep();
    void this.run();
  }

  /** Writes to the address what differs from the example. */
  private keep(): void {
    const { begun, semantics, temperature } = this;
    if (begun === null) return;
    writeRules({
      example: begun.name,
      text: this.chosen.value === OWN ? this.editor.text : null,
      semantics: semantics.value === begun.semantics ? null : (semantics.value as Semantics),
      temperature: semantics.value !== 'learnt' || Number(temperature.value) === begun.temperature ? null : Number(temperature.value),
    });
  }

  private showTemperature(): void {
    element('rules-temperature-label').hidden = this.semantics.value !== 'learnt';
    const value = Number(this.temperature.value);
    setText(element('rules-temperature-value'), value === 0 ? '0: deduces' : `${value.toFixed(2)}: by analogy`);
  }

  private edited(): void {
    clearTimeout(this.typing);
    this.chosen.value = OWN;
    this.typing = window.setTimeout(() => {
      this.keep();
      void this.check();
    }, TYPING_MS);
  }

  private now(): Source {
    const semantics = this.semantics.value as Semantics;
    return { text: this.editor.text, semantics, temperature: semantics === 'learnt' ? Number(this.temperature.value) : 0, params: semantics === 'learnt' ? (this.begun?.params ?? {}) : {} };
  }

  /** While the user types, only checks for errors. */
  private async check(): Promise<void> {
    const turn = ++this.turn;
    const long = setTimeout(() => {
      if (turn === this.turn) this.say('Reading the rules…');
    }, LONG_MS);
    try {
      await this.reasoner.check(this.now());
      if (turn === this.turn) this.say('Press Run, or Ctrl and Enter in the editor.');
    } catch (error) {
      if (turn === this.turn) this.fail(error);
    } finally {
      clearTimeout(long);
    }
  }

  /** Runs the program. At most one run is active and one waits, which takes what is on the page when it starts. */
  private async run(): Promise<void> {
    this.wanted = true;
    if (this.busy) return;
    this.busy = true;
    while (this.wanted) {
      this.wanted = false;
      await this.runOnce();
    }
    this.busy = false;
  }

  private async runOnce(): Promise<void> {
    clearTimeout(this.typing);
    const turn = ++this.turn;
    const source = this.now();
    this.around.quiet();
    this.say('Running…');
    try {
      const result = await this.reasoner.run(source);
      if (turn !== this.turn) return;
      this.show(source, result);
      if (this.wanted) return;
      const rules = await this.reasoner.rules(source);
      if (turn === this.turn) element('rules-joins').replaceChildren(joinsTable(rules));
    } catch (error) {
      if (turn === this.turn) this.fail(error);
    }
  }

  private show(source: Source, { relations, rounds, iterations, count: facts, ms, compileMs, queries }: Result): void {
    const isWarmer = this.source !== null && this.source.text === source.text && this.source.temperature !== source.temperature;
    this.source = source;
    this.editor.mark(null);
    this.refuse('');
    this.say(`${plural(facts, 'fact')} derived in ${plural(iterations, 'round')}.`);
    setValue(element('rules-count'), count(facts), facts);
    setValue(element('rules-ms'), milliseconds(ms), ms);
    setText(element('rules-compile'), `compiled in ${milliseconds(compileMs)} ms`);
    setValue(element('rules-iterations'), count(iterations), iterations);
    this.matrices.open(relations);
    this.rounds.open(rounds, !isWarmer);
    element('rules-answers').replaceChildren(...queries.map((each) => this.table(each)));
    const wanted = relations.find(({ derived, numbers }) => derived && !numbers);
    if (wanted !== undefined) {
      const letters = 'xyzuvw';
      element<HTMLInputElement>('rules-query').placeholder = `${wanted.name}(${wanted.axes.map((_, i) => letters[i] ?? `x${i}`).join(', ')})`;
    }
    element('rules-why').replaceChildren(create('p', 'empty', 'Choose an answer, or a fact in a matrix.'));
  }

  private table(answers: Answers): HTMLElement {
    return answersTable(answers, (fact) => void this.explain(fact));
  }

  private async ask(): Promise<void> {
    const input = element<HTMLInputElement>('rules-query');
    const text = input.value.trim() === '' ? input.placeholder : input.value;
    if (this.source === null) return;
    const { turn } = this;
    try {
      const answers = await this.reasoner.query(this.source, text);
      if (turn !== this.turn) return;
      this.refuse('');
      element('rules-answers').prepend(this.table({ ...answers, text }));
    } catch (error) {
      if (turn !== this.turn || (error instanceof ProblemError && error.name === 'Cancelled')) return;
      this.refuse(error instanceof ProblemError ? withHint(error.problem) : String(error));
    }
  }

  /** Shows below the query what is wrong with it; '': nothing. */
  private refuse(text: string): void {
    const line = element('rules-asked');
    line.hidden = text === '';
    setText(line, text);
    element('rules-query').setAttribute('aria-invalid', String(text !== ''));
  }

  private async explain(fact: string): Promise<void> {
    if (this.source === null) return;
    const box = element('rules-why');
    const { turn } = this;
    try {
      const proof = await this.reasoner.explain(this.source, fact);
      if (turn !== this.turn) return;
      box.replaceChildren(
        proof === null ? create('p', '', create('code', '', fact), ' does not hold.') : create('ul', 'proof', proofTree(proof)),
      );
    } catch (error) {
      if (turn === this.turn) box.replaceChildren(create('p', 'problem', error instanceof Error ? error.message : String(error)));
    }
  }

  /** Shows an error. The last results stay, so that a typing error does not empty the page. */
  private fail(error: unknown): void {
    const problem: Problem = error instanceof ProblemError ? error.problem : { name: 'Error', message: String(error), hint: '', line: null, column: null };
    if (problem.name === 'Cancelled') return;
    this.editor.mark(problem);
    this.say(withHint(problem), true);
  }

  private say(text: string, problem = false): void {
    const line = element('rules-problem');
    setText(line, text);
    line.classList.toggle('problem', problem);
  }
}
