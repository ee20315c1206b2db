/* random.h - the only generator of the native tests (splitmix64). Neighbouring seeds give unrelated
 * numbers. It uses no libm, so a seed gives the same bits on every machine.
 *
 * A run is repeated by its seed: SINTER_TEST_SEED, or a fixed one. SINTER_TEST_SHORT asks for fewer
 * cases (sanitizers). */
#ifndef SN_TESTS_RANDOM_H
#define SN_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* The bits of z, mixed well, one to one. */
static inline uint64_t random_mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

#define RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* Well mixed bits of a counter. */
static inline uint64_t random_at(uint64_t counter) { return random_mixed(counter + RANDOM_STEP); }

typedef struct case_random {
  uint64_t state;
} case_random;

static inline uint64_t case_bits(case_random *r) { return random_mixed(r->state += RANDOM_STEP); }

/* 0 .. n - 1; n >= 1 */
static inline int64_t case_below(case_random *r, int64_t n) {
  return (int64_t)(case_bits(r) % (uint64_t)n);
}

static inline bool case_one_in(case_random *r, int64_t n) { return case_below(r, n) == 0; }

static inline double case_between(case_random *r, double lo, double hi) {
  return lo + (hi - lo) * ((double)(case_bits(r) >> 11) * 0x1p-53);
}

static inline uint64_t case_seed(void) {
  const char *text = getenv("SINTER_TEST_SEED");
  return text ? strtoull(text, NULL, 0) : 1;
}

static inline bool case_short(void) { return getenv("SINTER_TEST_SHORT") != NULL; }

#endif
