// The badge: which of the engine's speed-ups this browser allows, and why it does not allow the others.

import type { Capabilities } from '../state/protocol.ts';
import { create, element, inside } from './dom.ts';
import { plural } from './format.ts';

const HEADERS = `Cross-Origin-Opener-Policy: same-origin
Cross-Origin-Embedder-Policy: require-corp`;

type State = 'yes' | 'no' | 'wait';

function pill(text: string, state: State): HTMLElement {
  const made = create('span', 'pill', text);
  made.dataset.state = state;
  return made;
}

function flag(on: boolean, name: string, absent = `no ${name}`): HTMLElement {
  return on ? pill(name, 'yes') : pill(absent, 'no');
}

export class CapabilitiesBadge {
  private readonly box = element<HTMLDetailsElement>('capabilities');

  constructor() {
    document.addEventListener('pointerdown', (event) => {
      if (event.target instanceof Node && !this.box.contains(event.target)) this.box.open = false;
    });
    this.box.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !this.box.open) return;
      this.box.open = false;
      inside(this.box, 'summary').focus();
    });
  }

  show(found: Capabilities): void {
    this.box.dataset.threads = String(found.threads);
    this.box.dataset.isolated = String(found.crossOriginIsolated);
    inside(this.box, 'summary').replaceChildren(
      pill(plural(found.threads, 'thread'), found.threads > 1 ? 'yes' : 'no'),
      flag(found.simd, 'SIMD'),
      flag(found.relaxedSimd, 'relaxed SIMD'),
      flag(found.jit, 'JIT'),
      flag(found.crossOriginIsolated, 'isolated', 'not isolated'),
    );
    inside(this.box, '.popover').replaceChildren(...this.reasons(found));
  }

  private reasons({ reasons, crossOriginIsolated, version }: Capabilities): HTMLElement[] {
    const parts: HTMLElement[] = [];
    if (reasons.length > 0)
      parts.push(create('ul', 'reasons', ...reasons.map((reason) => create('li', '', reason))));
    else parts.push(create('p', '', 'Everything this engine can use is available here.'));
    if (!crossOriginIsolated)
      parts.push(
        create('p', '', 'To train on several threads, let the server send:'),
        create('pre', '', HEADERS),
      );
    parts.push(create('p', 'muted', `Sinter ${version}`));
    return parts;
  }
}
