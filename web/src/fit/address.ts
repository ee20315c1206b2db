// The part of the page's address that belongs to the tab: the equation, and points that the user has moved, so that links keep
// them. Random points are not written.

import { changeQuery } from '../views/dom.ts';
import { beginningOf } from '../views/format.ts';
import { isEquation, type EquationName } from './equations.ts';

/** The address changes once a dragged point has rested this long. */
const REST_MS = 300;

export class Address {
  private timer = 0;

  get equation(): EquationName | null {
    const asked = new URLSearchParams(location.search).get('equation');
    return isEquation(asked) ? asked : null;
  }

  /** The beginning of what the address asks for, if that is not an equation; otherwise null. */
  get unknown(): string | null {
    const asked = new URLSearchParams(location.search).get('equation');
    return asked === null || isEquation(asked) ? null : beginningOf(asked);
  }

  /** The points in the form of Points.text; null if there are none. */
  get points(): string | null {
    return new URLSearchParams(location.search).get('points');
  }

  /** Writes another equation, without points. */
  choose(equation: EquationName): void {
    this.forget();
    changeQuery((query) => query.set('equation', equation));
  }

  /** Writes the points in a little while; text: gives them then. */
  keep(equation: EquationName, text: () => string): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      changeQuery((query) => {
        query.set('equation', equation);
        query.set('points', text());
      });
    }, REST_MS);
  }

  forget(): void {
    clearTimeout(this.timer);
    changeQuery((query) => query.delete('points'));
  }
}
