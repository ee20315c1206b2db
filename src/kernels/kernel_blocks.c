/* kernel_blocks.c - calls over rows of quantised blocks (quant_rows.h):
 *
 *   dequantize_blocks    1 stage    unit: some rows
 *   matmul_blocks        2 stages   unit: some rows of x, quantised into shared memory;
 *                                   then unit: some rows of blocks, with all rows of x of their matrix
 *   matmul_dequantized   1 stage    unit: a tile of a product (gemm.h) whose B is packed from blocks
 *
 * So in matmul_blocks each row of blocks comes from memory once, whatever the number of rows of x. For few of them it is
 * multiplied as it is read; for more of them some rows are unpacked at a time, a tile. Code made at run time does either where
 * there is some. */
#include "base/size.h"
#include "kernels/kernel.h"
#include "kernels/quant_rows.h"
#include "kernels/strided.h"

/* Products, or numbers, of a unit: enough to outweigh its dispatch. */
#define UNIT_WORK 32768
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

/* Rows of a unit that does `work` for each of them: whole tiles. */
static int64_t rows_of_unit(const sn_blocks_plan *p, int64_t work) {
  const int64_t tile = p->kernels->rows, rows = UNIT_WORK / (work + 1) / tile * tile;
  return rows > tile ? rows : tile;
}

/* Bytes of rows of k quantised numbers, and of all with so many floats for each part behind them. */
static bool fits(int64_t rows, int64_t k, sn_quant_form form, int64_t floats, size_t *q,
                 size_t *all) {
  size_t numbers, scales;
  if (sn_size_mul_overflows((size_t)rows, (size_t)k, &numbers) ||
      sn_size_mul_overflows(numbers, sn_quant_bytes(form, 1), q) || !sn_size_round_up(*q, 64, q) ||
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
static sn_quant_form form_of(sn_block_kind kind, bool few, const sn_machine *machine) {
  if (!machine->target->fused) return SN_QUANT_SHORTS;
  if (kind == SN_BLOCK_Q8_0 && !sn_gemm_exact_fours(machine->gemm))
    return few ? SN_QUANT_SIGNS : SN_QUANT_SHORTS;
  return kind == SN_BLOCK_Q6_K && !few ? SN_QUANT_SHORTS : SN_QUANT_BYTES;
}

/* x in the form that the kernels read, then its scales and totals, then x in the other form if code made at run time reads
 * that; in a worker's memory a tile, if it makes one. */
static bool plan_product(sn_kernel *kernel) {
  sn_blocks_plan *p = kernel->blocks;
  const sn_quant_kernels *kernels = p->kernels;
  const int64_t rows = p->shape.batch * p->shape.rows, k = p->shape.k;
  size_t *shared = &kernel->shared_bytes;
  kernel->n_stages = 2;
  kernel->stages[1].units = rows ? kernel->stages[0].units : 0;
  kernel->stages[0].units = pieces(rows, rows_of_unit(p, k));
  if ((!p->few || !kernels->multiply) && !fits(kernels->rows, k, kernels->form, kernels->scales,
                                               &p->unpacked_scales_offset, &kernel->worker_bytes))
    return false;
  if (!fits(rows, k, kernels->form, 2, &p->scales_offset, shared) ||
      sn_size_add_overflows(*shared, SN_QUANT_BEHIND_X, shared) ||
      !sn_size_round_up(*shared, 64, shared))
    return false;
  if (p->form == kernels->form) return true;
  p->bytes_offset = *shared;
  return !sn_size_add_overflows(*shared, (size_t)rows * sn_quant_bytes(p->form, k), shared) &&
         !sn_size_add_overflows(*shared, SN_QUANT_BEHIND_X, shared);
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
  p->tiles = is_product(g) && !p->few && machine->gemm;
  p->form =
      machine->gemm ? form_of((sn_block_kind)*g->call.options, p->few, machine) : p->kernels->form;
  p->twos = machine->target->fused && sn_gemm_sums_twos(machine->gemm);
  p->unit = rows_of_unit(p, s->k * (s->rows > 1 ? s->rows : 1));
  kernel->n_stages = 1;
  kernel->stages[0] = (sn_stage){.units = s->batch * pieces(s->n, p->unit)};
  SN_FAIL_IF(arena->env, is_product(g) && !plan_product(kernel), SN_ERR_MEMORY,
             sn_op_describe(g->call.op)->name, "rows are too long");
  return SN_OK;
}

static const void *operand(const sn_kernel_run *run, const sn_operand *o) {
  return (char *)run->values[o->value] + o->offset * (int64_t)sn_dtype_bytes(o->dtype);
}

/* x in shared memory, from a row on. */
static sn_quant_x quantized(const sn_kernel_run *run, int64_t row) {
  const sn_blocks_plan *p = run->kernel->blocks;
  const int64_t k = p->shape.k, parts = k / SN_PART, all = p->shape.batch * p->shape.rows * parts;
  char *memory = run->shared;
  float *scales = (float *)(void *)(memory + p->scales_offset);
  int32_t *totals = (int32_t *)(void *)(scales + all);
  sn_quant_x x = {.q = (int16_t *)(void *)memory + row * k,
                  .scales = scales + row * parts,
                  .totals = totals + row * parts,
                  .by_halves = *run->kernel->group->call.options == SN_BLOCK_Q6_K,
                  .rows = p->shape.rows};
  if (p->form != SN_QUANT_SHORTS)
    x.bytes = (int8_t *)memory + p->bytes_offset + row * (int64_t)sn_quant_bytes(p->form, k);
  return x;
}

/* In both forms if code made at run time reads another one: a worker may not be able to call that code. */
static void quantize_units(const sn_kernel_run *run, int64_t begin, int64_t end) {
  const sn_blocks_plan *p = run->kernel->blocks;
  const sn_blocks_shape *s = &p->shape;
  const int64_t unit = rows_of_unit(p, s->k), all = s->batch * s->rows, parts = s->k / SN_PART;
  const int64_t last = end * unit < all ? end * unit : all;
  const sn_quant_x out = quantized(run, 0);
  p->kernels->take(p->form, operand(run, &run->kernel->group->call.operands[0]),
                   begin * unit * parts, last * parts, &out);
}

static const uint8_t *rows_at(const sn_kernel_run *run, int64_t row) {
  const sn_group *g = run->kernel->group;
  const uint8_t *bytes = operand(run, &g->call.operands[is_product(g)]);
  return bytes + row * run->kernel->blocks->shape.bytes;
}

static float *result_of(const sn_kernel_run *run) {
  return (float *)(uintptr_t)operand(run, &run->kernel->group->stores[0].target);
}

/* `width` rows from `row` on, and the last one again for those that a tile has more. */
static void find_rows(const sn_kernel_run *run, int64_t row, int64_t width, sn_quant_rows *w) {
  for (int64_t r = 0; r < run->kernel->blocks->kernels->rows; r++)
    w->rows[r] = rows_at(run, row + (r < width ? r : width - 1));
}

/* x as code made at run time reads it. */
static const int8_t *numbers_of_x(const sn_quant_x *x) {
  return x->bytes ? x->bytes : (const int8_t *)x->q;
}

/* Rows [row, row + n) of matrix `batch` times few rows of x, by code made at run time. */
static void call_blocks(const sn_kernel_run *run, const sn_code *code, int64_t batch, int64_t row,
                        int64_t n) {
  const sn_blocks_plan *p = run->kernel->blocks;
  const sn_blocks_shape *s = &p->shape;
  float *out = result_of(run) + batch * s->rows * s->n + row;
  for (int64_t i = 0; i < s->rows; i++) {
    const sn_quant_x x = quantized(run, batch * s->rows + i);
    code->blocks(rows_at(run, batch * s->n + row), (int32_t)s->bytes, (int32_t)n, numbers_of_x(&x),
                 x.scales, x.totals, (int32_t)(s->k / SN_PART), out + i * s->n);
  }
}

/* A tile times all rows of x of matrix `batch`, by code made at run time. */
static void call_tiles(const sn_kernel_run *run, const sn_code *code, int64_t batch, float *out,
                       const sn_quant_rows *w) {
  const sn_blocks_plan *p = run->kernel->blocks;
  const sn_blocks_shape *s = &p->shape;
  const sn_quant_x x = quantized(run, batch * s->rows);
  p->kernels->unpack(w);
  sn_quant_arrange(p->form, w);
  code->tiles(w->q, w->scales, numbers_of_x(&x), x.scales, x.totals, (int32_t)w->parts,
              (int32_t)s->rows, out, (int32_t)(s->n * (int64_t)sizeof *out));
}

/* Rows [row, row + width) of matrix `batch`, at most a tile, times its rows of x. */
static void multiply_rows(const sn_kernel_run *run, const sn_code *code, int64_t batch, int64_t row,
                          int64_t width, sn_quant_rows *w) {
  const sn_blocks_plan *p = run->kernel->blocks;
  const sn_blocks_shape *s = &p->shape;
  float *out = result_of(run) + batch * s->rows * s->n + row;
  find_rows(run, batch * s->n + row, width, w);
  if (code && width == SN_QUANT_ROWS) {
    call_tiles(run, code, batch, out, w);
    return;
  }
  const sn_quant_x x = quantized(run, batch * s->rows);
  if (p->few && p->kernels->multiply) {
    p->kernels->multiply(w, &x, out, s->n, width);
    return;
  }
  p->kernels->unpack(w);
  p->kernels->multiply_unpacked(w, &x, out, s->n, width);
}

/* The numbers of rows [row, row + n). */
static void write_numbers(const sn_kernel_run *run, int64_t row, int64_t n) {
  const sn_blocks_plan *p = run->kernel->blocks;
  const int64_t k = p->shape.k;
  for (int64_t r = row; r < row + n; r++)
    p->kernels->numbers((sn_block_kind)*run->kernel->group->call.options, rows_at(run, r),
                        k / SN_PART, result_of(run) + r * k);
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
  if (run_time && !run_time->ready(run_time->module)) gemm.ukr = sn_gemm_ukr_fallback(gemm.ukr);
  for (int64_t u = begin; u < end; u++) {
    const int64_t batch = u / gemm.tasks;
    sn_gemm_tile_to(&gemm, x + batch * s->rows * s->n, bytes + batch * s->n * s->bytes,
                    out + batch * s->rows * s->k, (ptrdiff_t)s->k, u % gemm.tasks, NULL, memory);
  }
}

/* Rows [row, row + n) of matrix `batch`, of a unit. */
static void run_rows(const sn_kernel_run *run, int64_t batch, int64_t row, int64_t n,
                     char *memory) {
  const sn_blocks_plan *p = run->kernel->blocks;
  if (!is_product(run->kernel->group)) {
    write_numbers(run, row, n);
    return;
  }
  const sn_code *code = sn_code_ready(&run->kernel->code);
  if (code && code->blocks) {
    call_blocks(run, code, batch, row, n);
    return;
  }
  if (code && !code->tiles) code = NULL;
  sn_quant_rows w = {.kind = (sn_block_kind)*run->kernel->group->call.options,
                     .parts = p->shape.k / SN_PART,
                     .q = memory,
                     .scales = (float *)(void *)(memory + p->unpacked_scales_offset)};
  const int64_t tile = p->kernels->rows;
  for (int64_t r = row; r < row + n; r += tile)
    multiply_rows(run, code, batch, r, row + n - r < tile ? row + n - r : tile, &w);
}

static void run_units(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory) {
  const sn_group *g = run->kernel->group;
  if (is_back(g)) {
    run_back(run, begin, end, memory);
    return;
  }
  if (is_product(g) && run->stage == 0) {
    quantize_units(run, begin, end);
    return;
  }
  const sn_blocks_plan *p = run->kernel->blocks;
  const int64_t per_matrix = pieces(p->shape.n, p->unit);
  for (int64_t u = begin; u < end; u++) {
    const int64_t row = u % per_matrix * p->unit, left = p->shape.n - row;
    run_rows(run, u / per_matrix, row, left < p->unit ? left : p->unit, memory);
  }
}

const sn_kernel_kind sn_kernel_blocks = {NULL, make, run_units};
