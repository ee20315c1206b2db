/* check.c - checks emitted code against wasm_ops.def, with a stack of operand types and a frame for
 * every open block. Only sn_wasm.check refers to this file, and release builds leave that NULL, so the
 * linker drops it: the tests and the hostile build have checked the same sources. */
#include <string.h>

#include "jit/emit.h"

static const char *const pushes[SN_WASM_OP_COUNT] = {
#define W(id, text, prefix, code, immediate, align, pops, pushes) [SN_WASM_##id] = pushes,
#include "jit/wasm_ops.def"
};

static void misuse(sn_wasm *w, sn_wasm_op op, const char *what) {
  if (!w->status)
    w->status = SN_FAIL(w->arena->env, SN_ERR_INTERNAL, "internal", "wasm %s: %s",
                        sn_wasm_op_text(op), what);
}

static char letter_of(uint8_t type) {
  return type == SN_WASM_TYPE_I32   ? 'i'
         : type == SN_WASM_TYPE_F32 ? 'f'
         : type == SN_WASM_TYPE_F64 ? 'd'
                                    : 'v';
}

static void pop(sn_wasm *w, sn_wasm_op op, char type) {
  const sn_wasm_frame *frame = &w->frames[w->n_frames - 1];
  if (frame->dead) return;
  if (w->stack.used == frame->height) {
    misuse(w, op, "too few operands");
  } else if (w->stack.data[--w->stack.used] != (uint8_t)type) {
    misuse(w, op, "operand of another type");
  }
}

static void push(sn_wasm *w, char type) {
  if (w->status || w->frames[w->n_frames - 1].dead) return;
  w->status =
      sn_arena_grow(w->arena, (void **)&w->stack.data, &w->stack.capacity, w->stack.used, 1);
  if (!w->status) w->stack.data[w->stack.used++] = (uint8_t)type;
}

static void enter(sn_wasm *w) {
  if (w->status) return;
  w->status =
      sn_arena_grow(w->arena, (void **)&w->frames, &w->cap_frames, w->n_frames, sizeof *w->frames);
  if (!w->status) w->frames[w->n_frames++] = (sn_wasm_frame){.height = (uint32_t)w->stack.used};
}

static void leave(sn_wasm *w, sn_wasm_op op) {
  const sn_wasm_frame *frame = &w->frames[w->n_frames - 1];
  if (!frame->dead && w->stack.used != frame->height) misuse(w, op, "operands left behind");
  w->stack.used = frame->height;
  w->n_frames--;
}

static void begin(sn_wasm *w, uint32_t n_params) {
  if (n_params > SN_WASM_MAX_PARAMS) misuse(w, SN_WASM_return, "too many parameters");
  w->stack.used = 0;
  enter(w);
}

void sn_wasm_check(sn_wasm *w, uint32_t event, uint32_t number) {
  if (w->status) return;
  if (event >= SN_WASM_OP_COUNT) {
    if (w->n_frames) misuse(w, SN_WASM_end, "blocks left open");
    if (event == SN_WASM_FUNCTION) begin(w, number);
    return;
  }
  const sn_wasm_op op = (sn_wasm_op)event;
  const sn_wasm_row *row = &sn_wasm_rows[op];
  if (w->n_frames == 0) {
    misuse(w, op, "outside of a function");
    return;
  }
  for (size_t i = strlen(row->pops); i-- && !w->status;) pop(w, op, row->pops[i]);
  for (const char *type = pushes[op]; *type; type++) push(w, *type);
  if (row->immediate == SN_WASM_LOCAL) {
    if (number >= w->locals.used) {
      misuse(w, op, "no such local");
      return;
    }
    const char type = letter_of(w->locals.data[number]);
    if (op != SN_WASM_local_get) pop(w, op, type);
    if (op != SN_WASM_local_set) push(w, type);
  }
  if (row->immediate == SN_WASM_CALL) {
    if (number >= w->n_functions) misuse(w, op, "no such function yet");
    for (uint32_t i = 0; !w->status && i < w->signatures.data[number]; i++) pop(w, op, 'i');
  }
  if (row->immediate == SN_WASM_LABEL && number >= w->n_frames) misuse(w, op, "no such label");
  if (row->immediate == SN_WASM_BLOCK) enter(w);
  if (op == SN_WASM_br || op == SN_WASM_return) w->frames[w->n_frames - 1].dead = true;
  if (op == SN_WASM_end || op == SN_WASM_else) leave(w, op);
  if (op == SN_WASM_else) enter(w);
}
