// Vite plugin: the built page's HTML without indentation, as its code is built without it. Where elements had white space
// between them they still have.

import type { Plugin } from 'vite';

export const flat = (): Plugin => ({
  name: 'flat',
  apply: 'build',
  transformIndexHtml: { order: 'post', handler: (html) => html.replace(/\n\s+/g, '\n') },
});
