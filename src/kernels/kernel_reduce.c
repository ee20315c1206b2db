/* kernel_reduce.c - groups of one phase and one reduction.
 *
 * fold.h defines the order of a sum; this file decides how the work is cut.
 *
 * Rows: the reduced points of an output are adjacent. Short rows (at most half a strip): a strip holds
 * several whole rows, each folded by itself.
 * Columns: outputs are adjacent, and a strip of them is reduced at a time.
 * Few outputs: a unit reduces a share of the points of one output, or of a strip of columns. */
#include <string.h>

#include "kernels/kernel.h"

#define MAX_LEVELS 48 /* of the binary counter: 2^48 items */

/* ---- planning -------------------------------------------------------------------------------- */

/* Columns if more loads have neighbouring outputs adjacent in memory than have reduced points so. */
static sn_reduce_mode choose_mode(const sn_group *g) {
  const int s = g->space_rank, r = g->reduced_rank;
  if (s == 0 || r == 0 || g->space[s - 1] < 8) return SN_REDUCE_ROWS;
  int votes = 0;
  const sn_body *body = &g->row.phases[0].body;
  for (uint32_t i = 0; i < body->n_operands; i++) {
    const sn_operand *o = &body->operands[i];
    if (o->value == SN_NONE) continue;
    if (o->strides[s + r - 1] == 1)
      votes--;
    else if (o->strides[s - 1] == 1)
      votes++;
  }
  return votes > 0 ? SN_REDUCE_COLUMNS : SN_REDUCE_ROWS;
}

static void reorder_strides(const sn_operand *from, const int *order, int rank, sn_operand *to) {
  *to = *from;
  for (int i = 0; i < rank; i++) to->strides[i] = from->strides[order[i]];
}

/* The operand over dims in another order. */
static sn_status reorder(sn_arena *arena, const sn_operand *from, const int *order, int rank,
                         sn_operand *to) {
  reorder_strides(from, order, rank, to);
  if (!sn_is_indexed(from)) return SN_OK;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *to->indexing, (void **)&to->indexing));
  *to->indexing = *from->indexing;
  reorder_strides(&from->indexing->index, order, rank, &to->indexing->index);
  return SN_OK;
}

sn_status sn_kernel_make_phase(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel,
                               const int *order, int rank) {
  const sn_group *g = kernel->group;
  const int s = g->space_rank;
  sn_vm_nest nest = {.rank = rank};
  for (int i = 0; i < rank; i++)
    nest.dims[i] = order[i] < s ? g->space[order[i]] : g->reduced[order[i] - s];
  const sn_phase *phase = &g->row.phases[0];
  sn_body body = phase->body;
  SN_TRY(sn_arena_alloc(arena, body.n_operands, sizeof *body.operands, (void **)&body.operands));
  for (uint32_t k = 0; k < body.n_operands; k++)
    SN_TRY(reorder(arena, &phase->body.operands[k], order, rank, &body.operands[k]));
  const sn_vm_source source = {.body = &body, .reductions = phase->reductions, .n_reductions = 1};
  return sn_vm_assemble(arena, machine, &source, &nest, &kernel->phases[0]);
}

/* Assembles the body over the nest in the order of the walk: for columns, the reduced dims are outside. */
static sn_status assemble_pre(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const int s = kernel->group->space_rank, r = kernel->group->reduced_rank;
  const bool columns = kernel->reduce.mode == SN_REDUCE_COLUMNS;
  int order[SN_MAX_RANK];
  for (int i = 0; i < s + r; i++) order[i] = !columns ? i : i < r ? s + i : i - r;
  return sn_kernel_make_phase(arena, machine, kernel, order, s + r);
}

static void plan_blocks(sn_kernel *kernel) {
  sn_reduce_plan *p = &kernel->reduce;
  const bool rows = p->mode == SN_REDUCE_ROWS;
  const int64_t strips_out = (p->outputs + SN_STRIP - 1) / SN_STRIP;
  p->block = rows ? p->fold.order.share : p->fold.order.column_share;
  p->blocks = 1;
  if (rows ? p->outputs < 64 : strips_out < 8) /* few outputs: split the reduced points too */
    p->blocks = (p->length + p->block - 1) / p->block;
  if (p->blocks < 2) p->blocks = 1;
  /* a strip of outputs, or fewer if each is long, so that there are enough units for all workers */
  p->unit = SN_STRIP;
  if (rows && p->length > SN_STRIP) p->unit = p->block / p->length + 1;
  if (p->unit > SN_STRIP) p->unit = SN_STRIP;
}

static sn_status make(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const sn_group *g = kernel->group;
  const sn_reduction *r = &g->row.phases[0].reductions[0];
  sn_reduce_plan *p = &kernel->reduce;
  *p = (sn_reduce_plan){.mode = choose_mode(g),
                        .outputs = sn_group_points(g),
                        .length = sn_group_reduced_points(g),
                        .fold = sn_fold_plan_for(sn_strips_for(machine->isa, machine->target->fused), r->op, r->dtype)};
  SN_CHECK(arena->env, p->fold.fold && p->fold.combine);
  SN_TRY(sn_kernel_make_post(arena, machine, kernel));
  SN_TRY(assemble_pre(arena, machine, kernel));
  plan_blocks(kernel);
  const int64_t strips_out = (p->outputs + SN_STRIP - 1) / SN_STRIP;
  const bool rows = p->mode == SN_REDUCE_ROWS;
  if (p->blocks > 1) {
    kernel->n_stages = 2;
    kernel->stages[0].units = (rows ? p->outputs : strips_out) * p->blocks;
    kernel->stages[1].units = strips_out;
    p->unit = SN_STRIP;
    kernel->shared_bytes = (size_t)(p->outputs * p->blocks) * p->fold.item_bytes;
  } else {
    kernel->n_stages = 1;
    kernel->stages[0].units = (p->outputs + p->unit - 1) / p->unit;
  }
  /* memory: post strips | phase's | accumulators: result strip, chunk strip, fold, counter */
  const size_t strip = SN_STRIP * p->fold.item_bytes;
  kernel->phase_offset[0] = sn_align64(kernel->post.worker_bytes);
  p->accumulator_offset = kernel->phase_offset[0] + sn_align64(kernel->phases[0].worker_bytes);
  kernel->worker_bytes = p->accumulator_offset + strip * (2 + MAX_LEVELS) + SN_FOLD_SCRATCH_BYTES;
  return SN_OK;
}

/* ---- reducing -------------------------------------------------------------------------------- */

typedef struct worker {
  const sn_kernel_run *run;
  const sn_kernel *k;
  const sn_reduce_plan *p;
  const sn_code *code; /* or NULL */
  void *pre, *post;
  char *result, *chunk, *fold, *levels;
} worker;

static worker worker_in(const sn_kernel_run *run, void *memory) {
  const sn_kernel *k = run->kernel;
  const size_t strip = SN_STRIP * k->reduce.fold.item_bytes;
  char *accumulators = (char *)memory + k->reduce.accumulator_offset;
  return (worker){.run = run,
                  .k = k,
                  .p = &k->reduce,
                  .code = sn_code_ready(&k->code),
                  .pre = (char *)memory + k->phase_offset[0],
                  .post = memory,
                  .result = accumulators,
                  .chunk = accumulators + strip,
                  .fold = accumulators + 2 * strip,
                  .levels = accumulators + 2 * strip + SN_FOLD_SCRATCH_BYTES};
}

static const void *pre_strip(const worker *w, int64_t flat, int64_t n) {
  const sn_vm_code *phase = &w->k->phases[0];
  sn_vm_strip(phase, w->pre, w->run->values, flat, n, &(sn_vm_inputs){0});
  return sn_vm_slot(w->pre, w->k->group->row.phases[0].reductions[0].insn);
}

static sn_counter counter_of(const worker *w, int64_t width) {
  return (sn_counter){.plan = &w->p->fold,
                      .levels = w->levels,
                      .level_bytes = SN_STRIP * w->p->fold.item_bytes,
                      .width = width};
}

/* Reduces points [from, to) of the nest, at most a block, into one item. */
static void fold_block(const worker *w, int64_t from, int64_t to, void *item) {
  if (w->code && w->code->fold) {
    w->code->fold(w->run->values, w->fold, item, (int32_t)from, (int32_t)(to - from));
    return;
  }
  sn_block_fold f;
  sn_block_begin(&f, &w->p->fold, w->fold);
  for (int64_t i = from; i < to; i += SN_STRIP) {
    const int64_t n = to - i < SN_STRIP ? to - i : SN_STRIP;
    sn_block_strip(&f, pre_strip(w, i, n), n);
  }
  sn_block_end(&f, item);
}

/* Reduces points [from, to) of one output, in rows mode, into one item. */
static void reduce_row(const worker *w, int64_t output, int64_t from, int64_t to, void *item) {
  sn_counter c = counter_of(w, 1);
  const int64_t first = output * w->p->length, block = w->p->fold.order.block;
  for (int64_t i = from; i < to; i += block) {
    fold_block(w, first + i, first + (to - i < block ? to : i + block), w->chunk);
    sn_counter_push(&c, w->chunk);
  }
  sn_counter_finish(&c, item);
}

/* Reduces outputs [first, first + n) with short rows, several rows per strip. */
static void reduce_short_rows(const worker *w, int64_t first, int64_t n, char *items) {
  const int64_t length = w->p->length, most = SN_STRIP / length;
  const sn_fold_plan *p = &w->p->fold;
  for (int64_t i = 0; w->code && w->code->fold && i < n; i++)
    fold_block(w, (first + i) * length, (first + i + 1) * length,
               items + (size_t)i * p->item_bytes);
  if (w->code && w->code->fold) return;
  for (int64_t i = 0; i < n; i += most) {
    const int64_t rows = n - i < most ? n - i : most;
    const char *strip = pre_strip(w, (first + i) * length, rows * length);
    for (int64_t r = 0; r < rows; r++) {
      p->fold(w->fold, strip + (size_t)(r * length) * p->item_bytes, length);
      p->collapse(items + (size_t)(i + r) * p->item_bytes, w->fold);
    }
  }
}

/* chunk = points [from, to) of outputs [first, first + n), combined one after the other. */
static void combine_points(const worker *w, int64_t first, int64_t n, int64_t from, int64_t to) {
  if (w->code && w->code->columns) {
    w->code->columns(w->run->values, w->fold, w->chunk, (int32_t)first, (int32_t)n, (int32_t)from,
                     (int32_t)to);
    return;
  }
  memcpy(w->chunk, pre_strip(w, from * w->p->outputs + first, n),
         (size_t)n * w->p->fold.item_bytes);
  for (int64_t j = from + 1; j < to; j++) {
    const void *strip = pre_strip(w, j * w->p->outputs + first, n);
    w->p->fold.combine(w->chunk, w->chunk, strip, strip, n, false);
  }
}

/* Reduces points [from, to) of outputs [first, first + n), in columns mode. */
static void reduce_columns(const worker *w, int64_t first, int64_t n, int64_t from, int64_t to,
                           void *items) {
  sn_counter c = counter_of(w, n);
  const int64_t chunk = w->p->fold.order.chunk;
  for (int64_t i = from; i < to; i += chunk) {
    const int64_t end = to - i < chunk ? to : i + chunk;
    combine_points(w, first, n, i, end);
    sn_counter_push(&c, w->chunk);
  }
  sn_counter_finish(&c, items);
}

static void reduce_outputs(const worker *w, int64_t first, int64_t n) {
  if (w->p->mode == SN_REDUCE_COLUMNS) {
    reduce_columns(w, first, n, 0, w->p->length, w->result);
  } else if (w->p->length > 0 && w->p->length <= SN_STRIP / 2) {
    reduce_short_rows(w, first, n, w->result);
  } else {
    for (int64_t i = 0; i < n; i++)
      reduce_row(w, first + i, 0, w->p->length, w->result + (size_t)i * w->p->fold.item_bytes);
  }
}

/* The first of two stages: unit = (outputs, block); partials lie as [block][output]. */
static void reduce_block(const worker *w, int64_t unit) {
  const sn_reduce_plan *p = w->p;
  const int64_t block = unit % p->blocks, which = unit / p->blocks;
  const int64_t from = block * p->block;
  const int64_t to = from + p->block < p->length ? from + p->block : p->length;
  if (p->mode == SN_REDUCE_ROWS) {
    reduce_row(w, which, from, to, w->result);
    memcpy((char *)w->run->shared + (size_t)(block * p->outputs + which) * p->fold.item_bytes,
           w->result, p->fold.item_bytes);
    return;
  }
  const int64_t first = which * SN_STRIP, left = p->outputs - first;
  const int64_t n = left < SN_STRIP ? left : SN_STRIP;
  reduce_columns(w, first, n, from, to, w->result);
  memcpy((char *)w->run->shared + (size_t)(block * p->outputs + first) * p->fold.item_bytes,
         w->result, (size_t)n * p->fold.item_bytes);
}

static void combine_blocks(const worker *w, int64_t first, int64_t n) {
  sn_counter c = counter_of(w, n);
  for (int64_t block = 0; block < w->p->blocks; block++)
    sn_counter_push(&c, (const char *)w->run->shared +
                            (size_t)(block * w->p->outputs + first) * w->p->fold.item_bytes);
  sn_counter_finish(&c, w->result);
}

static void finish_outputs(const worker *w, int64_t first, int64_t n) {
  const void *total = w->result;
  if (w->code && w->code->strip)
    w->code->strip(w->run->values, w->post, total, (int32_t)first, (int32_t)n);
  else
    sn_vm_strip(&w->k->post, w->post, w->run->values, first, n, &(sn_vm_inputs){.totals = &total});
}

static void run_units(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory) {
  const worker w = worker_in(run, memory);
  const bool partial = run->kernel->n_stages == 2 && run->stage == 0;
  const bool combining = run->kernel->n_stages == 2 && run->stage == 1;
  const bool folds =
      w.code && (w.p->mode == SN_REDUCE_ROWS ? w.code->fold != NULL : w.code->columns != NULL);
  if (!combining && !folds) sn_vm_begin(&w.k->phases[0], w.pre, run->values);
  if (!partial && !(w.code && w.code->strip)) sn_vm_begin(&w.k->post, w.post, run->values);
  for (int64_t u = begin; u < end; u++) {
    if (partial) {
      reduce_block(&w, u);
      continue;
    }
    const int64_t first = u * w.p->unit, left = w.p->outputs - first;
    const int64_t n = left < w.p->unit ? left : w.p->unit;
    if (combining)
      combine_blocks(&w, first, n);
    else
      reduce_outputs(&w, first, n);
    finish_outputs(&w, first, n);
  }
}

const sn_kernel_kind sn_kernel_reduce = {NULL, make, run_units};
