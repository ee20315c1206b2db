#include "jit/lower_kernel.h"

#include "jit/body.h"

/* Of a row whose accumulators stay in registers: half of those there are, and its code's length. */
enum { MOST_VECTORS = 8, MOST_NODES = 192 };

const char *const sn_jit_role_names[SN_JIT_ROLE_COUNT] = {"strip", "fold", "columns", "rows"};

/* ---- strip ----------------------------------------------------------------------------------- */

/* Totals of the strip lie together, whatever the space. */
static void describe_total(sn_jit *j, int rank, uint32_t param) {
  const sn_group *g = j->kernel->group;
  sn_walk *k = &j->walk;
  int64_t strides[SN_MAX_RANK] = {0}, step = 1;
  for (int i = rank - 1; i >= 0; step *= k->dims[i--]) strides[i] = step;
  const sn_dtype dtype = g->kind == SN_GROUP_CONTRACTION ? g->contraction.total_dtype
                                                         : g->row.phases[0].reductions[0].dtype;
  const sn_walk_base base = {.kind = SN_BASE_PARAM, .number = param, .follows = true};
  j->totals[0] = sn_walk_read(k, sn_walk_leaf(k, dtype, base, 0, strides));
}

static sn_status emit_strip(sn_jit *j, uint32_t *number) {
  enum { VALUES, MEMORY, TOTAL, FLAT, N, N_PARAMS };
  const sn_group *g = j->kernel->group;
  sn_walk *k = &j->walk;
  int pick[SN_MAX_RANK];
  int64_t dims[SN_MAX_RANK];
  const int rank = sn_jit_merge_space(g, pick, dims);
  SN_TRY(sn_jit_nest(j, rank, pick, dims));
  if (g->kind != SN_GROUP_MAP) describe_total(j, rank, TOTAL);
  SN_TRY(sn_jit_body(j, &g->post, NULL));
  if (j->unable) return SN_OK;
  sn_jit_stores(j, g->stores, g->n_stores);
  sn_wasm_function(j->w, N_PARAMS);
  k->values = VALUES;
  SN_TRY(sn_walk_start(k));
  if (rank == 0) {
    sn_walk_enter(k, 0);
    sn_walk_copy(k, 0, SN_COPY_ONE, 0);
  } else {
    sn_walk_locate(k, 0, k->rank, FLAT);
    sn_walk_point(k, 0);
    if (g->kind == SN_GROUP_MAP) k->unit = SN_STRIP;
    sn_walk_points(k, 0, 0, N);
  }
  *number = sn_wasm_function_end(j->w);
  return SN_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

static bool kernel_has_bags(const sn_kernel *kernel) {
  return kernel->reduce.mode == SN_REDUCE_RAGGED;
}

/* The accumulators walk along with the outputs; the first point replaces what is there, or in a bag is
 * added to 0, as it may be -0. Returns their leaf. */
static uint32_t describe_columns(sn_jit *j, uint32_t acc, uint32_t from) {
  const sn_reduction *r = &j->kernel->group->row.phases[0].reductions[0];
  sn_walk *k = &j->walk;
  const int reduced = j->kernel->group->reduced_rank;
  const bool bags = kernel_has_bags(j->kernel);
  int64_t along[SN_MAX_RANK] = {0}, down[SN_MAX_RANK] = {0}, step = 1;
  for (int i = k->rank - 1; i >= reduced; step *= k->dims[i--]) along[i] = step;
  step = 1;
  for (int i = reduced - 1; i >= 0; step *= k->dims[i--]) down[i] = step;
  const sn_walk_base point = {.kind = SN_BASE_NUMBER};
  const sn_vec at = sn_walk_read(k, sn_walk_leaf(k, SN_I32, point, 0, down)).half[0];
  const sn_vec start = sn_walk_read(k, sn_walk_number(k, from)).half[0];
  const sn_vec is_first = sn_vec_op(&k->lanes, SN_WASM_i32x4_eq, at, start, 0);
  const sn_walk_base base = {.kind = SN_BASE_PARAM, .number = acc, .follows = true, .level = 2};
  const uint32_t leaf = sn_walk_leaf(k, r->dtype, base, 0, along);
  const sn_vec_value before = sn_walk_read(k, leaf), *x = &j->insns[r->insn];
  sn_vec_value after = {{0, 0}};
  const sn_vec none = sn_expand_const(&k->lanes, r->dtype, sn_reduce_identity(r->op, r->dtype));
  for (int h = 0; h < sn_vec_halves(r->dtype); h++) {
    const sn_vec sum =
        bags ? sn_vec_select(&k->lanes, 32, is_first, none, before.half[h]) : before.half[h];
    const sn_vec both = sn_expand_combine(&k->lanes, r->op, r->dtype, sum, x->half[h]);
    after.half[h] = bags ? both : sn_vec_select(&k->lanes, 32, is_first, x->half[h], both);
  }
  sn_walk_write(k, leaf, &after);
  return leaf;
}

/* Where a row of outputs is a few whole vectors its accumulators stay in registers: in memory each
 * row would wait for what the one before has just written. Returns how many vectors, or 0. */
static uint32_t keep_row(sn_jit *j, uint32_t acc) {
  const sn_group *g = j->kernel->group;
  sn_leaf *leaf = &j->walk.leaves[acc];
  const int64_t n = g->space[0], vectors = n / 4 * sn_vec_halves(leaf->dtype);
  if (g->space_rank != 1 || n % 4 || vectors > MOST_VECTORS) return 0;
  if (n / 4 * sn_walk_length(&j->walk, 0, true) > MOST_NODES) return 0;
  leaf->kind = SN_LEAF_REGISTERS;
  sn_walk_reserve(&j->walk, acc, (uint32_t)vectors);
  return (uint32_t)vectors;
}

static void write_row(sn_jit *j, bool kept, uint32_t n_outputs) {
  const sn_group *g = j->kernel->group;
  sn_walk *k = &j->walk;
  if (!kept) {
    const uint32_t left = sn_wasm_local(j->w, SN_WASM_TYPE_I32);
    sn_emit_get(j->w, n_outputs);
    sn_emit_set(j->w, left);
    sn_walk_points(k, 0, g->reduced_rank, left);
    return;
  }
  sn_walk_enter(k, 0);
  for (int64_t i = 0; i < g->space[0] / 4; i++) sn_walk_copy(k, 0, SN_COPY_FULL, (uint32_t)i);
}

static sn_status emit_columns(sn_jit *j, uint32_t *number) {
  enum { VALUES, MEMORY, ACC, FIRST, N_OUTPUTS, FROM, TO, N_PARAMS };
  const sn_group *g = j->kernel->group;
  sn_walk *k = &j->walk;
  int pick[SN_MAX_RANK];
  int64_t dims[SN_MAX_RANK];
  /* of a bag, outputs are the points of one row */
  const int reduced = g->reduced_rank, skipped = kernel_has_bags(j->kernel);
  const int rank = g->space_rank - skipped + reduced;
  for (int i = 0; i < rank; i++) {
    pick[i] = i < reduced ? g->space_rank + i : i - reduced + skipped;
    dims[i] = i < reduced ? g->reduced[i] : g->space[i - reduced + skipped];
  }
  SN_TRY(sn_jit_nest(j, rank, pick, dims));
  SN_TRY(sn_jit_body(j, &g->row.phases[0].body, NULL));
  if (j->unable) return SN_OK;
  const uint32_t acc = describe_columns(j, ACC, FROM);
  sn_wasm_function(j->w, N_PARAMS);
  k->values = VALUES;
  SN_TRY(sn_walk_start(k));
  const uint32_t point = sn_wasm_local(j->w, SN_WASM_TYPE_I32);
  const uint32_t to_come = sn_wasm_local(j->w, SN_WASM_TYPE_I32);
  const uint32_t vectors = keep_row(j, acc);
  sn_emit_get(j->w, FROM);
  sn_emit_set(j->w, point);
  sn_emit_get(j->w, TO);
  sn_emit_get(j->w, FROM);
  sn_emit(j->w, SN_WASM_i32_sub);
  sn_emit_set(j->w, to_come);
  sn_emit_while(j->w, to_come, 1);
  sn_walk_locate(k, 0, reduced, point);
  sn_walk_locate(k, reduced, rank, FIRST);
  sn_walk_point(k, 0);
  write_row(j, vectors > 0, N_OUTPUTS);
  sn_emit_add(j->w, point, 1);
  sn_emit_add(j->w, to_come, -1);
  sn_emit_repeat(j->w, to_come, 1);
  sn_walk_spill(k, acc, vectors, ACC, 0);
  *number = sn_wasm_function_end(j->w);
  return SN_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

typedef sn_status role_fn(sn_jit *j, uint32_t *number);

static bool has_role(const sn_kernel *kernel, sn_jit_role role) {
  const sn_group *g = kernel->group;
  const bool all = g->reduced_rank && !(sn_group_phases(g) && g->row.ends);
  const int64_t points = sn_group_points(g) * (all ? sn_group_reduced_points(g) : 1);
  if (points <= 0 || points > INT32_MAX) return false;
  const bool reduce = g->kind == SN_GROUP_REDUCE;
  switch (role) {
  case SN_JIT_STRIP:
    return (g->kind == SN_GROUP_MAP || reduce || g->kind == SN_GROUP_CONTRACTION) &&
           g->n_stores > 0;
  case SN_JIT_FOLD: return reduce && kernel->reduce.mode == SN_REDUCE_ROWS;
  case SN_JIT_COLUMNS:
    return reduce && (kernel_has_bags(kernel) ? g->space_rank > 1 && !kernel->reduce.adds_memory
                                              : kernel->reduce.mode == SN_REDUCE_COLUMNS);
  case SN_JIT_ROWS: return g->kind == SN_GROUP_ROW;
  case SN_JIT_ROLE_COUNT: break;
  }
  return false;
}

/* start: what all roles of all kernels begin with. */
static sn_status emit_kernel(const sn_jit *start, const sn_kernel *kernel, sn_jit_functions *out) {
  static role_fn *const roles[SN_JIT_ROLE_COUNT] = {[SN_JIT_STRIP] = emit_strip,
                                                    [SN_JIT_FOLD] = sn_jit_fold,
                                                    [SN_JIT_COLUMNS] = emit_columns,
                                                    [SN_JIT_ROWS] = sn_jit_rows};
  for (int role = 0; role < SN_JIT_ROLE_COUNT; role++) {
    out->of[role] = SN_NONE;
    if (!has_role(kernel, (sn_jit_role)role)) continue;
    sn_arena scratch;
    sn_arena_init(&scratch, start->w->arena->env);
    sn_jit j = *start;
    j.arena = &scratch;
    j.kernel = kernel;
    const sn_status status = roles[role](&j, &out->of[role]);
    sn_arena_free(&scratch);
    SN_TRY(status);
    SN_TRY(start->w->status);
  }
  return SN_OK;
}

/* What a kernel's functions are emitted with, and all of them share. */
static sn_status begin_kernels(sn_jit *start, const sn_kernel *kernels, size_t n) {
  sn_arena *arena = start->w->arena;
  size_t n_values = 0;
  for (size_t i = 0; i < n; i++) {
    const sn_kernel *part;
    for (uint32_t p = 0; (part = sn_kernel_part(&kernels[i], p)); p++) {
      const size_t values = sn_jit_count_values(part->group);
      if (values > n_values) n_values = values;
    }
  }
  sn_walk_bases *bases;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *bases, (void **)&bases));
  SN_TRY(sn_arena_alloc(arena, n_values, sizeof *bases->local, (void **)&bases->local));
  SN_TRY(sn_arena_alloc(arena, n_values, sizeof *bases->walk, (void **)&bases->walk));
  start->bases = bases;
  return sn_arena_alloc(arena, 1, sizeof *start->helpers, (void **)&start->helpers);
}

sn_status sn_jit_emit(sn_arena *arena, const sn_jit_target *target, const sn_kernel *kernels,
                      size_t n, sn_jit_module *out) {
  *out = (sn_jit_module){0};
  for (size_t i = 0; i < n; i++)
    for (uint32_t p = 0; sn_kernel_part(&kernels[i], p); p++) out->n_parts++;
  SN_TRY(sn_arena_alloc(arena, out->n_parts, sizeof *out->functions, (void **)&out->functions));
  sn_wasm w;
  sn_wasm_begin(&w, arena, target->shared_memory);
  sn_jit start = {.w = &w, .lanes = target->lanes};
  SN_TRY(begin_kernels(&start, kernels, n));
  sn_jit_functions *functions = out->functions;
  for (size_t i = 0; i < n; i++) {
    const sn_kernel *part;
    for (uint32_t p = 0; (part = sn_kernel_part(&kernels[i], p)); p++)
      SN_TRY(emit_kernel(&start, part, functions++));
  }
  SN_TRY(sn_wasm_finish(&w, &out->bytes, &out->n_bytes));
  out->n_functions = w.n_functions;
  return SN_OK;
}
