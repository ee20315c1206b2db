/* scan.c - running sums, products and first-order recurrences along an axis. One element after the
 * other, so the order of a line is that of its elements; lines side by side are vectors.
 *
 * The state of floats is a float64, rounded once for each element that is written (see
 * graph/reference_axis.c). */
#include "kernels/ready.h"

typedef uint32_t word; /* int32 that wraps */

/* state[k] = the op's step from the state before and element i of line k; width is a constant where
 * it is 1. Ops share their walk, as a page downloads it: cumsum of one long line takes 1.5x the
 * time of a walk of its own. */
#define DEFINE_SCAN(suffix, T, STATE)                                                            \
  static inline                                                                                  \
      __attribute__((always_inline)) void walk_##suffix(const sn_ready_site *s, int64_t width) { \
    const sn_lines *x = &s->in[0], *b = &s->in[1], *y = &s->out;                                 \
    const bool reverse = s->ready->options[0], exclusive = s->ready->options[1];                 \
    const sn_op op = s->ready->op;                                                               \
    STATE state[SN_SCAN_WIDTH];                                                                  \
    for (int64_t k = 0; k < width; k++) state[k] = op == SN_OP_cumprod;                          \
    for (int64_t j = 0; j < y->n; j++) {                                                         \
      const int64_t i = reverse ? y->n - 1 - j : j;                                              \
      const T *from = (const T *)x->data + i * x->along;                                         \
      const T *other = (const T *)b->data + i * b->along;                                        \
      T *to = (T *)y->data + i * y->along;                                                       \
      for (int64_t k = 0; k < width; k++) {                                                      \
        const STATE before = state[k], in = (STATE)from[k * x->across];                          \
        if (op == SN_OP_cumsum)                                                                  \
          state[k] = before + in;                                                                \
        else if (op == SN_OP_cumprod)                                                            \
          state[k] = before * in;                                                                \
        else                                                                                     \
          state[k] = in * before + (STATE)other[k * b->across];                                  \
        to[k] = (T)(exclusive ? before : state[k]);                                              \
      }                                                                                          \
    }                                                                                            \
  }                                                                                              \
  static void scan_##suffix(const sn_ready_site *s) {                                            \
    if (s->width == 1)                                                                           \
      walk_##suffix(s, 1);                                                                       \
    else                                                                                         \
      walk_##suffix(s, s->width);                                                                \
  }

DEFINE_SCAN(f32, float, double)
DEFINE_SCAN(f64, double, double)
DEFINE_SCAN(i32, word, word)

void sn_scan_lines(const sn_ready_site *s) {
  switch (s->dtype) {
  case SN_F32: scan_f32(s); break;
  case SN_F64: scan_f64(s); break;
  default: scan_i32(s); break;
  }
}
