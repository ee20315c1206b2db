/* bits.h - a fixed list of small computations whose results have known bits. plain.txt and fused.txt
 * hold a hash for each of them:
 *
 *   plain   deterministic contexts, on every engine and for every number of threads
 *   fused   contexts that fuse multiply-adds: native ones where the instruction set does, and emitted relaxed SIMD
 *
 * Inputs come from integers by a hash, and only the public API computes on them, so the list keeps
 * its meaning however the compiler changes. A change that alters bits on purpose renews the files:
 * `test_bits plain > tests/bits/plain.txt` and the same for fused. The difference says which computations it changed. */
#ifndef SN_TESTS_BITS_H
#define SN_TESTS_BITS_H

#include <sinter.h>

enum { BITS_NAME = 64 };

size_t bits_count(void);

/* Computes case `number`, and gives its name and the hash of the bits of its results. Any two NaNs
 * are the same. A call that is refused counts with its status, which is a result as well. */
uint64_t bits_hash(sn_context *ctx, size_t number, char name[BITS_NAME]);

/* ---- what the list is written with ----------------------------------------------------------- */

typedef struct bits_run {
  sn_context *ctx;
  uint64_t salt; /* of the next input */
  uint64_t hash; /* of the results so far */
} bits_run;

typedef enum bits_values {
  BITS_WIDE, /* small and large, whole and not, now and then zeros, infinities, NaN, subnormals */
  BITS_UNIT, /* -1 to 1 */
  BITS_SURE, /* 0.5 to 1.5 */
  BITS_PLACE /* -3 to 11, for indices */
} bits_values;

/* A new tensor of these values. The scope of the run owns it. */
sn_tensor *bits_input(bits_run *r, sn_dtype dtype, bits_values values, int rank,
                      const int64_t *dims);

/* t is a result. */
void bits_result(bits_run *r, sn_tensor *t);

/* Cases "name.0", "name.1" ...: fn is called with each number below count. */
typedef struct bits_family {
  const char *name;
  void (*fn)(bits_run *r, int number);
  int count;
} bits_family;

extern const bits_family bits_ops[], bits_programs[]; /* bits_ops.c, bits_programs.c */
extern const size_t bits_ops_count, bits_programs_count;

#define BITS_DIMS(...) \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }
#define BITS_F32(r, ...) bits_input(r, SN_F32, BITS_UNIT, BITS_DIMS(__VA_ARGS__))

#endif
