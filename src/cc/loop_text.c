#include "cc/loop_text.h"

#include <string.h>

#include "jit/lower_kernel.h"
#include "jit/read.h"

/* Most bytes of WebAssembly that are printed: a compiler takes seconds for longer ones. */
#define MOST_BYTES (256 << 10)

/* The types of operands and results, by instruction. */
static const struct {
  char pops[4], pushes[2];
} types[SN_WASM_OP_COUNT] = {
#define W(id, text, prefix, code, immediate, align, pops, pushes) [SN_WASM_##id] = {pops, pushes},
#include "jit/wasm_ops.def"
};

/* The names of the functions in loop_words.h, by instruction. */
static const char *const words[SN_WASM_OP_COUNT] = {
#define W(id, text, prefix, code, immediate, align, pops, pushes) [SN_WASM_##id] = #id,
#include "jit/wasm_ops.def"
};

typedef struct block {
  uint32_t number;
  sn_wasm_op op; /* block, loop or if */
} block;

/* An operand on WebAssembly's stack is a C variable t<number>, set once; a local is x<number>. */
typedef struct printer {
  sn_text *t;
  sn_arena *arena;
  sn_status status;
  uint32_t *stack; /* numbers of the operands on WebAssembly's stack */
  size_t n_stack, cap_stack;
  uint32_t n_operands;
  block *blocks; /* open blocks, the innermost last */
  size_t n_blocks, cap_blocks;
  uint32_t last_block;
  const char *types; /* a letter per local */
  uint32_t n_locals;
  bool bad;
} printer;

#define LINE(...) sn_text_add(p->t, __VA_ARGS__)

static uint32_t pop(printer *p) {
  if (!p->n_stack) p->bad = true;
  return p->n_stack ? p->stack[--p->n_stack] : 0;
}

/* Pushes a new operand and begins the line that sets it. */
static void push(printer *p, char type) {
  if (!p->status)
    p->status =
        sn_arena_grow(p->arena, (void **)&p->stack, &p->cap_stack, p->n_stack, sizeof *p->stack);
  if (p->status) return;
  p->stack[p->n_stack++] = p->n_operands;
  LINE("const %s t%u = ", type == 'i' ? "intptr_t" : "v128", p->n_operands++);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void open_block(printer *p, sn_wasm_op op) {
  if (op == SN_WASM_if) LINE("if (t%u) ", pop(p));
  if (!p->status)
    p->status = sn_arena_grow(p->arena, (void **)&p->blocks, &p->cap_blocks, p->n_blocks,
                              sizeof *p->blocks);
  if (p->status) return;
  p->blocks[p->n_blocks++] = (block){++p->last_block, op};
  LINE("{\n");
  if (op == SN_WASM_loop) LINE("l%u:;\n", p->last_block);
}

/* A branch to a block's label goes behind the block, or for a loop to its begin: there the C label stands. */
static void close_block(printer *p) {
  if (!p->n_blocks) {
    p->bad = true;
    return;
  }
  const block b = p->blocks[--p->n_blocks];
  LINE("}\n");
  if (b.op != SN_WASM_loop) LINE("l%u:;\n", b.number);
}

static void go(printer *p, const sn_wasm_insn *insn) {
  if (insn->index >= p->n_blocks) {
    p->bad = true;
    return;
  }
  if (insn->op == SN_WASM_br_if) LINE("if (t%u) ", pop(p));
  LINE("goto l%u;\n", p->blocks[p->n_blocks - 1 - insn->index].number);
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void use_local(printer *p, const sn_wasm_insn *insn) {
  if (insn->index >= p->n_locals) {
    p->bad = true;
    return;
  }
  if (insn->op != SN_WASM_local_get) {
    LINE("x%u = t%u;\n", insn->index, pop(p));
    if (insn->op == SN_WASM_local_set) return;
  }
  push(p, p->types[insn->index]);
  LINE("x%u;\n", insn->index);
}

static void add_constant(printer *p, const uint8_t *bytes) {
  uint32_t lanes[4];
  memcpy(lanes, bytes, sizeof lanes);
  push(p, 'v');
  LINE("{0x%xu, 0x%xu, 0x%xu, 0x%xu};\n", lanes[0], lanes[1], lanes[2], lanes[3]);
}

/* word(operands, immediates) */
static void apply(printer *p, const sn_wasm_insn *insn) {
  const char *pops = types[insn->op].pops, *pushes = types[insn->op].pushes;
  const size_t n = strlen(pops);
  uint32_t operands[3];
  for (size_t i = n; i--;) operands[i] = pop(p);
  if (*pushes) push(p, *pushes);
  LINE("%s(", words[insn->op]);
  const char *comma = "";
  for (size_t i = 0; i < n; i++, comma = ", ") LINE("%st%u", comma, operands[i]);
  switch ((int)sn_wasm_rows[insn->op].immediate) {
  case SN_WASM_MEMORY: LINE(", %u", insn->offset); break;
  case SN_WASM_LANE_MEMORY: LINE(", %u, %u", insn->offset, insn->index); break;
  case SN_WASM_LANE: LINE(", %u", insn->index); break;
  case SN_WASM_SHUFFLE:
    for (int i = 0; i < 16; i++) LINE(", %u", insn->bytes[i]);
    break;
  default: break;
  }
  LINE(");\n");
}

/* Whether loops use the instruction. Calls and scalar floats occur only in emitted kernels. */
static bool is_of_loops(sn_wasm_op op) {
  const char *pops = types[op].pops, *pushes = types[op].pushes;
  return op != SN_WASM_call && op != SN_WASM_return && !strpbrk(pops, "fd") &&
         !strpbrk(pushes, "fd");
}

static void print_insn(printer *p, const sn_wasm_insn *insn) {
  switch ((int)insn->op) {
  case SN_WASM_block:
  case SN_WASM_loop:
  case SN_WASM_if: open_block(p, insn->op); break;
  case SN_WASM_else: LINE("} else {\n"); break;
  case SN_WASM_end: close_block(p); break;
  case SN_WASM_br:
  case SN_WASM_br_if: go(p, insn); break;
  case SN_WASM_local_get:
  case SN_WASM_local_set:
  case SN_WASM_local_tee: use_local(p, insn); break;
  case SN_WASM_v128_const: add_constant(p, insn->bytes); break;
  case SN_WASM_i32_const:
    push(p, 'i');
    LINE("%d;\n", (int)insn->value);
    break;
  default:
    if (is_of_loops(insn->op))
      apply(p, insn);
    else
      p->bad = true;
  }
}

/* ---- the function ---------------------------------------------------------------------------- */

enum { TABLE, ROUNDS, N_PARAMS };

static sn_status declare_locals(printer *p, sn_wasm_reader *r) {
  size_t capacity = 0;
  char *letters = NULL;
  LINE("intptr_t x%d = (intptr_t)table, x%d = n;\n", TABLE, ROUNDS);
  p->n_locals = N_PARAMS;
  for (uint32_t runs = sn_wasm_read_number(r); runs && !r->bad; runs--) {
    const sn_wasm_locals locals = sn_wasm_read_locals(r);
    const bool vectors = locals.type == SN_WASM_TYPE_V128;
    if (!vectors && locals.type != SN_WASM_TYPE_I32) r->bad = true;
    for (uint32_t i = 0; i < locals.n && !r->bad; i++) {
      while (p->n_locals + 1 >= capacity)
        SN_TRY(sn_arena_grow(p->arena, (void **)&letters, &capacity, capacity, 1));
      letters[p->n_locals] = vectors ? 'v' : 'i';
      LINE("%s x%u = %s;\n", vectors ? "v128" : "intptr_t", p->n_locals++, vectors ? "{0}" : "0");
    }
  }
  while (capacity < N_PARAMS)
    SN_TRY(sn_arena_grow(p->arena, (void **)&letters, &capacity, capacity, 1));
  letters[TABLE] = letters[ROUNDS] = 'i';
  p->types = letters;
  return SN_OK;
}

sn_status sn_cc_print_loop(sn_text *text, const uint8_t *wasm, size_t n) {
  sn_wasm_functions f;
  sn_wasm_reader r;
  printer state = {.t = text, .arena = text->arena}, *p = &state;
  SN_CHECK(p->arena->env, sn_wasm_find_functions(wasm, n, &f) && f.n == 1);
  SN_CHECK(p->arena->env, sn_wasm_next_function(&f, &r) == N_PARAMS);
  LINE("EXPORT void " SN_CC_LOOP "(void *const *table, int32_t n) {\n");
  SN_TRY(declare_locals(p, &r));
  while (r.at < r.end && !r.bad && !p->bad && !p->status) {
    const sn_wasm_insn insn = sn_wasm_read(&r);
    if (insn.op == SN_WASM_end && r.at == r.end) break;
    print_insn(p, &insn);
  }
  LINE("}\n");
  SN_TRY(p->status);
  SN_CHECK(p->arena->env, !r.bad && !p->bad && !p->n_stack && !p->n_blocks);
  return text->status;
}

sn_status sn_cc_add_loop(sn_text *text, bool fused, const sn_serial_control *loop, bool *able) {
  const sn_jit_target target = {.lanes = sn_vec_target_here(fused)};
  const uint8_t *wasm;
  size_t n;
  SN_TRY(sn_jit_emit_serial(text->arena, &target, loop, &wasm, &n));
  *able = n && n <= MOST_BYTES;
  return *able ? sn_cc_print_loop(text, wasm, n) : SN_OK;
}
