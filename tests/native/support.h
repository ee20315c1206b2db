/* support.h - what the tests of the core share: an allocator that counts, poisons and can be told
 * to fail, an environment for tests below the public API, and short ways to write graphs and
 * tensors.
 *
 * The allocator hands out blocks of exactly the asked size, so that AddressSanitizer sees every
 * byte too many; fresh memory is 0xA5 and freed memory 0xDD, so that nothing relies on zeroes or on
 * what lay there before. To valgrind, where it is known, fresh memory is undefined all the same. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sinter.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define LEDGER_UNDEFINED(block, bytes) (void)VALGRIND_MAKE_MEM_UNDEFINED(block, bytes)
#else
#define LEDGER_UNDEFINED(block, bytes) (void)0
#endif

/* ---- the allocator --------------------------------------------------------------------------- */

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
  if (bytes > (size_t)1 << 40 || posix_memalign(&block, alignment, bytes)) return NULL;
  memset(block, 0xA5, bytes);
  LEDGER_UNDEFINED(block, bytes);
  l->live_blocks++;
  l->live_bytes += bytes;
  return block;
}

static inline void ledger_release(void *user, void *block, size_t bytes) {
  ledger *l = user;
  memset(block, 0xDD, bytes);
  l->live_blocks--;
  l->live_bytes -= bytes;
  free(block);
}

static inline sn_allocator ledger_allocator(ledger *l) {
  return (sn_allocator){l, ledger_allocate, ledger_release};
}

/* ---- scale ----------------------------------------------------------------------------------- */

/* Sanitized builds run a fraction of the long loops. */
static inline bool test_short(void) { return getenv("SINTER_TEST_SHORT") != NULL; }

/* A small generator: the same numbers everywhere. */
static inline uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

/* ---- through the public API ------------------------------------------------------------------ */

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
  assert_int_equal(f->ledger.live_blocks, 0);
  assert_int_equal(f->ledger.live_bytes, 0);
}

/* The context's first error is this one; it is cleared. */
static inline void expect_error(sn_context *ctx, sn_status status, const char *message) {
  assert_string_equal(sn_error_message(ctx), message);
  assert_int_equal(sn_error_status(ctx), status);
  sn_error_clear(ctx);
}

#define DIMS(...) \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }

/* float32 elements 1, 2, 3 ... times scale */
static inline sn_tensor *ramp(sn_context *ctx, int rank, const int64_t *dims, float scale) {
  void *data;
  sn_tensor *t = sn_empty(ctx, SN_F32, rank, dims, &data);
  if (!t) return NULL;
  for (int64_t i = 0; i < sn_size(t); i++) ((float *)data)[i] = scale * (float)(i + 1);
  return t;
}

static inline void release_all(sn_tensor **tensors, size_t n) {
  for (size_t i = 0; i < n; i++) sn_release(tensors[i]);
}

/* x = fn(x), giving the old one back */
static inline void step(sn_tensor **x, sn_tensor *next) {
  assert_non_null(next);
  sn_release(*x);
  *x = next;
}

/* A few kernels of all kinds over a square matrix. */
static inline sn_tensor *some_work(sn_context *ctx, sn_tensor *x, int i) {
  sn_tensor *k = sn_scalar(ctx, 0.01 * i), *a = sn_add(x, k), *b = sn_matmul(a, x), *c = sn_tanh(b),
            *s = sn_sum(c, 1, true), *y = sn_sub(c, s);
  release_all((sn_tensor *[]){k, a, b, c, s}, 5);
  return y;
}

#endif
