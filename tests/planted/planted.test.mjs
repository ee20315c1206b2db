// planted.test.mjs - what a new op or dtype costs. In a copy of the tree each kind is planted with as few edits as it
// takes; the files are counted, the copy is built, and the tests that read the table find the new rows by themselves:
// every value on the reference and on the strip VM of every instruction set, casts between all dtypes, derivatives, facts.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { root, run, systemNode } from '../../scripts/lib/proc.mjs';
import { blocksOf } from '../../site/blocks.mjs';

/** Files of the copy: what the native build and its tests are made of. */
const PARTS = ['CMakeLists.txt', 'CMakePresets.json', 'include', 'src', 'scripts', 'tests', 'tools', 'bench', 'js/src', 'docs'];
const TESTS = ['test_axis', 'test_grad', 'test_meaning', 'test_op_facts', 'test_ops', 'test_rules', 'test_sums'];
const BUILD_MS = 15 * 60_000;

/** The example of docs/contributing.md. */
const CONTRIBUTING = 'docs/contributing.md';
const [row, rule] = blocksOf(readFileSync(join(root, CONTRIBUTING), 'utf8'), CONTRIBUTING)
  .filter(({ kind, language }) => kind === 'fragment' && language === 'c').map(({ code }) => `\n${code}`);

/** By kind: how many files it may touch, and its edits: [file, text that is there, text behind it]. */
const PLANTED = {
  'an elementwise op': {
    most: 2,
    edits: [
      ['src/graph/ops.def', '/* -- elementwise, two inputs -', row],
      ['src/autodiff/rules.c', 'sn_vjp_rule *const sn_vjp_rules', rule],
    ],
  },
  'a reduction': {
    most: 3,
    edits: [
      ['src/graph/ops.def', '/* -- elementwise, one input -', `
REDUCE(least, H, 1, "smallest element", X_C(INFINITY), X_IC(INT32_MAX), X_MIN(a, b), X_IMIN(a, b), .step = SN_OP_minimum, .picks = true)
`],
      ['src/autodiff/rules.c', 'sn_vjp_rule *const sn_vjp_rules', '#define grad_least grad_max\n'],
    ],
  },
  'a scan': {
    most: 6,
    edits: [
      ['src/graph/ops.def', '/* -- reductions over', `
OP(alternate, SCAN, 1, H, FI, "y[i] = x[i] - y[i - 1] along an axis", .attrs = ATTRS(AXIS(axis), FLAG(reverse), FLAG(exclusive)))
`],
      ['src/autodiff/rules.c', 'sn_vjp_rule *const sn_vjp_rules', '#define grad_alternate grad_none\n'],
      ['src/graph/reference_axis.c', '    store(y, i, exclusive ? before : state);',
        '    if (op == SN_OP_alternate) state = sum_of(dtype, x, -before);\n'],
      ['src/kernels/scan.c', 'DEFINE_SCANS(f32, float, double)', `
DEFINE_SCAN(alternate_f32, float, double, 0, in - before)
DEFINE_SCAN(alternate_f64, double, double, 0, in - before)
DEFINE_SCAN(alternate_i32, word, word, 0, in - before)
`],
      ['src/kernels/scan.c', '  default: SCAN_OF(recurrence)', '  case SN_OP_alternate: SCAN_OF(alternate); break;\n'],
      ['src/csource/write_call.c', '  add_lines(w, r->op == SN_OP_cumsum ?',
        '  if (r->op == SN_OP_alternate) add_lines(w, "  state = x - state;\\n"); else\n'],
    ],
  },
  'a dtype of storage': {
    most: 12,
    edits: [
      ['src/graph/dtypes.def', '/* clang-format on */', 'DTYPE(U16,  uint16,   u16,  uint16_t, SMALL, I32,  1, Uint16Array)\n'],
      ['include/sinter.h', '} sn_dtype;', '  , SN_U16\n'],
      ['src/math/expand_small.inc', 'static inline X_I X_FN(narrow_u8)', `
static inline X_I X_FN(narrow_u16)(X_PARAM X_I a) { return X_IAND(a, X_IC(0xffff)); }

`],
      ['tests/native/op_cases.c', 'static const struct {', 'static const uint16_t specials_u16[] = {0, 1, 2, UINT16_MAX, 32767, 32768, 255};\n\n'],
      ['tests/native/op_cases.c', '    [SN_U8] =', '    [SN_U16] = {specials_u16, sizeof specials_u16 / sizeof specials_u16[0]},\n'],
    ],
  },
};

const tree = mkdtempSync(join(tmpdir(), 'sinter-planted-'));
after(() => rmSync(tree, { recursive: true, force: true }));

const plant = ([file, before, text]) => {
  const path = join(tree, file);
  const old = readFileSync(path, 'utf8');
  const at = old.indexOf(before);
  assert.notEqual(at, -1, `${file}: there is no ${before}`);
  writeFileSync(path, old.slice(0, at) + text + old.slice(at));
};

for (const part of PARTS) cpSync(join(root, part), join(tree, part), { recursive: true });

for (const [kind, { most, edits }] of Object.entries(PLANTED)) {
  test(`${kind} touches at most ${most} files`, () => {
    edits.forEach(plant);
    const files = new Set(edits.map(([file]) => file));
    assert.ok(files.size <= most, [...files].join(', '));
  });
}

const succeed = async (command, ...args) => {
  const { code, output } = await run(command, args, { cwd: tree, timeoutMs: BUILD_MS });
  assert.equal(code, 0, output.slice(-4000));
  return output;
};

test('the copy with all of them builds and passes the tests that read the table', async () => {
  await succeed('cmake', '--preset', 'native', `-DSINTER_NODE=${systemNode()}`);
  await succeed('cmake', '--build', '--preset', 'native', '-j', String(availableParallelism()), '--target', ...TESTS);
  await succeed('ctest', '--preset', 'native', '-R', `^(${TESTS.join('|')})$`);
});
