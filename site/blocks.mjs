// blocks.mjs - the fenced blocks of a Markdown text, and the programs that they make. The tests run every program and
// compare what it prints; the site gives each a way into the playground. Nothing else reads blocks.
//
// A block is a program by its language, unless a word behind that says what it is instead (KINDS). Blocks of JavaScript go
// on where the last one ended; one that imports all of sinter begins a new program. What a block prints stands behind its
// console.log, or in a block `output` below it (for C only there), where `…` stands for anything; a block `output sample` is
// what one machine printed, such as times. A comment `<!-- setup ... -->` has lines that run before the next block, and that
// readers need not see.

/** What a block is, by its language and the word behind it. */
const KINDS = {
  js: { '': 'program', fragment: 'fragment', webgpu: 'device program' },
  ts: { '': 'types', fragment: 'fragment' },
  c: { '': 'C program', fragment: 'fragment' },
  html: { '': 'text' },
  sh: { '': 'commands' },
  json: { '': 'text' },
  output: { '': 'output', sample: 'sample' },
  '': { '': 'text' },
};

/** In docs/reference: examples come from the table of functions, and suite js runs them; the rest are signatures. */
const IN_REFERENCE = { js: 'example', ts: 'signature', '': 'signature' };

const kindOf = (language, word, isReference, at) => {
  const kind = isReference ? IN_REFERENCE[language] : KINDS[language]?.[word];
  if (kind === undefined) throw new Error(`${at}: no block is called "${language} ${word}"`);
  return kind;
};

/** Blocks that are run, so that what they print can stand below them. */
const RUN = ['program', 'C program', 'device program'];

/** As the output of a block: lines that are not the same twice. */
const SAMPLE = Symbol('sample');

/** The blocks of a text, in order: { kind, language, code, line, setup, output }; `name` is the file's path. */
export const blocksOf = (text, name) => {
  const isReference = name.startsWith('docs/reference/');
  const found = [];
  let setup = '';
  const pattern = /^<!-- setup\n([^]*?)^-->$|^```(\w*) ?(.*)\n([^]*?)^```$/gm;
  for (const { index, 1: hidden, 2: language, 3: word, 4: code } of text.matchAll(pattern)) {
    const line = text.slice(0, index).split('\n').length;
    if (hidden !== undefined) {
      setup += hidden;
      continue;
    }
    const kind = kindOf(language, word, isReference, `${name}:${line}`);
    if (['output', 'sample'].includes(kind) && RUN.includes(found.at(-1)?.kind)) found.at(-1).output = kind === 'sample' ? SAMPLE : code;
    found.push({ kind, language, code, line, setup, output: null });
    setup = '';
  }
  return found;
};

const BEGINS = /^import \* as sn from 'sinter';$/m;

/** The programs of blocks: each is an array of blocks that run one after the other. */
export const programsOf = (blocks) => {
  const programs = [];
  for (const block of blocks.filter(({ kind }) => kind === 'program')) {
    if (programs.length === 0 || BEGINS.test(block.code)) programs.push([]);
    programs.at(-1).push(block);
  }
  return programs;
};

/** Lines that a block says it prints; none: it prints nothing; null: any, but some. */
export const saidBy = ({ code, output }) => {
  if (output === SAMPLE) return null;
  if (output !== null) return output.trimEnd().split('\n');
  return [...code.matchAll(/console\.log\(.*\);? \/\/ (.*)/g)].map((match) => match[1]);
};

/** Whether a line is as it was said; `…` stands for anything. */
const isLine = (line, said) =>
  new RegExp(`^${said.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`).test(line);

/** Whether lines are what a block said it prints. */
export const isAsSaid = (printed, said) =>
  said === null ? printed.length > 0 : printed.length === said.length && said.every((line, i) => isLine(printed[i], line));

const PLAYGROUND_HAS = /^sinter(\/(logic|onnx|gguf|llm|report))?$/;

/** What the playground runs for a block: the program up to it; null: it needs what a page does not have. */
export const forPlayground = (program, block) => {
  const parts = program.slice(0, program.indexOf(block) + 1);
  const text = parts.map(({ code }) => code).join('\n');
  const imports = [...text.matchAll(/^import .*? ?from '(.*)';$/gm)].map((match) => match[1]);
  return parts.every(({ setup }) => setup === '') && imports.every((from) => PLAYGROUND_HAS.test(from)) ? text : null;
};

/** The same for an example of the reference, an expression. */
export const exampleForPlayground = ({ code }) => {
  const [expression, result] = code.trimEnd().split(' // ');
  const said = result === undefined ? '' : ` // ${result}`;
  return `import * as sn from 'sinter';\nawait sn.init();\n\nconst result = ${expression};${said}\nconsole.log(result, await result.data());\n`;
};
