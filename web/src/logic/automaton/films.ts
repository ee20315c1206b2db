// The run of an automaton as a film: with soft gates, with hard gates, and the target.

import { element, inside, setText } from '../../views/dom.ts';
import { CellCanvas, type CellActions } from '../cell-canvas.ts';
import type { Film } from './protocol.ts';

const FRAMES_PER_SECOND = 12;
/** For how many frames the last one stays. */
const REST = 14;

export class Films {
  private readonly target: CellCanvas;
  private readonly soft = new CellCanvas(element('automaton-soft'));
  private readonly hard = new CellCanvas(element('automaton-hard'));
  private readonly scrubber = element<HTMLInputElement>('automaton-frame');
  private readonly button = element<HTMLButtonElement>('automaton-play');
  private film: Film | null = null;
  private frame = 0;
  private playing = !matchMedia('(prefers-reduced-motion: reduce)').matches;
  private rested = 0;

  /** drawing: how the target reacts to being drawn on. */
  constructor(drawing: CellActions) {
    this.target = new CellCanvas(element('automaton-wanted'), drawing);
    this.scrubber.addEventListener('input', () => {
      this.play(false);
      this.go(Number(this.scrubber.value));
    });
    this.button.addEventListener('click', () => this.play(!this.playing));
    this.play(this.playing);
    setInterval(() => this.tick(), 1000 / FRAMES_PER_SECOND);
  }

  show(film: Film): void {
    const isOther = this.film === null || this.film.frames !== film.frames;
    this.film = film;
    this.scrubber.max = String(film.frames - 1);
    element('automaton-films').classList.toggle('wide', film.width > 2 * film.height);
    if (isOther) this.frame = film.frames - 1;
    this.showTarget({ width: film.width, height: film.height, values: film.target });
    this.go(this.frame);
  }

  showTarget(cells: { width: number; height: number; values: ArrayLike<number> }): void {
    this.target.show(cells);
  }

  private play(playing: boolean): void {
    this.playing = playing;
    setText(inside(this.button, 'span'), playing ? 'Pause film' : 'Play film');
    this.button.setAttribute('aria-pressed', String(playing));
  }

  private tick(): void {
    if (!this.playing || this.film === null || document.hidden || element('automaton-films').offsetParent === null) return;
    const isLast = this.frame === this.film.frames - 1;
    if (isLast && this.rested++ < REST) return;
    this.rested = 0;
    this.go(isLast ? 0 : this.frame + 1);
  }

  private go(frame: number): void {
    if (this.film === null) return;
    const { width, height, frames, soft, hard, target } = this.film;
    this.frame = Math.min(frame, frames - 1);
    this.scrubber.value = String(this.frame);
    const text = `step ${this.frame} of ${frames - 1}`;
    setText(element('automaton-frame-of'), text);
    this.scrubber.setAttribute('aria-valuetext', text);
    const size = width * height;
    const part = (all: Uint8Array): Uint8Array => all.subarray(this.frame * size, (this.frame + 1) * size);
    const wanted = this.frame === frames - 1 ? target : null;
    this.soft.show({ width, height, values: part(soft), wanted });
    this.hard.show({ width, height, values: part(hard), wanted });
  }
}
