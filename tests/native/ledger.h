/* ledger.h - the one allocator of the native tests, and the environment for tests below the public
 * API: it counts, poisons and can be told to fail.
 *
 * It returns blocks of exactly the requested size, so that AddressSanitizer sees an access of one byte
 * too many. Fresh memory is 0xff - NaN as floats, neither 0 nor 1 as bools - and freed memory 0xdd, so
 * that nothing relies on zeros or on old contents. For valgrind, if it runs, fresh memory is still
 * undefined. */
#ifndef SN_TESTS_LEDGER_H
#define SN_TESTS_LEDGER_H

#include <stdlib.h>
#include <string.h>

#include "base/env.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define LEDGER_UNDEFINED(block, bytes) (void)VALGRIND_MAKE_MEM_UNDEFINED(block, bytes)
#else
#define LEDGER_UNDEFINED(block, bytes) (void)0
#endif

typedef struct ledger {
  size_t live_blocks, live_bytes;
  size_t calls;             /* of allocate, failed ones included */
  size_t largest;           /* bytes ever asked for at once */
  int64_t countdown;        /* the call that finds 0 here fails; < 0: none does */
  bool forever;             /* and all later ones too */
  void (*hook)(void *user); /* called by allocate, once */
  void *hook_user;
} ledger;

static inline void *ledger_allocate(void *user, size_t bytes, size_t alignment) {
  ledger *l = user;
  l->calls++;
  if (bytes > l->largest) l->largest = bytes;
  if (l->hook) {
    void (*hook)(void *) = l->hook;
    l->hook = NULL;
    hook(l->hook_user);
  }
  if (l->countdown == 0) {
    if (!l->forever) l->countdown = -1;
    return NULL;
  }
  if (l->countdown > 0) l->countdown--;
  void *block;
  if ((uint64_t)bytes > (uint64_t)1 << 40 || posix_memalign(&block, alignment, bytes)) return NULL;
  memset(block, 0xff, bytes);
  LEDGER_UNDEFINED(block, bytes);
  l->live_blocks++;
  l->live_bytes += bytes;
  return block;
}

static inline void ledger_release(void *user, void *block, size_t bytes) {
  ledger *l = user;
  memset(block, 0xdd, bytes);
  l->live_blocks--;
  l->live_bytes -= bytes;
  free(block);
}

static inline sn_allocator ledger_allocator(ledger *l) {
  return (sn_allocator){l, ledger_allocate, ledger_release};
}

/* An environment whose heap is the ledger's, which is begun anew. */
static inline sn_env ledger_env(ledger *l) {
  *l = (ledger){.countdown = -1};
  return (sn_env){
      .heap = {.allocator = ledger_allocator(l), .limit_bytes = SIZE_MAX, .fail_countdown = -1}};
}

#endif
