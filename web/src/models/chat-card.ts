// Chat: a text by the user, and the model's continuation, piece by piece, with its speed and where its time goes.

import { create, element, setText, setValue } from '../views/dom.ts';
import { NONE, count, significant } from '../views/format.ts';
import type { Message, Part, Sampling } from './protocol.ts';
import type { Runner } from './runner.ts';

/** How long the worker writes before the page shows more. */
const SLICE_MS = 60;
/** What has not stopped after so long may be a template that never ends: nothing within the worker can stop it. */
const STUCK_MS = 3000;

const FIELDS: [id: string, label: string, name: keyof Sampling, least: number, most: number, isWhole: boolean][] = [
  ['chat-temperature', 'Temperature', 'temperature', 0, 100, false],
  ['chat-top-k', 'Top k', 'topK', 0, 1e6, true],
  ['chat-top-p', 'Top p', 'topP', 0, 1, false],
  ['chat-min-p', 'Min p', 'minP', 0, 1, false],
  ['chat-most', 'Most tokens', 'maxTokens', 1, 1e6, true],
];

const ENDS: Record<string, string> = {
  end: 'The model ended the text.',
  length: 'As many tokens as were asked for.',
  stop: 'Stopped.',
  context: 'The context is full.',
  signal: 'Stopped.',
};

export class ChatCard {
  private messages: Message[] = [];
  private isWriting = false;
  private isStopped = false;
  /** Another model was opened since. */
  private turn = 0;
  private readonly log = element('chat-output');
  private readonly prompt = element<HTMLTextAreaElement>('chat-prompt');
  private readonly send = element<HTMLButtonElement>('chat-send');
  private readonly stop = element<HTMLButtonElement>('chat-stop');
  private readonly measure = element<HTMLButtonElement>('chat-measure');

  constructor(
    private readonly runner: Runner,
    private readonly quiet: () => void,
  ) {
    element<HTMLFormElement>('chat-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.write();
    });
    this.prompt.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      void this.write();
    });
    this.stop.addEventListener('click', () => this.askToStop());
    element('chat-clear').addEventListener('click', () => this.clear());
    this.measure.addEventListener('click', () => void this.showParts());
  }

  /** Called for another model. */
  open(): void {
    this.turn++;
    this.clear();
    this.setWriting(false);
    element('chat-parts').replaceChildren();
    for (const id of ['chat-tokens-per-second', 'chat-first', 'chat-tokens']) setValue(element(id), NONE, null);
  }

  rest(): void {
    this.isStopped = true;
  }

  private clear(): void {
    this.isStopped = true;
    this.messages = [];
    this.log.replaceChildren();
    this.say('');
  }

  private askToStop(): void {
    this.isStopped = true;
    const { turn } = this;
    setTimeout(() => {
      if (turn === this.turn && this.isWriting && this.isStopped) this.say('It does not stop. End what runs, above, ends it.', true);
    }, STUCK_MS);
  }

  private say(text: string, isProblem = false): void {
    const note = element('chat-note');
    setText(note, text);
    note.classList.toggle('problem', isProblem);
  }

  /** The settings; null if one is wrong, which the page then reports. */
  private settings(): Sampling | null {
    const found: Record<string, number | null> = {};
    const wrong: string[] = [];
    for (const [id, label, name, least, most, isWhole] of FIELDS) {
      const field = element<HTMLInputElement>(id);
      const value = Number(field.value);
      const isRight = field.value.trim() !== '' && value >= least && value <= most && (!isWhole || Number.isInteger(value));
      field.setAttribute('aria-invalid', String(!isRight));
      if (isRight) found[name] = value;
      else wrong.push(`${label} is a ${isWhole ? 'whole ' : ''}number from ${least} to ${count(most)}.`);
    }
    const seed = element<HTMLInputElement>('chat-seed');
    const isSeed = /^\d{0,9}$/.test(seed.value.trim());
    seed.setAttribute('aria-invalid', String(!isSeed));
    found.seed = seed.value.trim() === '' ? null : Number(seed.value);
    if (!isSeed) wrong.push('Seed is empty, or a whole number of at most 9 digits.');
    if (wrong.length === 0) return found as unknown as Sampling;
    this.say(wrong.join(' '), true);
    return null;
  }

  private async write(): Promise<void> {
    const text = this.prompt.value;
    const settings = this.settings();
    if (this.isWriting || settings === null) return;
    if (text === '') return this.say('There is no text to go on with.', true);
    this.quiet();
    this.setWriting(true);
    // If the talk is cleared meanwhile, its messages stay with the old one.
    const { messages, turn } = this;
    messages.push({ role: 'user', content: text });
    const answer = create('span', 'answer');
    const shown = create('p', '', create('b', 'asked', text), answer);
    this.log.append(shown);
    this.prompt.value = '';
    this.say('Reading the text…');
    try {
      await this.runner.ask('write', messages, settings);
      await this.follow(answer, turn);
      messages.push({ role: 'assistant', content: answer.textContent ?? '' });
    } catch (error) {
      if (turn !== this.turn) return;
      messages.pop();
      shown.remove();
      if (this.prompt.value === '') this.prompt.value = text;
      this.say(error instanceof Error ? error.message : String(error), true);
    } finally {
      if (turn === this.turn) this.setWriting(false);
    }
  }

  private async follow(answer: HTMLElement, turn: number): Promise<void> {
    for (let reason: string | null = null; reason === null; ) {
      if (this.isStopped) {
        await this.runner.ask('writeEnd');
        if (turn === this.turn) this.say(ENDS.stop);
        return;
      }
      const written = await this.runner.ask('writeOn', SLICE_MS);
      if (turn !== this.turn) return;
      reason = written.reason;
      const isAtEnd = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 8;
      answer.append(written.text);
      if (isAtEnd) this.log.scrollTop = this.log.scrollHeight;
      const { tokens, promptTokens, firstMs, restMs } = written;
      if (firstMs === null) continue;
      const rate = tokens > 1 && restMs > 0 ? (1000 * (tokens - 1)) / restMs : NaN;
      setValue(element('chat-tokens-per-second'), significant(rate), Number.isNaN(rate) ? null : rate);
      setValue(element('chat-first'), `${significant(firstMs)} ms`, firstMs);
      setValue(element('chat-tokens'), `${promptTokens} + ${tokens}`, tokens);
      this.say(reason === null ? 'Writing…' : (ENDS[reason] ?? reason));
    }
  }

  private setWriting(isWriting: boolean): void {
    this.isWriting = isWriting;
    this.isStopped = false;
    this.send.disabled = isWriting;
    this.stop.disabled = !isWriting;
    this.measure.disabled = isWriting;
  }

  private async showParts(): Promise<void> {
    this.quiet();
    this.measure.disabled = true;
    const { turn } = this;
    try {
      const parts = await this.runner.ask('parts');
      if (turn !== this.turn) return;
      element('chat-parts').replaceChildren(...partRows(parts));
    } catch (error) {
      if (turn === this.turn) this.say(error instanceof Error ? error.message : String(error), true);
    } finally {
      this.measure.disabled = this.isWriting;
    }
  }
}

function partRows(parts: readonly Part[]): HTMLElement[] {
  const total = parts.reduce((sum, { ms }) => sum + ms, 0);
  return parts.map(({ name, ms }, i) => {
    const fill = create('i', '');
    fill.style.transform = `scaleX(${ms / parts[0].ms || 0})`;
    const row = create('li', i === 0 ? 'best' : '', create('span', 'name', name), create('span', 'track', fill), create('span', 'value', `${((100 * ms) / total || 0).toFixed(1)} %`));
    row.title = `${significant(ms)} ms of ${significant(total)} ms`;
    return row;
  });
}
