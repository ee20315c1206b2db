// Bytes as the characters that byte-level BPE writes for them: those that can be printed are themselves, the others
// follow from U+0100 on (GPT-2's table).

const isPrinted = (byte: number): boolean => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);

/** The character of each byte. */
const CHARACTERS: readonly string[] = (() => {
  let others = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrinted(byte) ? byte : others++));
})();

const BYTES: ReadonlyMap<string, number> = new Map(CHARACTERS.map((character, byte) => [character, byte]));

const ENCODER = new TextEncoder();

/** A text's bytes as such characters. */
export const asCharacters = (text: string): string => Array.from(ENCODER.encode(text), (byte) => CHARACTERS[byte]!).join('');

/** Back; a character that stands for no byte is itself, as tokens have that were added as they are. */
export const asBytes = (characters: string): number[] =>
  [...characters].flatMap((character) => BYTES.get(character) ?? [...ENCODER.encode(character)]);
