// Vite plugin: short names in the trainer's worker, which every visitor downloads. Other workers show functions as code, with
// the names of their parameters, so they keep them (vite.config.ts).

import { minifySync } from 'rolldown/experimental';
import type { Plugin } from 'vite';

const ENTRY = /\/src\/trainer\/worker\.ts$/;

export const mangled = (): Plugin => ({
  name: 'mangled',
  renderChunk(code, { fileName, facadeModuleId }) {
    if (facadeModuleId === null || !ENTRY.test(facadeModuleId)) return null;
    const made = minifySync(fileName, code, { module: true, compress: false, mangle: true, codegen: false });
    if (made.errors.length > 0) throw new Error(`${fileName}: ${made.errors[0].message}`);
    return { code: made.code };
  },
});
