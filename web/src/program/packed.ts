// Makes links to programs. Packs a program into letters of an address, and unpacks it: deflated JSON after a version number.
// The module is loaded when an address has a program, or is wanted. The contents are not trusted: if they are damaged, too large
// or of another version, an error says so in a sentence.

import { readSettings, type Settings } from '../state/settings.ts';
import { FIRST, entry } from './list.ts';
import type { ShownProgram } from './shown.ts';

/** The version of the format; a change of the format gets another number. */
const VERSION = '1';
/** The most characters of a text; longer ones do not fit into addresses. */
const MOST_LETTERS = 100_000;
const MOST_PACKED = 60_000;

export interface Brought {
  name: string;
  text: string;
  settings: Settings;
}

/** Says in a sentence what cannot be read in an address. */
class AddressError extends Error {
  override readonly name = 'AddressError';
}

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

/** `1.<packed>`. Throws an AddressError if the text is too long. */
export async function pack({ name, text, settings }: Brought): Promise<string> {
  if (text.length > MOST_LETTERS) throw new AddressError('the program is too long for an address');
  const json = new TextEncoder().encode(JSON.stringify({ name, text, settings }));
  const packed = toLetters(await through(json, new CompressionStream('deflate-raw') as never, MOST_PACKED));
  if (packed.length > MOST_PACKED) throw new AddressError('the program is too long for an address');
  return `${VERSION}.${packed}`;
}

/** A link to a program in a tab: for a program of the list with its name and settings, for a changed one with its text.
 *  embed: without the page around it. */
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
