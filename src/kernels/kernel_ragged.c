/* kernel_ragged.c - reductions in which each row of the result has a bag of the reduced points, whose
 * size is read from memory: a scatter's sums or bits, gathered. Rows are independent, and each takes its
 * points one after the other, so that any number of threads gives the bits of the scatter.
 *
 *   unit = some rows of the result, a strip at a time (of long rows a part, of short ones several)
 *     for each row i in the strip
 *       total = 0
 *       for e in [end[i - 1], end[i])
 *         total += body(e, part of the row)
 *     post
 *
 * The body runs over (reduced points, points of a row): its loads do not depend on the result's row. If
 * the body is only a load, points are added straight from memory; if post is only a store, the totals
 * are made where the result lies. */
#include <string.h>

#include "kernels/elements.h"
#include "kernels/kernel.h"
#include "kernels/strided.h"

/* Work of a unit, in points: enough to outweigh its dispatch. */
#define UNIT_POINTS 8192

/* Points of a row that code sums at once, straight into the result: a quarter of a first-level cache. */
#define DIRECT_POINTS 2048

/* Whether the operand's rows are contiguous in memory, elements as in strips, and each looked up at most once. */
static bool has_plain_rows(const sn_group *g, const sn_operand *o) {
  const bool looks_up = sn_is_indexed(o) && g->space_rank > 1 && o->indexing->index.strides[1];
  return o->value != SN_NONE && sn_strip_is_memory(o->dtype) && !looks_up && g->space_rank <= 2 &&
         (g->space_rank < 2 || o->strides[1] == 1);
}

static const sn_operand *plain_load(const sn_group *g) {
  const sn_body *body = &g->row.phases[0].body;
  const bool loads = body->n_insns == 1 && body->insns[0].kind == SN_INSN_LOAD;
  return loads && has_plain_rows(g, body->operands) ? body->operands : NULL;
}

static const sn_operand *direct_store(const sn_group *g) {
  const bool stores = g->post.n_insns == 1 && g->n_stores == 1;
  return stores && has_plain_rows(g, &g->stores[0].target) ? &g->stores[0].target : NULL;
}

static sn_status make(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const sn_group *g = kernel->group;
  const sn_reduction *r = &g->row.phases[0].reductions[0];
  sn_reduce_plan *p = &kernel->reduce;
  int order[SN_MAX_RANK];
  const bool bits = r->op == SN_OP_bitwise_or_reduce;
  SN_CHECK(arena->env, (r->op == SN_OP_sum || bits) && g->reduced_rank == 1);
  *p = (sn_reduce_plan){.mode = SN_REDUCE_RAGGED,
                        .outputs = sn_group_points(g),
                        .length = g->reduced[0],
                        .adds_memory = plain_load(g) != NULL,
                        .fold = sn_fold_plan_for(sn_strips_for(machine->isa, machine->target->fused), r->op, r->dtype)};
  SN_TRY(sn_kernel_make_post(arena, machine, kernel));
  for (int i = 0; i < g->space_rank; i++) order[i] = i ? i : g->space_rank;
  SN_TRY(sn_kernel_make_phase(arena, machine, kernel, order, g->space_rank));
  kernel->n_stages = 1;
  if (p->outputs) {
    const int64_t rows = g->space[0], row = p->outputs / rows;
    p->unit = UNIT_POINTS / (row * (1 + p->length / rows)) + 1;
    kernel->stages[0].units = (rows + p->unit - 1) / p->unit;
  }
  /* memory: post strips | phase's | totals */
  kernel->phase_offset[0] = sn_align64(kernel->post.worker_bytes);
  p->accumulator_offset = kernel->phase_offset[0] + sn_align64(kernel->phases[0].worker_bytes);
  kernel->worker_bytes = p->accumulator_offset + SN_STRIP * p->fold.item_bytes;
  return SN_OK;
}

typedef struct worker {
  const sn_kernel_run *run;
  const sn_kernel *k;
  const sn_code *code;      /* or NULL */
  const sn_operand *plain;  /* the load, if the body is only that; or NULL */
  const sn_operand *direct; /* the store, if post is only that; or NULL */
  void *pre, *post;
  char *totals;
  int64_t row; /* points of a row */
} worker;

/* ---- where rows lie -------------------------------------------------------------------------- */

/* The address of point `at` of a row; dim: the operand's dim that counts rows. */
static void *row_at(const worker *w, const sn_operand *o, int dim, int64_t row, int64_t at) {
  int64_t place = o->offset + row * o->strides[dim] + at;
  if (sn_is_indexed(o)) {
    const sn_indexing *i = o->indexing;
    const int32_t *indices = w->run->values[i->index.value];
    const int32_t index = indices[i->index.offset + row * i->index.strides[dim]];
    place += i->stride * sn_position(index, i->length);
  }
  return sn_element_mutable(w->run->values[o->value], place, sn_dtype_bytes(o->dtype));
}

/* Where a row's bag ends. The end comes from memory, so it is clamped to the points that exist. */
static int64_t end_of(const worker *w, int64_t row) {
  const sn_operand *o = w->k->group->row.ends;
  if (row < 0) return 0;
  const int64_t n = w->k->reduce.length;
  const int64_t end = ((const int32_t *)w->run->values[o->value])[o->offset + row * o->strides[0]];
  return end < 0 ? 0 : end > n ? n : end;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* The first point is added to 0, as it may be -0. */
#define DEFINE_SUM_ROWS(name, T, op)                                                             \
  static void set_row_##name(T *restrict to, const T *restrict x, int64_t n) {                   \
    for (int64_t i = 0; i < n; i++) to[i] = 0 op x[i];                                           \
  }                                                                                              \
                                                                                                 \
  static void add_row_##name(T *restrict to, const T *restrict x, int64_t n) {                   \
    for (int64_t i = 0; i < n; i++) to[i] = to[i] op x[i];                                       \
  }                                                                                              \
                                                                                                 \
  static void sum_rows_##name(const worker *w, int64_t from, int64_t end, int64_t at, int64_t n, \
                              void *to) {                                                        \
    const int dim = w->k->group->space_rank;                                                     \
    if (from < end)                                                                              \
      set_row_##name(to, row_at(w, w->plain, dim, from, at), n);                                 \
    else                                                                                         \
      memset(to, 0, (size_t)n * sizeof(T));                                                      \
    for (int64_t e = from + 1; e < end; e++)                                                     \
      add_row_##name(to, row_at(w, w->plain, dim, e, at), n);                                    \
  }

DEFINE_SUM_ROWS(f32, float, +)
DEFINE_SUM_ROWS(f64, double, +)
DEFINE_SUM_ROWS(i32, uint32_t, +)
DEFINE_SUM_ROWS(bits, uint32_t, |)

static void sum_plain(const worker *w, int64_t from, int64_t end, int64_t at, int64_t n, void *to) {
  const bool bits = w->k->group->row.phases[0].reductions[0].op == SN_OP_bitwise_or_reduce;
  switch (w->plain->dtype) {
  case SN_F32: sum_rows_f32(w, from, end, at, n, to); break;
  case SN_F64: sum_rows_f64(w, from, end, at, n, to); break;
  default: (bits ? sum_rows_bits : sum_rows_i32)(w, from, end, at, n, to); break;
  }
}

/* Sums the bag of a row for its points [at, at + n). */
static void sum_bag(const worker *w, int64_t row, int64_t at, int64_t n, void *to) {
  const sn_fold_plan *fold = &w->k->reduce.fold;
  const int64_t from = end_of(w, row - 1), end = end_of(w, row);
  if (w->plain) {
    sum_plain(w, from, end, at, n, to);
    return;
  }
  if (from < end && w->code && w->code->columns) {
    w->code->columns(w->run->values, w->pre, to, (int32_t)at, (int32_t)n, (int32_t)from,
                     (int32_t)end);
    return;
  }
  sn_strip_fill(fold->dtype, to, fold->identity, n);
  for (int64_t e = from; e < end; e++) {
    sn_vm_strip(&w->k->phases[0], w->pre, w->run->values, e * w->row + at, n, &(sn_vm_inputs){0});
    const void *x = sn_vm_slot(w->pre, w->k->group->row.phases[0].reductions[0].insn);
    fold->combine(to, to, x, x, n, false);
  }
}

/* Runs post for points [flat, flat + n) of the space, whose totals are complete. */
static void finish(const worker *w, int64_t flat, int64_t n) {
  const void *totals = w->totals;
  if (w->code && w->code->strip)
    w->code->strip(w->run->values, w->post, totals, (int32_t)flat, (int32_t)n);
  else
    sn_vm_strip(&w->k->post, w->post, w->run->values, flat, n, &(sn_vm_inputs){.totals = &totals});
}

/* Computes points [at, at + n) of some rows; if there are several, they are whole rows. */
static void run_strip(const worker *w, int64_t row, int64_t rows, int64_t at, int64_t n) {
  const int64_t bytes = (int64_t)w->k->reduce.fold.item_bytes;
  for (int64_t i = 0; i < rows; i++)
    sum_bag(w, row + i, at, n,
            w->direct ? row_at(w, w->direct, 0, row + i, at) : w->totals + i * n * bytes);
  if (!w->direct) finish(w, row * w->row + at, rows * n);
}

static void run_units(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory) {
  const sn_kernel *k = run->kernel;
  const sn_reduce_plan *p = &k->reduce;
  const worker w = {.run = run,
                    .k = k,
                    .code = sn_code_ready(&k->code),
                    .plain = plain_load(k->group),
                    .direct = direct_store(k->group),
                    .pre = (char *)memory + k->phase_offset[0],
                    .post = memory,
                    .totals = (char *)memory + p->accumulator_offset,
                    .row = p->outputs / k->group->space[0]};
  const int64_t end_row = end * p->unit, most = k->group->space[0];
  const int64_t last = end_row < most ? end_row : most;
  const bool coded = w.code && w.code->columns;
  const int64_t together = w.row < SN_STRIP ? SN_STRIP / w.row : 1;
  const int64_t piece = coded && w.direct ? DIRECT_POINTS : SN_STRIP;
  if (!w.plain && !coded) sn_vm_begin(&k->phases[0], w.pre, run->values);
  if (!w.direct && !(w.code && w.code->strip)) sn_vm_begin(&k->post, w.post, run->values);
  for (int64_t row = begin * p->unit; row < last; row += together) {
    const int64_t rows = last - row < together ? last - row : together;
    for (int64_t at = 0; at < w.row; at += piece)
      run_strip(&w, row, rows, at, w.row - at < piece ? w.row - at : piece);
  }
}

const sn_kernel_kind sn_kernel_ragged = {NULL, make, run_units};
