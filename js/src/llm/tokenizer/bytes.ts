// Bytes as the characters that byte-level BPE writes for them (GPT-2's table): printable ones stand for themselves, the others
// are numbered from U+0100 on.

const isPrinted = (byte: number): boolean => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);

/** The character of each byte. */
const CHARACTERS: readonly string[] = (() => {
  let others = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrinted(byte) ? byte : others++));
})();

const BYTES: ReadonlyMap<string, number> = new Map(CHARACTERS.map((character, byte) => [character, byte]));

const ENCODER = new TextEncoder();

/** The bytes of a text (UTF-8) as such characters. */
export const asCharacters = (text: string): string => Array.from(ENCODER.encode(text), (byte) => CHARACTERS[byte]!).join('');

/** The inverse. A character that stands for no byte becomes its own UTF-8: added tokens contain such characters. */
export const asBytes = (characters: string): number[] =>
  [...characters].flatMap((character) => BYTES.get(character) ?? [...ENCODER.encode(character)]);
