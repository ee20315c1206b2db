/* exchange_wasm.c - a page is a single process, so there are no exchanges. */
#include "run/exchange.h"

sn_status sn_exchanges_make(sn_arena *arena, const sn_program_code *program, sn_exchanges **out) {
  (void)arena;
  (void)program;
  (void)out;
  return SN_OK;
}

sn_status sn_exchange_before(const sn_exchanges *e, const sn_processes *with, size_t k) {
  (void)e;
  (void)with;
  (void)k;
  return SN_OK;
}

sn_status sn_exchange_start(sn_exchanges *e, const sn_processes *with, void *const *values,
                            size_t k) {
  (void)values;
  return sn_exchange_before(e, with, k);
}
