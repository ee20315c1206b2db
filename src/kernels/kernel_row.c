/* kernel_row.c - row groups: every row goes through all phases while it is in the first-level
 * cache.
 *
 *   for each row of the unit
 *     for each phase
 *       enter the row with its totals: values that are the same along it are computed once
 *       for each strip of the row: body, stores; its reduced values fold into the totals
 *   post, once for all rows of the unit, over the strips of their totals
 *
 *   memory of a worker:
 *     post strips | strips of each phase | per total: fold | per total: strip | kept rows
 *
 * A row has at most as many points as a block of fold.h, so a total is the item of one block. */
#include <string.h>

#include "fuse/row.h"
#include "kernels/kernel.h"

/* Work of a unit, in points: enough to outweigh its dispatch. */
#define UNIT_POINTS 8192

static void plan_rows(sn_kernel *kernel) {
  sn_row_plan *p = &kernel->row;
  const sn_group *g = kernel->group;
  p->rows = sn_group_points(g);
  p->length = sn_group_reduced_points(g);
  p->unit = p->length ? UNIT_POINTS / p->length + 1 : SN_STRIP;
  if (p->unit > SN_STRIP) p->unit = SN_STRIP;
  kernel->n_stages = 1;
  kernel->stages[0] = (sn_stage){.units = (p->rows + p->unit - 1) / p->unit};
}

static sn_status assemble_phases(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const sn_strips *strips = sn_strips_for(machine->isa, machine->target->fused);
  const sn_group *g = kernel->group;
  sn_vm_nest nest = {.per_row = true, .outer_rank = g->space_rank, .rank = g->reduced_rank};
  memcpy(nest.outer, g->space, sizeof nest.outer);
  memcpy(nest.dims, g->reduced, sizeof nest.dims);
  for (uint32_t i = 0; i < g->row.n_phases; i++) {
    const sn_phase *phase = &g->row.phases[i];
    const sn_vm_source source = {.body = &phase->body,
                                 .stores = phase->stores,
                                 .n_stores = phase->n_stores,
                                 .keeps = phase->keeps,
                                 .n_keeps = phase->n_keeps,
                                 .kept_dtypes = g->row.kept,
                                 .reductions = phase->reductions,
                                 .n_reductions = phase->n_reductions};
    SN_TRY(sn_vm_assemble(arena, machine, &source, &nest, &kernel->phases[i]));
    for (uint32_t k = 0; k < phase->n_reductions; k++) {
      const sn_reduction *r = &phase->reductions[k];
      kernel->row.folds[phase->first_total + k] = sn_fold_plan_for(strips, r->op, r->dtype);
    }
  }
  return SN_OK;
}

static size_t place(size_t *end, size_t bytes) {
  const size_t at = *end;
  *end = at + sn_align64(bytes);
  return at;
}

static sn_status make(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const sn_group *g = kernel->group;
  sn_row_plan *p = &kernel->row;
  SN_TRY(sn_arena_alloc(arena, g->row.n_totals, sizeof *p->folds, (void **)&p->folds));
  SN_TRY(sn_arena_alloc(arena, g->row.n_kept, sizeof *p->kept_offset, (void **)&p->kept_offset));
  SN_TRY(sn_kernel_make_post(arena, machine, kernel));
  SN_TRY(assemble_phases(arena, machine, kernel));
  plan_rows(kernel);
  size_t end = sn_align64(kernel->post.worker_bytes);
  for (uint32_t i = 0; i < g->row.n_phases; i++)
    kernel->phase_offset[i] = place(&end, kernel->phases[i].worker_bytes);
  p->fold_offset = place(&end, (size_t)g->row.n_totals * SN_FOLD_SCRATCH_BYTES);
  p->totals_offset = place(&end, (size_t)g->row.n_totals * SN_STRIP * sizeof(double));
  for (uint32_t i = 0; i < g->row.n_kept; i++)
    p->kept_offset[i] = place(&end, (size_t)p->length * sn_strip_bytes(g->row.kept[i]));
  kernel->worker_bytes = end;
  return SN_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct row_worker {
  const sn_kernel_run *run;
  const sn_kernel *k;
  char *memory;
  int64_t length;                    /* points of a row that count */
  const void *totals[SN_MAX_TOTALS]; /* of the row under way */
  char *kept[SN_MAX_KEPT];
} row_worker;

static char *total_strip(const row_worker *w, uint32_t total) {
  return w->memory + w->k->row.totals_offset + (size_t)total * SN_STRIP * sizeof(double);
}

static void run_phase(row_worker *w, uint32_t number, int64_t row) {
  const sn_kernel *k = w->k;
  const sn_phase *phase = &k->group->row.phases[number];
  const sn_vm_code *code = &k->phases[number];
  void *memory = w->memory + k->phase_offset[number];
  sn_block_fold folds[SN_MAX_TOTALS];
  for (uint32_t i = 0; i < phase->n_reductions; i++)
    sn_block_begin(&folds[i], &k->row.folds[phase->first_total + i],
                   w->memory + k->row.fold_offset + i * SN_FOLD_SCRATCH_BYTES);
  sn_vm_enter(code, memory, w->run->values, row, w->totals);
  for (int64_t at = 0; at < w->length; at += SN_STRIP) {
    const int64_t left = w->length - at, n = left < SN_STRIP ? left : SN_STRIP;
    sn_vm_strip(code, memory, w->run->values, at, n, &(sn_vm_inputs){.kept = w->kept});
    for (uint32_t i = 0; i < phase->n_reductions; i++)
      sn_block_strip(&folds[i], sn_vm_slot(memory, phase->reductions[i].insn), n);
  }
  for (uint32_t i = 0; i < phase->n_reductions; i++)
    sn_block_end(&folds[i], (void *)(uintptr_t)w->totals[phase->first_total + i]);
}

/* Rows [first, first + n), n <= SN_STRIP. */
static void run_rows(row_worker *w, int64_t first, int64_t n) {
  const sn_group *g = w->k->group;
  for (int64_t r = 0; r < n; r++) {
    for (uint32_t i = 0; i < g->row.n_totals; i++)
      w->totals[i] = total_strip(w, i) + (size_t)r * w->k->row.folds[i].item_bytes;
    for (uint32_t i = 0; i < g->row.n_phases; i++) run_phase(w, i, first + r);
  }
  if (!g->n_stores) return;
  for (uint32_t i = 0; i < g->row.n_totals; i++) w->totals[i] = total_strip(w, i);
  sn_vm_strip(&w->k->post, w->memory, w->run->values, first, n,
              &(sn_vm_inputs){.totals = w->totals});
}

static void run_units(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory) {
  const sn_kernel *k = run->kernel;
  const sn_code *code = sn_code_ready(&k->code);
  const int64_t length = k->group->limited ? run->columns.to : k->row.length;
  if (code && code->rows) {
    const int64_t first = begin * k->row.unit, last = end * k->row.unit;
    code->rows(run->values, memory, (int32_t)first,
               (int32_t)((last < k->row.rows ? last : k->row.rows) - first), (int32_t)length);
    return;
  }
  row_worker w = {.run = run, .k = k, .memory = memory, .length = length};
  for (uint32_t i = 0; i < k->group->row.n_kept; i++) w.kept[i] = w.memory + k->row.kept_offset[i];
  for (uint32_t i = 0; i < k->group->row.n_phases; i++)
    sn_vm_begin(&k->phases[i], w.memory + k->phase_offset[i], run->values);
  sn_vm_begin(&k->post, memory, run->values);
  for (int64_t u = begin; u < end; u++) {
    const int64_t first = u * k->row.unit, left = k->row.rows - first;
    run_rows(&w, first, left < k->row.unit ? left : k->row.unit);
  }
}

const sn_kernel_kind sn_kernel_row = {NULL, make, run_units};
