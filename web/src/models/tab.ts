// The Models tab: a model from the visitor's file, or one that the page makes, can be inspected, run, trained and talked to.
// All of this happens in a worker of its own. The tab is loaded when it is first opened.

import '../style/graph.css';
import '../style/models.css';
import { ProblemError } from '../compiler/rpc.ts';
import { download } from '../views/download.ts';
import { create, element, inside, setText } from '../views/dom.ts';
import { bytes, plural, significant, withHint } from '../views/format.ts';
import { Rest } from '../views/rest.ts';
import { askedModel, unknownModel, writeModel } from './address.ts';
import { ChatCard } from './chat-card.ts';
import { GraphCard } from './graph-card.ts';
import { Inputs } from './inputs.ts';
import { OpsCard } from './ops-card.ts';
import { showOutputs } from './outputs.ts';
import panel from './panel.html?raw';
import type { Facts, Maker } from './protocol.ts';
import { Runner } from './runner.ts';
import { TuneCard } from './tune-card.ts';

export interface Surroundings {
  /** Called before a measurement: nothing else should use the cores. */
  quiet(): void;
  /** Reports an error in the page's address. */
  address(message: string): void;
}

/** How long the page's own model trains, in ms, before the page shows its progress. */
const SLICE_MS = 250;

const CARDS = { run: 'models-run-card', ops: 'models-ops-card', tune: 'models-tune-card', chat: 'models-chat-card' };

const textOf = (error: unknown): string => {
  if (error instanceof ProblemError) return withHint(error.problem);
  return error instanceof Error ? error.message : String(error);
};

export class ModelsTab {
  private readonly runner: Runner;
  private readonly graph: GraphCard;
  private readonly inputs: Inputs;
  private readonly ops: OpsCard;
  private readonly chat: ChatCard;
  private readonly tune: TuneCard;
  /** The open file, and the best time of a run. */
  private source: { name: string; blob: Blob; isMade: boolean } | null = null;
  private runMs: number | null = null;
  /** Counts the models that were opened: what was asked of one is not shown with the next. */
  private turn = 0;
  private making: { readonly which: Maker } | null = null;
  private isTaken = false;
  /** The page's own model trains only while the tab is shown. */
  private readonly resting = new Rest();
  /** The names of the output classes, if the model was trained here. */
  private classes: readonly string[] = [];
  private readonly killButton: HTMLButtonElement;

  constructor(
    private readonly root: HTMLElement,
    private readonly surroundings: Surroundings,
  ) {
    root.innerHTML = panel;
    this.killButton = element<HTMLButtonElement>('models-kill');
    this.runner = new Runner((busy) => (this.killButton.disabled = !busy));
    this.graph = new GraphCard();
    this.inputs = new Inputs(element('models-inputs'));
    this.ops = new OpsCard();
    this.chat = new ChatCard(this.runner, () => this.surroundings.quiet());
    const renewed = (classes: readonly string[]): void => {
      this.classes = classes;
      element('models-outputs').replaceChildren();
      this.note('A run has the new weights now.');
    };
    this.tune = new TuneCard(this.runner, { quiet: () => this.surroundings.quiet(), renewed });
    this.listen();
    const asked = askedModel();
    if (asked !== null) void this.make(asked);
    const unknown = unknownModel();
    if (unknown !== null) {
      this.surroundings.address(`there is no model ${unknown}; digits and writer are those that the page makes`);
      writeModel(null);
    }
  }

  /** Called when another tab is opened. */
  rest(): void {
    this.inputs.rest();
    this.chat.rest();
    this.tune.rest();
    this.resting.begin();
  }

  /** Called when the tab is shown again. */
  wake(): void {
    this.resting.wake();
  }

  private listen(): void {
    const file = element<HTMLInputElement>('models-file');
    element('models-choose').addEventListener('click', () => file.click());
    file.addEventListener('change', () => {
      if (file.files?.[0]) void this.open(file.files[0].name, file.files[0], false);
      file.value = '';
    });
    const drag = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      // A field of a card may have taken the drop.
      const isTaken = event.defaultPrevented;
      event.preventDefault();
      const isInside = event.relatedTarget instanceof Node && this.root.contains(event.relatedTarget);
      this.root.classList.toggle('dropping', event.type === 'dragover' || (event.type === 'dragleave' && isInside));
      const [dropped] = event.dataTransfer.files;
      if (event.type === 'drop' && !isTaken && dropped !== undefined) void this.open(dropped.name, dropped, false);
    };
    for (const type of ['dragover', 'dragleave', 'drop'] as const) this.root.addEventListener(type, drag);
    element('models-digits').addEventListener('click', () => void this.make('digits'));
    element('models-writer').addEventListener('click', () => void this.make('writer'));
    element('models-take').addEventListener('click', () => (this.isTaken = true));
    this.killButton.addEventListener('click', () => this.kill());
    element('models-run').addEventListener('click', () => void this.run());
    element('models-measure').addEventListener('click', () => void this.measure());
    element('models-save').addEventListener('click', () => {
      if (this.source !== null) download(this.source.name, 'application/octet-stream', this.source.blob);
    });
  }

  private say(text: string, isProblem = false): void {
    const line = element('models-notice');
    setText(line, text);
    line.classList.toggle('problem', isProblem);
  }

  private async open(name: string, blob: Blob, isMade: boolean): Promise<void> {
    this.surroundings.quiet();
    this.say(`Reading ${name}, ${bytes(blob.size)}…`);
    this.endMaking();
    try {
      const facts = await this.runner.ask('load', name, blob);
      if (!isMade) writeModel(null);
      this.source = { name, blob, isMade };
      this.show(facts);
    } catch (error) {
      if (!this.runner.alive) this.source = null;
      if (this.source === null) this.close();
      const kept = this.source === null ? '' : ` ${this.source.name} is still open.`;
      this.say(`${name} could not be opened: ${textOf(error).replace(/\.?$/, '.')}${kept}`, true);
    }
  }

  /** Trains one of the page's own models and opens it. */
  private async make(which: Maker): Promise<void> {
    if (this.making?.which === which) return;
    this.surroundings.quiet();
    const making = (this.making = { which });
    this.isTaken = false;
    writeModel(which);
    const bar = element('models-bar');
    bar.hidden = element('models-take').hidden = false;
    this.say('Loading what it learns from…');
    try {
      for (let done = false; !done; ) {
        await this.resting.wait();
        const { step, steps, loss, done: isDone } = await this.runner.ask('make', which, SLICE_MS);
        if (this.making !== making) return;
        done = isDone || this.isTaken;
        bar.setAttribute('aria-valuenow', String(Math.round((100 * step) / steps)));
        inside<HTMLElement>(bar, 'i').style.transform = `scaleX(${step / steps})`;
        this.say(`It learns: step ${step} of ${steps}, loss ${significant(loss)}.`);
      }
      const { facts, file } = await this.runner.ask('take', which);
      this.source = { name: facts.name, blob: file, isMade: true };
      this.show(facts);
    } catch (error) {
      if (this.making === making) this.say(`The model was not made: ${textOf(error)}`, true);
    } finally {
      if (this.making === making) this.endMaking();
    }
  }

  private endMaking(): void {
    this.making = null;
    element('models-bar').hidden = element('models-take').hidden = true;
  }

  private close(): void {
    for (const id of ['models-summary-card', 'models-graph-card', ...Object.values(CARDS)]) element(id).hidden = true;
  }

  private show(facts: Facts): void {
    const { kind, name, words, problem, graph, inputs, writes } = facts;
    const runs = kind === 'onnx' && problem === null;
    this.turn++;
    this.runMs = null;
    this.classes = [];
    this.say(`${name} is open.`);
    setText(element('models-name'), name);
    setText(element('models-words'), words);
    element('models-facts').replaceChildren(...facts.facts.map(([term, value]) => create('div', '', create('dt', '', term), create('dd', '', value))));
    const line = element('models-problem');
    line.hidden = problem === null;
    setText(line, problem === null ? '' : `It can be looked at, but not run: ${withHint(problem)}`);
    element('models-save').hidden = this.source?.isMade !== true;
    element('models-summary-card').hidden = element('models-graph-card').hidden = false;
    element(CARDS.ops).hidden = kind !== 'onnx';
    element<HTMLButtonElement>('models-measure').disabled = !runs;
    element(CARDS.run).hidden = !runs;
    const learns = runs && facts.blocks.length > 0 && inputs.length === 1;
    element(CARDS.tune).hidden = !learns;
    element(CARDS.chat).hidden = !writes;
    this.graph.show(graph);
    this.ops.show(graph);
    this.inputs.show(inputs);
    element('models-outputs').replaceChildren();
    this.note('');
    if (learns) this.tune.open(facts);
    if (writes) this.chat.open();
  }

  private note(text: string, isProblem = false): void {
    const line = element('models-run-note');
    setText(line, text);
    line.classList.toggle('problem', isProblem);
  }

  private async run(): Promise<void> {
    const { given } = this.inputs;
    const shown = element('models-outputs');
    if (given === null) {
      shown.replaceChildren(); // they would look like outputs of the new input
      return this.note('An input is not as it should be: see there.', true);
    }
    this.surroundings.quiet();
    this.note('Compiling and running…');
    const { turn } = this;
    try {
      const { outputs, firstMs, ms } = await this.runner.ask('run', given);
      if (turn !== this.turn) return;
      this.runMs = ms;
      showOutputs(shown, outputs, this.classes);
      element('models-run-note').dataset.ms = String(ms);
      this.note(`${significant(ms)} ms a run; the first one, which compiles, ${significant(firstMs)} ms. ${plural(outputs.length, 'output')}.`);
    } catch (error) {
      if (turn !== this.turn) return;
      shown.replaceChildren();
      this.note(textOf(error), true);
    }
  }

  private async measure(): Promise<void> {
    const { given } = this.inputs;
    if (given === null) return this.ops.fail('An input is not as it should be: see there.');
    this.surroundings.quiet();
    const button = element<HTMLButtonElement>('models-measure');
    button.disabled = true;
    const { turn } = this;
    try {
      const times = await this.runner.ask('times', given);
      if (turn !== this.turn) return;
      this.ops.setTimes(times, this.runMs);
      this.graph.setTimes(times);
    } catch (error) {
      if (turn === this.turn) this.ops.fail(textOf(error));
    } finally {
      if (turn === this.turn) button.disabled = false;
    }
  }

  /** Ends the worker; then opens the file again if one was open. */
  private kill(): void {
    this.endMaking();
    this.runner.end();
    const { source } = this;
    if (source === null) return this.say('Ended.');
    this.source = null; // nothing is open until it has been opened again
    void this.open(source.name, source.blob, source.isMade);
  }
}
