// v8-coverage.mjs - merges what many processes wrote under NODE_V8_COVERAGE into the counted lines and branches of each script.
//
// A script's report lists its functions, each with nested ranges of characters: the first is the whole function, the others are
// blocks that ran a different number of times. A line is covered if one of its non-blank characters ran in some process; a
// branch is covered if the first character of its block did.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The characters that ran in this process. Inner ranges follow outer ones and override them. */
const ranInProcess = (functions, length) => {
  const ran = new Uint8Array(length);
  for (const { ranges } of functions) {
    for (const { startOffset, endOffset, count } of ranges) ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  }
  return ran;
};

/** The number of a script's lines with code, and the numbers of those lines that never ran. */
const linesOf = (text, ran) => {
  const missed = [];
  let total = 0;
  let start = 0;
  text.split('\n').forEach((line, i) => {
    const counted = [...line.matchAll(/[^\s{}();,]+/g)].filter(([word]) => !word.startsWith('//'));
    if (counted.length && !/^\s*(?:\/\/|\/?\*)/.test(line)) {
      total += 1;
      if (!counted.some(({ index }) => ran[start + index])) missed.push(i + 1);
    }
    start += line.length + 1;
  });
  return { total, missed };
};

/** By file: { lines: { total, missed: [line] }, branches: { total, missed: [line] } }, for scripts in a folder. */
export const readCoverage = (reports, folder) => {
  const scripts = new Map();
  for (const name of readdirSync(reports).filter((file) => file.endsWith('.json'))) {
    for (const { url, functions } of JSON.parse(readFileSync(join(reports, name), 'utf8')).result) {
      const file = url.startsWith('file:') ? fileURLToPath(url).split('?')[0] : '';
      if (!file.startsWith(folder) || !existsSync(file)) continue;
      const script = scripts.get(file) ?? { text: readFileSync(file, 'utf8'), ran: null, blocks: new Set() };
      script.ran ??= new Uint8Array(script.text.length);
      ranInProcess(functions, script.text.length).forEach((one, i) => { script.ran[i] |= one; });
      for (const { ranges } of functions) ranges.forEach(({ startOffset }) => script.blocks.add(startOffset));
      scripts.set(file, script);
    }
  }
  return new Map([...scripts].map(([file, { text, ran, blocks }]) => {
    const lineAt = (offset) => text.slice(0, offset).split('\n').length;
    const missed = [...blocks].filter((offset) => !ran[offset]).map(lineAt);
    return [file, { lines: linesOf(text, ran), branches: { total: blocks.size, missed } }];
  }));
};
