// Facts as a program writes them.

import type { Cell } from './protocol.ts';

/** A name has at most one kind of quotes itself, since a text of rules cannot express both. */
export const termText = (member: Cell): string =>
  typeof member === 'number' ? String(member) : member.includes("'") ? `"${member}"` : `'${member}'`;

export const factText = (name: string, members: readonly Cell[]): string =>
  members.length === 0 ? name : `${name}(${members.map(termText).join(', ')})`;
