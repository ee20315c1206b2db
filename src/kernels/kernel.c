#include "kernels/kernel.h"

#include <string.h>

/* Rough costs in nanoseconds, only to tell work that is worth a second thread from work that is
 * not. */
#define NS_PER_BYTE 0.08
#define NS_PER_FLOP 0.05

static sn_status make_map(sn_kernel *kernel) {
  const int64_t points = sn_group_points(kernel->group);
  const int64_t units = (points + SN_STRIP - 1) / SN_STRIP;
  kernel->n_stages = 1;
  kernel->stages[0] = (sn_stage){.units = units};
  kernel->worker_bytes = kernel->post.worker_bytes;
  return SN_OK;
}

static void map_units(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory) {
  const sn_kernel *k = run->kernel;
  const int64_t points = sn_group_points(k->group);
  const sn_code *code = sn_code_ready(&k->code);
  if (code && code->strip) {
    const int64_t first = begin * SN_STRIP, last = end * SN_STRIP;
    code->strip(run->values, memory, NULL, (int32_t)first,
                (int32_t)((last < points ? last : points) - first));
    return;
  }
  sn_vm_begin(&k->post, memory, run->values);
  for (int64_t u = begin; u < end; u++) {
    const int64_t flat = u * SN_STRIP, left = points - flat;
    sn_vm_strip(&k->post, memory, run->values, flat, left < SN_STRIP ? left : SN_STRIP,
                &(sn_vm_inputs){0});
  }
}

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
  const sn_gemm_side *l = &kernel->gemm.left, *r = &kernel->gemm.right;
  const int64_t packs = l->units + r->units;
  const double moved_ns =
      2 * NS_PER_BYTE * (double)(packs ? l->bytes + r->bytes : kernel->shared_bytes);
  if (packs || kernel->group->kind == SN_GROUP_CHAIN)
    kernel->stages[0].unit_cost = moved_ns / (double)(packs ? packs : kernel->stages[0].units);
  else /* adds up partials */
    kernel->stages[1].unit_cost = moved_ns / (double)kernel->stages[1].units;
}

sn_status sn_kernel_make_block(sn_arena *arena, const sn_machine *machine, const sn_group *group,
                               int64_t whole_m, sn_kernel *kernel) {
  SN_TRY(sn_bool_words(arena, &group));
  *kernel = (sn_kernel){.group = group};
  if (group->kind == SN_GROUP_CALL) { /* it has no bodies */
    SN_TRY(sn_call_make(arena, kernel));
    estimate_costs(kernel);
    return SN_OK;
  }
  if (group->kind == SN_GROUP_CHAIN) {
    SN_TRY(sn_chain_make(arena, machine, kernel));
    estimate_costs(kernel);
    return SN_OK;
  }
  const sn_vm_source post = {
      .body = &group->post, .stores = group->stores, .n_stores = group->n_stores};
  sn_vm_nest nest = {.rank = group->space_rank};
  memcpy(nest.dims, group->space, sizeof nest.dims);
  SN_TRY(sn_vm_assemble(arena, machine, &post, &nest, &kernel->post));
  SN_TRY(sn_arena_alloc(arena, sn_group_phases(group), sizeof *kernel->phases,
                        (void **)&kernel->phases));
  SN_TRY(sn_arena_alloc(arena, sn_group_phases(group), sizeof *kernel->phase_offset,
                        (void **)&kernel->phase_offset));
  switch (group->kind) {
  case SN_GROUP_MAP: SN_TRY(make_map(kernel)); break;
  case SN_GROUP_REDUCE: SN_TRY(sn_reduce_make(arena, machine, kernel)); break;
  case SN_GROUP_ROW: SN_TRY(sn_row_make(arena, machine, kernel)); break;
  case SN_GROUP_CONTRACTION: sn_contraction_make(machine, whole_m, kernel); break;
  case SN_GROUP_CALL:
  case SN_GROUP_CHAIN:
  case SN_GROUP_KIND_COUNT: SN_CHECK(arena->env, false);
  }
  estimate_costs(kernel);
  if (!sn_group_befores(group)) return SN_OK;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *kernel, (void **)&kernel->members));
  kernel->n_members = 1;
  SN_TRY(sn_kernel_make(arena, machine, group->contraction.before, kernel->members));
  if (kernel->members->worker_bytes > kernel->worker_bytes)
    kernel->worker_bytes = kernel->members->worker_bytes;
  return SN_OK;
}

sn_status sn_kernel_make(sn_arena *arena, const sn_machine *machine, const sn_group *group,
                         sn_kernel *kernel) {
  return sn_kernel_make_block(arena, machine, group, 0, kernel);
}

void sn_kernel_units(void *arg, int64_t begin, int64_t end, int worker) {
  const sn_kernel_run *run = arg;
  void *memory = run->workers + (size_t)worker * run->worker_stride;
  switch (run->kernel->group->kind) {
  case SN_GROUP_MAP: map_units(run, begin, end, memory); break;
  case SN_GROUP_REDUCE: sn_reduce_units(run, begin, end, memory); break;
  case SN_GROUP_ROW: sn_row_units(run, begin, end, memory); break;
  case SN_GROUP_CONTRACTION: sn_contraction_units(run, begin, end, memory); break;
  case SN_GROUP_CALL: sn_call_units(run, begin, end, memory); break;
  case SN_GROUP_CHAIN: sn_chain_units(run, begin, end, memory); break;
  case SN_GROUP_KIND_COUNT: break;
  }
}

sn_kernel *sn_kernel_part(const sn_kernel *kernel, uint32_t i) {
  if (i < kernel->n_members) return &kernel->members[i];
  return i > kernel->n_members || kernel->group->kind == SN_GROUP_CHAIN
             ? NULL
             : (sn_kernel *)(uintptr_t)kernel;
}
