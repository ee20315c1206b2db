/* kernel_blocks.c - calls over rows of quantised blocks (quant_rows.h):
 *
 *   dequantize_blocks    1 stage    unit: some rows
 *   matmul_blocks        2 stages   unit: some rows of x, quantised into shared memory;
 *                                   then unit: some rows of blocks, with all rows of x of their matrix
 *   matmul_dequantized   1 stage    unit: a tile of a product (gemm.h) whose B is packed from blocks
 *
 * So in matmul_blocks each row of blocks is read once, whatever the number of rows of x. For few of them it is multiplied
 * as it is read, for more of them four rows are unpacked at a time. */
#include "base/size.h"
#include "kernels/kernel.h"
#include "kernels/quant_rows.h"
#include "kernels/strided.h"

/* Products, or numbers, of a unit: enough to outweigh its dispatch. */
#define UNIT_WORK 32768
/* Rows of x that are worth unpacking rows of blocks for. */
#define LEAST_UNPACKED 4

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
  const sn_blocks_shape *s = &kernel->blocks.shape;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *kernel->product, (void **)&kernel->product));
  sn_gemm *gemm = &kernel->product->gemm;
  *gemm = (sn_gemm){.dtype = SN_F32,
                    .m = s->rows,
                    .n = s->k,
                    .k = s->n,
                    .a = matrix_of(s->rows, s->n, s->n, 1),
                    .b = matrix_of(s->k, 1, s->n, s->k),
                    .costs = &machine->target->costs.product,
                    .blocks = {kernel->blocks.kernels, (sn_block_kind)*g->call.options, s->bytes}};
  kernel->gemm_run_time = machine->gemm;
  sn_gemm_plan(gemm, machine->gemm
                         ? &machine->gemm->ukr[SN_F32]
                         : sn_gemm_ukr_for(SN_F32, machine->isa, machine->target->deterministic));
  kernel->worker_bytes = gemm->scratch_bytes;
  kernel->n_stages = 1;
  kernel->stages[0] = (sn_stage){.units = s->batch * gemm->tasks};
  return SN_OK;
}

static sn_status make(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const sn_group *g = kernel->group;
  sn_blocks_plan *p = &kernel->blocks;
  p->shape = shape_of(g);
  p->kernels = sn_quant_kernels_for(machine->isa);
  if (is_back(g)) return plan_back(arena, machine, kernel);
  const sn_blocks_shape *s = &p->shape;
  p->unit = rows_of_unit(s->k * (s->rows > 1 ? s->rows : 1));
  const int64_t units = s->batch * pieces(s->n, p->unit), rows = s->batch * s->rows;
  bool small = true;
  kernel->n_stages = 1;
  kernel->stages[0] = (sn_stage){.units = units};
  if (is_product(g)) {
    small = fits(SN_QUANT_ROWS, s->k, 2, &p->unpacked_offset, &kernel->worker_bytes) &&
            fits(rows, s->k, 2, &p->scales_offset, &kernel->shared_bytes) &&
            !sn_size_add_overflows(kernel->shared_bytes, SN_QUANT_BEHIND_X, &kernel->shared_bytes);
    p->totals_offset = p->scales_offset + (size_t)(rows * (s->k / SN_PART)) * sizeof(float);
    kernel->n_stages = 2;
    kernel->stages[0].units = pieces(rows, rows_of_unit(s->k));
    kernel->stages[1].units = rows ? units : 0;
  }
  SN_FAIL_IF(arena->env, !small, SN_ERR_MEMORY, sn_op_describe(g->call.op)->name,
             "rows are too long");
  return SN_OK;
}

static const void *operand(const sn_kernel_run *run, const sn_operand *o) {
  return (char *)run->values[o->value] + o->offset * (int64_t)sn_dtype_bytes(o->dtype);
}

/* x in shared memory, from a row on. */
static sn_quant_x quantized(const sn_kernel_run *run, int64_t from, int64_t rows) {
  const sn_blocks_plan *p = &run->kernel->blocks;
  const int64_t parts = p->shape.k / SN_PART;
  char *shared = run->shared;
  return (sn_quant_x){.q = (int16_t *)(void *)shared + from * p->shape.k,
                      .scales = (float *)(void *)(shared + p->scales_offset) + from * parts,
                      .totals = (int32_t *)(void *)(shared + p->totals_offset) + from * parts,
                      .rows = rows};
}

static void quantize_units(const sn_kernel_run *run, int64_t begin, int64_t end) {
  const sn_blocks_shape *s = &run->kernel->blocks.shape;
  const int64_t unit = rows_of_unit(s->k), all = s->batch * s->rows, parts = s->k / SN_PART;
  const int64_t last = end * unit < all ? end * unit : all;
  const sn_quant_x out = quantized(run, 0, all);
  run->kernel->blocks.kernels->take(operand(run, &run->kernel->group->call.operands[0]),
                                    begin * unit * parts, last * parts, &out);
}

/* Rows [row, row + width) of matrix `batch`. */
static void run_rows(const sn_kernel_run *run, int64_t batch, int64_t row, int64_t width,
                     sn_quant_rows *w) {
  const sn_group *g = run->kernel->group;
  const sn_blocks_shape *s = &run->kernel->blocks.shape;
  float *out = (float *)(uintptr_t)operand(run, &g->stores[0].target);
  const uint8_t *first = operand(run, &g->call.operands[is_product(g)]);
  for (int64_t r = 0; r < SN_QUANT_ROWS; r++) /* the last one again for those that are missing */
    w->rows[r] = first + (batch * s->n + row + (r < width ? r : width - 1)) * s->bytes;
  if (!is_product(g)) {
    for (int64_t r = 0; r < width; r++)
      run->kernel->blocks.kernels->numbers(w->kind, w->rows[r], w->parts, out + (row + r) * s->k);
    return;
  }
  const sn_quant_x x = quantized(run, batch * s->rows, s->rows);
  out += batch * s->rows * s->n + row;
  if (s->rows < LEAST_UNPACKED) {
    run->kernel->blocks.kernels->multiply(w, &x, out, s->n, width);
  } else {
    run->kernel->blocks.kernels->unpack(w);
    run->kernel->blocks.kernels->multiply_unpacked(w, &x, out, s->n, width);
  }
}

static void run_tiles(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory) {
  const sn_kernel *kernel = run->kernel;
  const sn_call *call = &kernel->group->call;
  const sn_blocks_shape *s = &kernel->blocks.shape;
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
    run_tiles(run, begin, end, memory);
    return;
  }
  const sn_blocks_plan *p = &run->kernel->blocks;
  const int64_t per_matrix = pieces(p->shape.n, p->unit);
  if (is_product(g) && run->stage == 0) {
    quantize_units(run, begin, end);
    return;
  }
  sn_quant_rows w = {.kind = (sn_block_kind)*g->call.options,
                     .parts = p->shape.k / SN_PART,
                     .q = memory,
                     .scales = (float *)(void *)((char *)memory + p->unpacked_offset)};
  for (int64_t u = begin; u < end; u++) {
    const int64_t first = u % per_matrix * p->unit, left = p->shape.n - first;
    const int64_t last = first + (left < p->unit ? left : p->unit);
    for (int64_t row = first; row < last; row += SN_QUANT_ROWS)
      run_rows(run, u / per_matrix, row, last - row < SN_QUANT_ROWS ? last - row : SN_QUANT_ROWS,
               &w);
  }
}

const sn_kernel_kind sn_kernel_blocks = {NULL, make, run_units};
