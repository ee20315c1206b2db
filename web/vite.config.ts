// The playground is plain static files: `web/dist` works from any folder of any server.
// The two headers let the page share memory between threads; without them it trains on one.
import { defineConfig } from 'vite';
import { flat } from './build/flat.ts';
import { mangled } from './build/mangled.ts';
import { mnist } from './build/mnist.ts';
import { offline } from './build/offline.ts';
import { stripped } from './build/stripped.ts';
import { rules } from './build/rules.ts';

const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  publicDir: 'generated',
  plugins: [mnist('generated/mnist'), stripped(), rules(), offline(), flat()],
  // Pre-bundling would move the module away from the .wasm files that it finds by its own URL.
  optimizeDeps: { exclude: ['sinter'] },
  // Workers show functions as code, which takes the names of their parameters as they are; but for the trainer's (mangled).
  worker: { format: 'es', plugins: () => [stripped(), mangled()], rolldownOptions: { output: { minify: { mangle: false } } } },
  // The largest chunk is the Compiler tab with its editor, loaded when the tab is opened.
  build: { target: 'es2022', assetsInlineLimit: 0, chunkSizeWarningLimit: 600 },
  server: { headers },
  preview: { headers },
});
