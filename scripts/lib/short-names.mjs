// short-names.mjs - functions that JS calls in WebAssembly under short names in the package: sinter_layer_norm
// stands in the script and in both modules, and a page downloads a script and a module.
import { readFileSync, writeFileSync } from 'node:fs';

const LONG = /\bsinter_\w+/g;
const EXPORTS = 7; // the section's number in a module

/** a b ... z aa ab ... */
const shortName = (i) => (i < 26 ? '' : shortName(Math.floor(i / 26) - 1)) + String.fromCharCode(97 + (i % 26));

const uleb = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...uleb(value >>> 7)]);

const renamed = (bytes, names) => {
  let at = 8; // behind magic number and version
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const parts = [bytes.subarray(0, at)];
  while (at < bytes.length) {
    const start = at;
    const section = bytes[at++];
    const size = number();
    const end = at + size;
    if (section !== EXPORTS) {
      at = end;
      parts.push(bytes.subarray(start, end));
      continue;
    }
    const count = number();
    const out = [...uleb(count)];
    for (let i = 0; i < count; i++) {
      const length = number();
      const name = bytes.toString('utf8', at, (at += length));
      const short = Buffer.from(names.get(name) ?? name);
      const rest = at++; // the kind, then an index
      number();
      out.push(...uleb(short.length), ...short, ...bytes.subarray(rest, at));
    }
    parts.push(Buffer.from([EXPORTS, ...uleb(out.length), ...out]));
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
