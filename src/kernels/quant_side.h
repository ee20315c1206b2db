/* quant_side.h - what quant_rows.inc needs of vectors: 16 bytes of one row, or with SN_QUANT_VECTOR_BYTES 32 of two rows side by
 * side. */
#ifndef SN_KERNELS_QUANT_SIDE_H
#define SN_KERNELS_QUANT_SIDE_H

#include "kernels/vec128.h"

#ifndef SN_QUANT_VECTOR_BYTES
#define SN_QUANT_VECTOR_BYTES 16
#endif

enum { SIDE = SN_QUANT_VECTOR_BYTES / 16 };

typedef int16_t rows_shorts __attribute__((vector_size(SN_QUANT_VECTOR_BYTES)));
typedef uint16_t rows_ushorts __attribute__((vector_size(SN_QUANT_VECTOR_BYTES)));
typedef int32_t rows_ints __attribute__((vector_size(SN_QUANT_VECTOR_BYTES)));

static inline vec_shorts shorts_at(const void *p) {
  vec_shorts v;
  memcpy(&v, p, sizeof v);
  return v;
}

#if SN_QUANT_VECTOR_BYTES == 16
static inline rows_shorts side_by_side(const vec_shorts v[SIDE]) { return v[0]; }
static inline vec_shorts first_of(rows_shorts v) { return v; }

/* The sums of v[r], r < 4, each in its lane. */
static inline vec_ints sums_of(const rows_ints v[4]) {
  const vec_ints a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5) +
                     __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
  const vec_ints b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5) +
                     __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  return __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
}

/* The same of the rows side by side. */
static inline void sums_of_each(const rows_ints v[4], vec_ints out[SIDE]) { out[0] = sums_of(v); }
#else
static inline rows_shorts side_by_side(const vec_shorts v[SIDE]) {
  return __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
static inline vec_shorts first_of(rows_shorts v) {
  return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
}

/* The sums of rows 0 and 1, side by side, and of rows 2 and 3, each in its lane. */
static inline vec_ints sums_of(const rows_ints v[2]) {
  const rows_ints a = __builtin_shufflevector(v[0], v[1], 0, 8, 1, 9, 4, 12, 5, 13) +
                      __builtin_shufflevector(v[0], v[1], 2, 10, 3, 11, 6, 14, 7, 15);
  return __builtin_shufflevector(a, a, 0, 4, 1, 5) + __builtin_shufflevector(a, a, 2, 6, 3, 7);
}

/* The sums of v[i], i < 4, each in its lane: of the row that is first, and of the other. */
static inline void sums_of_each(const rows_ints v[4], vec_ints out[SIDE]) {
  const rows_ints a = __builtin_shufflevector(v[0], v[1], 0, 8, 1, 9, 4, 12, 5, 13) +
                      __builtin_shufflevector(v[0], v[1], 2, 10, 3, 11, 6, 14, 7, 15);
  const rows_ints b = __builtin_shufflevector(v[2], v[3], 0, 8, 1, 9, 4, 12, 5, 13) +
                      __builtin_shufflevector(v[2], v[3], 2, 10, 3, 11, 6, 14, 7, 15);
  const rows_ints c = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
                      __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  out[0] = __builtin_shufflevector(c, c, 0, 1, 2, 3);
  out[1] = __builtin_shufflevector(c, c, 4, 5, 6, 7);
}
#endif

/* 16 bytes of each row. */
static inline rows_shorts shorts_of(const uint8_t *const *rows, int at) {
  vec_shorts v[SIDE];
  for (int r = 0; r < SIDE; r++) v[r] = shorts_at(rows[r] + at);
  return side_by_side(v);
}

/* The same 16 bytes in each row. */
static inline rows_shorts same_of(const void *p) {
  vec_shorts v[SIDE];
  for (int r = 0; r < SIDE; r++) v[r] = shorts_at(p);
  return side_by_side(v);
}

#endif
