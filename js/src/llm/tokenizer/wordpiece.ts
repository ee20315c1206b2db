// WordPiece, as BERT has it: words are in lower case and without accents, and each is cut into the longest tokens available,
// from its beginning on. Punctuation and Chinese characters are words of their own.
//
// Files mark the beginning of a word by U+2581 before it; tokens that continue a word have no mark.

/** Combining marks, which NFD splits from their letters. */
const ACCENTS = /\p{Mn}/gu;
/** SPACES separates words. IGNORED is dropped before: control characters except tab, line feed and carriage return, and
 *  U+FFFD. */
const SPACES = /[\s\p{Z}]+/u;
const IGNORED = /[\0\ufffd]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu;
/** Lower-cased one by one, so that a sigma at the end of a word becomes the same letter as any other. */
const CAPITALS = /[\p{Lu}\p{Lt}]/gu;
/** Characters that are words of their own: punctuation, ASCII symbols, Chinese. */
const ALONE = /[\p{P}$+<=>^`|~]|[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[\u{20000}-\u{2a6df}\u{2a700}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;

const BEGIN_OF_WORD = '\u2581';

const wordsOf = (text: string): string[] =>
  text.replaceAll(IGNORED, '').normalize('NFD').replaceAll(ACCENTS, '').replaceAll(CAPITALS, (each) => each.toLowerCase()).replaceAll(ALONE, ' $& ').split(SPACES).filter((word) => word !== '');

/** The tokens of a word, or the unknown token alone if it cannot be cut. longest: the most characters of a token. */
function tokensOf(word: string, byText: ReadonlyMap<string, number>, longest: number, unknown: number): number[] {
  const characters = [...`${BEGIN_OF_WORD}${word}`];
  const tokens: number[] = [];
  for (let at = 0; at < characters.length; ) {
    let end = Math.min(characters.length, at + longest);
    let token: number | undefined;
    for (; end > at && token === undefined; end--) token = byText.get(characters.slice(at, end).join(''));
    if (token === undefined) return [unknown];
    tokens.push(token);
    at = end + 1;
  }
  return tokens;
}

/** A function that cuts texts into tokens. */
export function wordPiece(byText: ReadonlyMap<string, number>, unknown: number): (text: string) => number[] {
  let longest = 1;
  for (const text of byText.keys()) longest = Math.max(longest, text.length);
  return (text) => wordsOf(text).flatMap((word) => tokensOf(word, byText, longest, unknown));
}
