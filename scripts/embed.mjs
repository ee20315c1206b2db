// embed.mjs - node scripts/embed.mjs HEADER NAME OUT.c: writes the text of a header of src/ as a C array NAME. Headers of src/
// that it includes are inserted in their places; includes of the system stay. Comments and indentation are removed.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

const withoutComments = (text) => text.replace(/\/\*[^]*?\*\//g, ' ');

/** The lines of a file of src/, with those of the files that it includes. */
const linesOf = (path) =>
  withoutComments(readFileSync(join(SRC, path), 'utf8')).split('\n').flatMap((line) => {
    const [, included] = /^\s*#\s*include\s+"([^"]+)"/.exec(line) ?? [];
    return included ? linesOf(included) : [line.trim()];
  }).filter(Boolean);

const [header, name, out] = process.argv.slice(2);
const bytes = Buffer.from(`${linesOf(header).join('\n')}\n\0`);
const rows = [];
for (let i = 0; i < bytes.length; i += 32) rows.push([...bytes.subarray(i, i + 32)].join(','));
writeFileSync(out, `extern const char ${name}[];\nconst char ${name}[] = {\n${rows.join(',\n')}};\n`);
