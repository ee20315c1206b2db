// The switch between the CPU, the graphics processor, and whichever is faster, and the line that reports the outcome. In a
// browser without WebGPU the line says so, and only the CPU can be chosen.

import type { TrainedOn } from '../state/protocol.ts';
import { Choice } from './choice.ts';
import { element, setText } from './dom.ts';

const NONE_HERE = 'Runs on the CPU: this browser has no WebGPU for this page.';

export class TrainedOnSwitch {
  private readonly choice: Choice;
  private readonly note = element('device-note');

  constructor(onChange: () => void) {
    this.choice = new Choice('device', () => {
      this.say(this.value === 'cpu' ? '' : 'Looks for a graphics processor…');
      onChange();
    });
    if ((navigator as { gpu?: unknown }).gpu !== undefined) return;
    for (const id of ['device-webgpu', 'device-auto']) {
      const button = element<HTMLButtonElement>(id);
      button.disabled = true;
      button.title = NONE_HERE;
    }
    this.say(NONE_HERE);
  }

  get value(): TrainedOn {
    return this.choice.value.replace('device-', '') as TrainedOn;
  }

  say(text: string): void {
    setText(this.note, text);
  }
}
