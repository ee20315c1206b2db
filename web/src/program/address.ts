// A program in the page's address: its compressed text, its settings, and which program of the list it comes from. They are in
// the fragment, beside the tab, so that no server sees them: #program=1.<packed>, or #compiler&program=1.<packed>. Opening such
// an address runs nothing by itself.

import { readSettings, type Settings } from '../state/settings.ts';
import type { Brought } from './packed.ts';
import type { ShownProgram } from './shown.ts';

/** The packed program of an address; null if there is none. */
export const packedIn = (address: string): string | null => new URLSearchParams(new URL(address).hash.slice(1)).get('program');

/** The program in the address; null if there is none. */
export async function brought(): Promise<Brought | null> {
  const written = packedIn(location.href);
  return written === null ? null : (await import('./packed.ts')).unpack(written);
}

/** A program of the documentation that is served beside the page: ?doc=tutorials-memory-2. It comes from the same server as
 *  the page. null if the address asks for none. */
export async function documented(): Promise<string | null> {
  const name = new URLSearchParams(location.search).get('doc');
  if (name === null) return null;
  if (!/^[\w-]{1,80}$/.test(name)) throw new Error('the address has the name of a program that is damaged');
  const answer = await fetch(new URL(`docs/programs/${name}.js`, location.href)).catch(() => null);
  if (!answer?.ok || !/javascript/.test(answer.headers.get('content-type') ?? ''))
    throw new Error(`there is no program ${name} in the documentation beside this page`);
  return answer.text();
}

/** The settings of a program of the list: ?example=mlp&set=batch:64;seed:1. */
export function askedSettings(): Settings {
  const parts = (new URLSearchParams(location.search).get('set') ?? '').split(';').filter((part) => part !== '');
  return readSettings(Object.fromEntries(parts.map((part) => part.split(':', 2))));
}

/** A link to a program in a tab: for a program of the list with its name and settings, for a changed one with its text.
 *  embed: without the page around it. */
export async function linkTo({ name, text, isChanged, settings }: ShownProgram, place: string, embed: boolean): Promise<string> {
  const url = new URL(location.pathname, location.href);
  url.searchParams.set('example', name);
  if (embed) url.searchParams.set('embed', '1');
  const parts = place === '' ? [] : [place];
  if (isChanged) parts.push(`program=${await (await import('./packed.ts')).pack({ name, text, settings })}`);
  else if (Object.keys(settings).length > 0)
    url.searchParams.set('set', Object.entries(settings).map(([key, value]) => `${key}:${String(value)}`).join(';'));
  url.hash = parts.join('&');
  return url.href;
}
