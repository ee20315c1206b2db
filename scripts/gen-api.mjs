// gen-api.mjs [--header OUT.h] [--bridge OUT.inc] [--ts FOLDER] [--docs FOLDER] - writes what is generated from the list of
// public functions, src/tensor/functions.def: prototypes, the bridge to WebAssembly, TypeScript, and the reference. The
// reference also has everything else that js/src/ exports.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { readFunctions } from './lib/function-table.mjs';
import { bridge, header } from './lib/write-c.mjs';
import { reference } from './lib/write-reference.mjs';
import { elementwise, exports_, functions, methods, options } from './lib/write-ts.mjs';

/** The files of each option, by name; '' stands for the path itself. */
const OUTPUTS = {
  header: (table) => ({ '': header(table) }),
  bridge: (table) => ({ '': bridge(table) }),
  ts: (table) => ({
    'ops.gen.ts': elementwise(table),
    'options.gen.ts': options(table),
    'functions.gen.ts': functions(table),
    'methods.gen.ts': methods(table),
    'runtime/exports.gen.ts': exports_(table),
  }),
  docs: async (table) => reference(table, (await import('./lib/write-packages.mjs')).packagePages()), // needs TypeScript
};

const { values } = parseArgs({
  options: Object.fromEntries(Object.keys(OUTPUTS).map((name) => [name, { type: 'string' }])),
});
const table = readFunctions();
for (const [output, path] of Object.entries(values)) {
  for (const [name, text] of Object.entries(await OUTPUTS[output](table))) {
    const file = name ? join(path, name) : path;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
