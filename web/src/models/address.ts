// The part of the page's address that belongs to the tab: the model that the page makes. It never contains a file of the user.

import { changeQuery } from '../views/dom.ts';
import { beginningOf } from '../views/format.ts';
import type { Maker } from './protocol.ts';

const NAME = 'model';

export function askedModel(): Maker | null {
  const asked = new URLSearchParams(location.search).get(NAME);
  return asked === 'digits' || asked === 'writer' ? asked : null;
}

/** The beginning of what the address asks for, if there is no such model; otherwise null. */
export function unknownModel(): string | null {
  const asked = new URLSearchParams(location.search).get(NAME);
  return asked === null || askedModel() !== null ? null : beginningOf(asked);
}

export const writeModel = (which: Maker | null): void =>
  changeQuery((query) => {
    if (which === null) query.delete(NAME);
    else query.set(NAME, which);
  });
