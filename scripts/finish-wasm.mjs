// finish-wasm.mjs IN.wasm OUT.wasm - the last step of the wasm build: optimises with Binaryen, then refuses a module that a
// bare page could not instantiate. Without this check a stray printf or an undefined function would become an import that fails
// only on a user's page. A call of malloc, which would share its memory with base/host_wasm.c, shows as the import that reports
// the memory's growth.
import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FEATURES = ['simd', 'threads', 'bulk-memory', 'mutable-globals', 'sign-ext',
  'nontrapping-float-to-int'];

const [input, output] = process.argv.slice(2);
const optimised = `${output}.tmp`;
const wasmOpt = fileURLToPath(new URL('../node_modules/binaryen/bin/wasm-opt', import.meta.url));
// Low memory is unused: only the far end of the stack lies there. -Oz runs three times: what one round merges lets the next
// find more, 0.4 % of the gzipped module.
execFileSync(process.execPath, [wasmOpt, input, '-o', optimised, '-Oz', '-Oz', '-Oz', '--low-memory-unused',
  '--strip-debug', '--strip-producers', '--strip-target-features', ...FEATURES.map((f) => `--enable-${f}`)],
{ stdio: 'inherit' });

const strangers = WebAssembly.Module.imports(new WebAssembly.Module(readFileSync(optimised)))
  .filter(({ module, name }) => !['host', 'gpu'].includes(module) && !(module === 'env' && name === 'memory'));
if (strangers.length) {
  console.error(`${output}: imports that no loader supplies: ` +
    strangers.map(({ module, name }) => `${module}.${name}`).join(', '));
  process.exit(1);
}
renameSync(optimised, output);
