/* wat.c - modules of emit.h back as WebAssembly text, by the rows of wasm_ops.def: what the
 * assembler wrote, no more of the format. An assembler of the text makes the same bytes again. */
#include <string.h>

#include "base/text.h"
#include "jit/emit.h"

typedef struct reader {
  const uint8_t *at, *end;
  bool bad; /* bytes that emit.c does not write */
} reader;

static uint32_t read_byte(reader *r) {
  if (r->at < r->end) return *r->at++;
  r->bad = true;
  return 0;
}

static uint32_t read_u32(reader *r) {
  uint32_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    const uint32_t byte = read_byte(r);
    value |= (byte & 0x7f) << (shift < 32 ? shift : 0);
    if (!(byte & 0x80)) return value;
  }
  r->bad = true;
  return 0;
}

static int32_t read_s32(reader *r) {
  uint64_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    const uint32_t byte = read_byte(r);
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte & 0x80) continue;
    if (byte & 0x40) value |= ~(uint64_t)0 << (shift + 7);
    return (int32_t)(uint32_t)value;
  }
  r->bad = true;
  return 0;
}

static const uint8_t *read_bytes(reader *r, size_t n) {
  static const uint8_t none[16];
  if ((size_t)(r->end - r->at) < n) {
    r->bad = true;
    return none;
  }
  r->at += n;
  return r->at - n;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* One after the other: pointers to them would take more room than they do. */
static const char op_texts[] =
#define W(id, text, prefix, code, immediate, align, pops, pushes) text "\0"
#include "jit/wasm_ops.def"
    ;

const char *sn_wasm_op_text(sn_wasm_op op) {
  const char *text = op_texts;
  for (; op; op--) text += strlen(text) + 1;
  return text;
}

static sn_wasm_op read_op(reader *r) {
  const uint32_t first = read_byte(r);
  const uint32_t code = first == 0xfd ? read_u32(r) : first;
  for (int op = 0; op < SN_WASM_OP_COUNT; op++)
    if (sn_wasm_rows[op].code == code && sn_wasm_rows[op].prefix == (first == 0xfd ? 0xfd : 0))
      return (sn_wasm_op)op;
  r->bad = true;
  return SN_WASM_end;
}

/* Floats as bits: exact, NaN included. */
static void text_v128(reader *r, sn_text *t) {
  uint32_t lanes[4];
  memcpy(lanes, read_bytes(r, 16), 16);
  sn_text_add(t, " i32x4 0x%x 0x%x 0x%x 0x%x", lanes[0], lanes[1], lanes[2], lanes[3]);
}

static void text_memory(reader *r, sn_text *t, bool lane) {
  const uint32_t align = read_u32(r) & 31, offset = read_u32(r);
  if (offset) sn_text_add(t, " offset=%u", offset);
  sn_text_add(t, " align=%u", 1u << align);
  if (lane) sn_text_add(t, " %u", read_byte(r));
}

static void text_immediate(reader *r, sn_text *t, sn_wasm_op op) {
  switch ((sn_wasm_immediate)sn_wasm_rows[op].immediate) {
  case SN_WASM_NONE: break;
  case SN_WASM_LOCAL:
  case SN_WASM_LABEL:
  case SN_WASM_CALL: sn_text_add(t, " %u", read_u32(r)); break;
  case SN_WASM_LANE: sn_text_add(t, " %u", read_byte(r)); break;
  case SN_WASM_I32: sn_text_add(t, " %d", (int)read_s32(r)); break;
  case SN_WASM_V128: text_v128(r, t); break;
  case SN_WASM_SHUFFLE: {
    const uint8_t *lanes = read_bytes(r, 16);
    for (int i = 0; i < 16; i++) sn_text_add(t, " %u", lanes[i]);
    break;
  }
  case SN_WASM_MEMORY: text_memory(r, t, false); break;
  case SN_WASM_LANE_MEMORY: text_memory(r, t, true); break;
  case SN_WASM_BLOCK: read_byte(r); break;
  }
}

/* The end of the function itself is not an instruction in text. */
static void text_code(reader *r, sn_text *t) {
  int depth = 2;
  while (r->at < r->end && !r->bad && !t->status) {
    const sn_wasm_op op = read_op(r);
    if (op == SN_WASM_end && r->at == r->end) return;
    if (op == SN_WASM_end || op == SN_WASM_else) depth--;
    sn_text_add(t, "%*s%s", 2 * depth, "", sn_wasm_op_text(op));
    if (op == SN_WASM_else || sn_wasm_rows[op].immediate == SN_WASM_BLOCK) depth++;
    text_immediate(r, t, op);
    sn_text_add(t, "\n");
  }
}

/* ---- functions and modules ------------------------------------------------------------------- */

static const char *type_name(uint32_t type) {
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

static void text_locals(reader *r, sn_text *t) {
  for (uint32_t runs = read_u32(r); runs && !r->bad; runs--) {
    const uint32_t n = read_u32(r);
    const char *name = type_name(read_byte(r));
    sn_text_add(t, "    (local");
    for (uint32_t i = 0; i < n && !t->status; i++) sn_text_add(t, " %s", name);
    sn_text_add(t, ")\n");
  }
}

static void text_function(reader *r, sn_text *t, uint32_t number, uint32_t n_params) {
  sn_text_add(t, "  (func (export \"%u\") (type %u)", number, n_params);
  text_params(t, n_params);
  sn_text_add(t, "\n");
  text_locals(r, t);
  text_code(r, t);
  sn_text_add(t, "  )\n");
}

typedef struct sections {
  reader imports, functions, code;
} sections;

static bool find_sections(const uint8_t *bytes, size_t n, sections *out) {
  reader r = {.at = bytes, .end = bytes + n};
  *out = (sections){0};
  read_bytes(&r, 8);
  while (r.at < r.end && !r.bad) {
    const uint32_t id = read_byte(&r), size = read_u32(&r);
    const uint8_t *at = read_bytes(&r, size);
    const reader section = {.at = at, .end = at + size};
    if (id == 2) out->imports = section;
    if (id == 3) out->functions = section;
    if (id == 10) out->code = section;
  }
  return !r.bad && out->imports.at && out->functions.at && out->code.at;
}

/* number: which function, SN_WASM_ALL: every one. */
#define SN_WASM_ALL UINT32_MAX

static void text_functions(sections *s, sn_text *t, uint32_t number) {
  const uint32_t n = read_u32(&s->functions);
  read_u32(&s->code);
  for (uint32_t i = 0; i < n && !s->code.bad; i++) {
    const uint32_t n_params = read_u32(&s->functions), size = read_u32(&s->code);
    const uint8_t *at = read_bytes(&s->code, size);
    reader body = {.at = at, .end = at + size};
    if (s->code.bad || (number != SN_WASM_ALL && number != i)) continue;
    text_function(&body, t, i, n_params);
    s->code.bad = body.bad;
  }
}

static sn_status finish(sn_arena *arena, const sections *s, const sn_text *t, const char **out) {
  SN_TRY(t->status);
  SN_CHECK(arena->env, !s->code.bad && !s->functions.bad);
  *out = t->data ? t->data : "";
  return SN_OK;
}

sn_status sn_wasm_function_text(sn_arena *arena, const uint8_t *bytes, size_t n, uint32_t number,
                                const char **out) {
  sections s;
  sn_text t = sn_text_in(arena);
  SN_CHECK(arena->env, find_sections(bytes, n, &s));
  text_functions(&s, &t, number);
  return finish(arena, &s, &t, out);
}

/* The import's only choice is whether memory is shared: the flags after the names and the kind. */
#define IMPORT_FLAGS_AT 13

sn_status sn_wasm_text(sn_arena *arena, const uint8_t *bytes, size_t n, const char **out) {
  sections s;
  sn_text t = sn_text_in(arena);
  SN_CHECK(arena->env, find_sections(bytes, n, &s));
  SN_CHECK(arena->env, s.imports.end - s.imports.at > IMPORT_FLAGS_AT);
  sn_text_add(&t, "(module\n");
  for (uint32_t i = 0; i <= SN_WASM_MAX_PARAMS; i++) {
    sn_text_add(&t, "  (type (func");
    text_params(&t, i);
    sn_text_add(&t, "))\n");
  }
  sn_text_add(&t, "  (import \"env\" \"memory\" (memory 0%s))\n",
              s.imports.at[IMPORT_FLAGS_AT] == 3 ? " 65536 shared" : "");
  text_functions(&s, &t, SN_WASM_ALL);
  sn_text_add(&t, ")\n");
  return finish(arena, &s, &t, out);
}
