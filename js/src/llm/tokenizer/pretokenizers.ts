// How texts are cut into words before BPE merges within each: the published patterns, by the names that files have for
// them (tokenizer.ggml.pre).

/** A text is cut by the patterns, one after the other; what lies between matches is a piece, too. */
interface Pretokenizer {
  patterns: readonly RegExp[];
  /** Whether a word that is itself a token stays whole, whatever the merges say. */
  keepsWords?: boolean;
  /** Whether a text begins with the begin token if the file does not say. */
  addsBegin?: boolean;
}

/** A global pattern in which \s means Unicode's White_Space instead of JavaScript's. */
const pattern = (source: string): RegExp =>
  new RegExp(source.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}'), 'gu');

const ENDINGS = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]";
const WORDS = '[^\\r\\n\\p{L}\\p{N}]?\\p{L}+';
const SIGNS = ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*';
const SPACES = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';

const GPT2 = pattern("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+");
const DIGIT = pattern('\\p{N}');
const LLAMA3 = pattern(`${ENDINGS}|${WORDS}|\\p{N}{1,3}|${SIGNS}|${SPACES}`);
const QWEN2 = pattern(`${ENDINGS}|${WORDS}|\\p{N}|${SIGNS}|${SPACES}`);

/** Classes of capitals and of small letters. Letters that are neither belong to both. */
const [UPPER, LOWER] = ['[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]', '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'];
const CASED = (ending: string): string =>
  `[^\\r\\n\\p{L}\\p{N}]?${UPPER}*${LOWER}+${ending}|[^\\r\\n\\p{L}\\p{N}]?${UPPER}+${LOWER}*${ending}`;
const SLASHED = ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*';
const GPT4O = pattern(`${CASED(`(?:${ENDINGS})?`)}|\\p{N}{1,3}|${SLASHED}|${SPACES}`);
const TEKKEN = pattern(`${CASED('')}|\\p{N}|${SLASHED}|${SPACES}`);

const named = (names: string, pretokenizer: Pretokenizer): [string, Pretokenizer][] => names.split(' ').map((name) => [name, pretokenizer]);

export const PRETOKENIZERS: ReadonlyMap<string, Pretokenizer> = new Map([
  ...named('gpt2 gpt-2 phi-2 mpt olmo jais jina-es jina-de jina-v2-es jina-v2-de jina-en', { patterns: [GPT2] }),
  ...named('smollm starcoder refact command-r codeshell exaone minerva-7b', { patterns: [DIGIT, GPT2] }),
  ...named('llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral lfm2', { patterns: [LLAMA3], keepsWords: true, addsBegin: true }),
  ...named('dbrx smaug-bpe chatglm-bpe glm4', { patterns: [LLAMA3] }),
  ...named('qwen2 deepseek-r1-qwen stablelm2 megrez hunyuan', { patterns: [QWEN2] }),
  ...named('gpt-4o llama4', { patterns: [GPT4O] }),
  ...named('tekken', { patterns: [TEKKEN], keepsWords: true, addsBegin: true }),
]);

/** The words of a text. */
export function wordsOf(text: string, patterns: readonly RegExp[]): string[] {
  let pieces = [text];
  for (const each of patterns) {
    pieces = pieces.flatMap((piece) => {
      const cut: string[] = [];
      let end = 0;
      for (const { 0: match, index } of piece.matchAll(each)) {
        if (index > end) cut.push(piece.slice(end, index));
        cut.push(match);
        end = index + match.length;
      }
      if (end < piece.length) cut.push(piece.slice(end));
      return cut;
    });
  }
  return pieces;
}
