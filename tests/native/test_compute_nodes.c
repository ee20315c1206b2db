/* test_compute_nodes.c - the functions of math/ computed node by node, as WebAssembly does if there is
 * no emitted code, have the bits of the reference: every row that is such a function, plain and fused,
 * on all pairs of special values and on random bits, over a strip that ends within a vector. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "graph/scalar.h"
#include "kernels/strip.h"
#include "op_cases.h"
#include "random.h"

enum { N = SN_STRIP - 3 };

typedef struct row {
  sn_op op;
  const char *of_floats, *of_ints; /* expressions */
} row;

static const row rows[] = {
#define EW_F(id, n, f, c, lo, hi, u, d, xf, ...) {SN_OP_##id, #xf, ""},
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) {SN_OP_##id, #xf, #xi},
#include "graph/ops.def"
};

static double element(sn_dtype dtype, const void *strip, int i) {
  return dtype == SN_F32   ? (double)((const float *)strip)[i]
         : dtype == SN_F64 ? ((const double *)strip)[i]
                           : ((const int32_t *)strip)[i];
}

static void check(sn_op op, sn_dtype dtype, const void *a, const void *b, int n) {
  double out[SN_STRIP];
  for (int fused = 0; fused < 2; fused++) {
    memset(out, 0x5a, sizeof out);
    sn_strip_computed(op, dtype, out, a, b, n, fused);
    for (int i = 0; i < n; i++) {
      const double x = element(dtype, a, i), y = element(dtype, b, i), got = element(dtype, out, i);
      const double wanted = sn_op_scalar(op, dtype, fused, x, y);
      if (memcmp(&got, &wanted, sizeof got) && !(isnan(got) && isnan(wanted)))
        fail_msg("%s%s(%a, %a) = %a, not %a", fused ? "fused " : "", sn_op_describe(op)->name, x, y,
                 got, wanted);
    }
    const unsigned char *behind = (const unsigned char *)out + (size_t)n * sn_strip_bytes(dtype);
    assert_int_equal(*behind, 0x5a);
  }
}

static void all_values(sn_op op, sn_dtype dtype) {
  case_random rng = {case_seed()};
  double a[SN_STRIP], b[SN_STRIP];
  for (int round = 0; round < 200; round++) {
    const case_values values = round % 2 ? CASE_SPECIALS : CASE_MIXED;
    case_fill(&rng, op, 0, dtype, values, N, a);
    case_fill(&rng, op, 1, dtype, values, N, b);
    check(op, dtype, a, b, round ? N : 1);
  }
  for (int round = 0; round < 200; round++) {
    for (int i = 0; i < N; i++) {
      const uint64_t bits[2] = {case_bits(&rng), case_bits(&rng)};
      memcpy(&a[i], &bits[0], sizeof *a);
      memcpy(&b[i], &bits[1], sizeof *b);
    }
    check(op, dtype, a, b, N);
  }
}

static bool is_function(const char *expression) { return !strncmp(expression, "X_FN", 4); }

static void nodes_have_the_bits_of_the_reference(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (is_function(rows[i].of_floats)) all_values(rows[i].op, SN_F32);
    if (is_function(rows[i].of_floats)) all_values(rows[i].op, SN_F64);
    if (is_function(rows[i].of_ints)) all_values(rows[i].op, SN_I32);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_have_the_bits_of_the_reference)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
