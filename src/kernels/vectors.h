/* vectors.h - loads and stores of the vectors of simd.h, and rows of ops.def as functions on them: the building blocks of
 * strips (strip_loops.h) and compiled kernels (cc/kernel_words.h). The includer has defined SN_SIMD_BYTES. */
#ifndef SN_KERNELS_VECTORS_H
#define SN_KERNELS_VECTORS_H

#include "kernels/simd.h"
#include "kernels/strip_size.h"

/* As many 32-bit lanes as vf64 has: masks of float64 lanes on their way to and from memory. */
typedef int32_t vi32_half __attribute__((vector_size(SN_SIMD_BYTES / 2)));

/* ---- one vector to and from memory; count < lanes only at the end of a strip ---- */

#define DEFINE_ACCESS(V, T)                                                                     \
  static inline V load_##V(const void *from, int64_t i) {                                       \
    V v;                                                                                        \
    memcpy(&v, (const T *)from + i, sizeof v);                                                  \
    return v;                                                                                   \
  }                                                                                             \
  static inline V load_some_##V(const void *from, int64_t i, int64_t count) {                   \
    V v = {0};                                                                                  \
    memcpy(&v, (const T *)from + i, (size_t)count * sizeof(T));                                 \
    return v;                                                                                   \
  }                                                                                             \
  static inline void store_##V(void *to, int64_t i, V v) { memcpy((T *)to + i, &v, sizeof v); } \
  static inline void store_some_##V(void *to, int64_t i, int64_t count, V v) {                  \
    memcpy((T *)to + i, &v, (size_t)count * sizeof(T));                                         \
  }
DEFINE_ACCESS(vf32, float)
DEFINE_ACCESS(vf64, double)
DEFINE_ACCESS(vu32, uint32_t)
DEFINE_ACCESS(vi32, int32_t)
DEFINE_ACCESS(vi32_half, int32_t)
#undef DEFINE_ACCESS

/* ---- a row of ops.def on one vector ---- */

/* Whether functions of float32 have the fused bits (math/expand_f32.inc) where rows are applied. */
#ifndef SN_FUSED
#define SN_FUSED false
#endif

/* name: op and dtype; V: vector of the inputs; R: vector of the result, which RESULT makes from the expression. */
#define APPLY(name, V, R, RESULT, expr)                \
  static inline R apply_##name(bool fused, V a, V b) { \
    (void)fused;                                       \
    (void)a;                                           \
    (void)b;                                           \
    return RESULT(expr);                               \
  }
#define SAME(x) (x)
#define TO_HALF(x) __builtin_convertvector((x), vi32_half)

#endif
