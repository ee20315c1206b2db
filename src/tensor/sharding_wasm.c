/* sharding_wasm.c - a page is one process: nothing is shared. */
#include "tensor/sharding.h"

sn_status sn_shard_step(sn_context *ctx, sn_arena *arena, sn_saved *saved) {
  (void)ctx;
  (void)arena;
  (void)saved;
  return SN_OK;
}

sn_own sn_own_part(const sn_context *ctx, const sn_saved *saved, size_t i) {
  (void)ctx;
  return (sn_own){.type = saved->types[i], .parts = 1};
}
