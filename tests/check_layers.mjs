// check_layers.mjs - the tree is what its documents say. Includes follow the layers of src/README.md and make no circle;
// src/README.md knows every folder, and no file that is gone. No two files have one name, and none is too long. All memory
// comes from base/alloc.h. docs/ops.md and docs/reference are what the tables and declarations say. Prints the lines per folder.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SRC = join(ROOT, 'src');
const MOST_LINES = 800;

/** Folder or top-level module -> what its files may include, by the table of src/README.md; every one may include itself. */
const layersOf = (readme) => {
  const layers = {};
  for (const [, name, text] of readme.matchAll(/^\| `([a-z]+)(?:\/|\.c)` \|.*\| ([^|]+) \|$/gm)) {
    const [, all, names] = /^(all above|nothing)?(?: but )?(.*)$/.exec(text);
    const named = names.split(', ').filter(Boolean);
    layers[name] = all === 'all above' ? Object.keys(layers).filter((above) => !named.includes(above)) : named;
    assert.ok(named.every((above) => above in layers), `${name}: a folder includes only those above it`);
  }
  return layers;
};
const LAYERS = layersOf(readFileSync(join(SRC, 'README.md'), 'utf8'));
const PUBLIC = new Set(['sinter.h', 'sinter_ops.h', 'sinter_functions.h']);

const filesOf = (folder, wanted) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && wanted.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));

const layerOf = (path) => path.split('/')[0].replace(/\.(c|h)$/, '');
const includesOf = (text) => [...text.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)].map((match) => match[1]);

/** Includes of one file that its layer does not allow. */
export const violations = (path, text) =>
  includesOf(text).filter((included) => {
    if (PUBLIC.has(included)) return false;
    const from = layerOf(path);
    const to = layerOf(included.includes('/') || LAYERS[layerOf(included)] ? included : join(dirname(path), included));
    return !(to in LAYERS) || (from !== to && !LAYERS[from]?.includes(to));
  });

const sources = filesOf(SRC, /\.(c|h|def|inc)$/).map((file) => ({
  path: relative(SRC, file),
  text: readFileSync(file, 'utf8'),
}));

/** Codes of js/src/errors.ts that have a class of their own, by which programs catch them. */
const codesWithClass = (errors) => [...errors.matchAll(/^    super\('(\w+)'/gm)].map(([, code]) => code);

const madeWithoutClass = (text, codes) =>
  [...text.matchAll(/new (?:\w+\.)?SinterError\(\s*'(\w+)'/g)].map(([, code]) => code).filter((code) => codes.includes(code));

test('an error whose code has a class is made by that class', () => {
  const codes = codesWithClass(readFileSync(join(ROOT, 'js/src/errors.ts'), 'utf8'));
  assert.deepEqual(codes, ['shape', 'dtype', 'memory', 'disposed', 'unsupported', 'worker']);
  assert.deepEqual(madeWithoutClass("throw new sn.SinterError('memory', op)", codes), ['memory']);
  const wrong = [...filesOf(join(ROOT, 'js/src'), /\.ts$/), ...filesOf(join(ROOT, 'web/src'), /\.ts$/)].flatMap((file) =>
    madeWithoutClass(readFileSync(file, 'utf8'), codes).map((code) => `${relative(ROOT, file)}: ${code}`));
  assert.deepEqual(wrong, []);
});

test('includes follow the layers', () => {
  const wrong = sources.flatMap(({ path, text }) => violations(path, text).map((to) => `${path} includes ${to}`));
  assert.deepEqual(wrong, []);
});

/** A file and its header as one, by the name without its ending -> those that it includes. */
const unitsOf = (files) => {
  const unit = (path) => path.replace(/\.\w+$/, '');
  const known = new Set(files.map(({ path }) => unit(path)));
  const units = new Map([...known].map((name) => [name, new Set()]));
  for (const { path, text } of files) {
    for (const included of includesOf(text)) {
      const to = [included, join(dirname(path), included)].map(unit).find((name) => known.has(name));
      if (to && to !== unit(path)) units.get(unit(path)).add(to);
    }
  }
  return units;
};

/** Files that include each other, directly or through others. */
export const circles = (files) => {
  const units = unitsOf(files);
  for (let before = -1; before !== units.size; ) {
    before = units.size;
    for (const [name, includes] of units) if (![...includes].some((to) => units.has(to))) units.delete(name);
  }
  const readers = (name) => [...units].some(([, includes]) => includes.has(name));
  for (let before = -1; before !== units.size; ) {
    before = units.size;
    for (const name of units.keys()) if (!readers(name)) units.delete(name);
  }
  return [...units.keys()].sort();
};

test('no two files include each other, not through others either', () => {
  assert.deepEqual(circles(sources), []);
});

test('a planted circle is caught', () => {
  const file = (path, ...included) => ({ path, text: included.map((to) => `#include "${to}"\n`).join('') });
  const files = [file('a/x.h'), file('a/x.c', 'a/x.h', 'a/y.h'), file('a/y.h', 'a/z.h'), file('a/z.h', 'a/x.h')];
  assert.deepEqual(circles([...files, file('a/user.c', 'a/x.h')]), ['a/x', 'a/y', 'a/z']);
  assert.deepEqual(circles([file('a/x.h'), file('a/x.c', 'a/x.h', 'a/y.h'), file('a/y.h'), file('a/y.c', 'a/y.h')]), []);
});

test('a planted upward include is caught', () => {
  assert.deepEqual(violations('graph/planted.c', '#include "tensor/tensor.h"\n#include "base/env.h"\n'), ['tensor/tensor.h']);
});

/** What a neutral folder must not say: instruction sets, sizes of memory, the tiny sizes of the hostile build. */
const MACHINE = /__(?:AVX|SSE|FMA|F16C|BMI|ARM|NEON|wasm|aarch64|x86_64|i386|EMSCRIPTEN)\w*|\bSINTER_TEST\b|\b(?:4096|8192|16384|32768|65536)\b|\b\d+ \* 1024\b/gi;
const NEUTRAL = ['target', 'graph', 'build', 'autodiff', 'batching', 'passes', 'fuse', 'plan', 'program'];

const machineIn = (path, text) => {
  if (!NEUTRAL.includes(layerOf(path))) return [];
  return [...text.replace(/\/\*[^]*?\*\//g, '').matchAll(MACHINE)].map((match) => match[0]);
};

test('up to plan/ a machine is known through its target alone', () => {
  const wrong = sources.flatMap(({ path, text }) => machineIn(path, text).map((word) => `${path}: ${word}`));
  assert.deepEqual(wrong, []);
});

test('a planted cache size, instruction set or hostile size is caught', () => {
  assert.deepEqual(machineIn('fuse/planted.c', 'enum { BLOCK = 256 * 1024, ROW = 8192 };'), ['256 * 1024', '8192']);
  assert.deepEqual(machineIn('graph/planted.h', '#if defined(__AVX512F__) || SINTER_TEST'), ['__AVX512F__', 'SINTER_TEST']);
  assert.deepEqual(machineIn('kernels/planted.c', '#ifdef __AVX2__ /* 64 * 1024 */'), []);
});

test('the table of src/README.md is read whole, from below to above', () => {
  assert.ok(Object.keys(LAYERS).length > 20);
  assert.deepEqual([LAYERS.base, LAYERS.plan, LAYERS.tensor.includes('pipeline')], [[], ['base', 'target', 'graph', 'fuse'], true]);
  const table = '| `low/` | text | nothing |\n| `middle/` | text | low |\n| `other.c` | text | all above but low |\n';
  assert.deepEqual(layersOf(table), { low: [], middle: ['low'], other: ['middle'] });
  assert.throws(() => layersOf('| `low/` | text | high |\n| `high/` | text | nothing |\n'), /only those above/);
});

test('every folder is in the table of src/README.md', () => {
  const folders = [...new Set(sources.map(({ path }) => layerOf(path)))];
  assert.deepEqual(folders.filter((folder) => !(folder in LAYERS)), []);
});

test('files that src/README.md names exist', () => {
  const named = [...readFileSync(join(SRC, 'README.md'), 'utf8').matchAll(/`([\w/.]+\.(?:c|h|def|inc|ts|mjs))`/g)];
  const there = (name) => existsSync(join(ROOT, name)) || sources.some(({ path }) => `/${path}`.endsWith(`/${name}`));
  assert.ok(named.length > 10);
  assert.deepEqual(named.map((match) => match[1]).filter((name) => !there(name)), []);
});

/** Names of files that are in more than one folder. */
export const namesakes = (paths) => {
  const names = paths.map((path) => basename(path));
  return [...new Set(names.filter((name, i) => names.indexOf(name) !== i))];
};

test('no two files of src/ have one name', () => {
  assert.deepEqual(namesakes(sources.map(({ path }) => path)), []);
  assert.deepEqual(namesakes(['graph/conv.c', 'graph/conv.h', 'tensor/conv.c']), ['conv.c']);
});

test('memory is asked for in base/alloc.c alone', () => {
  const calls = /\b(malloc|calloc|realloc|aligned_alloc|posix_memalign|free|alloca)\s*\(/;
  const allowed = new Set(['base/host_posix.c']); /* the default allocator */
  const wrong = sources.filter(({ path, text }) => !allowed.has(path) && calls.test(text.replace(/\/\*[^]*?\*\//g, '')));
  assert.deepEqual(wrong.map(({ path }) => path), []);
});

test('nothing in the library ends the process, and the environment is read in base/log.c', () => {
  const wrong = sources.filter(({ path, text }) =>
    /\b(abort|exit|assert|longjmp)\s*\(/.test(text) || (path !== 'base/log.c' && /\bgetenv\s*\(/.test(text)));
  assert.deepEqual(wrong.map(({ path }) => path), []);
});

test('texts are made by base/format.c, not by the printf that a page would have to download', () => {
  const wrong = sources.filter(({ path, text }) => !path.endsWith('_posix.c') && /#\s*include\s+<stdio\.h>/.test(text));
  assert.deepEqual(wrong.map(({ path }) => path), []);
});

test('files are short enough to hold one idea', (t) => {
  const folders = ['src', 'include', 'wasm', 'js/src', 'web/src', 'tests', 'bench', 'scripts'];
  const long = [];
  for (const folder of folders) {
    let total = 0;
    for (const file of filesOf(join(ROOT, folder), /\.(c|h|def|inc|ts|mjs|css)$/)) {
      if (/node_modules|\.gen\.ts$|\/dist\//.test(file)) continue;
      const lines = readFileSync(file, 'utf8').split('\n').length;
      total += lines;
      if (lines > MOST_LINES) long.push(`${relative(ROOT, file)}: ${lines} lines`);
    }
    t.diagnostic(`${folder}: ${total} lines`);
  }
  assert.deepEqual(long, []);
});

/** Texts of the files in a folder by their names. */
const textsOf = (folder) =>
  Object.fromEntries(readdirSync(folder).sort().map((name) => [name, readFileSync(join(folder, name), 'utf8')]));

test('docs/ops.md and docs/reference are what the tables say', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sinter-docs-'));
  try {
    const ops = join(folder, 'ops.md');
    const reference = join(folder, 'reference');
    execFileSync(process.execPath, [join(ROOT, 'scripts/gen-ops.mjs'), '--docs', ops]);
    execFileSync(process.execPath, [join(ROOT, 'scripts/gen-api.mjs'), '--docs', reference]);
    assert.equal(readFileSync(join(ROOT, 'docs/ops.md'), 'utf8'), readFileSync(ops, 'utf8'), 'renew it: node scripts/gen-ops.mjs --docs docs/ops.md');
    assert.deepEqual(textsOf(join(ROOT, 'docs/reference')), textsOf(reference), 'renew it: node scripts/gen-api.mjs --docs docs/reference');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
