/* kernel_blocks.c - calls over rows of quantised blocks (quant_rows.h):
 *
 *   dequantize_blocks    1 stage    unit: some rows
 *   matmul_blocks        1 stage    unit: some rows of blocks, with the few rows of x of their matrix, which each
 *                                   worker quantises on its own;
 *                        2 stages   for more of them: unit: some rows of x, quantised into shared memory;
 *                                   then unit: some rows of blocks, with all rows of x of their matrix
 *   matmul_dequantized   1 stage    unit: a tile of a product (gemm.h) whose B is packed from blocks
 *
 * So in matmul_blocks each row of blocks comes from memory once, whatever the number of rows of x. For few of them it is
 * multiplied as it is read; for more of them four rows are unpacked at a time. Code made at run time does either where there
 * is some. */
#include "base/size.h"
#include "kernels/kernel.h"
#include "kernels/quant_rows.h"
#include "kernels/strided.h"

/* Products, or numbers, of a unit: enough to outweigh its dispatch. */
#define UNIT_WORK 32768
/* Rows of blocks that outweigh quantising x again. */
#define FEW_UNIT 32
/* Rows of x that are worth unpacking rows of blocks for; code made at run time is as fast with packed rows. */
#define LEAST_UNPACKED 4
#define LEAST_UNPACKED_FOR_CODE 12

static int64_t pieces(int64_t n, int64_t piece) { return (n + piece - 1) / piece; }

static bool is_product(const sn_group *g) { return g->call.op == SN_OP_matmul_blocks; }
static bool is_back(const sn_group *g) { return g->call.op == SN_OP_matmul_dequantized; }

/* Dimensions may have been merged: those are rows of x along which the rows of blocks are the same. */
static sn_blocks_shape shape_of(const sn_group *g) {
  const sn_call *call = &g->call;
  if (call->n_operands == 1)
    return (sn_blocks_shape){1, 0, sn_group_points(g), call->length, call->lengths[0]};
  const int64_t n = is_back(g) ? call->lengths[0] : call->length;
  const int64_t k = is_back(g) ? call->length : call->lengths[0];
  sn_blocks_shape s = {1, 1, n, k, n ? call->lengths[1] / n : 0};
  for (int i = 0; i < g->space_rank; i++)
    *(call->operands[1].strides[i] ? &s.batch : &s.rows) *= g->space[i];
  return s;
}

/* Rows, of each of which `work` is done, by fours. */
static int64_t rows_of_unit(int64_t work) {
  const int64_t rows = UNIT_WORK / (work + 1) / SN_QUANT_ROWS * SN_QUANT_ROWS;
  return rows > SN_QUANT_ROWS ? rows : SN_QUANT_ROWS;
}

/* Bytes of rows of q with so many floats for each part. */
static bool fits(int64_t rows, int64_t k, int64_t floats, size_t *q, size_t *all) {
  size_t numbers, scales;
  if (sn_size_mul_overflows((size_t)rows, (size_t)k, &numbers) ||
      sn_size_mul_overflows(numbers, sizeof(int16_t), q) || !sn_size_round_up(*q, 64, q) ||
      sn_size_mul_overflows(numbers / SN_PART, (size_t)floats * sizeof(float), &scales))
    return false;
  return !sn_size_add_overflows(*q, scales, all);
}

static sn_gemm_walk matrix_of(int64_t width, int64_t ws, int64_t k, int64_t ks) {
  return (sn_gemm_walk){.across = {.rank = 1, .dims = {width}, .strides = {ws}},
                        .along = {.rank = 1, .dims = {k}, .strides = {ks}}};
}

/* C(rows, k) = A(rows, n) B(n, k): what the blocks have along is across here. */
static sn_status plan_back(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const sn_group *g = kernel->group;
  const sn_blocks_shape *s = &kernel->blocks->shape;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *kernel->product, (void **)&kernel->product));
  sn_gemm *gemm = &kernel->product->gemm;
  *gemm = (sn_gemm){.dtype = SN_F32,
                    .m = s->rows,
                    .n = s->k,
                    .k = s->n,
                    .a = matrix_of(s->rows, s->n, s->n, 1),
                    .b = matrix_of(s->k, 1, s->n, s->k),
                    .costs = &machine->target->costs.product,
                    .blocks = {kernel->blocks->kernels, (sn_block_kind)*g->call.options, s->bytes}};
  kernel->gemm_run_time = machine->gemm;
  sn_gemm_plan(gemm, machine->gemm
                         ? &machine->gemm->ukr[SN_F32]
                         : sn_gemm_ukr_for(SN_F32, machine->isa, machine->target->deterministic));
  kernel->worker_bytes = gemm->scratch_bytes;
  kernel->n_stages = 1;
  kernel->stages[0] = (sn_stage){.units = s->batch * gemm->tasks};
  return SN_OK;
}

/* With relaxed SIMD an instruction multiplies bytes of either sign by ones of 7 bits, or on some machines of 8
 * (emit_blocks.c). */
static sn_quant_form form_of(sn_block_kind kind, const sn_machine *machine) {
  if (!machine->target->fused) return SN_QUANT_SHORTS;
  const bool fits =
      kind != SN_BLOCK_Q6_K && (kind != SN_BLOCK_Q8_0 || sn_gemm_exact_fours(machine->gemm));
  return fits ? SN_QUANT_BYTES : SN_QUANT_APART;
}

/* The worker's memory: x, then rows of blocks where those are unpacked. */
static bool plan_few(sn_kernel *kernel) {
  sn_blocks_plan *p = kernel->blocks;
  size_t *bytes = &kernel->worker_bytes, q, rows;
  if (!fits(p->shape.rows, p->shape.k, 2, &p->scales_offset, bytes) ||
      sn_size_add_overflows(*bytes, SN_QUANT_BEHIND_X, bytes) ||
      !sn_size_round_up(*bytes, 64, bytes))
    return false;
  p->unpacked_offset = *bytes;
  if (p->kernels->multiply) return true;
  if (!fits(SN_QUANT_ROWS, p->shape.k, 2, &q, &rows)) return false;
  p->unpacked_scales_offset = *bytes + q;
  return !sn_size_add_overflows(*bytes, rows, bytes);
}

/* x lies in memory that all share. */
static bool plan_many(sn_kernel *kernel) {
  sn_blocks_plan *p = kernel->blocks;
  const int64_t rows = p->shape.batch * p->shape.rows;
  kernel->n_stages = 2;
  kernel->stages[1].units = rows ? kernel->stages[0].units : 0;
  kernel->stages[0].units = pieces(rows, rows_of_unit(p->shape.k));
  if (!fits(SN_QUANT_ROWS, p->shape.k, 2, &p->unpacked_scales_offset, &kernel->worker_bytes) ||
      !fits(rows, p->shape.k, 2, &p->scales_offset, &kernel->shared_bytes) ||
      sn_size_add_overflows(kernel->shared_bytes, SN_QUANT_BEHIND_X, &kernel->shared_bytes) ||
      !sn_size_round_up(kernel->shared_bytes, 64, &kernel->shared_bytes))
    return false;
  p->bytes_offset = kernel->shared_bytes;
  return !p->tiles || !sn_size_add_overflows(kernel->shared_bytes, (size_t)(rows * p->shape.k),
                                             &kernel->shared_bytes);
}

static sn_status make(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const sn_group *g = kernel->group;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *kernel->blocks, (void **)&kernel->blocks));
  sn_blocks_plan *p = kernel->blocks;
  p->shape = shape_of(g);
  p->kernels = sn_quant_kernels_for(machine->isa);
  if (is_back(g)) return plan_back(arena, machine, kernel);
  const sn_blocks_shape *s = &p->shape;
  p->few = is_product(g) && s->rows < (machine->gemm ? LEAST_UNPACKED_FOR_CODE : LEAST_UNPACKED);
  p->form = form_of((sn_block_kind)*g->call.options, machine);
  p->tiles = is_product(g) && !p->few && machine->gemm && p->form == SN_QUANT_BYTES;
  p->unit = rows_of_unit(s->k * (s->rows > 1 ? s->rows : 1));
  if (p->few && p->unit < FEW_UNIT) p->unit = FEW_UNIT;
  kernel->n_stages = 1;
  kernel->stages[0] = (sn_stage){.units = s->batch * pieces(s->n, p->unit)};
  const bool small = !is_product(g) || (p->few ? plan_few(kernel) : plan_many(kernel));
  const int64_t of_x = p->few ? s->rows : s->batch * s->rows;
  p->totals_offset = p->scales_offset + (size_t)(of_x * (s->k / SN_PART)) * sizeof(float);
  SN_FAIL_IF(arena->env, !small, SN_ERR_MEMORY, sn_op_describe(g->call.op)->name,
             "rows are too long");
  return SN_OK;
}

static const void *operand(const sn_kernel_run *run, const sn_operand *o) {
  return (char *)run->values[o->value] + o->offset * (int64_t)sn_dtype_bytes(o->dtype);
}

/* x in shared memory or a worker's, from a row on. */
static sn_quant_x quantized(const sn_blocks_plan *p, char *memory, int64_t from, int64_t rows) {
  const int64_t parts = p->shape.k / SN_PART;
  return (sn_quant_x){.q = (int16_t *)(void *)memory + from * p->shape.k,
                      .scales = (float *)(void *)(memory + p->scales_offset) + from * parts,
                      .totals = (int32_t *)(void *)(memory + p->totals_offset) + from * parts,
                      .rows = rows};
}

/* In both forms, since a worker may not be able to call the code. */
static void quantize_units(const sn_kernel_run *run, int64_t begin, int64_t end) {
  const sn_blocks_plan *p = run->kernel->blocks;
  const sn_blocks_shape *s = &p->shape;
  const int64_t unit = rows_of_unit(s->k), all = s->batch * s->rows, parts = s->k / SN_PART;
  const int64_t last = end * unit < all ? end * unit : all;
  const float *x = operand(run, &run->kernel->group->call.operands[0]);
  sn_quant_x out = quantized(p, run->shared, 0, all);
  p->kernels->take(SN_QUANT_SHORTS, x, begin * unit * parts, last * parts, &out);
  if (!p->tiles) return;
  out.q = (int16_t *)(void *)((char *)run->shared + p->bytes_offset);
  p->kernels->take(p->form, x, begin * unit * parts, last * parts, &out);
}

static const uint8_t *rows_at(const sn_kernel_run *run, int64_t row) {
  const sn_group *g = run->kernel->group;
  const uint8_t *bytes = operand(run, &g->call.operands[is_product(g)]);
  return bytes + row * run->kernel->blocks->shape.bytes;
}

static float *result_of(const sn_kernel_run *run) {
  return (float *)(uintptr_t)operand(run, &run->kernel->group->stores[0].target);
}

/* Row `row` and the next ones, four of them, of which there are `width`: the last one again for those that are missing. */
static void find_rows(const sn_kernel_run *run, int64_t row, int64_t width, sn_quant_rows *w) {
  for (int64_t r = 0; r < SN_QUANT_ROWS; r++)
    w->rows[r] = rows_at(run, row + (r < width ? r : width - 1));
}

/* The few rows of x of a matrix, quantised into the worker's memory as `code` or the kernels read them. */
static sn_quant_x take_few(const sn_kernel_run *run, int64_t batch, const sn_code *code,
                           void *memory) {
  const sn_blocks_plan *p = run->kernel->blocks;
  const sn_call *call = &run->kernel->group->call;
  const int64_t parts = p->shape.rows * (p->shape.k / SN_PART);
  const float *x = (const float *)operand(run, &call->operands[0]) + batch * parts * SN_PART;
  const sn_quant_x out = quantized(p, memory, 0, p->shape.rows);
  p->kernels->take(code ? p->form : SN_QUANT_SHORTS, x, 0, parts, &out);
  return out;
}

/* Rows [row, row + n) of matrix `batch` times few rows of x. */
static void multiply_few(const sn_kernel_run *run, const sn_quant_x *x, const sn_code *code,
                         int64_t batch, int64_t row, int64_t n, sn_quant_rows *w) {
  const sn_blocks_plan *p = run->kernel->blocks;
  const sn_blocks_shape *s = &p->shape;
  float *out = result_of(run) + batch * s->rows * s->n + row;
  const int64_t first = batch * s->n + row, parts = s->k / SN_PART;
  if (!code) {
    for (int64_t r = 0; r < n; r += SN_QUANT_ROWS) {
      const int64_t width = n - r < SN_QUANT_ROWS ? n - r : SN_QUANT_ROWS;
      find_rows(run, first + r, width, w);
      if (!p->kernels->multiply) p->kernels->unpack(w);
      (p->kernels->multiply ? p->kernels->multiply : p->kernels->multiply_unpacked)(w, x, out + r,
                                                                                    s->n, width);
    }
    return;
  }
  const int64_t x_bytes = s->k * (p->form == SN_QUANT_BYTES ? 1 : 2);
  for (int64_t i = 0; i < s->rows; i++)
    code->blocks(rows_at(run, first), (int32_t)s->bytes, (int32_t)n,
                 (const int8_t *)x->q + i * x_bytes, x->scales + i * parts, x->totals + i * parts,
                 (int32_t)parts, out + i * s->n);
}

static void run_few(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory,
                    sn_quant_rows *w) {
  const sn_blocks_plan *p = run->kernel->blocks;
  const sn_code *code = sn_code_ready(&run->kernel->code);
  const int64_t per_matrix = pieces(p->shape.n, p->unit);
  if (code && !code->blocks) code = NULL;
  while (begin < end) {
    const int64_t batch = begin / per_matrix, unit = begin % per_matrix;
    const int64_t to = per_matrix - unit < end - begin ? per_matrix : unit + end - begin;
    const int64_t row = unit * p->unit,
                  last = to * p->unit < p->shape.n ? to * p->unit : p->shape.n;
    const sn_quant_x x = take_few(run, batch, code, memory);
    multiply_few(run, &x, code, batch, row, last - row, w);
    begin += to - unit;
  }
}

/* Four rows of blocks, unpacked, times all rows of x of matrix `batch`. */
static void multiply_tile(const sn_kernel_run *run, const sn_code *code, int64_t batch, float *out,
                          const sn_quant_rows *w) {
  const sn_blocks_plan *p = run->kernel->blocks;
  const sn_blocks_shape *s = &p->shape;
  const sn_quant_x x = quantized(p, run->shared, batch * s->rows, s->rows);
  const int8_t *bytes = (const int8_t *)run->shared + p->bytes_offset + batch * s->rows * s->k;
  p->kernels->unpack_bytes(w);
  code->tiles(w->q, w->scales, bytes, x.scales, x.totals, (int32_t)w->parts, (int32_t)s->rows, out,
              (int32_t)(s->n * (int64_t)sizeof *out));
}

/* Rows [row, row + width) of matrix `batch`, at most four: unpacked for all rows of x, or their numbers. */
static void run_rows(const sn_kernel_run *run, const sn_code *code, int64_t batch, int64_t row,
                     int64_t width, sn_quant_rows *w) {
  const sn_blocks_plan *p = run->kernel->blocks;
  const sn_blocks_shape *s = &p->shape;
  float *out = result_of(run);
  find_rows(run, batch * s->n + row, width, w);
  if (!is_product(run->kernel->group)) {
    for (int64_t r = 0; r < width; r++)
      p->kernels->numbers(w->kind, w->rows[r], w->parts, out + (row + r) * s->k);
    return;
  }
  out += batch * s->rows * s->n + row;
  if (code && width == SN_QUANT_ROWS) {
    multiply_tile(run, code, batch, out, w);
    return;
  }
  const sn_quant_x x = quantized(p, run->shared, batch * s->rows, s->rows);
  p->kernels->unpack(w);
  p->kernels->multiply_unpacked(w, &x, out, s->n, width);
}

static void run_back(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory) {
  const sn_kernel *kernel = run->kernel;
  const sn_call *call = &kernel->group->call;
  const sn_blocks_shape *s = &kernel->blocks->shape;
  const float *x = operand(run, &call->operands[0]);
  const uint8_t *bytes = operand(run, &call->operands[1]);
  float *out = (float *)(uintptr_t)operand(run, &kernel->group->stores[0].target);
  const sn_gemm_run_time *run_time = kernel->gemm_run_time;
  sn_gemm gemm = kernel->product->gemm;
  if (run_time && !run_time->ready(run_time->module)) gemm.ukr = sn_gemm_ukr_stand_in(gemm.ukr);
  for (int64_t u = begin; u < end; u++) {
    const int64_t batch = u / gemm.tasks;
    sn_gemm_tile_to(&gemm, x + batch * s->rows * s->n, bytes + batch * s->n * s->bytes,
                    out + batch * s->rows * s->k, (ptrdiff_t)s->k, u % gemm.tasks, NULL, memory);
  }
}

static void run_units(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory) {
  const sn_group *g = run->kernel->group;
  if (is_back(g)) {
    run_back(run, begin, end, memory);
    return;
  }
  const sn_blocks_plan *p = run->kernel->blocks;
  const int64_t per_matrix = pieces(p->shape.n, p->unit);
  if (is_product(g) && !p->few && run->stage == 0) {
    quantize_units(run, begin, end);
    return;
  }
  char *worker = memory;
  sn_quant_rows w = {.kind = (sn_block_kind)*g->call.options,
                     .parts = p->shape.k / SN_PART,
                     .q = (int16_t *)(void *)(worker + p->unpacked_offset),
                     .scales = (float *)(void *)(worker + p->unpacked_scales_offset)};
  if (p->few) {
    run_few(run, begin, end, memory, &w);
    return;
  }
  const sn_code *code = p->tiles ? sn_code_ready(&run->kernel->code) : NULL;
  if (code && !code->tiles) code = NULL;
  for (int64_t u = begin; u < end; u++) {
    const int64_t first = u % per_matrix * p->unit, left = p->shape.n - first;
    const int64_t last = first + (left < p->unit ? left : p->unit);
    for (int64_t row = first; row < last; row += SN_QUANT_ROWS)
      run_rows(run, code, u / per_matrix, row,
               last - row < SN_QUANT_ROWS ? last - row : SN_QUANT_ROWS, &w);
  }
}

const sn_kernel_kind sn_kernel_blocks = {NULL, make, run_units};
