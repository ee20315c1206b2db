#include "jit/gemm.h"

#include "jit/emit.h"

enum { MR = 6, NV = 2, UNROLL = 4 };
enum { K, A, B, C, LDC, FIRST, N_PARAMS };

typedef struct micro_kernel {
  sn_wasm *w;
  int32_t element_bytes;
  sn_wasm_op splat, madd, add;
  bool rows; /* ukr.h: A is a list of runs */
  uint32_t sums[MR][NV], row[NV], left;
  uint32_t lefts[MR]; /* where the rows of A go on: of a panel one, A itself */
} micro_kernel;

static void advance(sn_wasm *w, uint32_t local, int32_t amount) {
  sn_emit_get(w, local);
  sn_emit_i32(w, amount);
  sn_emit(w, SN_WASM_i32_add);
  sn_emit_set(w, local);
}

/* Bytes from an element of A to the next row's, and to the next one along k. */
static int32_t row_bytes(const micro_kernel *m) { return m->rows ? 0 : m->element_bytes; }
static int32_t step_bytes(const micro_kernel *m) { return m->element_bytes * (m->rows ? 1 : MR); }

/* Step p from where the pointers are: sums[i][v] += A(i, p) * B(p, v). */
static void emit_step(const micro_kernel *m, int32_t p) {
  sn_wasm *w = m->w;
  for (uint32_t v = 0; v < NV; v++) {
    sn_emit_get(w, B);
    sn_emit_memory(w, SN_WASM_v128_load, 16 * ((uint32_t)p * NV + v));
    sn_emit_set(w, m->row[v]);
  }
  for (int32_t i = 0; i < MR; i++) {
    sn_emit_get(w, m->lefts[i]);
    sn_emit_memory(w, m->splat, (uint32_t)(p * step_bytes(m) + i * row_bytes(m)));
    sn_emit_set(w, m->left);
    for (uint32_t v = 0; v < NV; v++) {
      sn_emit_get(w, m->left);
      sn_emit_get(w, m->row[v]);
      sn_emit_get(w, m->sums[i][v]);
      sn_emit(w, m->madd);
      sn_emit_set(w, m->sums[i][v]);
    }
  }
}

/* while (k >= steps) { steps rows; k -= steps; } */
static void emit_loop(const micro_kernel *m, int32_t steps) {
  sn_wasm *w = m->w;
  sn_emit_block(w, SN_WASM_block);
  sn_emit_get(w, K);
  sn_emit_i32(w, steps);
  sn_emit(w, SN_WASM_i32_lt_s);
  sn_emit_index(w, SN_WASM_br_if, 0);
  sn_emit_block(w, SN_WASM_loop);
  for (int32_t p = 0; p < steps; p++) emit_step(m, p);
  for (int i = 0; i < (m->rows ? MR : 1); i++) advance(w, m->lefts[i], steps * step_bytes(m));
  advance(w, B, steps * 16 * NV);
  advance(w, K, -steps);
  sn_emit_get(w, K);
  sn_emit_i32(w, steps);
  sn_emit(w, SN_WASM_i32_ge_s);
  sn_emit_index(w, SN_WASM_br_if, 0);
  sn_emit(w, SN_WASM_end);
  sn_emit(w, SN_WASM_end);
}

static void emit_steps(const micro_kernel *m) {
  emit_loop(m, UNROLL);
  emit_loop(m, 1);
}

/* while ((k = *a++)) { lefts = the next MR words; k steps; } */
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
  for (uint32_t i = 0; i < MR; i++) {
    sn_emit_get(w, A);
    sn_emit_memory(w, SN_WASM_i32_load, 4 * (1 + i));
    sn_emit_set(w, m->lefts[i]);
  }
  emit_steps(m);
  advance(w, A, 4 * SN_GEMM_RUN_WORDS(MR));
  sn_emit_index(w, SN_WASM_br, 0);
  sn_emit(w, SN_WASM_end);
  sn_emit(w, SN_WASM_end);
}

/* C is not read when this is the first block of k. */
static void emit_result(const micro_kernel *m, bool add) {
  sn_wasm *w = m->w;
  for (uint32_t i = 0; i < MR; i++) {
    for (uint32_t v = 0; v < NV; v++) {
      sn_emit_get(w, C);
      if (add) {
        sn_emit_get(w, C);
        sn_emit_memory(w, SN_WASM_v128_load, 16 * v);
      }
      sn_emit_get(w, m->sums[i][v]);
      if (add) sn_emit(w, m->add);
      sn_emit_memory(w, SN_WASM_v128_store, 16 * v);
    }
    sn_emit_get(w, C);
    sn_emit_get(w, LDC);
    sn_emit(w, SN_WASM_i32_add);
    sn_emit_set(w, C);
  }
}

static void emit_kernel(micro_kernel m) {
  sn_wasm *w = m.w;
  sn_wasm_function(w, N_PARAMS);
  for (int i = 0; i < MR; i++) m.lefts[i] = m.rows ? sn_wasm_local(w, SN_WASM_TYPE_I32) : A;
  for (int i = 0; i < MR; i++)
    for (int v = 0; v < NV; v++) m.sums[i][v] = sn_wasm_local(w, SN_WASM_TYPE_V128);
  for (int v = 0; v < NV; v++) m.row[v] = sn_wasm_local(w, SN_WASM_TYPE_V128);
  m.left = sn_wasm_local(w, SN_WASM_TYPE_V128);
  if (m.rows)
    emit_runs(&m);
  else
    emit_steps(&m);
  sn_emit_get(w, LDC);
  sn_emit_i32(w, m.element_bytes == 8 ? 3 : 2);
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

static void emit_forms(micro_kernel m) {
  emit_kernel(m);
  m.rows = true;
  emit_kernel(m);
}

static sn_status emit_module(sn_arena *arena, const uint8_t **bytes, size_t *size) {
  sn_wasm w;
  sn_wasm_begin(&w, arena, sn_code_memory_is_shared());
  emit_forms((micro_kernel){.w = &w,
                            .element_bytes = 4,
                            .splat = SN_WASM_v128_load32_splat,
                            .madd = SN_WASM_f32x4_relaxed_madd,
                            .add = SN_WASM_f32x4_add});
  emit_forms((micro_kernel){.w = &w,
                            .element_bytes = 8,
                            .splat = SN_WASM_v128_load64_splat,
                            .madd = SN_WASM_f64x2_relaxed_madd,
                            .add = SN_WASM_f64x2_add});
  return sn_wasm_finish(&w, bytes, size);
}

static sn_gemm_ukr row_of(const char *name, sn_dtype dtype, int nr, uint32_t place, sn_isa_id isa) {
  return (sn_gemm_ukr){.name = name,
                       .run = (sn_gemm_ukr_fn *)(uintptr_t)place,
                       .run_rows = (sn_gemm_ukr_fn *)(uintptr_t)(place + 1),
                       .isa = isa,
                       .dtype = dtype,
                       .mr = MR,
                       .nr = nr,
                       .fused = true};
}

sn_status sn_jit_gemm_make(sn_env *env, sn_jit_gemm *out) {
  *out = (sn_jit_gemm){0};
  if (!sn_code_first_place()) return SN_OK;
  sn_arena arena;
  sn_arena_init(&arena, env);
  const uint8_t *bytes;
  size_t size;
  sn_status status = emit_module(&arena, &bytes, &size);
  if (!status) status = sn_code_register(env, bytes, size, 4, &out->module);
  sn_arena_free(&arena);
  if (status || !out->module) return status;
  const uint32_t first = out->module->first;
  const sn_isa_id isa = sn_isa_detect();
  out->kernels = (sn_gemm_run_time){
      .ukr = {[SN_F32] = row_of("sn_gemm_f32_6x8__relaxed", SN_F32, 8, first, isa),
              [SN_F64] = row_of("sn_gemm_f64_6x4__relaxed", SN_F64, 4, first + 2, isa)},
      .module = out->module,
      .ready = sn_code_is_ready};
  return SN_OK;
}

void sn_jit_gemm_free(sn_jit_gemm *gemm) { sn_code_release(gemm->module); }
