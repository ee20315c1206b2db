/* sharing_wasm.c - a page is one process. */
#include "tensor/sharing.h"

sn_status sn_share_step(sn_context *ctx, sn_arena *arena, sn_saved *saved) {
  (void)ctx;
  (void)arena;
  (void)saved;
  return SN_OK;
}

sn_own sn_own_part(const sn_context *ctx, const sn_saved *saved, size_t i) {
  (void)ctx;
  const size_t n = saved->is_step ? saved->step.n_state + saved->step.n_rates : 0;
  return (sn_own){saved->types[i], i < n ? saved->step.values[i] : NULL, 1};
}
