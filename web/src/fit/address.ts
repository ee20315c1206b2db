// What the page's address says of the tab: the equation, and points that a visitor has moved, so that a link to them can
// be handed on. Points that are drawn by chance are not written down.

import { beginningOf } from '../views/format.ts';
import { isEquation, type EquationName } from './equations.ts';

/** A point that is dragged changes the address once it has rested for so long. */
const REST_MS = 300;

function change(by: (query: URLSearchParams) => void): void {
  const query = new URLSearchParams(location.search);
  by(query);
  if (`?${query}` !== location.search) history.replaceState(null, '', `?${query}${location.hash}`);
}

export class Address {
  private timer = 0;

  get equation(): EquationName | null {
    const asked = new URLSearchParams(location.search).get('equation');
    return isEquation(asked) ? asked : null;
  }

  /** The beginning of what is asked for, where it is no equation. */
  get unknown(): string | null {
    const asked = new URLSearchParams(location.search).get('equation');
    return asked === null || isEquation(asked) ? null : beginningOf(asked);
  }

  /** As Points.text writes them; null: none. */
  get points(): string | null {
    return new URLSearchParams(location.search).get('points');
  }

  /** Another equation, without points. */
  choose(equation: EquationName): void {
    this.forget();
    change((query) => query.set('equation', equation));
  }

  /** text: of the points, asked for in a little while. */
  keep(equation: EquationName, text: () => string): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      change((query) => {
        query.set('equation', equation);
        query.set('points', text());
      });
    }, REST_MS);
  }

  forget(): void {
    clearTimeout(this.timer);
    change((query) => query.delete('points'));
  }
}
