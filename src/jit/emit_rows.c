/* emit_rows.c - the rows role: takes each row through all phases and then post; each of them is a
 * section. Totals and kept values lie in the worker's memory, where the kernel's row plan puts them. */
#include "jit/body.h"

enum { VALUES, MEMORY, FIRST, N, LENGTH, N_PARAMS };

#define TOTAL_BYTES 16 /* distance between totals of the row in memory */

typedef struct rows {
  sn_jit *j;
  sn_jit_sum *sums; /* by total */
  uint32_t *kept;   /* per kept slot its leaf in the phase under way */
} rows;

static uint32_t total_offset(const sn_jit *j, uint32_t total) {
  return (uint32_t)j->kernel->row.totals_offset + TOTAL_BYTES * total;
}

/* Adds the leaves of the kept slots to the section. Bools are kept as masks of 32 bits, as in strips. */
static sn_status describe_kept(rows *r) {
  const sn_group *g = r->j->kernel->group;
  sn_walk *k = &r->j->walk;
  SN_TRY(sn_arena_alloc(r->j->arena, g->row.n_kept, sizeof *r->kept, (void **)&r->kept));
  for (uint32_t i = 0; i < g->row.n_kept; i++) {
    const sn_dtype dtype = sn_dtype_bytes(g->row.kept[i]) < 4 ? SN_I32 : g->row.kept[i];
    int64_t strides[SN_MAX_RANK] = {0};
    sn_jit_reduced_strides(r->j, strides);
    const sn_walk_base base = {
        .kind = SN_BASE_PARAM, .number = MEMORY, .follows = true, .level = 2};
    const size_t at = r->j->kernel->row.kept_offset[i];
    r->kept[i] = sn_walk_leaf(k, dtype, base, (int64_t)(at / sn_dtype_bytes(dtype)), strides);
  }
  return k->status;
}

static void describe_totals(sn_jit *j, const sn_phase *phase) {
  for (uint32_t i = 0; i < phase->n_reductions; i++) {
    const sn_dtype dtype = phase->reductions[i].dtype;
    const uint32_t total = phase->first_total + i;
    const sn_walk_base base = {.kind = SN_BASE_PARAM, .number = MEMORY, .level = 1};
    const int64_t at = total_offset(j, total) / (int64_t)sn_dtype_bytes(dtype);
    j->totals[total] =
        sn_walk_read(&j->walk, sn_walk_leaf(&j->walk, dtype, base, at, (int64_t[SN_MAX_RANK]){0}));
  }
}

static sn_status describe_phase(rows *r, const sn_phase *phase) {
  sn_jit *j = r->j;
  SN_TRY(describe_kept(r));
  SN_TRY(sn_jit_body(j, &phase->body, r->kept));
  if (j->unable) return SN_OK;
  for (uint32_t i = 0; i < phase->n_keeps; i++)
    sn_walk_write(&j->walk, r->kept[phase->keeps[i].slot], &j->insns[phase->keeps[i].insn]);
  sn_jit_stores(j, phase->stores, phase->n_stores);
  for (uint32_t i = 0; i < phase->n_reductions; i++) {
    const uint32_t total = phase->first_total + i;
    r->sums[total] =
        (sn_jit_sum){.reduction = &phase->reductions[i],
                     .memory = MEMORY,
                     .scratch = (uint32_t)(j->kernel->row.fold_offset + i * SN_FOLD_SCRATCH_BYTES),
                     .item = MEMORY,
                     .item_offset = total_offset(j, total)};
    if ((phase->reductions[i].dtype == SN_F64) != (phase->reductions[0].dtype == SN_F64))
      j->unable = true;
    sn_jit_sum_describe(j, &r->sums[total]);
  }
  sn_vecs_section(&j->walk.lanes);
  describe_totals(j, phase);
  return j->walk.status;
}

static sn_status describe(rows *r) {
  sn_jit *j = r->j;
  const sn_group *g = j->kernel->group;
  SN_TRY(sn_arena_alloc(j->arena, g->row.n_totals, sizeof *r->sums, (void **)&r->sums));
  for (uint32_t i = 0; i < g->row.n_phases && !j->unable; i++)
    SN_TRY(describe_phase(r, &g->row.phases[i]));
  if (j->unable) return SN_OK;
  j->once_per_run = true;
  SN_TRY(sn_jit_body(j, &g->post, NULL));
  if (j->unable) return SN_OK;
  sn_jit_stores(j, g->stores, g->n_stores);
  for (uint32_t i = 0; i < g->row.n_phases; i++)
    if (g->row.phases[i].n_reductions)
      sn_jit_sum_join(j, &r->sums[g->row.phases[i].first_total], g->row.phases[i].n_reductions);
  return j->walk.status;
}

static void write_phase(rows *r, uint32_t section, uint32_t left) {
  sn_jit *j = r->j;
  sn_walk *k = &j->walk;
  const sn_phase *phase = &j->kernel->group->row.phases[section];
  const int space_rank = j->kernel->group->space_rank;
  for (int i = space_rank; i < k->rank; i++) {
    sn_emit_i32(j->w, 0);
    sn_emit_set(j->w, k->index[i]);
  }
  sn_emit_get(j->w, LENGTH);
  sn_emit_set(j->w, left);
  sn_walk_point(k, section);
  sn_walk_enter(k, section);
  if (phase->n_reductions)
    sn_jit_sum_run(j, section, &r->sums[phase->first_total], phase->n_reductions, left);
  else
    sn_walk_points(k, section, space_rank, left);
}

static void write_row(rows *r, uint32_t row, uint32_t left) {
  sn_walk *k = &r->j->walk;
  const sn_group *g = r->j->kernel->group;
  sn_walk_locate(k, 0, g->space_rank, row);
  for (uint32_t i = 0; i < g->row.n_phases; i++) write_phase(r, i, left);
  sn_walk_point(k, g->row.n_phases);
  sn_walk_enter(k, g->row.n_phases);
  sn_walk_copy(k, g->row.n_phases, SN_COPY_ONE, 0);
}

sn_status sn_jit_rows(sn_jit *j, uint32_t *number) {
  const sn_group *g = j->kernel->group;
  rows r = {.j = j};
  SN_TRY(sn_jit_space_then_reduced(j));
  SN_TRY(describe(&r));
  if (j->unable) return SN_OK;
  for (uint32_t i = 0; i < g->row.n_totals; i++) SN_TRY(sn_jit_sum_helpers(j, r.sums[i].reduction));
  sn_wasm *w = j->w;
  sn_wasm_function(w, N_PARAMS);
  j->walk.values = VALUES;
  j->walk.unit = g->limited ? SN_COLUMN_UNIT : j->kernel->row.length;
  SN_TRY(sn_walk_start(&j->walk));
  const uint32_t left = sn_wasm_local(w, SN_WASM_TYPE_I32);
  sn_emit_while(w, N, 1);
  write_row(&r, FIRST, left);
  sn_emit_add(w, FIRST, 1);
  sn_emit_add(w, N, -1);
  sn_emit_repeat(w, N, 1);
  *number = sn_wasm_function_end(w);
  return SN_OK;
}
