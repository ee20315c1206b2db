// Buttons, settings, and the line below them that says what a change did. The learning rate
// changes while training goes on; every other setting makes a new network.

import type { Phase } from '../state/protocol.ts';
import { EXAMPLES, type ExampleName } from '../state/examples.ts';
import {
  SettingError,
  defaults,
  formatSetting,
  withSetting,
  type SettingName,
  type Settings,
} from '../state/settings.ts';
import { element, setText } from './dom.ts';

export interface ControlActions {
  start(): void;
  pause(): void;
  step(): void;
  reset(settings: Settings): void;
  learningRate(value: number): void;
}

const NAMES: { [K in SettingName]: (settings: Settings) => string } = {
  learningRate: () => 'Learning rate',
  sizes: ({ example }) => EXAMPLES[example].sizesLabel,
  batch: () => 'Batch size',
  seed: () => 'Seed',
};

export class Controls {
  settings: Settings;

  /** The settings of the other examples, as they were left. */
  private readonly others = new Map<ExampleName, Settings>();

  private readonly start = element<HTMLButtonElement>('start');
  private readonly pause = element<HTMLButtonElement>('pause');
  private readonly step = element<HTMLButtonElement>('step');
  private readonly reset = element<HTMLButtonElement>('reset');
  private readonly notice = element('notice');
  private readonly inputs = new Map<SettingName, HTMLInputElement>();
  private phase: Phase = 'loading';

  constructor(
    example: ExampleName,
    private readonly actions: ControlActions,
  ) {
    this.settings = defaults(example);
    this.start.addEventListener('click', () => this.run('running'));
    this.pause.addEventListener('click', () => this.run('paused'));
    this.step.addEventListener('click', () => this.stepOnce());
    this.reset.addEventListener('click', () => {
      this.run('paused');
      actions.reset(this.settings);
      this.say('A fresh network, ready to start.');
    });
    for (const name of Object.keys(NAMES) as SettingName[]) this.inputs.set(name, this.bind(name));
  }

  /** Shown at once, before the trainer has answered; the trainer has the last word. */
  setPhase(phase: Phase): void {
    const wasStart = document.activeElement === this.start;
    const wasPause = document.activeElement === this.pause;
    this.phase = phase;
    document.body.dataset.phase = phase;
    this.start.disabled = phase !== 'paused';
    this.pause.disabled = phase !== 'running';
    this.step.disabled = phase !== 'paused';
    for (const control of [this.reset, ...this.inputs.values()]) control.disabled = phase === 'loading';
    // A disabled button loses the focus; hand it to the one that takes its place.
    if (wasStart && phase === 'running') this.pause.focus();
    if (wasPause && phase === 'paused') this.start.focus();
  }

  /** False until the trainer has loaded its data. */
  get ready(): boolean {
    return this.phase !== 'loading';
  }

  toggle(): void {
    if (this.phase === 'paused') this.run('running');
    else if (this.phase === 'running') this.run('paused');
  }

  /** Pauses training, unless it is paused already. */
  rest(): void {
    if (this.phase === 'running') this.run('paused');
  }

  stepOnce(): void {
    if (this.phase === 'paused') this.actions.step();
  }

  /** Another network, with its settings as they were left. */
  choose(example: ExampleName): void {
    this.run('paused');
    this.others.set(this.settings.example, this.settings);
    this.settings = this.others.get(example) ?? defaults(example);
    this.write();
    this.actions.reset(this.settings);
  }

  /** Settings that the trainer has already. */
  adopt(settings: Settings): void {
    if (settings.example !== this.settings.example) this.others.set(this.settings.example, this.settings);
    this.settings = settings;
    this.write();
  }

  private write(): void {
    for (const [name, input] of this.inputs) {
      input.value = formatSetting(this.settings, name);
      input.removeAttribute('aria-invalid');
    }
  }

  say(text: string, problem = false): void {
    setText(this.notice, text);
    this.notice.classList.toggle('problem', problem);
  }

  private run(phase: 'running' | 'paused'): void {
    if (this.phase === 'loading' || this.phase === phase) return;
    this.setPhase(phase);
    if (phase === 'running') {
      this.actions.start();
      this.say('Training. The learning rate can be changed on the way.');
    } else {
      this.actions.pause();
      this.say('Paused.');
    }
  }

  private bind(name: SettingName): HTMLInputElement {
    const input = element<HTMLInputElement>(name);
    input.value = formatSetting(this.settings, name);
    input.addEventListener('change', () => this.change(name, input));
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') input.value = formatSetting(this.settings, name);
    });
    return input;
  }

  private change(name: SettingName, input: HTMLInputElement): void {
    const before = formatSetting(this.settings, name);
    try {
      this.settings = withSetting(this.settings, name, input.value);
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      input.setAttribute('aria-invalid', 'true');
      this.say(`${error.message}. Kept: ${before || 'none'}.`, true);
      return;
    }
    input.removeAttribute('aria-invalid');
    const after = formatSetting(this.settings, name);
    input.value = after;
    if (after === before || this.phase === 'loading') return;
    const changed = `${NAMES[name](this.settings)}: ${before || 'none'} → ${after || 'none'}`;
    if (name === 'learningRate') {
      this.actions.learningRate(this.settings.learningRate);
      this.say(`${changed}. Training goes on.`);
    } else {
      this.actions.reset(this.settings);
      this.say(`${changed}. Started over with a fresh network.`);
    }
  }
}
