/* emit.h - a small assembler for WebAssembly modules.
 *
 *   sn_wasm_begin, then per function: sn_wasm_function, sn_emit_..., sn_wasm_function_end;
 *   at last sn_wasm_finish. Function i is exported under its number in decimal.
 *
 * The module imports the memory "env" "memory" and nothing else. Functions take int32 parameters
 * and return nothing. No emitting function returns an error: the first failure is kept in `status`
 * and returned by sn_wasm_finish. With `check` the operand types of every instruction are compared
 * with its row in wasm_ops.def (check.c); a mismatch is such a failure. */
#ifndef SN_JIT_EMIT_H
#define SN_JIT_EMIT_H

#include "base/alloc.h"

typedef enum sn_wasm_op {
#define W(id, text, prefix, code, immediate, align, pops, pushes) SN_WASM_##id,
#include "jit/wasm_ops.def"
  SN_WASM_OP_COUNT
} sn_wasm_op;

typedef enum sn_wasm_immediate {
  SN_WASM_NONE,
  SN_WASM_LOCAL,
  SN_WASM_I32,
  SN_WASM_V128,
  SN_WASM_SHUFFLE,
  SN_WASM_LANE,
  SN_WASM_MEMORY,
  SN_WASM_LANE_MEMORY,
  SN_WASM_BLOCK,
  SN_WASM_LABEL,
  SN_WASM_CALL
} sn_wasm_immediate;

typedef struct sn_wasm_row {
  uint16_t code;
  uint8_t prefix, immediate, align;
  char pops[4];
} sn_wasm_row;

extern const sn_wasm_row sn_wasm_rows[SN_WASM_OP_COUNT];

typedef enum sn_wasm_type {
  SN_WASM_TYPE_I32 = 0x7f,
  SN_WASM_TYPE_F32 = 0x7d,
  SN_WASM_TYPE_F64 = 0x7c,
  SN_WASM_TYPE_V128 = 0x7b
} sn_wasm_type;

typedef struct sn_wasm_bytes {
  uint8_t *data;
  size_t used, capacity;
} sn_wasm_bytes;

#define SN_WASM_MAX_PARAMS 12

typedef struct sn_wasm_frame { /* an open block */
  uint32_t height;             /* operands on the stack when it was opened */
  bool dead;                   /* after a br or return: operands are not checked */
} sn_wasm_frame;

typedef struct sn_wasm {
  sn_arena *arena;
  sn_status status;
  bool shared_memory;
  sn_wasm_bytes code, signatures; /* finished functions; the number of parameters of each */
  uint32_t n_functions;
  /* the function under way */
  sn_wasm_bytes body, locals; /* locals: one byte with the type of each, parameters first */
  uint32_t n_params;
  /* called for every instruction (an sn_wasm_op and its index) and every sn_wasm_event; NULL: no checks */
  void (*check)(struct sn_wasm *w, uint32_t event, uint32_t number);
  sn_wasm_bytes stack; /* used by the check: the operand types as letters */
  sn_wasm_frame *frames;
  size_t n_frames, cap_frames;
} sn_wasm;

/* Further events for `check`: a function with `number` parameters begins; the module is finished. */
enum sn_wasm_event { SN_WASM_FUNCTION = SN_WASM_OP_COUNT, SN_WASM_FINISH };

void sn_wasm_check(sn_wasm *w, uint32_t event, uint32_t number);

void sn_wasm_begin(sn_wasm *w, sn_arena *arena, bool shared_memory);

/* Begins a function of n_params int32 parameters, locals 0 .. n_params - 1. */
void sn_wasm_function(sn_wasm *w, uint32_t n_params);
uint32_t sn_wasm_local(sn_wasm *w, sn_wasm_type type); /* a new local, which starts as 0 */
uint32_t sn_wasm_function_end(sn_wasm *w);             /* returns the function's number */

/* The module's bytes, in the arena. */
sn_status sn_wasm_finish(sn_wasm *w, const uint8_t **bytes, size_t *n);

/* ---- instructions, by their kind of immediate ------------------------------------------------ */

void sn_emit(sn_wasm *w, sn_wasm_op op);                        /* NONE */
void sn_emit_index(sn_wasm *w, sn_wasm_op op, uint32_t number); /* LOCAL, LABEL, LANE, CALL */
void sn_emit_i32(sn_wasm *w, int32_t value);
void sn_emit_16(sn_wasm *w, sn_wasm_op op, const void *bytes); /* V128, SHUFFLE */
void sn_emit_block(sn_wasm *w, sn_wasm_op op); /* block, loop, if: no operands, no results */
/* Promises an alignment of at most 4 bytes. Elements are aligned to their size, but vectors only to the size of an element;
 * promising less than the natural alignment costs nothing on any machine. */
void sn_emit_memory(sn_wasm *w, sn_wasm_op op, uint32_t offset);
void sn_emit_lane_memory(sn_wasm *w, sn_wasm_op op, uint32_t offset, uint32_t lane);
/* The same for addresses without any alignment. */
void sn_emit_unaligned(sn_wasm *w, sn_wasm_op op, uint32_t offset);
void sn_emit_lane_unaligned(sn_wasm *w, sn_wasm_op op, uint32_t offset, uint32_t lane);

static inline void sn_emit_get(sn_wasm *w, uint32_t local) {
  sn_emit_index(w, SN_WASM_local_get, local);
}
static inline void sn_emit_set(sn_wasm *w, uint32_t local) {
  sn_emit_index(w, SN_WASM_local_set, local);
}

/* ---- as text (wat.c) ------------------------------------------------------------------------- */

const char *sn_wasm_op_text(sn_wasm_op op);

/* The module, or one of its functions, as WebAssembly text. */
sn_status sn_wasm_text(sn_arena *arena, const uint8_t *bytes, size_t n, const char **out);
sn_status sn_wasm_function_text(sn_arena *arena, const uint8_t *bytes, size_t n, uint32_t number,
                                const char **out);

/* ---- small words of emitted code ------------------------------------------------------------- */

static inline void sn_emit_add(sn_wasm *w, uint32_t local, int32_t amount) {
  sn_emit_get(w, local);
  sn_emit_i32(w, amount);
  sn_emit(w, SN_WASM_i32_add);
  sn_emit_set(w, local);
}

/* Opens while (local >= least) { ... }; sn_emit_repeat closes it. */
static inline void sn_emit_while(sn_wasm *w, uint32_t local, int32_t least) {
  sn_emit_block(w, SN_WASM_block);
  sn_emit_get(w, local);
  sn_emit_i32(w, least);
  sn_emit(w, SN_WASM_i32_lt_s);
  sn_emit_index(w, SN_WASM_br_if, 0);
  sn_emit_block(w, SN_WASM_loop);
}

static inline void sn_emit_repeat(sn_wasm *w, uint32_t local, int32_t least) {
  sn_emit_get(w, local);
  sn_emit_i32(w, least);
  sn_emit(w, SN_WASM_i32_ge_s);
  sn_emit_index(w, SN_WASM_br_if, 0);
  sn_emit(w, SN_WASM_end);
  sn_emit(w, SN_WASM_end);
}

#endif
