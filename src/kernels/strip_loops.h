/* strip_loops.h - how a row of ops.def becomes a strip kernel: a loop over whole vectors and one
 * partial vector at the end, which goes through a zeroed register, so nothing is touched past n.
 * The includer has defined SN_SIMD_BYTES. */
#ifndef SN_KERNELS_STRIP_LOOPS_H
#define SN_KERNELS_STRIP_LOOPS_H

#include <math.h>
#include <string.h>

#include "graph/convert.h"
#include "kernels/strip.h"
#include "kernels/vectors.h"

/* ---- elementwise rows ---- */

/* Whether sn_strip_computed computes the functions of math/, with the bits that `fused` asks for; compiled
 * functions have those of SN_FUSED. text: the expression as it stands in its row. */
#ifndef SN_STRIPS_COMPUTED
#define SN_STRIPS_COMPUTED false
#endif
#define IS_FUNCTION(text) ((text)[0] == 'X' && (text)[2] == 'F' && (text)[3] == 'N') /* X_FN */
#define COMPUTED(id, dtype, text)             \
  (SN_STRIPS_COMPUTED && IS_FUNCTION(text) && \
   (sn_strip_computed(SN_OP_##id, dtype, dst, pa, pb, n, fused), true))

/* V: vector of the inputs, with LANES lanes; R: vector of the result, which RESULT makes from the
 * expression. Ops of fewer inputs get their first one repeated; the compiler drops what an
 * expression does not use. computed: true if sn_strip_computed has computed the strip.
 *
 * The expression occurs only once, so that compilers inline the functions it calls: a partial vector
 * is copied to spare ones, which go through the same loop again. */
#define ELEMENTWISE(id, dtype, V, LANES, R, RESULT, expr, computed)                           \
  APPLY(id##_##dtype, V, R, RESULT, expr)                                                     \
  static void strip_##id##_##dtype(void *dst, const void *pa, const void *pb, const void *pc, \
                                   int64_t n, bool fused) {                                   \
    (void)pc;                                                                                 \
    (void)fused;                                                                              \
    if (computed) return;                                                                     \
    V spare_a, spare_b;                                                                       \
    R spare;                                                                                  \
    void *to = dst;                                                                           \
    int64_t i = 0, whole = n - n % LANES;                                                     \
    for (;;) {                                                                                \
      for (; i < whole; i += LANES)                                                           \
        store_##R(to, i, apply_##id##_##dtype(SN_FUSED, load_##V(pa, i), load_##V(pb, i)));      \
      if (to != dst) store_some_##R(dst, n - n % LANES, n % LANES, spare);                    \
      if (to != dst || i == n) return;                                                        \
      spare_a = load_some_##V(pa, i, n - i);                                                  \
      spare_b = load_some_##V(pb, i, n - i);                                                  \
      pa = &spare_a;                                                                          \
      pb = &spare_b;                                                                          \
      to = &spare;                                                                            \
      i = 0;                                                                                  \
      whole = LANES;                                                                          \
    }                                                                                         \
  }

#endif
