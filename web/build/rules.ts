// What each rule of the passes does, in the words of the comment above it in src/passes: the module virtual:rules, for the
// page that shows rewrites.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

const PASSES = join(import.meta.dirname, '../../src/passes');
const NAME = 'virtual:rules';

/** A comment of one or more lines as a sentence. */
const sentence = (comment: string): string =>
  comment
    .replace(/\n \*/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();

/** Per rule its words; rules that share a comment or have none are left out. */
function rulesOf(folder: string): Record<string, string> {
  const words: Record<string, string> = {};
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.c'))) {
    const text = readFileSync(join(folder, file), 'utf8');
    const rules = new Set([...text.matchAll(/(?:SN_RULE\(\w+, |sn_note_rewrite\([^"]*")(\w+)/g)].map(([, name]) => name));
    for (const [, comment, name] of text.matchAll(/\/\*((?:(?!\*\/)[^])*?)\*\/\nstatic sn_id (\w+)\(/g))
      if (rules.has(name)) words[name] = sentence(comment);
  }
  return words;
}

export const rules = (): Plugin => ({
  name: 'rules',
  resolveId: (id) => (id === NAME ? `\0${NAME}` : null),
  load: (id) => (id === `\0${NAME}` ? `export const RULES = ${JSON.stringify(rulesOf(PASSES))};` : null),
});
