// Shows why a fact holds, as a tree that can be unfolded.

import { create } from '../../views/dom.ts';
import type { Proof } from './protocol.ts';

/** The levels that are unfolded at first. */
const OPEN = 3;

export function proofTree({ fact, from, because }: Proof, depth = 0): HTMLElement {
  const line = [create('code', '', fact), from === '' ? '' : create('span', 'from', ` ${from}`)];
  if (because.length === 0) return create('li', '', ...line);
  const details = create('details', '', create('summary', '', ...line), create('ul', '', ...because.map((each) => proofTree(each, depth + 1))));
  details.open = depth < OPEN;
  return create('li', '', details);
}
