/* wat.c - prints modules of emit.h as WebAssembly text, by the rows of wasm_ops.def. Assembling the text gives the same bytes
 * again. */
#include <string.h>

#include "base/text.h"
#include "jit/read.h"

/* All texts one after the other: an array of pointers would take more room than the texts. */
static const char op_texts[] =
#define W(id, text, prefix, code, immediate, align, pops, pushes) text "\0"
#include "jit/wasm_ops.def"
    ;

const char *sn_wasm_op_text(sn_wasm_op op) {
  const char *text = op_texts;
  for (; op; op--) text += strlen(text) + 1;
  return text;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* Floats are printed as bits, which is exact for NaN, too. */
static void text_v128(sn_text *t, const uint8_t *bytes) {
  uint32_t lanes[4];
  memcpy(lanes, bytes, sizeof lanes);
  sn_text_add(t, " i32x4 0x%x 0x%x 0x%x 0x%x", lanes[0], lanes[1], lanes[2], lanes[3]);
}

static void text_memory(sn_text *t, const sn_wasm_insn *insn) {
  if (insn->offset) sn_text_add(t, " offset=%u", insn->offset);
  sn_text_add(t, " align=%u", 1u << insn->align);
}

static void text_immediate(sn_text *t, const sn_wasm_insn *insn) {
  switch ((sn_wasm_immediate)sn_wasm_rows[insn->op].immediate) {
  case SN_WASM_NONE:
  case SN_WASM_BLOCK: break;
  case SN_WASM_LOCAL:
  case SN_WASM_LABEL:
  case SN_WASM_CALL:
  case SN_WASM_LANE: sn_text_add(t, " %u", insn->index); break;
  case SN_WASM_I32: sn_text_add(t, " %d", (int)insn->value); break;
  case SN_WASM_V128: text_v128(t, insn->bytes); break;
  case SN_WASM_SHUFFLE:
    for (int i = 0; i < 16; i++) sn_text_add(t, " %u", insn->bytes[i]);
    break;
  case SN_WASM_MEMORY: text_memory(t, insn); break;
  case SN_WASM_LANE_MEMORY:
    text_memory(t, insn);
    sn_text_add(t, " %u", insn->index);
    break;
  }
}

/* The last `end` closes the function; the text has a parenthesis for it. */
static void text_code(sn_wasm_reader *r, sn_text *t) {
  int depth = 2;
  while (r->at < r->end && !r->bad && !t->status) {
    const sn_wasm_insn insn = sn_wasm_read(r);
    if (insn.op == SN_WASM_end && r->at == r->end) return;
    if (insn.op == SN_WASM_end || insn.op == SN_WASM_else) depth--;
    sn_text_add(t, "%*s%s", 2 * depth, "", sn_wasm_op_text(insn.op));
    if (insn.op == SN_WASM_else || sn_wasm_rows[insn.op].immediate == SN_WASM_BLOCK) depth++;
    text_immediate(t, &insn);
    sn_text_add(t, "\n");
  }
}

/* ---- functions and modules ------------------------------------------------------------------- */

static const char *type_name(sn_wasm_type type) {
  return type == SN_WASM_TYPE_I32   ? "i32"
         : type == SN_WASM_TYPE_F32 ? "f32"
         : type == SN_WASM_TYPE_F64 ? "f64"
                                    : "v128";
}

static void text_params(sn_text *t, uint32_t n) {
  if (n) sn_text_add(t, " (param");
  for (uint32_t i = 0; i < n; i++) sn_text_add(t, " i32");
  if (n) sn_text_add(t, ")");
}

static void text_locals(sn_wasm_reader *r, sn_text *t) {
  for (uint32_t runs = sn_wasm_read_number(r); runs && !r->bad; runs--) {
    const sn_wasm_locals locals = sn_wasm_read_locals(r);
    sn_text_add(t, "    (local");
    for (uint32_t i = 0; i < locals.n && !t->status; i++)
      sn_text_add(t, " %s", type_name(locals.type));
    sn_text_add(t, ")\n");
  }
}

static void text_function(sn_wasm_reader *r, sn_text *t, uint32_t number, uint32_t n_params) {
  sn_text_add(t, "  (func (export \"%u\") (type %u)", number, n_params);
  text_params(t, n_params);
  sn_text_add(t, "\n");
  text_locals(r, t);
  text_code(r, t);
  sn_text_add(t, "  )\n");
}

/* As the number of a function: all of them. */
#define SN_WASM_ALL UINT32_MAX

static bool text_functions(sn_wasm_functions *f, sn_text *t, uint32_t number) {
  bool bad = false;
  for (uint32_t i = 0; f->n && !bad; i++) {
    sn_wasm_reader body;
    const uint32_t n_params = sn_wasm_next_function(f, &body);
    if (!body.bad && (number == SN_WASM_ALL || number == i)) text_function(&body, t, i, n_params);
    bad = body.bad;
  }
  return !bad;
}

static sn_status finish(sn_arena *arena, bool read, const sn_text *t, const char **out) {
  SN_TRY(t->status);
  SN_CHECK(arena->env, read);
  *out = t->data ? t->data : "";
  return SN_OK;
}

sn_status sn_wasm_function_text(sn_arena *arena, const uint8_t *bytes, size_t n, uint32_t number,
                                const char **out) {
  sn_wasm_functions f;
  sn_text t = sn_text_in(arena);
  SN_CHECK(arena->env, sn_wasm_find_functions(bytes, n, &f));
  const bool read = text_functions(&f, &t, number);
  return finish(arena, read, &t, out);
}

sn_status sn_wasm_text(sn_arena *arena, const uint8_t *bytes, size_t n, const char **out) {
  sn_wasm_functions f;
  sn_text t = sn_text_in(arena);
  SN_CHECK(arena->env, sn_wasm_find_functions(bytes, n, &f));
  sn_text_add(&t, "(module\n");
  for (uint32_t i = 0; i <= SN_WASM_MAX_PARAMS; i++) {
    sn_text_add(&t, "  (type (func");
    text_params(&t, i);
    sn_text_add(&t, "))\n");
  }
  sn_text_add(&t, "  (import \"env\" \"memory\" (memory 0%s))\n",
              f.shared_memory ? " 65536 shared" : "");
  const bool read = text_functions(&f, &t, SN_WASM_ALL);
  sn_text_add(&t, ")\n");
  return finish(arena, read, &t, out);
}
