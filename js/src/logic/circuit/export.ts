// Writes a circuit as text in other languages: one line per gate, in order. For an automaton, C and JavaScript also step a
// grid, whose cells lie in words as in run.ts, within a frame of one word on each side.

import type { CircuitData } from './circuit.js';
import type { AutomatonFacts } from '../extract.js';
import { NAMES } from '../gates16.js';
import { signalsOf } from './simplify.js';
import { gateText } from './words.js';

/** How a language spells signals, and words of no bits and of all bits. */
interface Spelling {
  input: (i: number) => string;
  gate: (i: number) => string;
  none: string;
  all: string;
}

const signalText = ({ inputs }: CircuitData, { input, gate }: Spelling, signal: number): string =>
  signal < inputs ? input(signal) : gate(signal - inputs);

/** The expression of each gate. */
const expressions = (data: CircuitData, spelling: Spelling): string[] =>
  data.gates.map(([f, a, b]) =>
    gateText(f, signalText(data, spelling, a), signalText(data, spelling, b), spelling.none, spelling.all),
  );

const outputsOf = (data: CircuitData, spelling: Spelling): string[] =>
  data.outputs.map((signal) => signalText(data, spelling, signal));

const about = ({ inputs, gates, outputs }: CircuitData): string =>
  `A circuit; inputs: ${inputs}, gates: ${gates.length}, outputs: ${outputs.length}`;

/* ---- C ---- */

const C: Spelling = { input: (i) => `in${i}`, gate: (i) => `g${i}`, none: '0', all: '~(uint64_t)0' };

const used = ({ inputs, gates, outputs }: CircuitData): number[] =>
  [...new Set([...gates.flatMap(signalsOf), ...outputs])].filter((signal) => signal < inputs).sort((a, b) => a - b);

const bodyOfC = (data: CircuitData, load: (input: number) => string, store: (output: number) => string, indent: string): string =>
  [
    ...used(data).map((i) => `${indent}const uint64_t in${i} = ${load(i)};`),
    ...expressions(data, C).map((text, i) => `${indent}const uint64_t g${i} = ${text};`),
    ...outputsOf(data, C).map((text, i) => `${indent}${store(i)} = ${text};`),
  ].join('\n');

/** C that draws a mask by the binary digits of the share that fires, from the last one on. */
const fireDigits = (fire: number): string => {
  const digits = Math.max(Math.round(fire * 4096), 1);
  return `static uint64_t random_word(uint64_t *seed) { /* splitmix64 */
  uint64_t z = *seed += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/* bits set with probability ${digits} / 4096 */
static uint64_t fires(uint64_t *seed) {
  uint64_t mask = 0;
  for (int i = 0; i < 12; i++) mask = ${digits} >> i & 1 ? mask | random_word(seed) : mask & random_word(seed);
  return mask;
}
`;
};

const frameOfC = (wraps: boolean): string => `/* Row \`height\` where words have bits beyond the grid, the rows of words -1 and ROWS, the columns -1 and width. */
static void circuit_frame(uint64_t *channel, long width, long height) {
  const long rows = circuit_rows(height), stride = width + 2;
  uint64_t *first = channel + stride, *last = channel + rows * stride;
  if (height < 64 * rows) {
    uint64_t *below = channel + (height % rows + 1) * stride;
    const int bit = (int)(height / rows);
    for (long x = 1; x <= width; x++)
      below[x] = (below[x] & ~((uint64_t)1 << bit)) | ${wraps ? '(first[x] & 1) << bit' : '0'};
  }
  for (long x = 1; x <= width; x++) {
    channel[x] = last[x] << 1;
    last[stride + x] = first[x] >> 1;
${
  wraps
    ? `    channel[x] |= channel[((height - 1) % rows + 1) * stride + x] >> (height - 1) / rows & 1;
    if (height == 64 * rows) last[stride + x] |= first[x] << 63;
`
    : ''
}  }
  for (long y = 0; y < rows + 2; y++) {
    uint64_t *row = channel + y * stride;
    row[0] = ${wraps ? 'row[width]' : '0'};
    row[width + 1] = ${wraps ? 'row[1]' : '0'};
  }
}
`;

const automatonOfC = (data: CircuitData, { channels, boundary, fire }: AutomatonFacts): string => {
  const isRandom = fire < 1;
  const load = (i: number): string => `now[(${Math.floor(i / 9)} * (rows + 2) + y + ${Math.floor((i % 9) / 3)}) * stride + x + ${i % 3}]`;
  const cell = (channel: number): string => `(${channel} * (rows + 2) + y + 1) * stride + x + 1]`;
  return `
/* The automaton; channels: ${channels}, beyond the border: ${boundary === 'wrap' ? 'the other side' : 'cells of 0'}. Bit b of the word at (y, x) is the cell in row
 * b * ROWS + y, ROWS = ceil(height / 64), column x. A state has circuit_words(width, height) words: of each channel
 * (ROWS + 2) x (width + 2), with a frame around that a step fills. */
static long circuit_rows(long height) { return (height + 63) / 64; }

long circuit_words(long width, long height) { return ${channels} * (circuit_rows(height) + 2) * (width + 2); }

static uint64_t *word_at(uint64_t *state, long width, long height, int channel, long y, long x) {
  const long rows = circuit_rows(height);
  return state + (channel * (rows + 2) + y % rows + 1) * (width + 2) + x + 1;
}

/* cells: channels x height x width of 0 and 1 */
void circuit_pack(const unsigned char *cells, uint64_t *state, long width, long height) {
  const long rows = circuit_rows(height);
  for (long i = 0; i < circuit_words(width, height); i++) state[i] = 0;
  for (int channel = 0; channel < ${channels}; channel++)
    for (long y = 0; y < height; y++)
      for (long x = 0; x < width; x++)
        *word_at(state, width, height, channel, y, x) |= (uint64_t)*cells++ << y / rows;
}

void circuit_unpack(const uint64_t *state, unsigned char *cells, long width, long height) {
  const long rows = circuit_rows(height);
  for (int channel = 0; channel < ${channels}; channel++)
    for (long y = 0; y < height; y++)
      for (long x = 0; x < width; x++)
        *cells++ = *word_at((uint64_t *)state, width, height, channel, y, x) >> y / rows & 1;
}

${frameOfC(boundary === 'wrap')}
${isRandom ? `${fireDigits(fire)}\n` : ''}/* One step from now, whose frame it fills, to next. */
void circuit_step(uint64_t *restrict now, uint64_t *restrict next, long width, long height${isRandom ? ', uint64_t *seed' : ''}) {
  const long rows = circuit_rows(height), stride = width + 2;
  for (int channel = 0; channel < ${channels}; channel++)
    circuit_frame(now + channel * (rows + 2) * stride, width, height);
  for (long y = 0; y < rows; y++)
    for (long x = 0; x < width; x++) {
${bodyOfC(data, load, (i) => `      const uint64_t out${i}`, '      ')}
${isRandom ? '      const uint64_t mask = fires(seed);\n' : ''}${data.outputs
    .map((_, i) => `      next[${cell(i)} = ${isRandom ? `now[${cell(i)} ^ ((now[${cell(i)} ^ out${i}) & mask)` : `out${i}`};`)
    .join('\n')}
    }
}
`;
};

export function toC(data: CircuitData): string {
  const plain = bodyOfC(
    data,
    (i) => `in[${i}]`,
    (i) => `out[${i}]`,
    '  ',
  );
  return `/* ${about(data)}; a word is 64 cells or examples. */
#include <stdint.h>

void circuit(const uint64_t *in, uint64_t *out) {
${plain}
}
${data.automaton ? automatonOfC(data, data.automaton) : ''}`;
}

/* ---- JavaScript ---- */

const JS: Spelling = { ...C, all: '-1' };

const bodyOfJs = (data: CircuitData, load: (input: number) => string, indent: string): string =>
  [
    ...used(data).map((i) => `${indent}const in${i} = ${load(i)};`),
    ...expressions(data, JS).map((text, i) => `${indent}const g${i} = ${text};`),
  ].join('\n');

const automatonOfJs = (data: CircuitData, { channels, boundary, fire }: AutomatonFacts): string => {
  const wraps = boundary === 'wrap';
  const load = (i: number): string => `now[(${Math.floor(i / 9)} * (rows + 2) + y + ${Math.floor((i % 9) / 3)}) * stride + x + ${i % 3}]`;
  const digits = Math.max(Math.round(fire * 4096), 1);
  const mask =
    fire < 1
      ? `      let mask = 0;
      for (let i = 0; i < 12; i++) mask = (${digits} >> i) & 1 ? mask | randomWord() : mask & randomWord();
`
      : '      const mask = -1;\n';
  return `
const CHANNELS = ${channels};

/** Row \`height\` where words have bits beyond the grid, the rows of words -1 and ROWS, the columns -1 and width. */
function frame(words, at, width, height, rows) {
  const stride = width + 2;
  const [first, last] = [at + stride, at + rows * stride];
  if (height < 32 * rows) {
    const below = at + ((height % rows) + 1) * stride;
    const bit = Math.floor(height / rows);
    for (let x = 1; x <= width; x++) words[below + x] = (words[below + x] & ~(1 << bit)) | ${wraps ? '((words[first + x] & 1) << bit)' : '0'};
  }
  for (let x = 1; x <= width; x++) {
    words[at + x] = words[last + x] << 1;
    words[last + stride + x] = words[first + x] >>> 1;
${
  wraps
    ? `    words[at + x] |= (words[at + (((height - 1) % rows) + 1) * stride + x] >>> Math.floor((height - 1) / rows)) & 1;
    if (height === 32 * rows) words[last + stride + x] |= words[first + x] << 31;
`
    : ''
}  }
  for (let y = 0; y < rows + 2; y++) {
    const row = at + y * stride;
    words[row] = ${wraps ? 'words[row + width]' : '0'};
    words[row + width + 1] = ${wraps ? 'words[row + 1]' : '0'};
  }
}

/**
 * The cells (${channels}, height, width), of 0 and 1, after so many steps; beyond the border lie ${wraps ? 'those of the other side' : 'cells of 0'}.${fire < 1 ? '\n * randomWord() gives 32 random bits.' : ''}
 */
export function run(cells, width, height, steps = 1${fire < 1 ? ', randomWord = () => (Math.random() * 2 ** 32) | 0' : ''}) {
  const rows = Math.ceil(height / 32);
  const stride = width + 2;
  const size = (rows + 2) * stride;
  let [now, next] = [new Int32Array(CHANNELS * size), new Int32Array(CHANNELS * size)];
  const place = (channel, y, x) => channel * size + ((y % rows) + 1) * stride + x + 1;
  let at = 0;
  for (let channel = 0; channel < CHANNELS; channel++)
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) now[place(channel, y, x)] |= cells[at++] << Math.floor(y / rows);
  for (let step = 0; step < steps; step++, [now, next] = [next, now]) {
    for (let channel = 0; channel < CHANNELS; channel++) frame(now, channel * size, width, height, rows);
    for (let y = 0; y < rows; y++)
      for (let x = 0; x < width; x++) {
${bodyOfJs(data, load, '        ')}
${mask.replace(/^ {6}/gm, '        ')}${outputsOf(data, JS)
    .map((text, i) => `        const cell${i} = place(${i}, y, x);\n        next[cell${i}] = now[cell${i}] ^ ((now[cell${i}] ^ (${text})) & mask);`)
    .join('\n')}
      }
  }
  at = 0;
  const out = new Uint8Array(CHANNELS * height * width);
  for (let channel = 0; channel < CHANNELS; channel++)
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) out[at++] = (now[place(channel, y, x)] >>> Math.floor(y / rows)) & 1;
  return out;
}
`;
};

export function toJavaScript(data: CircuitData): string {
  return `// ${about(data)}; a word is 32 cells or examples.

/** Words (Int32Array) of the outputs from those of the inputs. */
export function circuit(input) {
${bodyOfJs(data, (i) => `input[${i}]`, '  ')}
  return Int32Array.of(${outputsOf(data, JS).join(', ')});
}
${data.automaton ? automatonOfJs(data, data.automaton) : ''}`;
}

/* ---- hardware and drawings ---- */

export function toVerilog(data: CircuitData): string {
  const verilog: Spelling = { input: (i) => `in[${i}]`, gate: (i) => `g[${i}]`, none: "1'b0", all: "1'b1" };
  const { inputs, gates, outputs } = data;
  const wires = gates.length ? `  wire [${gates.length - 1}:0] g;\n` : '';
  return `// ${about(data)}
module circuit(input wire [${inputs - 1}:0] in, output wire [${Math.max(outputs.length, 1) - 1}:0] out);
${wires}${expressions(data, verilog)
    .map((text, i) => `  assign g[${i}] = ${text};\n`)
    .join('')}${outputsOf(data, verilog)
    .map((text, i) => `  assign out[${i}] = ${text};\n`)
    .join('')}endmodule
`;
}

export function toGraphviz(data: CircuitData): string {
  const dot: Spelling = { input: (i) => `in${i}`, gate: (i) => `g${i}`, none: '', all: '' };
  const lines = [
    ...used(data).map((i) => `  in${i} [shape=plaintext];`),
    ...data.gates.map(([f], i) => `  g${i} [label="${NAMES[f]!}"];`),
    ...data.gates.flatMap((gate, i) =>
      signalsOf(gate).map((signal) => `  ${signalText(data, dot, signal)} -> g${i} [label="${signal === gate[1] ? 'a' : 'b'}"];`),
    ),
    ...outputsOf(data, dot).flatMap((text, i) => [`  out${i} [shape=plaintext];`, `  ${text} -> out${i};`]),
  ];
  return `digraph circuit {\n  rankdir=LR;\n  node [shape=box];\n${lines.join('\n')}\n}\n`;
}
