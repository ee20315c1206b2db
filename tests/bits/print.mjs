// print.mjs - prints fused.txt anew; build/wasm has to be built. See bits.h.
import { readFileSync } from 'node:fs';
import { ENGINES, bits } from '../differential/engine.mjs';

const file = new URL('../../build/wasm/tests/differential/differential.wasm', import.meta.url);
const fused = ENGINES.findIndex((name) => name.includes('relaxed'));
console.log(bits(new WebAssembly.Module(readFileSync(file)), fused).join('\n'));
