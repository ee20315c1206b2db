/* kernel_call.c - how a call kernel's work is cut into units, and where each unit's lines lie. */
#include "kernels/call.h"

#include "base/size.h"
#include "kernels/kernel.h"
#include "kernels/strided.h"

/* Elements of a unit: enough to outweigh its dispatch. */
#define UNIT_ELEMENTS 16384
/* Up to so many lines have their scratch in shared memory: one long line must not cost every worker as much. */
#define SHARED_LINES 4
/* Every unit of a scatter reads all indices. So positions are cut into no more than one share per
 * SCATTER_SHARE lines that a unit has, at most SCATTER_LINES: reading indices then costs little beside
 * the rows. */
#define SCATTER_SHARE 32
#define SCATTER_LINES 256

static int64_t at_least_1(int64_t n) { return n > 1 ? n : 1; }

static int64_t pieces(int64_t n, int64_t piece) { return (n + piece - 1) / piece; }

/* How many lines of a point are adjacent: those along the result's innermost dimension, unless that is
 * the axis. */
static int64_t inner_lines(const sn_group *g) {
  const int last = g->space_rank - 1;
  const sn_operand *target = &g->stores[0].target;
  return last >= 0 && target->strides[last] == 1 ? g->space[last] : 1;
}

static void plan_units(const sn_group *g, sn_call_plan *p) {
  const sn_call *call = &g->call;
  const sn_op_class kind = sn_op_describe(call->op)->kind;
  const int64_t n = call->length;
  p->inner = inner_lines(g);
  p->points = p->inner ? sn_group_points(g) / p->inner : 0;
  p->lines = kind == SN_CLASS_SCAN      ? SN_SCAN_WIDTH
             : kind == SN_CLASS_SORT    ? 1
             : kind == SN_CLASS_SCATTER ? SCATTER_LINES
                                        : UNIT_ELEMENTS;
  if (p->lines > p->inner) p->lines = at_least_1(p->inner);
  p->blocks = pieces(p->inner, p->lines);
  p->share = at_least_1(n);
  if ((kind == SN_CLASS_GATHER || kind == SN_CLASS_CONCAT) && n > UNIT_ELEMENTS / p->lines)
    p->share = at_least_1(UNIT_ELEMENTS / p->lines);
  if (kind == SN_CLASS_SCATTER && p->lines > SCATTER_SHARE) {
    p->share = pieces(n, p->lines / SCATTER_SHARE);
    if (p->share < UNIT_ELEMENTS / p->lines) p->share = UNIT_ELEMENTS / p->lines;
  }
  p->shares = pieces(at_least_1(n), p->share);
  const bool whole = p->blocks == 1 && p->shares == 1;
  p->unit = whole ? at_least_1(UNIT_ELEMENTS / at_least_1(n * p->lines)) : 1;
}

static sn_status make(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const sn_group *g = kernel->group;
  sn_call_plan *p = &kernel->call;
  (void)machine;
  plan_units(g, p);
  kernel->n_stages = 1;
  kernel->stages[0] = (sn_stage){.units = pieces(p->points, p->unit) * p->blocks * p->shares};
  if (sn_op_describe(g->call.op)->kind != SN_CLASS_SORT) return SN_OK;
  const size_t lines = (size_t)(p->points * p->inner);
  p->shared_scratch = lines <= SHARED_LINES;
  SN_FAIL_IF(
      arena->env,
      sn_size_mul_overflows((size_t)g->call.length, sn_sort_entry_bytes(), &p->scratch_bytes) ||
          !sn_size_round_up(p->scratch_bytes, 64, &p->scratch_bytes) ||
          sn_size_mul_overflows(p->scratch_bytes, p->shared_scratch ? lines : 1,
                                &kernel->shared_bytes),
      SN_ERR_MEMORY, sn_op_describe(g->call.op)->name, "lines are too long");
  if (!p->shared_scratch) {
    kernel->worker_bytes = p->scratch_bytes;
    kernel->shared_bytes = 0;
  }
  return SN_OK;
}

/* The lines of an operand at a point, from `line` on; the last space dimension is that of the inner
 * lines, if there are any. */
static sn_lines lines_at(const sn_kernel_run *run, const sn_operand *o, int64_t n, int64_t point,
                         int64_t line) {
  const sn_kernel *k = run->kernel;
  const sn_group *g = k->group;
  const int rank = g->space_rank;
  const bool side_by_side = k->call.inner != 1;
  int64_t at = o->offset + sn_offset_at(g->space, o->strides, rank - side_by_side, point);
  sn_lines lines = {.along = o->strides[rank], .n = n};
  if (side_by_side) lines.across = o->strides[rank - 1];
  at += line * lines.across;
  lines.data = (char *)run->values[o->value] + at * (int64_t)sn_dtype_bytes(o->dtype);
  return lines;
}

static void run_lines(const sn_call_site *site) {
  switch (sn_op_describe(site->call->op)->kind) {
  case SN_CLASS_GATHER: sn_gather_lines(site); break;
  case SN_CLASS_SCATTER: sn_scatter_lines(site); break;
  case SN_CLASS_SORT: sn_sort_line(site); break;
  default: sn_scan_lines(site); break;
  }
}

/* The number of the operand that position `at` of a concat's line comes from. */
static uint32_t part_at(const sn_call *call, int64_t at) {
  uint32_t low = 0, high = call->n_operands;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (call->starts[middle] <= at)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Copies positions [from, to) of the result's lines. */
static void run_concat(const sn_kernel_run *run, const sn_call_site *site, int64_t point,
                       int64_t line) {
  const sn_call *call = site->call;
  const sn_operand *target = &run->kernel->group->stores[0].target;
  const int64_t bytes = (int64_t)sn_dtype_bytes(target->dtype);
  for (uint32_t i = part_at(call, site->from); i < call->n_operands; i++) {
    const int64_t start = call->starts[i], end = call->starts[i + 1];
    const int64_t from = start > site->from ? start : site->from;
    const int64_t to = end < site->to ? end : site->to;
    if (start >= site->to) return;
    sn_lines in = lines_at(run, &call->operands[i], call->lengths[i], point, line);
    sn_lines out = lines_at(run, target, call->length, point, line);
    in.data += (from - start) * in.along * bytes;
    out.data += from * out.along * bytes;
    if (to > from) sn_copy_lines(target->dtype, &in, &out, to - from, site->width);
  }
}

static void run_point(const sn_kernel_run *run, sn_call_site *site, int64_t point, int64_t block) {
  const sn_call_plan *p = &run->kernel->call;
  const sn_call *call = site->call;
  const int64_t line = block * p->lines, left = p->inner - line;
  site->width = left < p->lines ? left : p->lines;
  if (call->starts) {
    run_concat(run, site, point, line);
    return;
  }
  for (uint32_t i = 0; i < call->n_operands; i++)
    site->in[i] = lines_at(run, &call->operands[i], call->lengths[i], point, line);
  site->out = lines_at(run, &run->kernel->group->stores[0].target, call->length, point, line);
  if (p->shared_scratch)
    site->scratch = (char *)run->shared + (size_t)(point * p->inner + line) * p->scratch_bytes;
  run_lines(site);
}

static void run_units(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory) {
  const sn_call_plan *p = &run->kernel->call;
  const sn_call *call = &run->kernel->group->call;
  sn_call_site site = {.call = call, .dtype = call->operands[0].dtype, .scratch = memory};
  for (int64_t u = begin; u < end; u++) {
    const int64_t share = u % p->shares, block = u / p->shares % p->blocks;
    const int64_t first = u / p->shares / p->blocks * p->unit, left = p->points - first;
    site.from = share * p->share;
    site.to = site.from + p->share < call->length ? site.from + p->share : call->length;
    for (int64_t i = 0; i < p->unit && i < left; i++) run_point(run, &site, first + i, block);
  }
}

const sn_kernel_kind sn_kernel_call = {NULL, make, run_units};
