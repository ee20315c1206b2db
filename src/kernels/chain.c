/* chain.c - a chain's members one after the other, block of rows by block of rows.
 *
 *   unit = a block of rows of one matrix of the batch      lane memory
 *     bind each link to its rows                           links' addresses |
 *     for each member: all its units                       intermediates of the block, indices |
 *                                                          memory of the member under way */
#include "fuse/chain.h"

#include "kernels/kernel.h"

sn_status sn_chain_make(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel) {
  const sn_chain *c = kernel->group->chain;
  size_t most = 0;
  kernel->n_members = c->rest ? 2 * c->n_members : c->n_members;
  SN_TRY(
      sn_arena_alloc(arena, kernel->n_members, sizeof *kernel->members, (void **)&kernel->members));
  for (uint32_t m = 0; m < kernel->n_members; m++) {
    SN_TRY(sn_kernel_make(arena, machine, &c->blocks[m], &kernel->members[m]));
    if (kernel->members[m].lane_bytes > most) most = kernel->members[m].lane_bytes;
  }
  kernel->n_stages = 1;
  kernel->stages[0] = (sn_stage){.units = c->batch * sn_chain_blocks(c)};
  kernel->scratch_offset = sn_align64(c->n_links * sizeof(void *));
  kernel->lane_bytes = kernel->scratch_offset + c->local_bytes + most;
  return SN_OK;
}

static void count_rows(const sn_link *link, int32_t *to, int64_t number, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] = (int32_t)(number + i * link->row);
}

static void bind(const sn_kernel_run *run, void **values, char *local, int64_t batch, int64_t row,
                 int64_t n) {
  const sn_chain *c = run->kernel->group->chain;
  for (uint32_t i = 0; i < c->n_links; i++) {
    const sn_link *link = &c->links[i];
    const int64_t at = sn_nest_seek(&link->batch, batch).offset + row * link->row;
    if (link->kind == SN_LINK_VALUE) {
      values[i] = (char *)run->values[link->value] + at * (ptrdiff_t)link->element;
      continue;
    }
    values[i] = local + link->at;
    if (link->kind == SN_LINK_INDEX) count_rows(link, values[i], link->first + at, n);
  }
}

void sn_chain_units(const sn_kernel_run *run, int64_t begin, int64_t end, void *lane) {
  const sn_kernel *k = run->kernel;
  const sn_chain *c = k->group->chain;
  const int64_t blocks = sn_chain_blocks(c);
  char *local = (char *)lane + k->scratch_offset;
  sn_kernel_run part = {.values = lane, .lanes = local + c->local_bytes};
  for (int64_t u = begin; u < end; u++) {
    const int64_t row = u % blocks * c->block, left = c->rows - row;
    const bool rest = left < c->block;
    part.columns = sn_chain_columns(c, row);
    bind(run, lane, local, u / blocks, row, rest ? left : c->block);
    for (uint32_t m = 0; m < c->n_members; m++) {
      part.kernel = &k->members[rest ? c->n_members + m : m];
      sn_kernel_units(&part, 0, part.kernel->stages[0].units, 0);
    }
  }
}
