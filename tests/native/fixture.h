/* fixture.h - a context on a ledger (ledger.h), for all tests that use the public API. */
#ifndef SN_TESTS_FIXTURE_H
#define SN_TESTS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ledger.h"

typedef struct fixture {
  ledger ledger;
  sn_allocator allocator;
  sn_context *ctx;
} fixture;

static inline void fixture_open(fixture *f, sn_options options) {
  *f = (fixture){.ledger = {.countdown = -1}};
  f->allocator = ledger_allocator(&f->ledger);
  options.allocator = &f->allocator;
  assert_int_equal(sn_context_create(&options, &f->ctx), SN_OK);
}

/* Every test ends here: no tensor, no byte is left. */
static inline void fixture_close(fixture *f) {
  sn_memory_info memory;
  sn_memory(f->ctx, &memory);
  assert_int_equal(memory.tensors, 0);
  assert_int_equal(memory.tensor_bytes, 0);
  sn_context_destroy(f->ctx);
  f->ctx = NULL;
  assert_int_equal(f->ledger.live_blocks, 0);
  assert_int_equal(f->ledger.live_bytes, 0);
}

#endif
