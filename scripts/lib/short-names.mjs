// short-names.mjs - functions that JS calls in WebAssembly under short names in the package: sinter_layer_norm
// stands in the script and in both modules, and a page downloads a script and a module.
import { readFileSync, writeFileSync } from 'node:fs';
import { SECTION, section, sections, uleb } from './wasm-bytes.mjs';

const LONG = /\bsinter_\w+/g;
/** a b ... z aa ab ... */
const shortName = (i) => (i < 26 ? '' : shortName(Math.floor(i / 26) - 1)) + String.fromCharCode(97 + (i % 26));

const renamed = (bytes, names) => {
  const parts = [bytes.subarray(0, 8)];
  for (const { id, bytes: whole, content } of sections(bytes)) {
    if (id !== SECTION.export) {
      parts.push(whole);
      continue;
    }
    const count = content.number();
    const out = uleb(count);
    for (let i = 0; i < count; i++) {
      const name = content.name();
      const short = Buffer.from(names.get(name) ?? name);
      const kind = content.byte();
      out.push(...uleb(short.length), ...short, kind, ...uleb(content.number()));
    }
    parts.push(section(SECTION.export, out));
  }
  return Buffer.concat(parts);
};

/** Rewrites the files in place. Names that scripts use most are the shortest. */
export const shortenNames = (scripts, modules) => {
  const texts = scripts.map((file) => readFileSync(file, 'utf8'));
  const uses = new Map();
  for (const [name] of texts.join('\n').matchAll(LONG)) uses.set(name, (uses.get(name) ?? 0) + 1);
  const names = new Map([...uses].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name], i) => [name, shortName(i)]));
  scripts.forEach((file, i) => writeFileSync(file, texts[i].replace(LONG, (name) => names.get(name))));
  for (const file of modules) {
    const module = renamed(readFileSync(file), names);
    const exported = new Set(WebAssembly.Module.exports(new WebAssembly.Module(module)).map(({ name }) => name));
    const lost = [...names].filter(([, short]) => !exported.has(short)).map(([name]) => name);
    if (lost.length) throw new Error(`${file} does not export ${lost.join(', ')}`);
    writeFileSync(file, module);
  }
};
