/* kernel_chain.c - a chain: for each block of rows, its members run one after the other.
 *
 *   [unit = a part of the right side of a member's product for one matrix of the batch,
 *           packed for all of that matrix's blocks into shared memory]
 *   unit = a block of rows of one matrix of the batch      worker memory
 *     bind each link to its rows                           links' addresses |
 *     for each member: all its units                       intermediates of the block, indices |
 *                                                          memory of the member under way */
#include "kernels/kernel.h"

static int64_t pack_units(const sn_kernel *member) {
  return member->product ? member->product->gemm.pack_units : 0;
}

/* Adds the stage in which members pack for all blocks. The members for the last block share the packed
 * operands of the others. */
static void add_packing(const sn_chain *c, sn_kernel *kernel) {
  int64_t units = 0;
  for (uint32_t m = 0; m < c->n_members; m++) {
    sn_kernel *member = &kernel->members[m];
    units += c->batch * pack_units(member);
    member->shared_offset = kernel->shared_bytes;
    if (kernel->schedule.rest)
      kernel->members[c->n_members + m].shared_offset = kernel->shared_bytes;
    kernel->shared_bytes += (size_t)c->batch * member->shared_bytes;
  }
  if (units) kernel->stages[kernel->n_stages++].units = units;
}

static sn_status split(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const sn_chain *c = kernel->group->chain;
  sn_schedule *schedule = &kernel->schedule;
  SN_TRY(sn_schedule_chain(arena, machine->target, kernel->group, schedule));
  kernel->n_members = schedule->rest ? 2 * c->n_members : c->n_members;
  SN_TRY(
      sn_arena_alloc(arena, kernel->n_members, sizeof *kernel->members, (void **)&kernel->members));
  for (uint32_t m = 0; m < kernel->n_members; m++) {
    kernel->members[m].group = &schedule->members[m];
    kernel->members[m].whole_m = sn_schedule_rows_alone(c, m % c->n_members);
  }
  return SN_OK;
}

static sn_status make(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  (void)arena;
  (void)machine;
  const sn_chain *c = kernel->group->chain;
  const sn_schedule *schedule = &kernel->schedule;
  size_t most = 0;
  for (uint32_t m = 0; m < kernel->n_members; m++)
    if (kernel->members[m].worker_bytes > most) most = kernel->members[m].worker_bytes;
  add_packing(c, kernel);
  kernel->stages[kernel->n_stages++].units = c->batch * sn_schedule_blocks(c, schedule);
  kernel->scratch_offset = sn_align64(schedule->n_links * sizeof(void *));
  kernel->worker_bytes = kernel->scratch_offset + schedule->local_bytes + most;
  return SN_OK;
}

static void count_rows(const sn_link *link, int32_t *to, int64_t number, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] = (int32_t)(number + i * link->row);
}

static void bind(const sn_kernel_run *run, void **values, char *local, int64_t batch, int64_t row,
                 int64_t n) {
  const sn_schedule *schedule = &run->kernel->schedule;
  for (uint32_t i = 0; i < schedule->n_links; i++) {
    const sn_link *link = &schedule->links[i];
    const int64_t at = sn_nest_seek(&link->batch, batch).offset + row * link->row;
    if (link->kind == SN_LINK_VALUE) {
      values[i] = (char *)run->values[link->value] + at * (ptrdiff_t)link->element;
      continue;
    }
    values[i] = local + link->at;
    if (link->kind == SN_LINK_INDEX) count_rows(link, values[i], link->first + at, n);
  }
}

/* Runs units of a member's stage for one matrix of the batch. */
static void run_member(const sn_kernel_run *run, const sn_kernel *member, int stage, int64_t batch,
                       sn_range columns, int64_t begin, int64_t end, void *memory) {
  const sn_kernel *k = run->kernel;
  sn_kernel_run part = {.kernel = member,
                        .stage = stage,
                        .values = memory,
                        .shared = (char *)run->shared + member->shared_offset +
                                  (size_t)batch * member->shared_bytes,
                        .workers = (char *)memory + k->scratch_offset + k->schedule.local_bytes,
                        .columns = columns};
  member->kind->units(&part, begin, end, part.workers);
}

static void pack_unit(const sn_kernel_run *run, int64_t unit, void *memory) {
  const sn_chain *c = run->kernel->group->chain;
  const sn_kernel *member = run->kernel->members;
  for (; unit >= c->batch * pack_units(member); member++) unit -= c->batch * pack_units(member);
  const int64_t batch = unit / pack_units(member), part = unit % pack_units(member);
  bind(run, memory, (char *)memory + run->kernel->scratch_offset, batch, 0, 0);
  run_member(run, member, 0, batch, (sn_range){0}, part, part + 1, memory);
}

static void run_units(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory) {
  const sn_kernel *k = run->kernel;
  const sn_chain *c = k->group->chain;
  const int64_t block = k->schedule.block, blocks = sn_schedule_blocks(c, &k->schedule);
  for (int64_t u = begin; u < end; u++) {
    if (run->stage + 1 < k->n_stages) {
      pack_unit(run, u, memory);
      continue;
    }
    const int64_t row = u % blocks * block, left = c->rows - row;
    const bool rest = left < block;
    const sn_range columns = sn_schedule_columns(c, &k->schedule, row);
    bind(run, memory, (char *)memory + k->scratch_offset, u / blocks, row, rest ? left : block);
    for (uint32_t m = 0; m < c->n_members; m++) {
      const sn_kernel *member = &k->members[rest ? c->n_members + m : m];
      const int stage = member->n_stages - 1;
      run_member(run, member, stage, u / blocks, columns, 0, member->stages[stage].units, memory);
    }
  }
}

const sn_kernel_kind sn_kernel_chain = {split, make, run_units};
