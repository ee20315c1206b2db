// A program in the page's address: its text, packed, its settings, and which of the list it comes from. In the fragment,
// beside the tab, so that no server sees it: #program=1.<packed>, or #compiler&program=1.<packed>. Nothing in it is believed:
// what is damaged, too large or of another version is refused with a sentence, and nothing of it runs by itself.

import { readSettings, type Settings } from '../state/settings.ts';
import { FIRST, entry } from './list.ts';
import type { ShownProgram } from './shown.ts';

/** What the packed text means; another one is another number. */
const VERSION = '1';
/** Of a text; longer ones do not fit into addresses. */
const MOST_LETTERS = 100_000;
const MOST_PACKED = 60_000;

export interface Brought {
  name: string;
  text: string;
  settings: Settings;
}

/** What cannot be read in an address, in a sentence. */
class AddressError extends Error {
  override readonly name = 'AddressError';
}

const fragment = (): URLSearchParams => new URLSearchParams(location.hash.slice(1));

async function through(bytes: Uint8Array<ArrayBuffer>, stream: ReadableWritablePair<Uint8Array<ArrayBuffer>, BufferSource>, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    length += part.value.length;
    if (length > most) {
      await reader.cancel();
      throw new AddressError('the program in the address is too long');
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function toLetters(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

function fromLetters(letters: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(letters.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
}

/** `1.<packed>`; of a text that is too long an AddressError. */
export async function pack({ name, text, settings }: Brought): Promise<string> {
  if (text.length > MOST_LETTERS) throw new AddressError('the program is too long for an address');
  const json = new TextEncoder().encode(JSON.stringify({ name, text, settings }));
  const packed = toLetters(await through(json, new CompressionStream('deflate-raw') as never, MOST_PACKED));
  if (packed.length > MOST_PACKED) throw new AddressError('the program is too long for an address');
  return `${VERSION}.${packed}`;
}

export async function unpack(written: string): Promise<Brought> {
  const [, version, packed] = /^(\d{1,6})\.([\w-]*)$/.exec(written) ?? [];
  if (version === undefined || packed === undefined || packed.length > MOST_PACKED) throw new AddressError('the address has a program that is damaged');
  if (version !== VERSION)
    throw new AddressError(`the address has a program of version ${version} of this page; this is version ${VERSION}`);
  let given: { name?: unknown; text?: unknown; settings?: unknown };
  try {
    const bytes = await through(fromLetters(packed), new DecompressionStream('deflate-raw') as never, 4 * MOST_LETTERS);
    given = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as typeof given;
  } catch (error) {
    if (error instanceof AddressError) throw error;
    throw new AddressError('the address has a program that is damaged');
  }
  const { name, text } = given ?? {};
  if (typeof text !== 'string' || text.length > MOST_LETTERS) throw new AddressError('the address has a program that is damaged');
  try {
    return { name: typeof name === 'string' && entry(name) !== null ? name : FIRST, text, settings: readSettings(given.settings) };
  } catch {
    throw new AddressError('the address has a program with settings that are damaged');
  }
}

/** The program in the address; null: there is none. */
export async function brought(): Promise<Brought | null> {
  const written = fragment().get('program');
  return written === null ? null : unpack(written);
}

/** A program of the documentation, which stands beside the page: ?doc=tutorials-memory-2. It is of this server, like the page.
 *  null: the address asks for none. */
export async function documented(): Promise<string | null> {
  const name = new URLSearchParams(location.search).get('doc');
  if (name === null) return null;
  if (!/^[\w-]{1,80}$/.test(name)) throw new AddressError('the address has the name of a program that is damaged');
  const answer = await fetch(new URL(`docs/programs/${name}.js`, location.href)).catch(() => null);
  if (!answer?.ok || !/javascript/.test(answer.headers.get('content-type') ?? ''))
    throw new AddressError(`there is no program ${name} in the documentation beside this page`);
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
  if (isChanged) parts.push(`program=${await pack({ name, text, settings })}`);
  else if (Object.keys(settings).length > 0)
    url.searchParams.set('set', Object.entries(settings).map(([key, value]) => `${key}:${String(value)}`).join(';'));
  url.hash = parts.join('&');
  return url.href;
}
