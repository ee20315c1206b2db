#include "kernels/kernel.h"

#include <string.h>

/* Rough costs in nanoseconds, only to tell work that is worth a second thread from work that is
 * not. */
#define NS_PER_BYTE 0.08
#define NS_PER_FLOP 0.05

static void estimate_costs(sn_kernel *kernel) {
  const double flop_ns =
      kernel->group->kind == SN_GROUP_CONTRACTION || kernel->group->kind == SN_GROUP_CHAIN
          ? 0.02
          : NS_PER_FLOP;
  const double total = kernel->group->bytes * NS_PER_BYTE + kernel->group->flops * flop_ns;
  for (int s = 0; s < kernel->n_stages; s++)
    if (kernel->stages[s].units)
      kernel->stages[s].unit_cost = total / (double)kernel->stages[s].units;
  if (kernel->n_stages < 2) return;
  const sn_gemm *gemm = kernel->product ? &kernel->product->gemm : NULL;
  const int64_t packs = gemm ? gemm->left.units + gemm->right.units : 0;
  const double moved_ns =
      2 * NS_PER_BYTE *
      (double)(packs ? gemm->left.bytes + gemm->right.bytes : kernel->shared_bytes);
  if (packs || kernel->group->kind == SN_GROUP_CHAIN || kernel->group->kind == SN_GROUP_CALL)
    kernel->stages[0].unit_cost = moved_ns / (double)(packs ? packs : kernel->stages[0].units);
  else /* adds up partials */
    kernel->stages[1].unit_cost = moved_ns / (double)kernel->stages[1].units;
}

/* Control flow has programs instead of a kernel (run/rounds.h), and an exchange with other processes has nothing to run here
 * (run/exchange.h). */
static sn_status make_nothing(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  (void)arena;
  (void)machine;
  (void)kernel;
  return SN_OK;
}
static const sn_kernel_kind no_kernel = {.make = make_nothing};

static const sn_kernel_kind *const kinds[SN_GROUP_KIND_COUNT] = {
    [SN_GROUP_MAP] = &sn_kernel_map,   [SN_GROUP_REDUCE] = &sn_kernel_reduce,
    [SN_GROUP_ROW] = &sn_kernel_row,   [SN_GROUP_CONTRACTION] = &sn_kernel_contraction,
    [SN_GROUP_CALL] = &sn_kernel_call, [SN_GROUP_CHAIN] = &sn_kernel_chain,
    [SN_GROUP_CONTROL] = &no_kernel};

/* Makes a kernel whose group and whole_m are set. It calls itself for the parts, but not for theirs: a
 * chain's members are no chains, and a contraction's prologue is a map. */
static sn_status make(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  SN_TRY(sn_bool_words(arena, &kernel->group));
  kernel->kind = kinds[kernel->group->kind];
  if (kernel->group->kind == SN_GROUP_REDUCE && kernel->group->row.ends)
    kernel->kind = &sn_kernel_ragged;
  if (kernel->group->kind == SN_GROUP_CALL &&
      sn_op_describe(kernel->group->call.op)->kind == SN_CLASS_BLOCKS)
    kernel->kind = &sn_kernel_blocks;
  if (kernel->group->kind == SN_GROUP_CALL &&
      sn_op_describe(kernel->group->call.op)->kind == SN_CLASS_COLLECTIVE)
    kernel->kind = &no_kernel;
  if (kernel->kind->split) SN_TRY(kernel->kind->split(arena, machine, kernel));
  if (kernel->prologue) SN_TRY(make(arena, machine, kernel->prologue));
  for (uint32_t i = 0; i < kernel->n_members; i++)
    SN_TRY(make(arena, machine, &kernel->members[i]));
  SN_TRY(kernel->kind->make(arena, machine, kernel));
  estimate_costs(kernel);
  return SN_OK;
}

sn_status sn_kernel_make(sn_arena *arena, const sn_machine *machine, const sn_group *group,
                         sn_kernel *kernel) {
  *kernel = (sn_kernel){.group = group};
  return make(arena, machine, kernel);
}

void sn_kernel_units(void *arg, int64_t begin, int64_t end, int worker) {
  const sn_kernel_run *run = arg;
  run->kernel->kind->units(run, begin, end, run->workers + (size_t)worker * run->worker_stride);
}

sn_kernel *sn_kernel_part(const sn_kernel *kernel, uint32_t i) {
  if (kernel->prologue) {
    if (i == 0) return kernel->prologue;
    i--;
  }
  if (i < kernel->n_members) return &kernel->members[i];
  const sn_group_kind kind = kernel->group->kind;
  if (i > kernel->n_members || kind == SN_GROUP_CHAIN || kind == SN_GROUP_CONTROL) return NULL;
  return (sn_kernel *)(uintptr_t)kernel;
}
