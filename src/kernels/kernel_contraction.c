/* kernel_contraction.c - a matrix product per point of the batch, its tiles handed to the post body
 * while in cache.
 *
 *   [unit = batch index * parts + part     packs a part of the operands that tiles share, or that are
 *                                          kept, before the other units]
 *   unit = batch index * tiles + tile     tile rows -> post strips (bias, activation, optimizer)
 *
 * In segments of k: tile sums lie in shared memory as [segment][batch][m][n] between the stages. */
#include <string.h>

#include "kernels/elements.h"
#include "kernels/kernel.h"
#include "kernels/pack.h"

/* Most rows of a result for which B is kept packed: that saves 1.25x at 16 rows, 1.05x at 256. */
enum { KEEP_ROWS = 256 };

/* Adds the stage that adds up the partials of segments: a unit is a strip of the space. */
static void add_stage(const sn_strips *strips, sn_kernel *kernel) {
  const int64_t points = sn_group_points(kernel->group);
  const size_t item = sn_dtype_bytes(kernel->product->gemm.dtype);
  kernel->add = strips->combine[SN_OP_sum][kernel->product->gemm.dtype];
  kernel->stages[kernel->n_stages++] = (sn_stage){.units = (points + SN_STRIP - 1) / SN_STRIP};
  kernel->shared_bytes = sn_align64((size_t)(kernel->product->gemm.segments * points) * item);
}

/* Whether the batch uses no matrix twice, so that packing each on its own repeats nothing. */
static bool all_differ(const sn_nest *batch) {
  for (int i = 0; i < batch->rank; i++)
    if (batch->dims[i] > 1 && !batch->strides[i]) return false;
  return true;
}

static sn_gemm_walk walk_of(const sn_strips *strips, const sn_operand *f, sn_dtype total) {
  sn_gemm_walk walk = {.across = f->nests->of[SN_AXIS_ACROSS],
                       .along = f->nests->of[SN_AXIS_ALONG],
                       .bounds = f->nests->bounds};
  const sn_dtype wide = sn_dtype_wide(f->dtype);
  if (wide == f->dtype) return walk;
  walk.small = f->dtype;
  if (wide == SN_F32 && sn_pack_widens) return walk;
  walk.widen = sn_strips_cast(strips, f->dtype, wide);
  if (wide == SN_I32 && total == SN_F32) walk.to_float = sn_strips_cast(strips, wide, SN_F32);
  return walk;
}

/* The micro-kernel for bytes; NULL: they are multiplied as int32. */
static const sn_gemm_ukr *ukr_of_bytes(const sn_machine *machine, const sn_contraction *c) {
  const sn_gemm_run_time *made = machine->gemm;
  if (!made) return sn_gemm_ukr_for_bytes(machine->isa);
  const bool fits = c->factors[0].dtype == SN_U8 && c->factors[1].dtype == SN_I8;
  const sn_gemm_ukr *fours = fits ? sn_gemm_exact_fours(made) : NULL;
  return fours ? fours : &made->pairs;
}

static void plan_product(const sn_machine *machine, sn_kernel *kernel) {
  const sn_strips *strips = sn_strips_for(machine->isa, machine->target->fused);
  const sn_group *g = kernel->group;
  const sn_contraction *c = &g->contraction;
  const int r = g->space_rank;
  const int64_t whole_m = kernel->whole_m;
  const int64_t segments = /* a block of rows is not segmented */
      whole_m ? 1
              : sn_target_sum_segments(machine->target, sn_group_points(g), g->space[r - 2], c->k);
  sn_gemm *gemm = &kernel->product->gemm;
  *gemm = (sn_gemm){.dtype = c->total_dtype,
                    .m = g->space[r - 2],
                    .n = g->space[r - 1],
                    .k = c->k,
                    .segments = segments,
                    .whole_m = whole_m,
                    .costs = &machine->target->costs.product,
                    .a = walk_of(strips, &c->factors[0], c->total_dtype),
                    .b = walk_of(strips, &c->factors[1], c->total_dtype)};
  kernel->product->batch_a = c->factors[0].nests->of[SN_AXIS_BATCH];
  kernel->product->batch_b = c->factors[1].nests->of[SN_AXIS_BATCH];
  gemm->m *=
      sn_nest_join_rows(&kernel->product->batch_a, &kernel->product->batch_b, &gemm->a.across);
  const sn_gemm_run_time *run_time = machine->gemm;
  kernel->gemm_run_time = run_time;
  const sn_gemm_ukr *ukr =
      run_time ? &run_time->ukr[gemm->dtype]
               : sn_gemm_ukr_for(gemm->dtype, machine->isa, machine->target->deterministic);
  const bool bytes = gemm->dtype == SN_I32 && gemm->a.small && !whole_m && !g->limited;
  const sn_gemm_ukr *of_bytes = bytes ? ukr_of_bytes(machine, c) : NULL;
  if (of_bytes) {
    gemm->of_bytes = c->k;
    ukr = of_bytes;
  }
  if (whole_m > gemm->m)
    gemm->sharing = SN_GEMM_SHARES_B;
  else if (!whole_m && all_differ(&kernel->product->batch_a) &&
           all_differ(&kernel->product->batch_b))
    gemm->sharing = SN_GEMM_SHARES_OPERANDS;
  sn_gemm_plan(gemm, ukr);
  const int64_t batch = sn_nest_size(&kernel->product->batch_a);
  kernel->shared_bytes = gemm->shared_bytes * (size_t)batch; /* about as large as the operands */
  kernel->packed.wanted =
      batch == 1 && !whole_m && gemm->m <= KEEP_ROWS && sn_gemm_side_b(gemm)->units;
  if (kernel->packed.wanted || gemm->pack_units)
    kernel->stages[kernel->n_stages++].units = batch * gemm->pack_units;
  kernel->stages[kernel->n_stages++].units = batch * gemm->tasks;
  kernel->scratch_offset =
      sn_align64(kernel->post.worker_bytes); /* the product's scratch lies behind the strips */
  kernel->worker_bytes = kernel->scratch_offset + gemm->scratch_bytes;
  if (gemm->tasks && gemm->segments > 1) add_stage(strips, kernel);
}

static sn_status split(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  (void)machine;
  const sn_group *prologue = sn_group_prologue(kernel->group);
  if (!prologue) return SN_OK;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *kernel->prologue, (void **)&kernel->prologue));
  kernel->prologue->group = prologue;
  return SN_OK;
}

static sn_status make(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  SN_TRY(sn_kernel_make_post(arena, machine, kernel));
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *kernel->product, (void **)&kernel->product));
  plan_product(machine, kernel);
  const sn_kernel *prologue = kernel->prologue;
  if (prologue && prologue->worker_bytes > kernel->worker_bytes)
    kernel->worker_bytes = prologue->worker_bytes;
  return SN_OK;
}

typedef struct tile_context {
  const sn_kernel_run *run;
  int64_t first; /* flat index of this matrix's first element in the space */
  const sn_code *code;
} tile_context;

/* Moves the rows of a tile together, without the gaps between them. */
static void close_gaps(char *tile, int64_t rows, size_t row_bytes, size_t ld_bytes) {
  for (int64_t i = 1; i < rows && ld_bytes != row_bytes; i++)
    memmove(tile + (size_t)i * row_bytes, tile + (size_t)i * ld_bytes, row_bytes);
}

static void finish_tile(void *user, void *memory, int64_t row, int64_t col, int64_t rows,
                        int64_t cols, void *tile, ptrdiff_t ld) {
  const tile_context *t = user;
  const sn_kernel *k = t->run->kernel;
  const size_t item = sn_dtype_bytes(k->product->gemm.dtype);
  if (cols == k->product->gemm.n) { /* whole rows are one piece of the space: longer strips */
    close_gaps(tile, rows, (size_t)cols * item, (size_t)ld * item);
    cols *= rows;
    rows = 1;
  }
  for (int64_t i = 0; i < rows; i++) {
    const char *from = (const char *)tile + (size_t)(i * ld) * item;
    const int64_t flat = t->first + (row + i) * k->product->gemm.n + col;
    if (t->code) {
      t->code->strip(t->run->values, memory, from, (int32_t)flat, (int32_t)cols);
      continue;
    }
    for (int64_t j = 0; j < cols; j += SN_STRIP) {
      const int64_t left = cols - j;
      const void *total = from + (size_t)j * item;
      sn_vm_strip(&k->post, memory, t->run->values, flat + j, left < SN_STRIP ? left : SN_STRIP,
                  &(sn_vm_inputs){.totals = &total});
    }
  }
}

/* Whether the result goes to memory unchanged, without strips in between. */
static bool is_plain(const sn_kernel *k) {
  return k->group->n_stores == 1 && k->post.n_ops == 0 && k->post.n_loads == 0 &&
         k->post.stores[0].access == SN_ACCESS_LINEAR;
}

static const char *matrix(const sn_kernel_run *run, const sn_operand *f, const sn_nest_place *at) {
  return sn_element(run->values[f->value], f->offset + at->offset, sn_dtype_bytes(f->dtype));
}

/* The product of one matrix of the batch, with bounds for marks that count from where the matrix begins. */
static const sn_gemm *in_batch(const sn_gemm *g, sn_gemm *copy, int64_t mark_a, int64_t mark_b) {
  if (!mark_a && !mark_b) return g;
  *copy = *g;
  sn_bounds *a = g->swapped ? &copy->right.walk.bounds : &copy->left.walk.bounds;
  sn_bounds *b = g->swapped ? &copy->left.walk.bounds : &copy->right.walk.bounds;
  a->low = copy->a.bounds.low + mark_a;
  a->high = copy->a.bounds.high - mark_a;
  b->low = copy->b.bounds.low + mark_b;
  b->high = copy->b.bounds.high - mark_b;
  return copy;
}

/* Adds up the partials of one strip in order of k, and runs the post body on them. */
static void finish_strip(const sn_kernel_run *run, const sn_code *code, int64_t unit,
                         void *memory) {
  const sn_kernel *k = run->kernel;
  const int64_t points = sn_group_points(k->group), flat = unit * SN_STRIP, left = points - flat;
  const int64_t n = left < SN_STRIP ? left : SN_STRIP;
  const size_t item = sn_dtype_bytes(k->product->gemm.dtype);
  char *sums = (char *)run->shared + (size_t)flat * item;
  for (int64_t s = 1; s < k->product->gemm.segments; s++) {
    const char *more = sums + (size_t)(s * points) * item;
    k->add(sums, sums, more, more, n, false);
  }
  const void *total = sums;
  if (code)
    code->strip(run->values, memory, total, (int32_t)flat, (int32_t)n);
  else
    sn_vm_strip(&k->post, memory, run->values, flat, n, &(sn_vm_inputs){.totals = &total});
}

static void pack_units(const sn_kernel_run *run, int64_t begin, int64_t end) {
  const sn_kernel *k = run->kernel;
  const sn_gemm *gemm = &k->product->gemm;
  const sn_operand *factors = k->group->contraction.factors;
  for (int64_t u = begin; u < end; u++) {
    const int64_t batch = u / gemm->pack_units;
    const sn_nest_place a = sn_nest_seek(&k->product->batch_a, batch),
                        b = sn_nest_seek(&k->product->batch_b, batch);
    sn_gemm_pack(gemm, matrix(run, &factors[0], &a), matrix(run, &factors[1], &b),
                 u % gemm->pack_units, (char *)run->shared + (size_t)batch * gemm->shared_bytes);
  }
}

static void run_units(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory) {
  const sn_kernel *k = run->kernel;
  const sn_group *g = k->group;
  const sn_gemm_run_time *run_time = k->gemm_run_time;
  const sn_gemm *whole = &k->product->gemm;
  const bool segments = whole->segments > 1, partial = segments && run->stage == 0;
  const bool finishing = segments && run->stage == 1;
  if (!segments && run->stage + 1 < k->n_stages) {
    pack_units(run, begin, end);
    return;
  }
  const bool fallback = run_time && !run_time->ready(run_time->module);
  sn_gemm own, copy;
  if (fallback || g->limited) {
    own = k->product->gemm;
    whole = &own;
  }
  if (fallback) own.ukr = sn_gemm_ukr_fallback(k->product->gemm.ukr);
  if (g->limited) {
    sn_gemm_limit(&own, g->limited == SN_LIMITED_TERMS, run->columns.from, run->columns.to);
    end = own.tasks;
  }
  void *scratch = (char *)memory + k->scratch_offset;
  const bool plain = partial || (is_plain(k) && !finishing);
  const sn_code *code = plain ? NULL : sn_code_ready(&k->code);
  if (code && !code->strip) code = NULL;
  if (!plain && !code) sn_vm_begin(&k->post, memory, run->values);
  for (int64_t u = begin; u < end; u++) {
    if (finishing) {
      finish_strip(run, code, u, memory);
      continue;
    }
    const int64_t batch = u / whole->tasks, task = u % whole->tasks;
    const sn_nest_place at_a = sn_nest_seek(&k->product->batch_a, batch);
    const sn_nest_place at_b = sn_nest_seek(&k->product->batch_b, batch);
    const sn_gemm *gemm = in_batch(whole, &copy, at_a.mark, at_b.mark);
    const char *a = matrix(run, &g->contraction.factors[0], &at_a);
    const char *b = matrix(run, &g->contraction.factors[1], &at_b);
    const char *shared = (const char *)run->shared + (size_t)batch * gemm->shared_bytes;
    tile_context t = {run, batch * gemm->m * gemm->n, code};
    if (partial) {
      const int64_t first = task / (gemm->tasks / gemm->segments) * sn_group_points(g) + t.first;
      sn_gemm_tile_to(gemm, a, b, (char *)run->shared + (size_t)first * sn_dtype_bytes(gemm->dtype),
                      (ptrdiff_t)gemm->n, task, NULL, scratch);
    } else if (plain) {
      const sn_operand *to = &k->post.stores[0].at;
      void *c = sn_element_mutable(run->values[to->value], to->offset + t.first,
                                   sn_dtype_bytes(gemm->dtype));
      sn_gemm_tile_to(gemm, a, b, c, (ptrdiff_t)gemm->n, task, shared, scratch);
    } else {
      sn_gemm_tile(gemm, a, b, task, shared, scratch, finish_tile, &t, memory);
    }
  }
}

const sn_kernel_kind sn_kernel_contraction = {split, make, run_units};
