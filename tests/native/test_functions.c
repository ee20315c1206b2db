/* test_functions.c - the rows' data against their texts compiled: what WebAssembly reads word by
 * word (scalar_wasm.c) has the bits that scalar_posix.c computes, of every row of ops.def, plain
 * and fused. */
#include "support.h"

#include <math.h>

#include "graph/scalar.h"
#include "graph/shape.h"

double read_scalar(sn_op op, sn_dtype dtype, bool fused, double a, double b);
uint16_t read_half_bits(sn_dtype dtype, float value);
float read_half_value(sn_dtype dtype, uint16_t bits);
#define sn_op_scalar read_scalar
#define sn_half_bits read_half_bits
#define sn_half_value read_half_value
#include "graph/rows_simd128.c"
#include "graph/scalar_wasm.c"
#undef sn_op_scalar
#undef sn_half_bits
#undef sn_half_value

enum { N = 5000 };

static uint64_t state_of_random = 1;
static uint64_t random_bits(void) {
  state_of_random ^= state_of_random << 13;
  state_of_random ^= state_of_random >> 7;
  state_of_random ^= state_of_random << 17;
  return state_of_random * UINT64_C(0x2545F4914F6CDD1D);
}

/* Any bits, and as often numbers of the size people compute with. */
static double random_number(bool wide) {
  const uint64_t bits = random_bits();
  const double unit = (double)(int64_t)bits * 0x1p-63;
  switch (bits >> 40 & 7) {
  case 0: return unit;
  case 1: return unit * 10;
  case 2: return unit * 1000;
  case 3: return (double)((int64_t)(bits >> 20 & 63) - 32) / 4;
  case 4: return (double[]){0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5}[bits >> 8 & 7];
  default: return wide ? sn_f64_from_bits(random_bits()) : (double)sn_f32_from_bits((uint32_t)bits);
  }
}

static double random_of(sn_dtype dtype) {
  switch (dtype) {
  case SN_F32: return (double)(float)random_number(false);
  case SN_F64: return random_number(true);
  case SN_I32:
    return random_bits() & 1 ? (double)(int32_t)random_bits() : (double)(random_bits() % 9) - 4;
  default: return (double)(random_bits() >> 32 & 1);
  }
}

static void check(sn_op op, sn_dtype dtype, bool fused) {
  for (int i = 0; i < N; i++) {
    const double a = random_of(dtype), b = random_of(dtype);
    const double got = read_scalar(op, dtype, fused, a, b);
    const double expected = sn_op_scalar(op, dtype, fused, a, b);
    if ((isnan(got) && isnan(expected)) || !memcmp(&got, &expected, sizeof got)) continue;
    fail_msg("%s of %s, fused: %d: (%a, %a) gives %a, not %a", sn_op_describe(op)->name,
             sn_dtype_name(dtype), fused, a, b, got, expected);
  }
}

static void every_row_has_the_same_bits(void **state) {
  (void)state;
  int rows = 0;
  for (sn_op op = 0; op < SN_OP_COUNT; op++) {
    const sn_op_info *info = sn_op_describe(op);
    const bool has_expression = info->kind == SN_CLASS_MAP || info->kind == SN_CLASS_COMPARE ||
                                info->kind == SN_CLASS_REDUCE;
    for (sn_dtype dtype = 0; has_expression && dtype <= SN_BOOL; dtype++) {
      if (!(info->types & 1 << dtype)) continue;
      check(op, dtype, false);
      if (dtype == SN_F32) check(op, dtype, true);
      rows++;
    }
  }
  assert_true(rows > 150);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_row_has_the_same_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
