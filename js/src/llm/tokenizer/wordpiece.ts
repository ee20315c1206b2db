// WordPiece, as BERT has it: words in lower case and without accents, each cut into the longest tokens there are, from its
// beginning on. Punctuation and the characters of Chinese are words of their own.
//
// Files write the beginning of a word as U+2581 in front of it, and what follows without a mark.

/** Marks that an accent is taken apart into. */
const ACCENTS = /\p{Mn}/gu;
/** White space but what is written there as a control character; and what is left out. */
const SPACES = /[\s\p{Z}]+/u;
const IGNORED = /[\0\ufffd]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu;
/** Made small one by one: a sigma at the end of a word is as any other. */
const CAPITALS = /[\p{Lu}\p{Lt}]/gu;
/** Words of one character: punctuation, symbols of ASCII, Chinese. */
const ALONE = /[\p{P}$+<=>^`|~]|[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[\u{20000}-\u{2a6df}\u{2a700}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;

const BEGIN_OF_WORD = '\u2581';

const wordsOf = (text: string): string[] =>
  text.replaceAll(IGNORED, '').normalize('NFD').replaceAll(ACCENTS, '').replaceAll(CAPITALS, (each) => each.toLowerCase()).replaceAll(ALONE, ' $& ').split(SPACES).filter((word) => word !== '');

/** The tokens of a word; unknown alone where it cannot be cut. longest: characters of a token. */
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

/** What cuts texts into tokens. */
export function wordPiece(byText: ReadonlyMap<string, number>, unknown: number): (text: string) => number[] {
  let longest = 1;
  for (const text of byText.keys()) longest = Math.max(longest, text.length);
  return (text) => wordsOf(text).flatMap((word) => tokensOf(word, byText, longest, unknown));
}
