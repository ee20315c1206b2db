/* test_recompute.c - which values are in memory between kernels, which ones their readers recompute
 * instead, and which maps share a pass. */
#include "graph_support.h"

#define UNARY(op, x) sn_build_unary(&l.b, SN_OP_##op, x)
#define BINARY(op, x, y) sn_build_binary(&l.b, SN_OP_##op, x, y)

static void cheap_masks_are_made_again(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(8, 64)), w = input(&l, F32(64, 64)), g = input(&l, F32(8, 64));
  const sn_id zero = sn_build_like(&l.b, x, 0), mask = BINARY(greater, x, zero);
  const sn_id y = sn_build_where(&l.b, mask, x, zero);
  const sn_id back = sn_build_matmul(&l.b, sn_build_matmul(&l.b, g, w), w);
  OUTPUTS(&l, sn_build_matmul(&l.b, y, w), sn_build_where(&l.b, mask, back, x));
  const sn_groups groups = cut_graph(&l, true);
  for (size_t v = 0; v < groups.n_values; v++)
    assert_int_not_equal(groups.values[v].type.dtype, SN_BOOL);
  lab_close(&l);
}

/* A kernel that reads a value in two nodes loads it once. Here that costs what another kernel saves, whichever comes first. */
static void a_kernel_counts_once(void **state) {
  (void)state;
  for (int swap = 0; swap < 2; swap++) {
    lab l;
    lab_open(&l, true);
    const sn_id a = input(&l, F32(8, 64)), b = input(&l, F32(8, 64)), w = input(&l, F32(64, 64));
    const sn_id v = BINARY(add, a, b);
    const sn_id first = sn_build_matmul(&l.b, UNARY(exp, v), w);
    const sn_id second = sn_build_matmul(&l.b, first, w), third = sn_build_matmul(&l.b, second, w);
    const sn_id saves = BINARY(add, BINARY(mul, BINARY(mul, swap ? third : second, v), a), b);
    const sn_id costs = BINARY(add, BINARY(mul, swap ? second : third, v), v);
    OUTPUTS(&l, saves, costs);
    const sn_groups groups = cut_graph(&l, true);
    size_t temps = 0;
    for (size_t i = 0; i < groups.n_values; i++) temps += groups.values[i].kind == SN_VALUE_TEMP;
    assert_int_equal(temps, 3); /* exp, first, second; not v */
    lab_close(&l);
  }
}

static void costly_values_are_stored(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(8, 64)), w = input(&l, F32(64, 64)), g = input(&l, F32(8, 64));
  const sn_id e = UNARY(exp, x);
  OUTPUTS(&l, sn_build_matmul(&l.b, BINARY(add, e, x), w),
          BINARY(mul, e, sn_build_matmul(&l.b, sn_build_matmul(&l.b, g, w), w)));
  const sn_groups groups = cut_graph(&l, true);
  size_t temps = 0;
  for (size_t v = 0; v < groups.n_values; v++) temps += groups.values[v].kind == SN_VALUE_TEMP;
  assert_int_equal(temps, 3);
  lab_close(&l);
}

/* Of a cast from 16 bits what is cast is stored; its readers cast, those of a view too. */
static void casts_are_made_by_their_readers(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(8, 64)), w = input(&l, F32(64, 64));
  const sn_id small = sn_build_cast(&l.b, SN_OP_astype, UNARY(exp, x), SN_F16);
  const sn_id wide = sn_build_cast(&l.b, SN_OP_astype, small, SN_F32);
  const sn_id turned = sn_build_swap_last(&l.b, wide);
  OUTPUTS(&l, BINARY(add, wide, sn_build_matmul(&l.b, wide, w)),
          BINARY(add, turned, sn_build_matmul(&l.b, w, turned)));
  const sn_groups groups = cut_graph(&l, true);
  size_t temps = 0;
  for (size_t v = 0; v < groups.n_values; v++) {
    if (groups.values[v].kind != SN_VALUE_TEMP) continue;
    assert_int_equal(groups.values[v].type.dtype, SN_F16);
    temps++;
  }
  assert_int_equal(temps, 1);
  lab_close(&l);
}

/* Maps that read one tensor share a pass over it; of a number there is none. */
static void maps_that_share_a_number_stay_apart(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(8, 64);
  const sn_id x = input(&l, type), y = input(&l, type), n = input(&l, F32(1));
  const sn_id number = sn_build_broadcast(&l.b, n, &type);
  OUTPUTS(&l, BINARY(mul, x, number), BINARY(mul, y, number), BINARY(sub, x, number));
  assert_int_equal(cut_graph(&l, true).n_groups, 2);
  lab_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cheap_masks_are_made_again),
      cmocka_unit_test(a_kernel_counts_once),
      cmocka_unit_test(costly_values_are_stored),
      cmocka_unit_test(casts_are_made_by_their_readers),
      cmocka_unit_test(maps_that_share_a_number_stay_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
