/* scan.c - running sums, products and first-order recurrences along an axis. The elements of a line are
 * taken one after the other, in their order; lines side by side are vectors.
 *
 * The state of floats is a float64, rounded once for each element that is written (see
 * graph/reference_axis.c). */
#include "kernels/call.h"

typedef uint32_t word; /* int32 that wraps */

/* state[k] = step of the state before and element i of line k; width 1 is passed as a constant */
#define DEFINE_SCAN(name, T, STATE, start, step)                                               \
  static inline                                                                                \
      __attribute__((always_inline)) void walk_##name(const sn_call_site *s, int64_t width) { \
    const sn_lines *x = &s->in[0], *b = &s->in[1], *y = &s->out;                               \
    const bool reverse = s->call->options[0], exclusive = s->call->options[1];               \
    STATE state[SN_SCAN_WIDTH];                                                                \
    for (int64_t k = 0; k < width; k++) state[k] = (start);                                    \
    for (int64_t j = 0; j < y->n; j++) {                                                       \
      const int64_t i = reverse ? y->n - 1 - j : j;                                            \
      const T *from = (const T *)x->data + i * x->along;                                       \
      const T *other = (const T *)b->data + i * b->along;                                      \
      T *to = (T *)y->data + i * y->along;                                                     \
      (void)other;                                                                             \
      for (int64_t k = 0; k < width; k++) {                                                    \
        const STATE before = state[k], in = (STATE)from[k * x->across];                        \
        state[k] = (step);                                                                     \
        to[k] = (T)(exclusive ? before : state[k]);                                            \
      }                                                                                        \
    }                                                                                          \
  }                                                                                            \
  static void name(const sn_call_site *s) {                                                   \
    if (s->width == 1)                                                                         \
      walk_##name(s, 1);                                                                       \
    else                                                                                       \
      walk_##name(s, s->width);                                                                \
  }

#define DEFINE_SCANS(suffix, T, STATE)                    \
  DEFINE_SCAN(sums_##suffix, T, STATE, 0, before + in)    \
  DEFINE_SCAN(products_##suffix, T, STATE, 1, before *in) \
  DEFINE_SCAN(recurrence_##suffix, T, STATE, 0, in *before + (STATE)other[k * b->across])

DEFINE_SCANS(f32, float, double)
DEFINE_SCANS(f64, double, double)
DEFINE_SCANS(i32, word, word)

#define SCAN_OF(name)                \
  switch (s->dtype) {                \
  case SN_F32: name##_f32(s); break; \
  case SN_F64: name##_f64(s); break; \
  default: name##_i32(s); break;     \
  }

void sn_scan_lines(const sn_call_site *s) {
  switch ((int)s->call->op) {
  case SN_OP_cumsum: SCAN_OF(sums); break;
  case SN_OP_cumprod: SCAN_OF(products); break;
  default: SCAN_OF(recurrence); break;
  }
}
