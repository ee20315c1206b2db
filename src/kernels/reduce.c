/* reduce.c - reductions of a pre body, in an order that follows from sizes alone.
 *
 * Rows: the reduced points of an output, flat, are cut into strips; each strip folds to one item
 * (strip.h) and items are combined in a binary counter: item 2i with 2i+1, pairs with pairs ... A
 * block is a power of two of strips, so blocks reduced apart and combined the same way give the
 * same tree:
 *
 *   strips  s0 s1 s2 s3 | s4 s5 s6 s7 | s8         block of 4 strips
 *              ((s0 s1)(s2 s3)) ((s4 s5)(s6 s7)) s8
 *
 * Short rows (length < SN_STRIP): a strip holds several whole rows, each folded by itself.
 * Columns: a strip of accumulators takes CHUNK reduced points one after the other; chunks are
 * combined in the same binary counter, whole strips at a time.
 */
#include <string.h>

#include "kernels/kernel.h"

#define ROW_BLOCK_STRIPS 64 /* a block of rows mode */
#define CHUNK 16            /* points a column accumulator takes in sequence */
#define COLUMN_BLOCK_CHUNKS 16
#define MAX_LEVELS 48 /* of the binary counter: 2^48 items */

static size_t align64(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

/* ---- planning -------------------------------------------------------------------------------- */

/* Columns when neighbouring outputs are adjacent in memory for some load and reduced points are
 * not. */
static sn_reduce_mode choose_mode(const sn_group *g) {
  const int s = g->space_rank, r = g->reduced_rank;
  if (s == 0 || r == 0 || g->space[s - 1] < 8) return SN_REDUCE_ROWS;
  int votes = 0;
  for (uint32_t i = 0; i < g->pre.n_operands; i++) {
    const sn_operand *o = &g->pre.operands[i];
    if (o->value == SN_NONE) continue;
    if (o->strides[s + r - 1] == 1)
      votes--;
    else if (o->strides[s - 1] == 1)
      votes++;
  }
  return votes > 0 ? SN_REDUCE_COLUMNS : SN_REDUCE_ROWS;
}

/* The pre body over the nest in the order it is walked: columns put the reduced points outside. */
static sn_status assemble_pre(sn_arena *arena, const sn_strips *strips, sn_kernel *kernel) {
  const sn_group *g = kernel->group;
  const int s = g->space_rank, r = g->reduced_rank, rank = s + r;
  int64_t dims[SN_MAX_RANK];
  int order[SN_MAX_RANK];
  const bool columns = kernel->reduce.mode == SN_REDUCE_COLUMNS;
  for (int i = 0; i < rank; i++) {
    order[i] = !columns ? i : i < r ? s + i : i - r;
    dims[i] = order[i] < s ? g->space[order[i]] : g->reduced[order[i] - s];
  }
  sn_body body = g->pre;
  SN_TRY(sn_arena_alloc(arena, body.n_operands, sizeof *body.operands, (void **)&body.operands));
  for (uint32_t k = 0; k < body.n_operands; k++) {
    body.operands[k] = g->pre.operands[k];
    for (int i = 0; i < rank; i++)
      body.operands[k].strides[i] = g->pre.operands[k].strides[order[i]];
  }
  return sn_vm_assemble(arena, strips, &body, NULL, 0, dims, rank, g->pre_result, &kernel->pre);
}

static void plan_blocks(sn_kernel *kernel) {
  sn_reduce_plan *p = &kernel->reduce;
  const bool rows = p->mode == SN_REDUCE_ROWS;
  const int64_t strips_out = (p->outputs + SN_STRIP - 1) / SN_STRIP;
  p->block = rows ? (int64_t)ROW_BLOCK_STRIPS * SN_STRIP : (int64_t)COLUMN_BLOCK_CHUNKS * CHUNK;
  p->blocks = 1;
  if (rows ? p->outputs < 64 : strips_out < 8) /* few outputs: split the reduced points too */
    p->blocks = (p->length + p->block - 1) / p->block;
  if (p->blocks < 2) p->blocks = 1;
  /* Enough outputs for a strip, or fewer when each is long: units small enough to share out. */
  p->unit = SN_STRIP;
  if (rows && p->length > SN_STRIP) p->unit = p->block / p->length + 1;
  if (p->unit > SN_STRIP) p->unit = SN_STRIP;
}

sn_status sn_reduce_make(sn_arena *arena, const sn_strips *strips, sn_kernel *kernel) {
  const sn_group *g = kernel->group;
  sn_reduce_plan *p = &kernel->reduce;
  *p = (sn_reduce_plan){.mode = choose_mode(g),
                        .outputs = sn_group_points(g),
                        .length = sn_group_reduced_points(g),
                        .dtype = g->head_dtype,
                        .fold = strips->fold[g->head_op][g->head_dtype],
                        .combine = strips->combine[g->head_op][g->head_dtype],
                        .identity = sn_reduce_identity(g->head_op, g->head_dtype),
                        .item_bytes = sn_strip_bytes(g->head_dtype)};
  SN_CHECK(arena->env, p->fold && p->combine);
  SN_TRY(assemble_pre(arena, strips, kernel));
  plan_blocks(kernel);
  const int64_t strips_out = (p->outputs + SN_STRIP - 1) / SN_STRIP;
  const bool rows = p->mode == SN_REDUCE_ROWS;
  if (p->blocks > 1) {
    kernel->n_stages = 2;
    kernel->stages[0].units = (rows ? p->outputs : strips_out) * p->blocks;
    kernel->stages[1].units = strips_out;
    p->unit = SN_STRIP;
    kernel->shared_bytes = (size_t)(p->outputs * p->blocks) * p->item_bytes;
  } else {
    kernel->n_stages = 1;
    kernel->stages[0].units = (p->outputs + p->unit - 1) / p->unit;
  }
  /* lane: post strips | pre strips | accumulators: result strip, chunk strip, counter */
  const size_t strip = SN_STRIP * p->item_bytes;
  kernel->pre_offset = align64(kernel->post.lane_bytes);
  p->accumulator_offset = kernel->pre_offset + align64(kernel->pre.lane_bytes);
  kernel->lane_bytes = p->accumulator_offset + strip * (2 + MAX_LEVELS);
  return SN_OK;
}

/* ---- the binary counter ---------------------------------------------------------------------- */

/* Strips of `width` items; level i holds the combination of 2^i pushed ones when bit i of count is
 * set. */
typedef struct counter {
  const sn_reduce_plan *plan;
  char *levels;
  int64_t width;
  uint64_t count;
} counter;

static char *level(const counter *c, int i) {
  return c->levels + (size_t)i * SN_STRIP * c->plan->item_bytes;
}

static void push(counter *c, const void *items) {
  const size_t bytes = (size_t)c->width * c->plan->item_bytes;
  int i = 0;
  const void *from = items;
  for (; c->count >> i & 1; i++) {
    c->plan->combine(level(c, i), level(c, i), from, from, c->width);
    from = level(c, i);
  }
  if (from != level(c, i)) memcpy(level(c, i), from, bytes);
  c->count++;
}

/* Everything pushed, combined with the identity, into out: a sum of nothing but -0 is +0 in any
 * order. */
static void finish(counter *c, void *out) {
  sn_strip_fill(c->plan->dtype, out, c->plan->identity, c->width);
  for (int i = 0; i < MAX_LEVELS; i++)
    if (c->count >> i & 1) c->plan->combine(out, level(c, i), out, out, c->width);
}

/* ---- reducing -------------------------------------------------------------------------------- */

typedef struct worker {
  const sn_kernel_run *run;
  const sn_kernel *k;
  const sn_reduce_plan *p;
  void *pre, *post;
  char *result, *chunk, *levels;
} worker;

static worker worker_in(const sn_kernel_run *run, void *lane) {
  const sn_kernel *k = run->kernel;
  const size_t strip = SN_STRIP * k->reduce.item_bytes;
  char *accumulators = (char *)lane + k->reduce.accumulator_offset;
  return (worker){.run = run,
                  .k = k,
                  .p = &k->reduce,
                  .pre = (char *)lane + k->pre_offset,
                  .post = lane,
                  .result = accumulators,
                  .chunk = accumulators + strip,
                  .levels = accumulators + 2 * strip};
}

static const void *pre_strip(const worker *w, int64_t flat, int64_t n) {
  return sn_vm_strip(&w->k->pre, w->pre, w->run->values, flat, n, NULL);
}

/* Points [from, to) of one output, rows mode, into one item. */
static void reduce_row(const worker *w, int64_t output, int64_t from, int64_t to, void *item) {
  counter c = {.plan = w->p, .levels = w->levels, .width = 1};
  for (int64_t i = from; i < to; i += SN_STRIP) {
    const int64_t n = to - i < SN_STRIP ? to - i : SN_STRIP;
    w->p->fold(w->chunk, pre_strip(w, output * w->p->length + i, n), n);
    push(&c, w->chunk);
  }
  finish(&c, item);
}

/* Outputs [first, first + n) of short rows: several rows a strip. */
static void reduce_short_rows(const worker *w, int64_t first, int64_t n, char *items) {
  const int64_t length = w->p->length, most = SN_STRIP / length;
  for (int64_t i = 0; i < n; i += most) {
    const int64_t rows = n - i < most ? n - i : most;
    const char *strip = pre_strip(w, (first + i) * length, rows * length);
    for (int64_t r = 0; r < rows; r++)
      w->p->fold(items + (size_t)(i + r) * w->p->item_bytes,
                 strip + (size_t)(r * length) * w->p->item_bytes, length);
  }
}

/* Points [from, to) of outputs [first, first + n), columns mode. */
static void reduce_columns(const worker *w, int64_t first, int64_t n, int64_t from, int64_t to,
                           void *items) {
  counter c = {.plan = w->p, .levels = w->levels, .width = n};
  for (int64_t i = from; i < to; i += CHUNK) {
    const int64_t end = to - i < CHUNK ? to : i + CHUNK;
    memcpy(w->chunk, pre_strip(w, i * w->p->outputs + first, n), (size_t)n * w->p->item_bytes);
    for (int64_t j = i + 1; j < end; j++) {
      const void *strip = pre_strip(w, j * w->p->outputs + first, n);
      w->p->combine(w->chunk, w->chunk, strip, strip, n);
    }
    push(&c, w->chunk);
  }
  finish(&c, items);
}

static void reduce_outputs(const worker *w, int64_t first, int64_t n) {
  if (w->p->mode == SN_REDUCE_COLUMNS) {
    reduce_columns(w, first, n, 0, w->p->length, w->result);
  } else if (w->p->length > 0 && w->p->length <= SN_STRIP / 2) {
    reduce_short_rows(w, first, n, w->result);
  } else {
    for (int64_t i = 0; i < n; i++)
      reduce_row(w, first + i, 0, w->p->length, w->result + (size_t)i * w->p->item_bytes);
  }
}

/* Stage 1 of two: unit = (outputs, block); partials lie [block][output]. */
static void reduce_block(const worker *w, int64_t unit) {
  const sn_reduce_plan *p = w->p;
  const int64_t block = unit % p->blocks, which = unit / p->blocks;
  const int64_t from = block * p->block;
  const int64_t to = from + p->block < p->length ? from + p->block : p->length;
  if (p->mode == SN_REDUCE_ROWS) {
    reduce_row(w, which, from, to, w->result);
    memcpy((char *)w->run->shared + (size_t)(block * p->outputs + which) * p->item_bytes, w->result,
           p->item_bytes);
    return;
  }
  const int64_t first = which * SN_STRIP, left = p->outputs - first;
  const int64_t n = left < SN_STRIP ? left : SN_STRIP;
  reduce_columns(w, first, n, from, to, w->result);
  memcpy((char *)w->run->shared + (size_t)(block * p->outputs + first) * p->item_bytes, w->result,
         (size_t)n * p->item_bytes);
}

static void combine_blocks(const worker *w, int64_t first, int64_t n) {
  counter c = {.plan = w->p, .levels = w->levels, .width = n};
  for (int64_t block = 0; block < w->p->blocks; block++)
    push(&c,
         (const char *)w->run->shared + (size_t)(block * w->p->outputs + first) * w->p->item_bytes);
  finish(&c, w->result);
}

void sn_reduce_units(const sn_kernel_run *run, int64_t begin, int64_t end, void *lane) {
  const worker w = worker_in(run, lane);
  const bool partial = run->kernel->n_stages == 2 && run->stage == 0;
  const bool combining = run->kernel->n_stages == 2 && run->stage == 1;
  if (!combining) sn_vm_begin(&w.k->pre, w.pre, run->values);
  if (!partial) sn_vm_begin(&w.k->post, w.post, run->values);
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
    sn_vm_strip(&w.k->post, w.post, run->values, first, n, w.result);
  }
}
