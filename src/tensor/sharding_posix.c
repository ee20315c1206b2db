#include "passes/parallel.h"
#include "tensor/sharding.h"

sn_status sn_shard_step(sn_context *ctx, sn_arena *arena, sn_saved *saved) {
  const sn_graph whole = saved->graph;
  sn_share how = {.ranks = ctx->processes.ranks,
                  .rank = ctx->processes.rank,
                  .split_state = ctx->processes.split_state,
                  .n_state = saved->step.n_state};
  if (how.ranks <= 1) return SN_OK;
  SN_TRY(sn_arena_alloc(arena, how.n_state, sizeof *how.split, (void **)&how.split));
  SN_TRY(sn_parallel_form(&whole, &how, arena, &saved->graph));
  saved->step.split = how.split;
  return SN_OK;
}

static bool is_split(const sn_saved *saved, size_t i) {
  return saved->is_step && saved->step.split && i < saved->step.n_state && saved->step.split[i];
}

sn_own sn_own_part(const sn_context *ctx, const sn_saved *saved, size_t i) {
  sn_own own = {.type = saved->types[i], .parts = 1};
  if (!is_split(saved, i)) return own;
  own.parts = ctx->processes.ranks;
  own.type = sn_part_type(&own.type, own.parts);
  own.offset = (size_t)ctx->processes.rank * sn_type_bytes(&own.type);
  return own;
}
