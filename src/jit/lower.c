#include "jit/lower.h"

#include "jit/body.h"

const char *const sn_jit_role_names[SN_JIT_ROLE_COUNT] = {"strip", "fold", "columns", "rows"};

/* ---- strip ----------------------------------------------------------------------------------- */

/* Head values of the strip lie together, whatever the space. */
static void describe_head(sn_jit *j, uint32_t param) {
  const sn_group *g = j->kernel->group;
  sn_walk *k = &j->walk;
  int64_t strides[SN_MAX_RANK], step = 1;
  for (int i = k->rank - 1; i >= 0; step *= k->dims[i--]) strides[i] = step;
  const sn_dtype dtype =
      g->kind == SN_GROUP_CONTRACTION ? g->head_dtype : g->phases[0].reductions[0].dtype;
  const sn_walk_base base = {.kind = SN_BASE_PARAM, .number = param, .follows = true};
  j->heads[0] = sn_walk_read(k, sn_walk_leaf(k, dtype, base, 0, strides));
}

sn_status sn_jit_strip(sn_jit *j, uint32_t *number) {
  enum { VALUES, LANE, HEAD, FLAT, N, N_PARAMS };
  const sn_group *g = j->kernel->group;
  sn_walk *k = &j->walk;
  int pick[SN_MAX_RANK];
  int64_t dims[SN_MAX_RANK];
  const int rank = sn_jit_merge_space(g, pick, dims);
  SN_TRY(sn_jit_nest(j, rank, pick, dims));
  if (g->n_heads) describe_head(j, HEAD);
  SN_TRY(sn_jit_body(j, &g->post, NULL));
  if (j->unable) return SN_OK;
  sn_jit_stores(j, g->stores, g->n_stores);
  sn_wasm_function(j->w, N_PARAMS);
  k->values = VALUES;
  SN_TRY(sn_walk_start(k));
  if (rank == 0) {
    sn_write_pass(&k->writer, 0, 1);
    sn_walk_copy(k, 0, SN_COPY_ONE, 0);
  } else {
    sn_walk_locate(k, 0, k->rank, FLAT);
    sn_walk_point(k, 0);
    sn_walk_points(k, 0, 0, N);
  }
  *number = sn_wasm_function_end(j->w);
  return SN_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

typedef sn_status role_fn(sn_jit *j, uint32_t *number);

static bool has_role(const sn_kernel *kernel, sn_jit_role role) {
  const sn_group *g = kernel->group;
  const int64_t points = sn_group_points(g) * (g->reduced_rank ? sn_group_reduced_points(g) : 1);
  if (points <= 0 || points > INT32_MAX) return false;
  const bool reduce = g->kind == SN_GROUP_REDUCE;
  switch (role) {
  case SN_JIT_STRIP:
    return (g->kind == SN_GROUP_MAP || reduce || g->kind == SN_GROUP_CONTRACTION) &&
           g->n_stores > 0;
  default: return false;
  }
}

static sn_status emit_kernel(sn_arena *arena, const sn_jit_target *target, sn_wasm *w,
                             const sn_kernel *kernel, sn_jit_functions *out) {
  static role_fn *const roles[SN_JIT_ROLE_COUNT] = {[SN_JIT_STRIP] = sn_jit_strip};
  for (int role = 0; role < SN_JIT_ROLE_COUNT; role++) {
    out->of[role] = SN_NONE;
    if (!has_role(kernel, (sn_jit_role)role)) continue;
    sn_jit j = {.arena = arena, .w = w, .target = target, .kernel = kernel};
    SN_TRY(roles[role](&j, &out->of[role]));
    SN_TRY(w->status);
  }
  return SN_OK;
}

static uint64_t hash_bytes(const uint8_t *bytes, size_t n) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < n; i++) h = (h ^ bytes[i]) * 1099511628211u;
  return h;
}

sn_status sn_jit_emit(sn_arena *arena, const sn_jit_target *target, const sn_kernel *kernels,
                      size_t n, sn_jit_module *out) {
  *out = (sn_jit_module){0};
  SN_TRY(sn_arena_alloc(arena, n, sizeof *out->functions, (void **)&out->functions));
  sn_wasm w;
  sn_wasm_begin(&w, arena, target->shared_memory);
  for (size_t i = 0; i < n; i++)
    SN_TRY(emit_kernel(arena, target, &w, &kernels[i], &out->functions[i]));
  SN_TRY(sn_wasm_finish(&w, &out->bytes, &out->n_bytes));
  out->n_functions = w.n_functions;
  out->hash = hash_bytes(out->bytes, out->n_bytes);
  return SN_OK;
}
