// A program in the page's address: its text, packed, its settings, and which of the list it comes from. In the fragment,
// beside the tab, so that no server sees it: #program=1.<packed>, or #compiler&program=1.<packed>. Nothing of it runs by itself.

import { readSettings, type Settings } from '../state/settings.ts';
import type { Brought } from './packed.ts';
import type { ShownProgram } from './shown.ts';

/** The packed program of an address; null: it has none. */
export const packedIn = (address: string): string | null => new URLSearchParams(new URL(address).hash.slice(1)).get('program');

/** The program in the address; null: there is none. */
export async function brought(): Promise<Brought | null> {
  const written = packedIn(location.href);
  return written === null ? null : (await import('./packed.ts')).unpack(written);
}

/** A program of the documentation, which stands beside the page: ?doc=tutorials-memory-2. It is of this server, like the page.
 *  null: the address asks for none. */
export async function documented(): Promise<string | null> {
  const name = new URLSearchParams(location.search).get('doc');
  if (name === null) return null;
  if (!/^[\w-]{1,80}$/.test(name)) throw new Error('the address has the name of a program that is damaged');
  const answer = await fetch(new URL(`docs/programs/${name}.js`, location.href)).catch(() => null);
  if (!answer?.ok || !/javascript/.test(answer.headers.get('content-type') ?? ''))
    throw new Error(`there is no program ${name} in the documentation beside this page`);
  return answer.text();
}

/** Settings of a program of the list: ?example=mlp&set=batch:64;seed:1. */
export function askedSettings(): Settings {
  const parts = (new URLSearchParams(location.search).get('set') ?? '').split(';').filter((part) => part !== '');
  return readSettings(Object.fromEntries(parts.map((part) => part.split(':', 2))));
}

/** A link to a program in a tab: of the list by name and settings, else with its text. embed: without the page around it. */
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
