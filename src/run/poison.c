#include "run/poison.h"

void sn_poison(void *block, size_t bytes) {
  const uint32_t word = SN_POISON_WORD;
  char *at = block;
  if (!bytes) return; /* of nothing there may be no block */
  for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word)
    memcpy(at, &word, sizeof word);
  memcpy(at, &word, bytes);
}

/* Scans all values for each kernel: this is for tests. Fresh outputs are new storages, which are
 * filled already. */
void sn_poison_kernel(const sn_run *run, size_t k) {
  const sn_executable *exe = run->exe;
  const sn_plan *plan = &exe->program->plan;
  for (uint32_t v = 0; v < plan->n_values; v++) {
    const sn_place *place = &plan->places[v];
    const bool may_be_stale = place->kind == SN_PLACE_ARENA || place->kind == SN_PLACE_DONATED;
    if (place->first == k && may_be_stale && !sn_plan_takes_over(plan, v))
      sn_poison(exe->values[v], sn_type_bytes(&exe->program->groups.values[v].type));
  }
  const sn_kernel *kernel = &exe->kernels[k];
  char *workspace = sn_run_workspace(run);
  sn_poison(workspace + exe->shared_offset, kernel->shared_bytes);
  for (int worker = 0; worker < sn_pool_max_workers(run->pool); worker++)
    sn_poison(workspace + exe->workers_offset + exe->worker_stride * (size_t)worker,
              kernel->worker_bytes);
}
