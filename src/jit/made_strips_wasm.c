/* made_strips_wasm.c - an op over a strip as a function of its own, one module each. There are as many as there are such
 * ops, and they stay. */
#include "kernels/made_strips.h"

#include "base/host.h"
#include "jit/modules.h"
#include "jit/walk.h"
#include "kernels/strip.h"

/* By dtype of the inputs: float32, float64, int32; plain and fused. */
static sn_code_module *made[SN_OP_COUNT][SN_DTYPE_COUNT][2];

static bool is_made(sn_op op, sn_dtype dtype) {
  switch ((int)op) {
#define MADE(id, is) \
  case SN_OP_##id: return is;
#define EW_F(id, n, f, c, lo, hi, u, d, xf, ...) MADE(id, SN_IS_MADE(#xf))
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) \
  MADE(id, dtype == SN_I32 ? SN_IS_MADE(#xi) : SN_IS_MADE(#xf))
#include "graph/ops.def"
  default: return false;
  }
}

/* ---- the function ---------------------------------------------------------------------------- */

static uint32_t leaf_of(sn_walk *k, sn_dtype dtype, uint32_t param) {
  const int64_t next[SN_MAX_RANK] = {1};
  const sn_walk_base base = {.kind = SN_BASE_PARAM, .number = param, .follows = true};
  return sn_walk_leaf(k, dtype, base, 0, next);
}

static sn_status emit(sn_arena *arena, sn_wasm *w, sn_op op, sn_dtype dtype, bool fused) {
  enum { TO, A, B, C, N, FUSED, N_PARAMS };
  const int64_t dims[] = {SN_STRIP};
  const uint32_t n_args = sn_op_describe(op)->arity;
  const sn_insn insn = {
      .kind = SN_INSN_OP, .op = op, .dtype = dtype, .in_dtype = dtype, .n_args = n_args};
  const sn_dtype dtypes[] = {dtype, dtype};
  sn_walk k;
  SN_TRY(sn_walk_begin(&k, arena, w, sn_vec_target_here(fused), 1, dims, NULL));
  const uint32_t a = leaf_of(&k, dtype, A), b = n_args > 1 ? leaf_of(&k, dtype, B) : a;
  const sn_vec_value x[] = {sn_walk_read(&k, a), sn_walk_read(&k, b)};
  const sn_vec_value y = sn_expand_op(&k.lanes, &insn, x, dtypes);
  sn_walk_write(&k, leaf_of(&k, dtype, TO), &y);
  SN_TRY(k.lanes.status);
  sn_wasm_function(w, N_PARAMS);
  SN_TRY(sn_walk_start(&k));
  sn_walk_point(&k, 0);
  sn_walk_points(&k, 0, 0, N);
  sn_wasm_function_end(w);
  return k.status;
}

static sn_status make(sn_arena *arena, sn_op op, sn_dtype dtype, bool fused, sn_code_module **out) {
  sn_wasm w;
  const uint8_t *bytes;
  size_t n;
  sn_wasm_begin(&w, arena, sn_code_memory_is_shared());
  SN_TRY(emit(arena, &w, op, dtype, fused));
  SN_TRY(sn_wasm_finish(&w, &bytes, &n));
  SN_TRY(sn_code_register(arena->env, bytes, n, 1, out));
  if (*out) (*out)->at_once = true;
  return SN_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void *allocate(void *user, size_t bytes, size_t alignment) {
  (void)user;
  (void)alignment;
  return sn_host_allocate(bytes);
}

static void release(void *user, void *block, size_t bytes) {
  (void)user;
  sn_host_release(block, bytes);
}

/* Of no context: they outlive it. */
static sn_env own = {.heap = {.allocator = {NULL, allocate, release},
                              .limit_bytes = SIZE_MAX,
                              .fail_countdown = -1}};

sn_status sn_made_strip_prepare(sn_env *env, sn_op op, sn_dtype dtype, bool fused) {
  if (dtype >= SN_DTYPE_COUNT || !is_made(op, dtype)) return SN_OK;
  sn_code_module **module = &made[op][dtype][fused];
  if (*module) return SN_OK;
  sn_arena arena;
  sn_arena_init(&arena, &own);
  const sn_status status = make(&arena, op, dtype, fused, module);
  sn_arena_free(&arena);
  SN_FAIL_IF(env, status, status, NULL, "%s: there is no memory for its code",
             sn_op_describe(op)->name);
  SN_FAIL_IF(env, !*module || !sn_code_is_ready(*module), SN_ERR_UNSUPPORTED, NULL,
             "%s: this engine refuses its code", sn_op_describe(op)->name);
  return SN_OK;
}

void sn_made_strip_run(sn_op op, sn_dtype dtype, void *dst, const void *a, const void *b, int64_t n,
                       bool fused) {
  typedef void strip_code(void *dst, const void *a, const void *b, const void *c, int32_t n,
                          int32_t fused);
  const sn_code_module *module = made[op][dtype][fused];
  if (!sn_code_is_ready(module)) __builtin_trap(); /* what one thread's engine takes, all take */
  ((strip_code *)(uintptr_t)module->first)(dst, a, b, a, (int32_t)n, fused);
}
