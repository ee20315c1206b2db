/* kernel_map.c - groups without phases: strips of the space go through the post body. Other kinds run
 * that at their ends, too. */
#include <string.h>

#include "kernels/kernel.h"

sn_status sn_kernel_make_post(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const sn_group *g = kernel->group;
  const size_t n = sn_group_phases(g);
  const sn_vm_source post = {.body = &g->post, .stores = g->stores, .n_stores = g->n_stores};
  sn_vm_nest nest = {.rank = g->space_rank};
  memcpy(nest.dims, g->space, sizeof nest.dims);
  SN_TRY(sn_arena_alloc(arena, n, sizeof *kernel->phases, (void **)&kernel->phases));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *kernel->phase_offset, (void **)&kernel->phase_offset));
  return sn_vm_assemble(arena, machine, &post, &nest, &kernel->post);
}

static sn_status make(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const int64_t points = sn_group_points(kernel->group);
  SN_TRY(sn_kernel_make_post(arena, machine, kernel));
  kernel->n_stages = 1;
  kernel->stages[0] = (sn_stage){.units = (points + SN_STRIP - 1) / SN_STRIP};
  kernel->worker_bytes = kernel->post.worker_bytes;
  return SN_OK;
}

static void run_units(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory) {
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

const sn_kernel_kind sn_kernel_map = {NULL, make, run_units};
