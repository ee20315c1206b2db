/* test_fuse.c - graphs cut into kernels: how many there are, of which kind, with which bodies, and why
 * an edge was cut. The numbers are asserted so that fusion cannot get worse unnoticed. */
#include "graph_support.h"

/* ---- counts ---------------------------------------------------------------------------------- */

typedef struct counts {
  size_t maps, reduces, contractions;
} counts;

/* The members of a product's kernel, too. */
static void count_kinds(const sn_group *groups, size_t n, counts *c) {
  for (size_t i = 0; i < n; i++) {
    c->maps += groups[i].kind == SN_GROUP_MAP;
    c->reduces += groups[i].kind == SN_GROUP_REDUCE;
    c->contractions += groups[i].kind == SN_GROUP_CONTRACTION;
    if (sn_group_prologue(&groups[i])) count_kinds(sn_group_prologue(&groups[i]), 1, c);
  }
}

static void expect_rows(lab *l, size_t rows, uint32_t phases) {
  const sn_groups groups = cut_graph(l, true);
  assert_int_equal(groups.n_groups, rows);
  for (size_t i = 0; i < rows; i++) {
    assert_int_equal(groups.groups[i].kind, SN_GROUP_ROW);
    assert_int_equal(sn_group_phases(&groups.groups[i]), phases);
  }
}

static void expect_kernels(lab *l, size_t maps, size_t reduces, size_t contractions) {
  const sn_groups groups = cut_graph(l, true);
  counts c = {0};
  count_kinds(groups.groups, groups.n_groups, &c);
  if (c.maps != maps || c.reduces != reduces || c.contractions != contractions) {
    const char *text;
    sn_groups_text(&groups, &l->arena, &text);
    fail_msg("expected %zu maps, %zu reduces, %zu contractions:\n%s", maps, reduces, contractions,
             text);
  }
}

#define UNARY(op, x) sn_build_unary(&l.b, SN_OP_##op, x)
#define BINARY(op, x, y) sn_build_binary(&l.b, SN_OP_##op, x, y)
#define SUM(x, axes) sn_build_reduce(&l.b, SN_OP_sum, x, axes)

static sn_id spread(lab *l, sn_id x, sn_type type, uint64_t axes) {
  return sn_build_broadcast_back(&l->b, x, &type, axes);
}

static void a_linear_layer_is_one_contraction(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(4, 8)), w = input(&l, F32(8, 5)), b = input(&l, F32(5));
  const sn_type type = F32(4, 5);
  const sn_id m = sn_build_matmul(&l.b, x, w), bias = sn_build_broadcast(&l.b, b, &type);
  OUTPUTS(&l, UNARY(relu, BINARY(add, m, bias)));
  expect_kernels(&l, 0, 0, 1);
  lab_close(&l);
}

static void a_squared_error_is_one_reduction(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(4, 8)), y = input(&l, F32(4, 8));
  const sn_id d = BINARY(sub, x, y);
  const sn_id s = SUM(UNARY(square, d), 3), t = UNARY(sqrt, s);
  OUTPUTS(&l, t);
  expect_kernels(&l, 0, 1, 0);
  lab_close(&l);
}

static void softmax_is_one_row_kernel(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(4, 8);
  const sn_id x = input(&l, type);
  const sn_id top = spread(&l, sn_build_reduce(&l.b, SN_OP_max, x, 2), type, 2);
  const sn_id e = UNARY(exp, BINARY(sub, x, top));
  const sn_id s = spread(&l, SUM(e, 2), type, 2);
  OUTPUTS(&l, BINARY(div, e, s));
  expect_rows(&l, 1, 3);
  lab_close(&l);
}

static void maps_over_one_input_are_one(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(4, 8));
  const sn_id a = UNARY(exp, x), b = UNARY(tanh, x), c = BINARY(less, a, b);
  OUTPUTS(&l, a, b, c);
  expect_kernels(&l, 1, 0, 0);
  const sn_groups groups = cut_graph(&l, true);
  assert_int_equal(groups.groups[0].n_stores, 3);
  lab_close(&l);
}

static void maps_of_other_shapes_are_not(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(8)), y = input(&l, F32(9));
  OUTPUTS(&l, UNARY(exp, x), UNARY(exp, y));
  expect_kernels(&l, 2, 0, 0);
  lab_close(&l);
}

static void a_long_chain_is_cut_by_size(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  sn_id x = input(&l, F32(8));
  for (int i = 0; i < 1000; i++) x = UNARY(neg, x);
  OUTPUTS(&l, x);
  const sn_groups groups = cut_graph(&l, true);
  assert_int_equal(groups.n_groups, 4);
  assert_int_equal(groups.n_cuts, 3);
  for (size_t i = 0; i < groups.n_cuts; i++) assert_int_equal(groups.cuts[i].why, SN_CUT_LIMIT);
  lab_close(&l);
}

/* What members read of each other is no load, what they read from memory is. */
static void a_kernel_loads_so_many_operands(void **state) {
  (void)state;
  const uint32_t most = sn_cpu_target.limits.operands;
  for (int more = 0; more < 2; more++) {
    lab l;
    lab_open(&l, true);
    sn_id x = input(&l, F32(8));
    for (uint32_t i = 1; i < most + (uint32_t)more; i++) {
      sn_id y = input(&l, F32(8));
      if (i % 4 == 0) y = BINARY(mul, BINARY(add, x, x), y); /* two edges within the kernel */
      x = BINARY(add, x, y);
    }
    OUTPUTS(&l, x);
    const sn_groups groups = cut_graph(&l, true);
    assert_int_equal(groups.n_groups, 1 + more);
    assert_int_equal(groups.n_cuts, more);
    lab_close(&l);
  }
}

static void updates_sink_into_their_gradients(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  /* w - rate * (x^T dy), m * 0.9 + 0.1 (x^T dy): one contraction with two results */
  const sn_id xt = input(&l, F32(8, 4)), dy = input(&l, F32(4, 5)), w = input(&l, F32(8, 5)),
              m = input(&l, F32(8, 5));
  const sn_id g = sn_build_matmul(&l.b, xt, dy);
  const sn_id m2 = BINARY(add, BINARY(mul, m, sn_build_like(&l.b, m, 0.9)), g);
  OUTPUTS(&l, BINARY(sub, w, BINARY(mul, m2, sn_build_like(&l.b, m, 0.01))), m2);
  expect_kernels(&l, 0, 0, 1);
  lab_close(&l);
}

static void expect_written(const sn_groups *groups, const sn_body *body, const uint8_t *written) {
  for (uint32_t k = 0; k < body->n_operands; k++) {
    const uint32_t v = body->operands[k].value;
    if (v != SN_NONE && groups->values[v].kind != SN_VALUE_ARGUMENT) assert_true(written[v]);
  }
}

/* Two sets that need each other's results may never be one, however they are grown. */
static void no_cycles(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(6, 6);
  const sn_id x = input(&l, type);
  const sn_id a = UNARY(exp, x);
  const sn_id s = spread(&l, SUM(a, 2), type, 2); /* a -> s -> b, and a -> b */
  const sn_id b = BINARY(add, a, s);
  const sn_id u = spread(&l, SUM(b, 1), type, 1);
  OUTPUTS(&l, BINARY(mul, BINARY(add, b, u), a));
  const sn_groups groups = cut_graph(&l, true);
  assert_int_equal(groups.n_groups, 3);
  /* every operand is written before it is read */
  uint8_t written[64] = {0};
  for (size_t i = 0; i < groups.n_groups; i++) {
    const sn_group *g = &groups.groups[i];
    for (uint32_t p = 0; p < sn_group_phases(g); p++)
      expect_written(&groups, &g->row.phases[p].body, written);
    expect_written(&groups, &g->post, written);
    for (uint32_t p = 0; p < sn_group_phases(g); p++)
      for (uint32_t k = 0; k < g->row.phases[p].n_stores; k++)
        written[g->row.phases[p].stores[k].target.value] = 1;
    for (uint32_t k = 0; k < g->n_stores; k++) written[g->stores[k].target.value] = 1;
  }
  lab_close(&l);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* x - mean over the last axis, times 1 / sqrt(variance + eps) */
static sn_id normalise(lab *l, sn_id x, sn_type type) {
  sn_build *b = &l->b;
  const double n = (double)type.dims[type.rank - 1];
  const uint64_t last = 1ull << (type.rank - 1);
  const sn_id sum = sn_build_reduce(b, SN_OP_sum, x, last);
  const sn_id mean = sn_build_binary(b, SN_OP_div, sum, sn_build_like(b, sum, n));
  const sn_id centred =
      sn_build_binary(b, SN_OP_sub, x, sn_build_broadcast_back(b, mean, &type, last));
  const sn_id squares =
      sn_build_reduce(b, SN_OP_sum, sn_build_unary(b, SN_OP_square, centred), last);
  const sn_id scale = sn_build_unary(
      b, SN_OP_rsqrt,
      sn_build_binary(b, SN_OP_add,
                      sn_build_binary(b, SN_OP_div, squares, sn_build_like(b, sum, n)),
                      sn_build_like(b, sum, 1e-5)));
  return sn_build_binary(b, SN_OP_mul, centred, sn_build_broadcast_back(b, scale, &type, last));
}

static void layer_norm_is_one_row_kernel(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(2, 5, 16);
  const sn_id x = input(&l, type), w = input(&l, F32(16));
  OUTPUTS(&l, BINARY(mul, normalise(&l, x, type), sn_build_broadcast_back(&l.b, w, &type, 3)));
  expect_rows(&l, 1, 3);
  lab_close(&l);
}

static void results_per_row_are_part_of_it(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  /* log of the sum of exponentials, and the softmax with it */
  const sn_type type = F32(6, 9);
  const sn_id x = input(&l, type), labels = input(&l, F32(6));
  const sn_id e = UNARY(exp, x), s = SUM(e, 2);
  const sn_id loss = BINARY(sub, UNARY(log, s), labels);
  OUTPUTS(&l, BINARY(div, e, spread(&l, s, type, 2)), loss);
  const sn_groups groups = cut_graph(&l, true);
  assert_int_equal(groups.n_groups, 1);
  assert_int_equal(groups.groups[0].kind, SN_GROUP_ROW);
  assert_int_equal(groups.groups[0].row.n_kept, 1);
  assert_int_equal(groups.groups[0].n_stores, 1);
  assert_int_equal(groups.groups[0].row.phases[1].n_stores, 1);
  lab_close(&l);
}

static void rows_that_cannot_be_one_kernel(void **state) {
  (void)state;
  /* too long; over an axis that is not the last; of one point; of two lengths */
  const struct {
    sn_type type;
    uint64_t axes, others;
  } cases[] = {{F32(3, 8193), 2, 2}, {F32(6, 5), 1, 1}, {F32(6, 1), 2, 2}, {F32(3, 4, 5), 4, 6}};
  for (size_t i = 0; i < 4; i++) {
    lab l;
    lab_open(&l, true);
    const sn_id x = input(&l, cases[i].type);
    const sn_id top = spread(&l, SUM(x, cases[i].axes), cases[i].type, cases[i].axes);
    const sn_id y = UNARY(exp, BINARY(sub, x, top));
    OUTPUTS(&l, SUM(y, cases[i].others));
    assert_int_equal(cut_graph(&l, true).n_groups, 2);
    lab_close(&l);
  }
}

/* ---- off ------------------------------------------------------------------------------------- */

static void fusion_can_be_off(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(4, 8)), y = input(&l, F32(4, 8));
  const sn_id s = SUM(UNARY(square, BINARY(sub, x, y)), 3);
  OUTPUTS(&l, UNARY(sqrt, s));
  const sn_groups groups = cut_graph(&l, false);
  assert_int_equal(groups.n_groups, 4);
  assert_int_equal(groups.n_cuts, 0);
  lab_close(&l);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void expect_groups(lab *l, const char *expected) {
  const sn_groups groups = cut_graph(l, true);
  const char *text;
  assert_int_equal(sn_groups_text(&groups, &l->arena, &text), SN_OK);
  assert_string_equal(text, expected);
}

static void text_of_a_contraction(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  /* b^T is read by strides; the row of bias by stride 0 */
  const sn_id a = input(&l, F32(4, 8)), b = input(&l, F32(5, 8)), bias = input(&l, F32(5));
  const sn_type type = F32(4, 5);
  const sn_id m = sn_build_matmul(&l.b, a, sn_build_swap_last(&l.b, b));
  OUTPUTS(&l, BINARY(add, m, sn_build_broadcast(&l.b, bias, &type)));
  expect_groups(&l, "k0 contraction matmul+add space(4, 5) k(8)\n"
                    "  total0 = matmul b0[0, 8, 1] b1[0, 1, 8]\n"
                    "    v0 = total0 : float32\n"
                    "    v1 = b2[0, 0, 1] : float32\n"
                    "    v2 = add v0 v1 : float32\n"
                    "    b3[0, 5, 1] = v2\n"
                    "return b3\n");
  lab_close(&l);
}

static void text_of_a_reduction(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(4, 8, 2)), y = input(&l, F32(4, 8, 2));
  const sn_id s = SUM(BINARY(mul, x, y), 1);
  OUTPUTS(&l, UNARY(neg, s), s);
  expect_groups(&l, "k0 reduce mul+sum+neg space(16) reduced(4)\n"
                    "  phase 0\n"
                    "    v0 = b0[0, 1, 16] : float32\n"
                    "    v1 = b1[0, 1, 16] : float32\n"
                    "    v2 = mul v0 v1 : float32\n"
                    "    total0 = sum v2\n"
                    "  then\n"
                    "    v0 = total0 : float32\n"
                    "    v1 = neg v0 : float32\n"
                    "    b2[0, 1] = v0\n"
                    "    b3[0, 1] = v1\n"
                    "return b3 b2\n");
  lab_close(&l);
}

/* What reduces a short row would join the map that alone reads its result, were there no stack. */
static void a_stack_keeps_rows_out(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type one = F32(1);
  const sn_id x = input(&l, F32(1, 31)), y = input(&l, F32(300));
  const sn_id a = sn_build_reduce(&l.b, SN_OP_max, x, 2),
              b = sn_build_reduce(&l.b, SN_OP_max, y, 1);
  const sn_id p = BINARY(add, UNARY(neg, a), sn_build_broadcast(&l.b, UNARY(neg, b), &one));
  const int64_t axis[] = {0};
  OUTPUTS(&l, p, sn_build_op(&l.b, SN_OP_concat, (sn_id[]){p, p, p}, 3, axis, 1, NULL));
  expect_kernels(&l, 1, 2, 0);
  lab_close(&l);
}

static void text_of_concat_pad_and_slice(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(4)), y = input(&l, F32(3));
  const sn_type nine = F32(9), three = F32(3);
  const sn_id both[] = {UNARY(exp, x), y};
  const sn_id c = sn_build_op(&l.b, SN_OP_concat, both, 2, (const int64_t[]){0}, 1, NULL);
  const sn_id p =
      sn_build_op(&l.b, SN_OP_pad, &c, 1, (const int64_t[]){1, 1, sn_double_attr(5)}, 3, &nine);
  const sn_id z = sn_build_op(&l.b, SN_OP_slice, &p, 1, (const int64_t[]){8, -3}, 2, &three);
  OUTPUTS(&l, UNARY(neg, z));
  expect_groups(&l, "k0 map exp space(4)\n"
                    "    v0 = b0[0, 1] : float32\n"
                    "    v1 = exp v0 : float32\n"
                    "    b2[0, 1] = v1\n"
                    "k1 map concat space(4)\n"
                    "    v0 = b2[0, 1] : float32\n"
                    "    b3[0, 1] = v0\n"
                    "k2 map concat space(3)\n"
                    "    v0 = b1[0, 1] : float32\n"
                    "    b3[4, 1] = v0\n"
                    "k3 map pad space(9)\n"
                    "    v0 = 5 : float32\n"
                    "    b4[0, 1] = v0\n"
                    "k4 map pad space(7)\n"
                    "    v0 = b3[0, 1] : float32\n"
                    "    b4[1, 1] = v0\n"
                    "k5 map neg space(3)\n"
                    "    v0 = b4[8, -3] : float32\n"
                    "    v1 = neg v0 : float32\n"
                    "    b5[0, 1] = v1\n"
                    "cut %5 -> %6: read through a view\n"
                    "return b5\n");
  lab_close(&l);
}

/* What a kernel makes for a pad alone is written where it goes; what stands around it is filled in. */
static void what_is_padded_is_not_copied(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(2, 3)), e = UNARY(exp, x);
  const sn_type padded = F32(4, 6);
  const int64_t attrs[] = {1, 0, 1, 1, sn_double_attr(5)}, spread[] = {0, 0, 3, 2, 0};
  OUTPUTS(&l, sn_build_op(&l.b, SN_OP_pad, &e, 1, attrs, 5, &padded));
  expect_groups(&l, "k0 map exp space(2, 3)\n"
                    "    v0 = b0[0, 3, 1] : float32\n"
                    "    v1 = exp v0 : float32\n"
                    "    b2[6, 6, 1] = v1\n"
                    "k1 map pad space(6)\n"
                    "    v0 = 5 : float32\n"
                    "    b2[0, 1] = v0\n"
                    "    b2[18, 1] = v0\n"
                    "k2 map pad space(2, 3)\n"
                    "    v0 = 5 : float32\n"
                    "    b2[9, 6, 1] = v0\n"
                    "return b2\n");
  const sn_type rows = F32(4, 3);
  OUTPUTS(&l, sn_build_op(&l.b, SN_OP_pad, &e, 1, attrs, 5, &rows));
  expect_kernels(&l, 2, 0, 0);
  OUTPUTS(&l, e, sn_build_op(&l.b, SN_OP_pad, &e, 1, attrs, 5, &rows));
  expect_kernels(&l, 3, 0, 0); /* the caller has it, too: everywhere, then a copy */
  const sn_type wide = F32(4, 5);
  OUTPUTS(&l, sn_build_op(&l.b, SN_OP_pad, &e, 1, spread, 5, &wide));
  expect_kernels(&l, 3, 0, 0);
  lab_close(&l);
}

/* The second product's kernel makes a number again from what a pad reads, too. */
static void what_is_padded_is_read_again(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type padded = F32(6, 4);
  const int64_t attrs[] = {1, 0, 1, 1, 0};
  const sn_id x = input(&l, F32(4, 4)), e = UNARY(exp, x), less = UNARY(neg, e);
  const sn_id product = sn_build_matmul(&l.b, sn_build_matmul(&l.b, x, x), x);
  OUTPUTS(&l, sn_build_op(&l.b, SN_OP_pad, &e, 1, attrs, 5, &padded), BINARY(mul, product, less));
  expect_kernels(&l, 3, 0, 2);
  lab_close(&l);
}

static void an_index_needs_no_memory(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = I32(4, 3);
  const sn_id x = input(&l, type);
  const sn_id i = sn_build_op(&l.b, SN_OP_iota, NULL, 0, (const int64_t[]){1}, 1, &type);
  const sn_id flipped =
      sn_build_op(&l.b, SN_OP_slice, &i, 1, (const int64_t[]){0, 2, 1, -1}, 4, &type);
  OUTPUTS(&l, BINARY(add, x, flipped));
  expect_groups(&l, "k0 map add space(4, 3)\n"
                    "    v0 = b0[0, 3, 1] : int32\n"
                    "    v1 = index[2, 0, -1] : int32\n"
                    "    v2 = add v0 v1 : int32\n"
                    "    b1[0, 3, 1] = v2\n"
                    "return b1\n");
  lab_close(&l);
}

static void dimensions_are_merged(void **state) {
  (void)state;
  const struct {
    sn_type type;
    int64_t perm[4];
    int rank;
  } cases[] = {{F32(2, 3, 4, 5), {0, 1, 2, 3}, 1}, {F32(2, 3, 4, 5), {2, 3, 0, 1}, 2},
               {F32(2, 3, 4, 5), {0, 2, 1, 3}, 4}, {F32(2, 1, 4, 1), {2, 1, 0, 3}, 2},
               {F32(1, 1, 1, 1), {3, 2, 1, 0}, 0}, {F32(2, 3, 4, 5), {1, 2, 3, 0}, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lab l;
    lab_open(&l, true);
    const sn_id x = input(&l, cases[i].type);
    OUTPUTS(&l, UNARY(exp, sn_build_transpose(&l.b, x, cases[i].perm)));
    const sn_groups groups = cut_graph(&l, true);
    assert_int_equal(groups.n_groups, 1);
    assert_int_equal(groups.groups[0].space_rank, cases[i].rank);
    lab_close(&l);
  }
}

/* ---- cuts ------------------------------------------------------------------------------------ */

static void expect_cut(lab *l, sn_cut why) {
  const sn_groups groups = cut_graph(l, true);
  bool found = false;
  for (size_t i = 0; i < groups.n_cuts; i++) found = found || groups.cuts[i].why == why;
  assert_true(found);
}

static void cuts_have_reasons(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(4, 4)), e = UNARY(exp, x);
  OUTPUTS(&l, BINARY(add, e, sn_build_swap_last(&l.b, e)));
  expect_cut(&l, SN_CUT_VIEW);
  lab_close(&l);

  lab_open(&l, true);
  const sn_id y = input(&l, F32(4, 4));
  const sn_id a = sn_build_matmul(&l.b, y, y), b = sn_build_matmul(&l.b, y, input(&l, F32(4, 4)));
  OUTPUTS(&l, BINARY(add, a, b));
  expect_cut(&l, SN_CUT_TWO_TOTALS);
  expect_kernels(&l, 0, 0, 2); /* the sum of both rides on the second */
  lab_close(&l);

  lab_open(&l, true);
  const sn_id z = input(&l, F32(4));
  const sn_type padded = F32(6);
  const int64_t attrs[] = {1, 1, 0};
  OUTPUTS(&l, UNARY(exp, sn_build_op(&l.b, SN_OP_pad, &z, 1, attrs, 3, &padded)));
  expect_cut(&l, SN_CUT_KIND);
  lab_close(&l);
}

/* ---- outputs, leaves, failures --------------------------------------------------------------- */

static void outputs_that_nobody_computes(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(3);
  const sn_id x = input(&l, F32(2, 3));
  const sn_id c = sn_build_full(&l.b, &type, 4);
  OUTPUTS(&l, x, sn_build_swap_last(&l.b, x), c, x);
  const sn_groups groups = cut_graph(&l, true);
  assert_int_equal(groups.n_groups, 2); /* a copy of the view, a fill */
  assert_int_equal(groups.values[groups.outputs[0]].kind, SN_VALUE_ARGUMENT);
  assert_int_equal(groups.outputs[0], groups.outputs[3]);
  assert_int_equal(groups.values[groups.outputs[1]].kind, SN_VALUE_OUTPUT);
  lab_close(&l);
}

/* The copy and what reads it are one kernel. */
static void a_reshape_that_cannot_be_a_view_is_a_copy(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type flat = F32(12);
  const sn_id x = input(&l, F32(3, 4));
  OUTPUTS(&l, UNARY(exp, sn_build_reshape(&l.b, sn_build_swap_last(&l.b, x), &flat)));
  expect_kernels(&l, 1, 0, 0);
  lab_close(&l);
  lab_open(&l, true);
  const sn_id y = input(&l, F32(3, 4));
  OUTPUTS(&l, UNARY(exp, sn_build_reshape(&l.b, y, &flat)));
  expect_kernels(&l, 1, 0, 0);
  lab_close(&l);
}

/* What reads a reshape runs in the nest of what made it, cut where both shapes are. */
static void reshapes_share_a_nest(void **state) {
  (void)state;
  const sn_type windows = F32(2, 3, 2, 3, 2, 4), image = F32(2, 6, 6, 4), flat = F32(288);
  const sn_type even = F32(12, 24), odd = F32(16, 18), rows = F32(4, 6, 5), line = F32(24, 5);
  for (int which = 0; which < 5; which++) {
    lab l;
    lab_open(&l, true);
    if (which == 0) { /* windows -> image -> flat */
      const sn_id x = UNARY(exp, input(&l, windows));
      const sn_id y = BINARY(mul, sn_build_reshape(&l.b, x, &image), input(&l, image));
      OUTPUTS(&l, UNARY(relu, sn_build_reshape(&l.b, y, &flat)));
      expect_kernels(&l, 1, 0, 0);
    } else if (which == 1) { /* 12 does not divide 16 */
      const sn_id x = UNARY(exp, input(&l, even));
      OUTPUTS(&l, BINARY(mul, sn_build_reshape(&l.b, x, &odd), input(&l, odd)));
      expect_kernels(&l, 2, 0, 0);
    } else if (which == 2) { /* what follows a product, in fewer dims */
      const sn_id x = sn_build_matmul(&l.b, input(&l, F32(4, 6, 3)), input(&l, F32(4, 3, 5)));
      OUTPUTS(&l, BINARY(add, sn_build_reshape(&l.b, x, &line), input(&l, line)));
      expect_kernels(&l, 0, 0, 1);
    } else if (which == 3) { /* a product's nest is not cut */
      const sn_id x = sn_build_matmul(&l.b, input(&l, F32(24, 3)), input(&l, F32(3, 5)));
      OUTPUTS(&l, BINARY(add, sn_build_reshape(&l.b, x, &rows), input(&l, rows)));
      expect_kernels(&l, 1, 0, 1);
    } else { /* several shapes do not make a row */
      const sn_id x = UNARY(exp, input(&l, image));
      const sn_id y = UNARY(sin, sn_build_reshape(&l.b, x, &even));
      OUTPUTS(&l, SUM(y, 2), x);
      assert_int_equal(cut_graph(&l, true).n_groups, 2);
    }
    lab_close(&l);
  }
}

static void a_matmul_of_numbers_reads_memory(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type a = F32(3, 4), b = F32(4, 2);
  OUTPUTS(&l, sn_build_matmul(&l.b, sn_build_full(&l.b, &a, 2), sn_build_full(&l.b, &b, 3)));
  expect_kernels(&l, 2, 0, 1);
  lab_close(&l);
}

/* Of few points, and nobody but one product needs it. */
static void a_map_before_a_product(void **state) {
  (void)state;
  enum { ALONE, RETURNED, SHARED, LARGE, CASES };
  for (int which = 0; which < CASES; which++) {
    lab l;
    lab_open(&l, true);
    const int64_t n = which == LARGE ? 4097 : 4096;
    const sn_type type = F32(2, n);
    const sn_id x = input(&l, F32(2, 3)), w = input(&l, F32(3, n)), v = input(&l, F32(n));
    const sn_id r = UNARY(rsqrt, v), factor = sn_build_broadcast(&l.b, r, &type);
    const sn_id y = BINARY(mul, sn_build_matmul(&l.b, x, w), factor);
    if (which == RETURNED)
      OUTPUTS(&l, y, r);
    else if (which == SHARED)
      OUTPUTS(&l, y, BINARY(add, sn_build_matmul(&l.b, UNARY(exp, x), w), factor));
    else
      OUTPUTS(&l, y);
    const sn_groups groups = cut_graph(&l, true);
    const sn_group *last = &groups.groups[groups.n_groups - 1];
    const bool joins = which == ALONE;
    assert_int_equal(groups.n_groups, joins ? 1 : which == SHARED ? 3 : 2);
    assert_int_equal(last->kind, SN_GROUP_CONTRACTION);
    assert_int_equal(
        sn_group_prologue(last) && sn_group_prologue(last)->post.insns[1].op == SN_OP_rsqrt, joins);
    assert_int_equal(groups.kernel_of[r], 0);
    lab_close(&l);
  }
}

/* ---- axes of a contraction ------------------------------------------------------------------- */

static void merged_axes_are_read_in_place(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  /* (2, 3, 4, 5) -> (2, 4, 3, 5): rows of two dims, k of two */
  const int64_t perm[] = {0, 2, 1, 3};
  const sn_type flat = F32(8, 15);
  const sn_id x = input(&l, F32(2, 3, 4, 5)), w = input(&l, F32(15, 6)), dy = input(&l, F32(8, 6));
  const sn_id m = sn_build_reshape(&l.b, sn_build_transpose(&l.b, x, perm), &flat);
  OUTPUTS(&l, UNARY(relu, sn_build_matmul(&l.b, m, w)),
          sn_build_matmul(&l.b, sn_build_swap_last(&l.b, m), dy));
  expect_groups(&l, "k0 contraction matmul+relu space(8, 6) k(15)\n"
                    "  total0 = matmul b0[0, (2 x 60, 4 x 5), (3 x 20, 5 x 1)] b1[0, 6, 1]\n"
                    "    v0 = total0 : float32\n"
                    "    v1 = relu v0 : float32\n"
                    "    b3[0, 6, 1] = v1\n"
                    "k1 contraction matmul space(15, 6) k(8)\n"
                    "  total0 = matmul b0[0, (3 x 20, 5 x 1), (2 x 60, 4 x 5)] b2[0, 6, 1]\n"
                    "    v0 = total0 : float32\n"
                    "    b4[0, 6, 1] = v0\n"
                    "return b3 b4\n");
  lab_close(&l);
}

static void merged_batches_are_read_in_place(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  /* heads: (2, 7, 3 * 5) -> (2, 3, 7, 5) -> (6, 7, 5) */
  const int64_t perm[] = {0, 2, 1, 3};
  const sn_type split = F32(2, 7, 3, 5), heads = F32(6, 7, 5);
  const sn_id x = input(&l, F32(2, 7, 15));
  const sn_id q = sn_build_reshape(
      &l.b, sn_build_transpose(&l.b, sn_build_reshape(&l.b, x, &split), perm), &heads);
  OUTPUTS(&l, sn_build_matmul(&l.b, q, sn_build_swap_last(&l.b, q)));
  expect_kernels(&l, 0, 0, 1);
  lab_close(&l);
}

/* A copy serves all readers; what does not divide, or is no memory, has to be copied. */
static void merged_axes_that_are_copied(void **state) {
  (void)state;
  const sn_type flat = F32(12, 10), odd = F32(8, 15), ones = F32(4, 3, 2, 5);
  const int64_t perm[] = {1, 0, 3, 2};
  for (int which = 0; which < 4; which++) {
    lab l;
    lab_open(&l, true);
    const sn_id x = which == 2
                        ? sn_build_op(&l.b, SN_OP_iota, NULL, 0, (const int64_t[]){1}, 1, &ones)
                        : input(&l, ones);
    const sn_id t = sn_build_transpose(&l.b, x, perm);
    const sn_id m = sn_build_reshape(&l.b, t, which == 1 ? &odd : &flat);
    const sn_id y = sn_build_matmul(&l.b, m, input(&l, which == 1 ? F32(15, 2) : F32(10, 2)));
    if (which == 0)
      OUTPUTS(&l, y, UNARY(exp, m));
    else if (which == 3)
      OUTPUTS(&l, y, m);
    else
      OUTPUTS(&l, y);
    expect_kernels(&l, 1, 0, 1); /* the copy itself is returned */
    lab_close(&l);
  }
}

/* The bytes of a reshape are those of what it shows; but a buffer has one type. */
static void reshapes_are_returned_in_place(void **state) {
  (void)state;
  const sn_type flat = F32(6), row = F32(1, 6);
  for (int which = 0; which < 4; which++) {
    lab l;
    lab_open(&l, true);
    const sn_id y = UNARY(exp, input(&l, F32(2, 3)));
    const sn_id a = sn_build_reshape(&l.b, y, &flat), b = sn_build_reshape(&l.b, y, &row);
    if (which == 0)
      OUTPUTS(&l, a);
    else if (which == 1)
      OUTPUTS(&l, a, y);
    else if (which == 2)
      OUTPUTS(&l, a, b);
    else
      OUTPUTS(&l, a, UNARY(sin, a));
    expect_kernels(&l, 1, 0, 0);
    lab_close(&l);
  }
}

/* 100,000 nodes: linear, and nothing recurses. */
static void large_graphs(void **state) {
  (void)state;
  const int n = 100000;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(4, 4);
  sn_id x = input(&l, type), y = x;
  for (int i = 0; i < n; i++) {
    const int what = i % 100;
    if (what == 50)
      x = sn_build_swap_last(&l.b, x);
    else if (what == 99)
      x = spread(&l, SUM(x, 2), type, 2);
    else
      x = BINARY(add, x, i % 7 ? y : x);
    if (i % 1000 == 0) y = x;
  }
  OUTPUTS(&l, x);
  const sn_groups groups = cut_graph(&l, true);
  assert_true(groups.n_groups > 1000 && groups.n_groups < 10000);
  lab_close(&l);
}

static void write_deep(lab *l, void *made) {
  (void)made;
  sn_id x = input(l, F32(6, 6));
  for (int i = 0; i < 60; i++)
    x = i % 9 ? sn_build_unary(&l->b, SN_OP_exp, x) : sn_build_swap_last(&l->b, x);
  const sn_type split = F32(2, 3, 6), flat = F32(6, 6);
  const sn_id m =
      sn_build_transpose(&l->b, sn_build_reshape(&l->b, x, &split), (const int64_t[]){1, 0, 2});
  x = sn_build_matmul(&l->b, x, sn_build_swap_last(&l->b, sn_build_reshape(&l->b, m, &flat)));
  OUTPUTS(l, sn_build_reduce(&l->b, SN_OP_sum, x, 1), x);
}

static sn_status fuse(lab *l, void *made) {
  (void)made;
  sn_graph prepared;
  sn_groups groups;
  const sn_status status = sn_prepare(&l->graph, &sn_cpu_target, &l->arena, &prepared);
  return status
             ? status
             : sn_fuse_graph(&prepared, &sn_cpu_target, (sn_fuse_options){.fusion = true}, &groups);
}

static void failures_give_back_what_they_took(void **state) {
  (void)state;
  fail_each_allocation(write_deep, fuse, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_linear_layer_is_one_contraction),
      cmocka_unit_test(a_squared_error_is_one_reduction),
      cmocka_unit_test(softmax_is_one_row_kernel),
      cmocka_unit_test(maps_over_one_input_are_one),
      cmocka_unit_test(maps_of_other_shapes_are_not),
      cmocka_unit_test(a_long_chain_is_cut_by_size),
      cmocka_unit_test(a_kernel_loads_so_many_operands),
      cmocka_unit_test(updates_sink_into_their_gradients),
      cmocka_unit_test(no_cycles),
      cmocka_unit_test(layer_norm_is_one_row_kernel),
      cmocka_unit_test(results_per_row_are_part_of_it),
      cmocka_unit_test(rows_that_cannot_be_one_kernel),
      cmocka_unit_test(fusion_can_be_off),
      cmocka_unit_test(text_of_a_contraction),
      cmocka_unit_test(text_of_a_reduction),
      cmocka_unit_test(a_stack_keeps_rows_out),
      cmocka_unit_test(text_of_concat_pad_and_slice),
      cmocka_unit_test(what_is_padded_is_not_copied),
      cmocka_unit_test(what_is_padded_is_read_again),
      cmocka_unit_test(an_index_needs_no_memory),
      cmocka_unit_test(dimensions_are_merged),
      cmocka_unit_test(cuts_have_reasons),
      cmocka_unit_test(outputs_that_nobody_computes),
      cmocka_unit_test(a_reshape_that_cannot_be_a_view_is_a_copy),
      cmocka_unit_test(reshapes_share_a_nest),
      cmocka_unit_test(a_matmul_of_numbers_reads_memory),
      cmocka_unit_test(a_map_before_a_product),
      cmocka_unit_test(merged_axes_are_read_in_place),
      cmocka_unit_test(merged_batches_are_read_in_place),
      cmocka_unit_test(merged_axes_that_are_copied),
      cmocka_unit_test(reshapes_are_returned_in_place),
      cmocka_unit_test(large_graphs),
      cmocka_unit_test(failures_give_back_what_they_took),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
