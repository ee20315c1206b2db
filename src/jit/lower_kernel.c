#include "jit/lower_kernel.h"

#include "jit/body.h"

/* Limits of a row of outputs whose totals stay in registers: vectors, which is half of the registers, and nodes of the
 * unrolled code. */
enum { MOST_VECTORS = 8, MOST_NODES = 192 };
/* Most nodes of a point if two points are taken together. */
enum { MOST_OF_PAIR = 32 };

const char *const sn_jit_role_names[SN_JIT_ROLE_COUNT] = {"strip", "fold",   "columns",
                                                          "rows",  "blocks", "tiles"};

/* ---- strip ----------------------------------------------------------------------------------- */

/* The totals of a strip are contiguous in the parameter, whatever the space is. */
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

/* One walk along the outputs, which adds `points` reduced points to each: a section. Between two points
 * the total stays in a register. If pairs are taken and the number of points is odd, a single one goes first. */
typedef struct sweep {
  int points;
  uint32_t acc; /* leaf of the totals */
} sweep;

typedef struct columns {
  sn_jit *j;
  sweep sweeps[3];
  int n_sweeps;
  bool kept;                      /* the totals of a row of outputs stay in registers */
  uint32_t acc, first, n_outputs; /* parameters */
  uint32_t point, to_come, left;  /* locals: next reduced point, reduced points and outputs still to come */
} columns;

/* Describes a sweep; the totals walk along with the outputs. The first sweep reads no totals: they begin
 * with its first point, or in a bag with the identity plus that point (a sum must not begin as -0). */
static sn_status describe_sweep(columns *c, bool first, int points) {
  sn_jit *j = c->j;
  sn_walk *k = &j->walk;
  const sn_phase *phase = &j->kernel->group->row.phases[0];
  const sn_reduction *r = &phase->reductions[0];
  int64_t along[SN_MAX_RANK] = {0}, step = 1;
  for (int i = k->rank - 1; i >= j->kernel->group->reduced_rank; step *= k->dims[i--])
    along[i] = step;
  if (c->n_sweeps) sn_vecs_section(&k->lanes);
  const sn_walk_base base = {.kind = SN_BASE_PARAM, .number = c->acc, .follows = true, .level = 2};
  const uint32_t acc = sn_walk_leaf(k, r->dtype, base, 0, along);
  bool begun = !first || kernel_has_bags(j->kernel);
  const sn_vec none = sn_expand_const(&k->lanes, r->dtype, sn_reduce_identity(r->op, r->dtype));
  sn_vec_value total = first ? (sn_vec_value){{none, none}} : sn_walk_read(k, acc);
  for (j->ahead = 0; j->ahead < points; j->ahead++, begun = true) {
    SN_TRY(sn_jit_body(j, &phase->body, NULL));
    if (j->unable) return SN_OK;
    const sn_vec_value x = j->insns[r->insn];
    for (int h = 0; h < sn_vec_halves(r->dtype); h++)
      total.half[h] = begun
                          ? sn_expand_combine(&k->lanes, r->op, r->dtype, total.half[h], x.half[h])
                          : x.half[h];
  }
  j->ahead = 0;
  sn_walk_write(k, acc, &total);
  c->sweeps[c->n_sweeps++] = (sweep){points, acc};
  return k->status;
}

/* Nodes per vector of all that has been described so far. */
static uint32_t nodes_of(const sn_jit *j) {
  const sn_vecs *lanes = &j->walk.lanes;
  uint32_t n = 0;
  for (sn_vec i = 1; i < lanes->n_nodes; i++) n += lanes->nodes[i].level == 2;
  return n;
}

/* If a row of outputs is a few whole vectors, its totals stay in registers: from memory each reduced
 * point would have to wait for what the point before has just written. Returns how many vectors, or 0. */
static uint32_t vectors_of_row(const sn_jit *j) {
  const sn_group *g = j->kernel->group;
  const int64_t n = g->space[0];
  const int64_t vectors = n / 4 * sn_vec_halves(g->row.phases[0].reductions[0].dtype);
  if (g->space_rank != 1 || n % 4 || vectors > MOST_VECTORS) return 0;
  return n / 4 * nodes_of(j) > MOST_NODES ? 0 : (uint32_t)vectors;
}

static void keep_row(columns *c, uint32_t vectors) {
  c->kept = true;
  sn_leaf *leaves = c->j->walk.leaves;
  for (int i = 0; i < c->n_sweeps; i++) leaves[c->sweeps[i].acc].kind = SN_LEAF_REGISTERS;
  sn_walk_reserve(&c->j->walk, c->sweeps[0].acc, vectors);
  for (int i = 1; i < c->n_sweeps; i++)
    leaves[c->sweeps[i].acc].registers = leaves[c->sweeps[0].acc].registers;
}

/* Whether two points are taken together. Points of several reduced dims are not one stride apart, and
 * long bodies gain little. */
static bool takes_pairs(const sn_jit *j) {
  const sn_group *g = j->kernel->group;
  return g->reduced_rank == 1 && g->reduced[0] > 1 && nodes_of(j) <= MOST_OF_PAIR;
}

static void write_row(columns *c, uint32_t section) {
  sn_jit *j = c->j;
  const sn_group *g = j->kernel->group;
  sn_walk *k = &j->walk;
  if (!c->kept) {
    sn_emit_get(j->w, c->n_outputs);
    sn_emit_set(j->w, c->left);
    sn_walk_points(k, section, g->reduced_rank, c->left);
    return;
  }
  sn_walk_enter(k, section);
  for (int64_t i = 0; i < g->space[0] / 4; i++) sn_walk_copy(k, section, SN_COPY_FULL, (uint32_t)i);
}

/* Writes sweep n, which takes the next points from local `point` on and counts `to_come` down. */
static void write_sweep(columns *c, int n) {
  sn_walk *k = &c->j->walk;
  const int reduced = c->j->kernel->group->reduced_rank;
  sn_walk_locate(k, 0, reduced, c->point);
  sn_walk_locate(k, reduced, k->rank, c->first);
  sn_walk_point(k, (uint32_t)n);
  write_row(c, (uint32_t)n);
  sn_emit_add(k->w, c->point, c->sweeps[n].points);
  sn_emit_add(k->w, c->to_come, -c->sweeps[n].points);
}

static sn_status emit_columns(sn_jit *j, uint32_t *number) {
  enum { VALUES, MEMORY, ACC, FIRST, N_OUTPUTS, FROM, TO, N_PARAMS };
  const sn_group *g = j->kernel->group;
  sn_walk *k = &j->walk;
  sn_wasm *w = j->w;
  int pick[SN_MAX_RANK];
  int64_t dims[SN_MAX_RANK];
  /* if rows have bags, the outputs of a call are the points of one row: dim 0 of the space is not walked */
  const int reduced = g->reduced_rank, skipped = kernel_has_bags(j->kernel);
  const int rank = g->space_rank - skipped + reduced;
  for (int i = 0; i < rank; i++) {
    pick[i] = i < reduced ? g->space_rank + i : i - reduced + skipped;
    dims[i] = i < reduced ? g->reduced[i] : g->space[i - reduced + skipped];
  }
  SN_TRY(sn_jit_nest(j, rank, pick, dims));
  columns c = {.j = j, .acc = ACC, .first = FIRST, .n_outputs = N_OUTPUTS};
  SN_TRY(describe_sweep(&c, true, 1));
  if (j->unable) return SN_OK;
  const uint32_t vectors = vectors_of_row(j);
  const bool pairs = !vectors && takes_pairs(j);
  if (pairs) SN_TRY(describe_sweep(&c, true, 2));
  SN_TRY(describe_sweep(&c, false, pairs ? 2 : 1));
  sn_wasm_function(w, N_PARAMS);
  k->values = VALUES;
  SN_TRY(sn_walk_start(k));
  c.point = sn_wasm_local(w, SN_WASM_TYPE_I32);
  c.to_come = sn_wasm_local(w, SN_WASM_TYPE_I32);
  c.left = sn_wasm_local(w, SN_WASM_TYPE_I32);
  if (vectors) keep_row(&c, vectors);
  sn_emit_get(w, FROM);
  sn_emit_set(w, c.point);
  sn_emit_get(w, TO);
  sn_emit_get(w, FROM);
  sn_emit(w, SN_WASM_i32_sub);
  sn_emit_set(w, c.to_come);
  if (pairs) {
    sn_emit_get(w, c.to_come);
    sn_emit_i32(w, 1);
    sn_emit(w, SN_WASM_i32_and);
    sn_emit_block(w, SN_WASM_if);
  }
  write_sweep(&c, 0);
  if (pairs) {
    sn_emit(w, SN_WASM_else);
    write_sweep(&c, 1);
    sn_emit(w, SN_WASM_end);
  }
  sn_emit_while(w, c.to_come, 1);
  write_sweep(&c, c.n_sweeps - 1);
  sn_emit_repeat(w, c.to_come, 1);
  sn_walk_spill(k, c.sweeps[0].acc, vectors, ACC, 0);
  *number = sn_wasm_function_end(w);
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
  case SN_JIT_BLOCKS: return kernel->kind == &sn_kernel_blocks && kernel->blocks->few;
  case SN_JIT_TILES: return kernel->kind == &sn_kernel_blocks && kernel->blocks->tiles;
  case SN_JIT_ROLE_COUNT: break;
  }
  return false;
}

/* Emits all roles of a kernel. start: the state with which every role of every kernel begins. */
static sn_status emit_kernel(const sn_jit *start, const sn_kernel *kernel, sn_jit_functions *out) {
  static role_fn *const roles[SN_JIT_ROLE_COUNT] = {
      [SN_JIT_STRIP] = emit_strip, [SN_JIT_FOLD] = sn_jit_fold,     [SN_JIT_COLUMNS] = emit_columns,
      [SN_JIT_ROWS] = sn_jit_rows, [SN_JIT_BLOCKS] = sn_jit_blocks, [SN_JIT_TILES] = sn_jit_tiles};
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

/* Makes the state that all functions share: the table of bases and the helpers. */
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
