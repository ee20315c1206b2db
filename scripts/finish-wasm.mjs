// finish-wasm.mjs IN.wasm OUT.wasm - the last step of the wasm build: optimise with Binaryen, then
// refuse a module that a bare page could not instantiate. Without this check a stray printf or
// an undefined function would become an import that only fails at a user's; a call of malloc, which would
// share its memory with base/host_wasm.c, shows by the import that tells of its growth.
import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import binaryen from 'binaryen';

const FEATURES = ['simd', 'threads', 'bulk-memory', 'mutable-globals', 'sign-ext',
  'nontrapping-float-to-int'];

/** Emscripten exports these for its own glue. */
const UNUSED_EXPORTS = ['stackSave', 'stackRestore', 'stackAlloc', '__errno_location'];

const [input, output] = process.argv.slice(2);
const optimised = `${output}.tmp`;
const linked = binaryen.readBinary(readFileSync(input));
const { Atomics, BulkMemory, MutableGlobals, NontrappingFPToInt, SIMD128, SignExt } = binaryen.Features;
linked.setFeatures(Atomics | BulkMemory | MutableGlobals | NontrappingFPToInt | SIMD128 | SignExt);
for (const name of UNUSED_EXPORTS) linked.removeExport(name);
writeFileSync(optimised, linked.emitBinary());
const wasmOpt = fileURLToPath(new URL('../node_modules/binaryen/bin/wasm-opt', import.meta.url));
// Low memory: only the far end of the stack lies there. What counts is the size after compression: zeroes
// in the data are cheaper than the pieces that memory packing makes of it, and a large function stays apart
// from its only caller, where its locals would have rarer numbers.
execFileSync(process.execPath, [wasmOpt, optimised, '-o', optimised, '--low-memory-unused',
  '--skip-pass=memory-packing', '--skip-pass=merge-locals', '--always-inline-max-function-size=5',
  '--one-caller-inline-max-function-size=92', '--gufa', '-Oz', '--flatten',
  '--rereloop', '-Oz', '--flatten', '--rereloop', '-Oz', '-Oz', '--strip-debug', '--strip-producers',
  '--strip-target-features', ...FEATURES.map((f) => `--enable-${f}`)],
{ stdio: 'inherit' });

const strangers = WebAssembly.Module.imports(new WebAssembly.Module(readFileSync(optimised)))
  .filter(({ module, name }) => module !== 'host' && !(module === 'env' && name === 'memory'));
if (strangers.length) {
  console.error(`${output}: imports that no loader supplies: ` +
    strangers.map(({ module, name }) => `${module}.${name}`).join(', '));
  process.exit(1);
}
renameSync(optimised, output);
