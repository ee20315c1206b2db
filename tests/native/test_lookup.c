/* test_lookup.c - gathers that become loads of the kernels that read them (fuse/lookup.c): which ones
 * do, and that they have the bits of the reference for every dtype, axis and view, with indices that
 * repeat, count from the end or are out of range. */
#include "graph_support.h"
#include "twin.h"

#include "tensor/tensor.h"

static case_random rng;

#define UNARY(op, x) sn_build_unary(&l.b, SN_OP_##op, x)
#define BINARY(op, x, y) sn_build_binary(&l.b, SN_OP_##op, x, y)

/* Rows (n, columns) of a table (rows, columns) that a vector of n indices names. */
static sn_id rows_of(lab *l, int64_t rows, int64_t n, int64_t columns) {
  const sn_type type = F32(n, columns), column = I32(n, 1), full = I32(n, columns);
  const sn_id table = input(l, F32(rows, columns)), indices = input(l, I32(n));
  const sn_id spread = sn_build_broadcast(&l->b, sn_build_reshape(&l->b, indices, &column), &full);
  return sn_build_op(&l->b, SN_OP_gather, (sn_id[]){table, spread}, 2, &(int64_t){0}, 1, &type);
}

static void rows_go_into_the_map_that_adds_to_them(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type seen = F32(2, 3, 9);
  const sn_id rows = sn_build_reshape(&l.b, rows_of(&l, 7, 6, 9), &seen);
  const sn_id places = input(&l, F32(3, 9));
  OUTPUTS(&l, BINARY(add, rows, sn_build_broadcast(&l.b, places, &seen)));
  const sn_groups groups = cut_with_lookups(&l, 2);
  const char *text;
  assert_int_equal(sn_groups_text(&groups, &l.arena, &text), SN_OK);
  assert_string_equal(text, "k0 map add space(2, 3, 9)\n"
                            "    v0 = b0[0, 0, 0, 1] + 9 x b1[0, 3, 1, 0](7) : float32\n"
                            "    v1 = b2[0, 0, 9, 1] : float32\n"
                            "    v2 = add v0 v1 : float32\n"
                            "    b3[0, 27, 9, 1] = v2\n"
                            "return b3\n");
  assert_int_equal(cut_graph(&l, false).n_groups, 2); /* each op alone */
  lab_close(&l);
}

static void elements_go_into_the_map_that_reads_them(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(4, 6), full = I32(4, 6);
  const sn_id x = input(&l, F32(4, 9)), at = sn_build_broadcast(&l.b, input(&l, I32(6)), &full);
  const sn_id taken = sn_build_op(&l.b, SN_OP_gather, (sn_id[]){x, at}, 2, &(int64_t){1}, 1, &type);
  OUTPUTS(&l, UNARY(neg, taken));
  const sn_groups groups = cut_with_lookups(&l, 1);
  const char *text;
  assert_int_equal(sn_groups_text(&groups, &l.arena, &text), SN_OK);
  assert_string_equal(text, "k0 map neg space(4, 6)\n"
                            "    v0 = b0[0, 9, 0] + 1 x b1[0, 0, 1](9) : float32\n"
                            "    v1 = neg v0 : float32\n"
                            "    b2[0, 6, 1] = v1\n"
                            "return b2\n");
  lab_close(&l);
}

static size_t kernels(lab *l, sn_id y) {
  OUTPUTS(l, y);
  return cut_with_lookups(l, 2).n_groups;
}

static void only_bodies_look_up_rows(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(6, 9), full = I32(6, 9);
  const sn_id rows = rows_of(&l, 7, 6, 9), x = input(&l, type), at = input(&l, full);
  const sn_id elements =
      sn_build_op(&l.b, SN_OP_gather, (sn_id[]){x, at}, 2, &(int64_t){1}, 1, &type);
  const sn_id sum = sn_build_reduce(&l.b, SN_OP_sum, rows, 2);
  assert_int_equal(kernels(&l, UNARY(exp, rows)), 1);
  assert_int_equal(kernels(&l, sum), 1); /* of each row */
  assert_int_equal(kernels(&l, BINARY(sub, rows, sn_build_broadcast_back(&l.b, sum, &type, 2))), 1);
  assert_int_equal(kernels(&l, UNARY(exp, elements)), 2); /* an index for each element */
  assert_int_equal(kernels(&l, sn_build_reduce(&l.b, SN_OP_sum, rows, 1)), 2);
  assert_int_equal(kernels(&l, sn_build_matmul(&l.b, rows, input(&l, F32(9, 2)))), 2);
  assert_int_equal(kernels(&l, rows), 1);
  OUTPUTS(&l, rows, UNARY(exp, rows)); /* somebody else needs it in memory */
  assert_int_equal(cut_with_lookups(&l, 2).n_groups, 2);
  lab_close(&l);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Elements of -2n .. 2n - 1, the same all along the last axis, or along all but the own one; or one for
 * each element. */
static twin indices_of(twins *w, const sn_type *type, int axis, int64_t n) {
  enum { MOST = 4096 };
  sn_type base = *type;
  base.dtype = SN_I32;
  const bool shared = case_one_in(&rng, 2), by_rows = case_one_in(&rng, 2);
  for (int d = 0; d < base.rank; d++)
    if (d != axis && (shared || (by_rows && d == base.rank - 1))) base.dims[d] = 1;
  const int64_t count = sn_type_size(&base);
  int32_t data[MOST];
  assert_true(count <= MOST);
  for (int64_t i = 0; i < count; i++) data[i] = (int32_t)(case_below(&rng, 4 * n) - 2 * n);
  return twin_broadcast(w, twin_input(w, &base, data), type);
}

/* A reader of all rows, of a part of them, or of what a row comes to. */
static twin reader(twins *w, twin rows, const sn_type *type) {
  const int last = type->rank - 1;
  int64_t begin[SN_MAX_RANK] = {0}, size[SN_MAX_RANK], step[SN_MAX_RANK];
  sn_type flat = {type->dtype, 2, {1, type->dims[last]}};
  for (int d = 0; d < type->rank; d++) {
    begin[d] = type->dims[d] > 2;
    size[d] = (type->dims[d] - begin[d] + (d < last)) / (d < last ? 2 : 1);
    step[d] = d < last ? 2 : 1;
    flat.dims[0] *= d < last ? type->dims[d] : 1;
  }
  switch (case_below(&rng, 5)) {
  case 0: return twin_slice(w, rows, begin, size, step);
  case 1: return twin_reshape(w, rows, &flat);
  case 2: return type->dtype == SN_BOOL ? rows : twin_reduce(w, SN_OP_max, rows, 1u << last);
  default: return rows;
  }
}

static void lookup_case(sn_dtype dtype, sn_context *in) {
  twins w;
  twins_begin(&w, in, case_one_in(&rng, 2));
  sn_type type = {.dtype = dtype, .rank = 2 + (int)case_below(&rng, 2)}, made;
  for (int d = 0; d < type.rank; d++) type.dims[d] = 1 + case_below(&rng, 6);
  type.dims[type.rank - 1] = 2 + case_below(&rng, 40);
  const int axis = (int)case_below(&rng, type.rank);
  made = type;
  made.dims[axis] = 1 + case_below(&rng, axis < type.rank - 1 ? 9 : 40);
  twin x[2] = {twin_viewed_input(&w, &rng, case_one_in(&rng, 3) ? TWIN_STEPPED : TWIN_PLAIN,
                                 SN_OP_abs, 0, CASE_WHOLE, &type),
               indices_of(&w, &made, axis, type.dims[axis])};
  const twin rows = twin_along(&w, SN_OP_gather, x, (int64_t[]){axis});
  const twin read = reader(&w, rows, &made), other = twin_input(&w, &made, twin_value(&w, rows));
  const sn_op two = dtype == SN_BOOL ? SN_OP_logical_xor : SN_OP_mul;
  twins_output(&w, dtype == SN_BOOL ? twin_apply(&w, SN_OP_logical_not, &read, 1)
                                    : twin_apply(&w, SN_OP_neg, &read, 1));
  twins_output(&w, twin_apply(&w, two, (twin[]){rows, other}, 2));
  char text[TWIN_TEXT], shape[SN_SHAPE_TEXT];
  if (!twins_agree(&w, text))
    fail_msg("%s%s along axis %d: %s", sn_dtype_name(dtype), sn_shape_text(&type, shape), axis,
             text);
  twins_end(&w);
}

static void lookups_have_the_bits_of_the_reference(void **state) {
  (void)state;
  sn_context *one = case_context(1, sn_isa_detect());
  sn_context *two = case_context(2, sn_isa_detect());
  one->target.costs.lookup_row = two->target.costs.lookup_row = 1;
  rng.state = case_seed();
  print_message("seed %llu\n", (unsigned long long)case_seed());
  for (int i = 0; i < (case_short() ? 200 : 800); i++)
    lookup_case((sn_dtype)(i / 2 % 4), i % 2 ? two : one);
  case_context_end(one);
  case_context_end(two);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_go_into_the_map_that_adds_to_them),
      cmocka_unit_test(elements_go_into_the_map_that_reads_them),
      cmocka_unit_test(only_bodies_look_up_rows),
      cmocka_unit_test(lookups_have_the_bits_of_the_reference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
