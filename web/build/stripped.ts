// Vite plugin: a program of the gallery as its text and as the JavaScript that it becomes, by file.ts?stripped. So a page
// that runs a program as it is in the list need not load what strips types.
import { readFile } from 'node:fs/promises';
import type { Plugin } from 'vite';
import { stripTypes } from '../src/program/workers/strip.ts';

const QUERY = '?stripped';

export function stripped(): Plugin {
  return {
    name: 'stripped',
    enforce: 'pre',
    async load(id) {
      if (!id.endsWith(QUERY)) return null;
      const text = await readFile(id.slice(0, -QUERY.length), 'utf8');
      return `export default ${JSON.stringify({ text, code: stripTypes(text) })};`;
    },
  };
}
