#include "jit/emit_gemm.h"

#include "jit/emit.h"
#include "jit/modules.h"

enum { MOST_ROWS = 6, NV = 2, UNROLL = 4 };
/* Each form (A as a panel, A as lists of runs) has a function for 2, 4 .. mr rows. */
enum { PAIR = 2, FORMS = 2 };
enum { K, A, B, C, LDC, FIRST, ROWS, N_PARAMS };

typedef struct element {
  int32_t bytes;
  sn_wasm_op splat, mul, add;
  sn_wasm_op madd; /* multiplies and adds at once, operands B, A and the sum; 0: there is none */
  sn_dtype dtype;
  int together; /* ukr.h */
} element;

enum { PAIRS = SN_I32 + 1, FOURS, ELEMENTS };
static const element elements[ELEMENTS] = {
    [SN_F32] = {4, SN_WASM_v128_load32_splat, SN_WASM_f32x4_mul, SN_WASM_f32x4_add,
                SN_WASM_f32x4_relaxed_madd, SN_F32, 1},
    [SN_F64] = {8, SN_WASM_v128_load64_splat, SN_WASM_f64x2_mul, SN_WASM_f64x2_add,
                SN_WASM_f64x2_relaxed_madd, SN_F64, 1},
    [SN_I32] = {4, SN_WASM_v128_load32_splat, SN_WASM_i32x4_mul, SN_WASM_i32x4_add, 0, SN_I32, 1},
    [PAIRS] = {4, SN_WASM_v128_load32_splat, SN_WASM_i32x4_dot_i16x8_s, SN_WASM_i32x4_add, 0,
               SN_I32, 2},
    [FOURS] = {4, SN_WASM_v128_load32_splat, 0, SN_WASM_i32x4_add, SN_WASM_i32x4_relaxed_dot_add,
               SN_I32, 4}};

typedef struct micro_kernel {
  sn_wasm *w;
  const element *of;
  bool fused; /* ukr.h */
  bool lists; /* A is a list of runs (ukr.h), not a panel */
  int32_t mr;
  int32_t rows;   /* rows this function computes: 2, 4 .. mr */
  uint32_t fewer; /* number of the function for 2 rows */
  uint32_t sums[MOST_ROWS][NV], row[NV], left;
  uint32_t lefts[MOST_ROWS]; /* pointers to the rows of A; a panel has one for all rows, the parameter A */
} micro_kernel;

static void advance(sn_wasm *w, uint32_t local, int32_t amount) {
  sn_emit_get(w, local);
  sn_emit_i32(w, amount);
  sn_emit(w, SN_WASM_i32_add);
  sn_emit_set(w, local);
}

/* Bytes from an element of A to the element of the next row, and to the next element along k. */
static int32_t row_bytes(const micro_kernel *m) { return m->lists ? 0 : m->of->bytes; }
static int32_t step_bytes(const micro_kernel *m) { return m->of->bytes * (m->lists ? 1 : m->mr); }

/* Step p, counted from the pointers: sums[i][v] += A(i, p) * B(p, v). */
static void emit_step(const micro_kernel *m, int32_t p) {
  sn_wasm *w = m->w;
  for (uint32_t v = 0; v < NV; v++) {
    sn_emit_get(w, B);
    sn_emit_memory(w, SN_WASM_v128_load, 16 * ((uint32_t)p * NV + v));
    sn_emit_set(w, m->row[v]);
  }
  for (int32_t i = 0; i < m->rows; i++) {
    sn_emit_get(w, m->lefts[i]);
    sn_emit_memory(w, m->of->splat, (uint32_t)(p * step_bytes(m) + i * row_bytes(m)));
    sn_emit_set(w, m->left);
    for (uint32_t v = 0; v < NV; v++) {
      sn_emit_get(w, m->row[v]);
      sn_emit_get(w, m->left);
      if (!m->fused) sn_emit(w, m->of->mul);
      sn_emit_get(w, m->sums[i][v]);
      sn_emit(w, m->fused ? m->of->madd : m->of->add);
      sn_emit_set(w, m->sums[i][v]);
    }
  }
}

/* while (k >= steps) { steps rows; k -= steps; } */
static void emit_loop(const micro_kernel *m, int32_t steps) {
  sn_wasm *w = m->w;
  sn_emit_block(w, SN_WASM_block);
  sn_emit_block(w, SN_WASM_loop);
  sn_emit_get(w, K);
  sn_emit_i32(w, steps);
  sn_emit(w, SN_WASM_i32_lt_s);
  sn_emit_index(w, SN_WASM_br_if, 1);
  for (int32_t p = 0; p < steps; p++) emit_step(m, p);
  for (int32_t i = 0; i < (m->lists ? m->rows : 1); i++)
    advance(w, m->lefts[i], steps * step_bytes(m));
  advance(w, B, steps * 16 * NV);
  advance(w, K, -steps);
  sn_emit_index(w, SN_WASM_br, 0);
  sn_emit(w, SN_WASM_end);
  sn_emit(w, SN_WASM_end);
}

/* The plain kernels' loop over a panel is not unrolled here: V8 does it itself, and better, by 7% of 8 x 784 x 512. */
static void emit_steps(const micro_kernel *m) {
  if (m->fused || m->lists) emit_loop(m, UNROLL);
  emit_loop(m, 1);
}

/* while ((k = *a++)) { lefts = the next words of the run; k steps; } */
static void emit_runs(const micro_kernel *m) {
  sn_wasm *w = m->w;
  sn_emit_block(w, SN_WASM_block);
  sn_emit_block(w, SN_WASM_loop);
  sn_emit_get(w, A);
  sn_emit_memory(w, SN_WASM_i32_load, 0);
  sn_emit_set(w, K);
  sn_emit_get(w, K);
  sn_emit(w, SN_WASM_i32_eqz);
  sn_emit_index(w, SN_WASM_br_if, 1);
  for (int32_t i = 0; i < m->rows; i++) {
    sn_emit_get(w, A);
    sn_emit_memory(w, SN_WASM_i32_load, 4 * (1 + (uint32_t)i));
    sn_emit_set(w, m->lefts[i]);
  }
  emit_steps(m);
  advance(w, A, 4 * SN_GEMM_RUN_WORDS(m->mr));
  sn_emit_index(w, SN_WASM_br, 0);
  sn_emit(w, SN_WASM_end);
  sn_emit(w, SN_WASM_end);
}

/* Stores the sums to C; add: to what C holds. For the first block of k, C is not read. */
static void emit_result(const micro_kernel *m, bool add) {
  sn_wasm *w = m->w;
  for (int32_t i = 0; i < m->rows; i++) {
    if (i + 1 == m->rows) { /* if ROWS is odd, the last row computed does not exist in C */
      sn_emit_get(w, ROWS);
      sn_emit_i32(w, 1);
      sn_emit(w, SN_WASM_i32_and);
      sn_emit_index(w, SN_WASM_br_if, 0);
    }
    for (uint32_t v = 0; v < NV; v++) {
      sn_emit_get(w, C);
      if (add) {
        sn_emit_get(w, C);
        sn_emit_memory(w, SN_WASM_v128_load, 16 * v);
      }
      sn_emit_get(w, m->sums[i][v]);
      if (add) sn_emit(w, m->of->add);
      sn_emit_memory(w, SN_WASM_v128_store, 16 * v);
    }
    sn_emit_get(w, C);
    sn_emit_get(w, LDC);
    sn_emit(w, SN_WASM_i32_add);
    sn_emit_set(w, C);
  }
}

/* If ROWS <= rows: calls function `number` instead of going on with this one. */
static void emit_fewer(sn_wasm *w, uint32_t number, int32_t rows) {
  sn_emit_get(w, ROWS);
  sn_emit_i32(w, rows + 1);
  sn_emit(w, SN_WASM_i32_lt_s);
  sn_emit_block(w, SN_WASM_if);
  for (uint32_t i = 0; i < N_PARAMS; i++) sn_emit_get(w, i);
  sn_emit_index(w, SN_WASM_call, number);
  sn_emit(w, SN_WASM_return);
  sn_emit(w, SN_WASM_end);
}

static void emit_kernel(micro_kernel m) {
  sn_wasm *w = m.w;
  sn_wasm_function(w, N_PARAMS);
  for (int32_t i = 0; i < m.rows; i++)
    m.lefts[i] = m.lists ? sn_wasm_local(w, SN_WASM_TYPE_I32) : A;
  for (int32_t i = 0; i < m.rows; i++)
    for (int v = 0; v < NV; v++) m.sums[i][v] = sn_wasm_local(w, SN_WASM_TYPE_V128);
  for (int v = 0; v < NV; v++) m.row[v] = sn_wasm_local(w, SN_WASM_TYPE_V128);
  m.left = sn_wasm_local(w, SN_WASM_TYPE_V128);
  if (m.rows == m.mr)
    for (int32_t rows = PAIR; rows < m.mr; rows += PAIR) emit_fewer(w, m.fewer++, rows);
  if (m.lists)
    emit_runs(&m);
  else
    emit_steps(&m);
  sn_emit_get(w, LDC);
  sn_emit_i32(w, m.of->bytes == 8 ? 3 : 2);
  sn_emit(w, SN_WASM_i32_shl);
  sn_emit_set(w, LDC);
  sn_emit_get(w, FIRST);
  sn_emit_block(w, SN_WASM_if);
  emit_result(&m, false);
  sn_emit(w, SN_WASM_else);
  emit_result(&m, true);
  sn_emit(w, SN_WASM_end);
  sn_wasm_function_end(w);
}

/* Emits for each form the functions for fewer rows first, and last the one for mr rows, which callers use and which calls the
 * others. Bytes have the form of panels only. */
static sn_gemm_ukr emit_forms(micro_kernel m) {
  const uint32_t first = m.w->n_functions, last = (uint32_t)m.mr / PAIR - 1;
  const int forms = m.of->together > 1 ? 1 : FORMS;
  for (int form = 0; form < forms; form++, m.lists = true) {
    m.fewer = m.w->n_functions;
    for (m.rows = PAIR; m.rows <= m.mr; m.rows += PAIR) emit_kernel(m);
  }
  /* For now relative to the module's first place in the table (move_to). */
  return (sn_gemm_ukr){.run = (sn_gemm_ukr_fn *)(uintptr_t)(first + last),
                       .run_rows =
                           (sn_gemm_ukr_fn *)(uintptr_t)(forms > 1 ? first + 2 * last + 1 : 0),
                       .isa = sn_isa_detect(),
                       .dtype = m.of->dtype,
                       .mr = m.mr,
                       .nr = 16 * NV / m.of->bytes,
                       .fused = m.fused,
                       .together = m.of->together};
}

/* Shapes of plain kernels measured in V8 with data in the first-level cache, where mul and add could reach 43 GF/s: 4 x 8
 * reaches 40; 6 x 8 reaches 26, since it spills, and 36 with one vector of B at a time, for which A is read twice. */
static micro_kernel kernel_of(sn_wasm *w, const element *of, bool fused) {
  const bool has = fused && of->madd;
  return (micro_kernel){.w = w, .of = of, .fused = has, .mr = has ? 6 : 4};
}

static uint32_t emit_all(sn_wasm *w, bool fused, sn_gemm_run_time *out) {
  for (int dtype = SN_F32; dtype <= SN_I32; dtype++)
    out->ukr[dtype] = emit_forms(kernel_of(w, &elements[dtype], fused));
  out->pairs = emit_forms(kernel_of(w, &elements[PAIRS], false));
  if (fused) out->fours = emit_forms(kernel_of(w, &elements[FOURS], true));
  return w->n_functions;
}

static void move_to(sn_gemm_ukr *ukr, uint32_t first) {
  if (!ukr->mr) return;
  ukr->run = (sn_gemm_ukr_fn *)(first + (uintptr_t)ukr->run);
  if (ukr->run_rows) ukr->run_rows = (sn_gemm_ukr_fn *)(first + (uintptr_t)ukr->run_rows);
}

sn_status sn_jit_gemm_make(sn_env *env, bool fused, sn_gemm_run_time *out) {
  *out = (sn_gemm_run_time){0};
  if (!sn_code_first_place()) return SN_OK;
  sn_arena arena;
  sn_arena_init(&arena, env);
  sn_wasm w;
  const uint8_t *bytes;
  size_t size;
  sn_gemm_run_time made = {.ready = sn_code_is_ready};
  sn_code_module *module = NULL;
  sn_wasm_begin(&w, &arena, sn_code_memory_is_shared());
  const uint32_t n_functions = emit_all(&w, fused, &made);
  sn_status status = sn_wasm_finish(&w, &bytes, &size);
  if (!status) status = sn_code_register(env, bytes, size, n_functions, &module);
  sn_arena_free(&arena);
  if (status || !module) return status;
  made.module = module;
  for (int dtype = SN_F32; dtype <= SN_I32; dtype++) move_to(&made.ukr[dtype], module->first);
  move_to(&made.pairs, module->first);
  move_to(&made.fours, module->first);
  *out = made;
  return SN_OK;
}

void sn_jit_gemm_free(sn_gemm_run_time *gemm) { sn_code_release(gemm->module); }
