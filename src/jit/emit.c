#include "jit/emit.h"

#include <string.h>

#include "base/format.h"

const sn_wasm_row sn_wasm_rows[SN_WASM_OP_COUNT] = {
#define W(id, text, prefix, code, immediate, align, pops, pushes) \
  [SN_WASM_##id] = {code, prefix, SN_WASM_##immediate, align, pops},
#include "jit/wasm_ops.def"
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static void put(sn_wasm *w, sn_wasm_bytes *b, const void *bytes, size_t n) {
  while (!w->status && b->capacity - b->used < n)
    w->status = sn_arena_grow(w->arena, (void **)&b->data, &b->capacity, b->capacity, 1);
  if (w->status || n == 0) return;
  memcpy(b->data + b->used, bytes, n);
  b->used += n;
}

static void put_byte(sn_wasm *w, sn_wasm_bytes *b, uint32_t byte) {
  put(w, b, &(uint8_t){(uint8_t)byte}, 1);
}

static void put_u32(sn_wasm *w, sn_wasm_bytes *b, uint32_t value) {
  for (; value >= 0x80; value >>= 7) put_byte(w, b, (value & 0x7f) | 0x80);
  put_byte(w, b, value);
}

/* Signed LEB128: ends when the remaining bits all equal the sign bit of the last group of 7. */
static void put_s32(sn_wasm *w, sn_wasm_bytes *b, int32_t value) {
  for (;;) {
    const uint32_t group = (uint32_t)value & 0x7f;
    value = value >> 7;
    if (value == ((group & 0x40) ? -1 : 0)) {
      put_byte(w, b, group);
      return;
    }
    put_byte(w, b, group | 0x80);
  }
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void put_op(sn_wasm *w, sn_wasm_op op, uint32_t number) {
  if (w->check) w->check(w, op, number);
  const sn_wasm_row *row = &sn_wasm_rows[op];
  if (row->prefix) {
    put_byte(w, &w->body, row->prefix);
    put_u32(w, &w->body, row->code);
  } else {
    put_byte(w, &w->body, row->code);
  }
}

void sn_emit(sn_wasm *w, sn_wasm_op op) { put_op(w, op, 0); }

void sn_emit_index(sn_wasm *w, sn_wasm_op op, uint32_t number) {
  put_op(w, op, number);
  put_u32(w, &w->body, number); /* a lane is a plain byte, and below 128 that is the same as LEB128 */
}

void sn_emit_i32(sn_wasm *w, int32_t value) {
  put_op(w, SN_WASM_i32_const, 0);
  put_s32(w, &w->body, value);
}

void sn_emit_16(sn_wasm *w, sn_wasm_op op, const void *bytes) {
  put_op(w, op, 0);
  put(w, &w->body, bytes, 16);
}

void sn_emit_block(sn_wasm *w, sn_wasm_op op) {
  put_op(w, op, 0);
  put_byte(w, &w->body, 0x40);
}

#define MOST_ALIGN 2

static void put_memory(sn_wasm *w, sn_wasm_op op, uint32_t align, uint32_t offset) {
  put_op(w, op, 0);
  put_byte(w, &w->body, align);
  put_u32(w, &w->body, offset);
}

void sn_emit_memory(sn_wasm *w, sn_wasm_op op, uint32_t offset) {
  const uint8_t align = sn_wasm_rows[op].align;
  put_memory(w, op, align < MOST_ALIGN ? align : MOST_ALIGN, offset);
}

void sn_emit_unaligned(sn_wasm *w, sn_wasm_op op, uint32_t offset) { put_memory(w, op, 0, offset); }

void sn_emit_lane_unaligned(sn_wasm *w, sn_wasm_op op, uint32_t offset, uint32_t lane) {
  put_memory(w, op, 0, offset);
  put_byte(w, &w->body, lane);
}

void sn_emit_lane_memory(sn_wasm *w, sn_wasm_op op, uint32_t offset, uint32_t lane) {
  sn_emit_memory(w, op, offset);
  put_byte(w, &w->body, lane);
}

/* ---- functions and modules ------------------------------------------------------------------- */

void sn_wasm_begin(sn_wasm *w, sn_arena *arena, bool shared_memory) {
  *w = (sn_wasm){.arena = arena, .shared_memory = shared_memory};
#if defined(SINTER_TEST) || !defined(NDEBUG)
  w->check = sn_wasm_check;
#endif
}

void sn_wasm_function(sn_wasm *w, uint32_t n_params) {
  if (w->check) w->check(w, SN_WASM_FUNCTION, n_params);
  w->body.used = w->locals.used = 0;
  w->n_params = n_params;
  for (uint32_t i = 0; i < n_params; i++) put_byte(w, &w->locals, SN_WASM_TYPE_I32);
}

uint32_t sn_wasm_local(sn_wasm *w, sn_wasm_type type) {
  put_byte(w, &w->locals, (uint32_t)type);
  return (uint32_t)w->locals.used - 1;
}

/* Writes the locals behind the parameters as runs of one type (length, type). Returns the number of runs. */
static uint32_t put_locals(sn_wasm *w, sn_wasm_bytes *to) {
  uint32_t runs = 0;
  for (size_t i = w->n_params, end; i < w->locals.used; i = end) {
    for (end = i; end < w->locals.used && w->locals.data[end] == w->locals.data[i];) end++;
    put_u32(w, to, (uint32_t)(end - i));
    put_byte(w, to, w->locals.data[i]);
    runs++;
  }
  return runs;
}

uint32_t sn_wasm_function_end(sn_wasm *w) {
  sn_emit(w, SN_WASM_end);
  sn_wasm_bytes runs = {0}, head = {0};
  const uint32_t n_runs = put_locals(w, &runs);
  put_u32(w, &head, n_runs);
  put(w, &head, runs.data, runs.used);
  put_u32(w, &w->code, (uint32_t)(head.used + w->body.used));
  put(w, &w->code, head.data, head.used);
  put(w, &w->code, w->body.data, w->body.used);
  put_byte(w, &w->signatures, w->n_params);
  return w->n_functions++;
}

static void put_section(sn_wasm *w, sn_wasm_bytes *to, uint32_t id, const sn_wasm_bytes *section) {
  put_byte(w, to, id);
  put_u32(w, to, (uint32_t)section->used);
  put(w, to, section->data, section->used);
}

static void put_name(sn_wasm *w, sn_wasm_bytes *to, const char *name) {
  put_u32(w, to, (uint32_t)strlen(name));
  put(w, to, name, strlen(name));
}

/* Type i is the function type with i parameters. */
static void put_types(sn_wasm *w, sn_wasm_bytes *to) {
  put_u32(w, to, SN_WASM_MAX_PARAMS + 1);
  for (uint32_t i = 0; i <= SN_WASM_MAX_PARAMS; i++) {
    put_byte(w, to, 0x60);
    put_u32(w, to, i);
    for (uint32_t k = 0; k < i; k++) put_byte(w, to, SN_WASM_TYPE_I32);
    put_u32(w, to, 0);
  }
}

/* Imports a memory of any size. The format requires a maximum for a shared one. */
static void put_import(sn_wasm *w, sn_wasm_bytes *to) {
  put_u32(w, to, 1);
  put_name(w, to, "env");
  put_name(w, to, "memory");
  put_byte(w, to, 2);
  put_byte(w, to, w->shared_memory ? 3 : 0);
  put_u32(w, to, 0);
  if (w->shared_memory) put_u32(w, to, 65536);
}

static void put_exports(sn_wasm *w, sn_wasm_bytes *to) {
  put_u32(w, to, w->n_functions);
  for (uint32_t i = 0; i < w->n_functions; i++) {
    char name[16];
    sn_format(name, sizeof name, "%u", i);
    put_name(w, to, name);
    put_byte(w, to, 0);
    put_u32(w, to, i);
  }
}

sn_status sn_wasm_finish(sn_wasm *w, const uint8_t **bytes, size_t *n) {
  sn_wasm_bytes out = {0}, types = {0}, imports = {0}, functions = {0}, exports = {0}, code = {0};
  if (w->check) w->check(w, SN_WASM_FINISH, 0);
  put(w, &out, "\0asm\1\0\0\0", 8);
  put_types(w, &types);
  put_import(w, &imports);
  put_u32(w, &functions, w->n_functions);
  put(w, &functions, w->signatures.data, w->signatures.used);
  put_exports(w, &exports);
  put_u32(w, &code, w->n_functions);
  put(w, &code, w->code.data, w->code.used);
  put_section(w, &out, 1, &types);
  put_section(w, &out, 2, &imports);
  put_section(w, &out, 3, &functions);
  put_section(w, &out, 7, &exports);
  put_section(w, &out, 10, &code);
  SN_TRY(w->status);
  *bytes = out.data;
  *n = out.used;
  return SN_OK;
}
