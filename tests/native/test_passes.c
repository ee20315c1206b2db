/* test_passes.c - every pass alone, on printed IR: what it rewrites, and what it must leave alone
 * because an IEEE value would change. Then: programs have the same bits with all passes off. */
#include "graph_support.h"

#include <math.h>

#include "passes/passes.h"

static const sn_pass_context sharing = {.target = &sn_cpu_target, .share = true};
static const sn_pass_context apart = {.target = &sn_cpu_target};

/* Runs one pass over the lab's graph; the text of the result. */
static const char *text_after(lab *l, sn_pass_fn *pass) {
  sn_graph *to = NULL;
  const char *text;
  assert_int_equal(l->b.status, SN_OK);
  assert_int_equal(sn_graph_verify(&l->graph), SN_OK);
  assert_int_equal(sn_arena_alloc(&l->arena, 1, sizeof *to, (void **)&to), SN_OK);
  to->arena = &l->arena;
  assert_int_equal(pass(&apart, &l->graph, to), SN_OK);
  assert_int_equal(sn_graph_verify(to), SN_OK);
  assert_int_equal(to->n_outputs, l->graph.n_outputs);
  assert_int_equal(to->n_arguments, l->graph.n_arguments);
  assert_int_equal(sn_graph_text(to, &l->arena, &text), SN_OK);
  return text;
}

static sn_id number(lab *l, sn_dtype dtype, double value) {
  const sn_type type = sn_type_scalar(dtype);
  return sn_build_full(&l->b, &type, value);
}

static sn_id rank0(lab *l, sn_dtype dtype) { return input(l, sn_type_scalar(dtype)); }

/* ---- simplify -------------------------------------------------------------------------------- */

typedef struct identity_case {
  sn_op op;
  sn_dtype dtype;
  double left, right; /* one of them is X */
  bool kept;          /* not an identity for every value of x: stays */
} identity_case;

#define X 777.0

static void identities(void **state) {
  (void)state;
  const identity_case cases[] = {
      {SN_OP_mul, SN_F32, X, 1, false},
      {SN_OP_mul, SN_F32, 1, X, false},
      {SN_OP_mul, SN_I32, X, 1, false},
      {SN_OP_div, SN_F64, X, 1, false},
      {SN_OP_add, SN_F32, X, -0.0, false},
      {SN_OP_add, SN_F32, -0.0, X, false},
      {SN_OP_sub, SN_F32, X, 0, false},
      {SN_OP_mul, SN_F32, X, 0, true},  /* NaN, infinity and -1 times 0 */
      {SN_OP_mul, SN_F32, X, -1, true}, /* -x */
      {SN_OP_mul, SN_F32, X, 2, true},
      {SN_OP_add, SN_F32, X, 0, true},    /* -0 + 0 = +0 */
      {SN_OP_sub, SN_F32, X, -0.0, true}, /* -0 - (-0) = +0 */
      {SN_OP_sub, SN_F32, 0, X, true},    /* 0 - 0 = +0, and not -0 */
      {SN_OP_div, SN_F32, 1, X, true},
      {SN_OP_div, SN_F32, 0, X, true},
      {SN_OP_div, SN_F32, X, -1, true},
      {SN_OP_pow, SN_F32, X, 1, true},
      {SN_OP_maximum, SN_F32, X, -INFINITY, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const identity_case *c = &cases[i];
    lab l;
    lab_open(&l, true);
    const sn_id x = rank0(&l, c->dtype);
    const sn_id left = c->left == X ? x : number(&l, c->dtype, c->left);
    const sn_id right = c->right == X ? x : number(&l, c->dtype, c->right);
    OUTPUTS(&l, sn_build_binary(&l.b, c->op, left, right));
    const bool kept = strstr(text_after(&l, sn_pass_simplify), "return %0\n") == NULL;
    if (kept != c->kept) fail_msg("case %zu: %s", i, kept ? "stays" : "is rewritten");
    lab_close(&l);
  }
}

static void numbers_are_seen_through_broadcasts(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(2, 3);
  const sn_id x = input(&l, type);
  OUTPUTS(&l, sn_build_binary(&l.b, SN_OP_mul, x, sn_build_full(&l.b, &type, 1)));
  assert_string_equal(text_after(&l, sn_pass_simplify), "%0 = input float32(2, 3) {0}\n"
                                                        "%1 = constant float32() {1}\n"
                                                        "%2 = broadcast float32(2, 3) %1\n"
                                                        "return %0\n");
  lab_close(&l);
}

static void views_are_composed(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(2, 3, 4));
  const sn_type six = F32(6, 4), all = F32(24), same = F32(2, 3, 4);
  const int64_t rotate[] = {1, 2, 0}, back[] = {2, 0, 1}, swap[] = {0, 2, 1};
  const sn_id a = sn_build_reshape(&l.b, sn_build_reshape(&l.b, x, &six), &all);
  const sn_id r = sn_build_transpose(&l.b, x, rotate);
  const sn_id b = sn_build_transpose(&l.b, r, back);
  const sn_id c = sn_build_transpose(&l.b, r, swap);
  const sn_id d = sn_build_op(&l.b, SN_OP_broadcast, &x, 1, NULL, 0, &same);
  const sn_id n = sn_build_unary(&l.b, SN_OP_neg, x);
  OUTPUTS(&l, a, b, c, d, n);
  assert_string_equal(text_after(&l, sn_pass_layout),
                      "%0 = input float32(2, 3, 4) {0}\n"
                      "%1 = reshape float32(6, 4) %0\n"
                      "%2 = reshape float32(24,) %0\n"
                      "%3 = transpose float32(3, 4, 2) {1, 2, 0} %0\n"
                      "%4 = transpose float32(3, 2, 4) {1, 0, 2} %0\n"
                      "%5 = neg float32(2, 3, 4) %0\n"
                      "return %2 %0 %4 %0 %5\n");
  lab_close(&l);
}

static void casts_and_markers_vanish(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(4));
  const sn_type f32 = sn_type_scalar(SN_F32), f64 = sn_type_scalar(SN_F64);
  const sn_id same = sn_build_op(&l.b, SN_OP_astype, &x, 1, NULL, 0, &f32);
  const sn_id wide = sn_build_op(&l.b, SN_OP_astype, &x, 1, NULL, 0, &f64);
  const sn_id back = sn_build_op(&l.b, SN_OP_astype, &wide, 1, NULL, 0, &f32);
  const sn_id mark = sn_build_unary(&l.b, SN_OP_marker, x);
  OUTPUTS(&l, same, back, mark, sn_build_unary(&l.b, SN_OP_stop_gradient, x));
  assert_string_equal(text_after(&l, sn_pass_simplify), "%0 = input float32(4,) {0}\n"
                                                        "%1 = astype float64(4,) %0\n"
                                                        "return %0 %0 %0 %0\n");
  lab_close(&l);
}

/* ---- fold ------------------------------------------------------------------------------------ */

static void numbers_are_computed(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(2);
  const sn_id x = input(&l, type);
  const sn_id third =
      sn_build_binary(&l.b, SN_OP_div, number(&l, SN_F32, 1), number(&l, SN_F32, 3));
  const sn_id full = sn_build_broadcast(&l.b, third, &type);
  OUTPUTS(&l, sn_build_binary(&l.b, SN_OP_mul, x, sn_build_unary(&l.b, SN_OP_neg, full)));
  /* of float32: 0.333333343, not 0.333333333 */
  const char *text = text_after(&l, sn_pass_fold);
  assert_non_null(strstr(text, "constant float32() {-0.333333343}"));
  assert_null(strstr(text, "neg"));
  lab_close(&l);
}

static void nothing_else_is_folded(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type one = sn_type_scalar(SN_I32);
  const sn_id x = rank0(&l, SN_F32), k = number(&l, SN_F32, 2);
  const sn_id bits = sn_build_op(&l.b, SN_OP_bitcast, &k, 1, NULL, 0, &one);
  OUTPUTS(&l, sn_build_binary(&l.b, SN_OP_mul, x, k), sn_build_binary(&l.b, SN_OP_sub, x, x), bits);
  assert_string_equal(text_after(&l, sn_pass_fold), "%0 = input float32() {0}\n"
                                                    "%1 = constant float32() {2}\n"
                                                    "%2 = bitcast int32() %1\n"
                                                    "%3 = mul float32() %0 %1\n"
                                                    "%4 = sub float32() %0 %0\n"
                                                    "return %3 %4 %2\n");
  lab_close(&l);
}

static void folding_keeps_dtypes(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id big = number(&l, SN_I32, INT32_MAX);
  const sn_id wrapped = sn_build_binary(&l.b, SN_OP_add, big, number(&l, SN_I32, 1));
  const sn_id nan = number(&l, SN_F32, NAN);
  const sn_id cast = sn_build_cast(&l.b, SN_OP_astype, nan, SN_I32);
  const sn_id less = sn_build_binary(&l.b, SN_OP_less, nan, number(&l, SN_F32, 1));
  const sn_id tenth = sn_build_cast(&l.b, SN_OP_astype, number(&l, SN_F32, 0.1), SN_F64);
  const sn_id cut = sn_build_cast(&l.b, SN_OP_astype, number(&l, SN_I32, 2.75), SN_F32);
  OUTPUTS(&l, wrapped, cast, less, tenth, cut);
  const char *text = text_after(&l, sn_pass_fold);
  assert_non_null(strstr(text, "constant int32() {-2.14748365e+09}"));
  assert_non_null(strstr(text, "constant int32() {0}"));
  assert_non_null(strstr(text, "constant bool() {0}"));
  /* a constant is what its dtype holds: 0.1 of float32, seen as float64 */
  assert_non_null(strstr(text, "constant float64() {0.100000001}"));
  assert_non_null(strstr(text, "constant float32() {2}"));
  lab_close(&l);
}

static void infinities_and_signed_zero_survive_folding(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id zero = number(&l, SN_F32, 0), minus = number(&l, SN_F32, -0.0),
              one = number(&l, SN_F32, 1);
  OUTPUTS(&l, sn_build_binary(&l.b, SN_OP_div, one, minus),
          sn_build_binary(&l.b, SN_OP_mul, zero, minus));
  const char *text = text_after(&l, sn_pass_fold);
  assert_non_null(strstr(text, "{-inf}"));
  assert_non_null(strstr(text, "{-0}"));
  lab_close(&l);
}

/* ---- cse and dce ----------------------------------------------------------------------------- */

static void equal_nodes_become_one(void **state) {
  (void)state;
  lab l;
  lab_open(&l, false);
  const sn_id x = input(&l, F32(2)), y = input(&l, F32(2));
  const sn_id a = sn_build_binary(&l.b, SN_OP_add, x, y),
              b = sn_build_binary(&l.b, SN_OP_add, y, x);
  const sn_id ea = sn_build_unary(&l.b, SN_OP_exp, a), eb = sn_build_unary(&l.b, SN_OP_exp, b);
  OUTPUTS(&l, sn_build_binary(&l.b, SN_OP_sub, ea, eb), eb);
  assert_string_equal(text_after(&l, sn_pass_cse), "%0 = input float32(2,) {0}\n"
                                                   "%1 = input float32(2,) {1}\n"
                                                   "%2 = add float32(2,) %0 %1\n"
                                                   "%3 = exp float32(2,) %2\n"
                                                   "%4 = sub float32(2,) %3 %3\n"
                                                   "return %4 %3\n");
  lab_close(&l);
}

static void what_nobody_needs_goes(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(2)), y = input(&l, F32(2)), z = input(&l, F32(2));
  sn_build_binary(&l.b, SN_OP_add, x, y);
  const sn_id e = sn_build_unary(&l.b, SN_OP_exp, z);
  sn_build_unary(&l.b, SN_OP_log, e);
  OUTPUTS(&l, e, z, e);
  assert_string_equal(text_after(&l, sn_pass_dce),
                      "%0 = input float32(2,) {2}\n" /* arguments keep their numbers */
                      "%1 = exp float32(2,) %0\n"
                      "return %1 %0 %1\n");
  lab_close(&l);
}

static void cse_and_dce_leave_each_others_work(void **state) {
  (void)state;
  lab l;
  lab_open(&l, false);
  const sn_id x = input(&l, F32(2));
  const sn_id a = sn_build_unary(&l.b, SN_OP_exp, x), b = sn_build_unary(&l.b, SN_OP_exp, x);
  sn_build_unary(&l.b, SN_OP_log, x);
  OUTPUTS(&l, a, b);
  assert_string_equal(text_after(&l, sn_pass_dce), "%0 = input float32(2,) {0}\n"
                                                   "%1 = exp float32(2,) %0\n"
                                                   "%2 = exp float32(2,) %0\n"
                                                   "return %1 %2\n");
  assert_non_null(strstr(text_after(&l, sn_pass_cse), "log"));
  lab_close(&l);
}

/* ---- all passes ------------------------------------------------------------------------------ */

static void a_chain_of_100000_nodes(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = sn_type_scalar(SN_F32);
  const sn_id one = sn_build_full(&l.b, &type, 1);
  sn_id x = input(&l, type);
  for (int i = 0; i < 100000; i++) x = sn_build_binary(&l.b, i % 2 ? SN_OP_mul : SN_OP_add, x, one);
  OUTPUTS(&l, x);
  for (int i = 0; i < SN_PASS_COUNT; i++) text_after(&l, sn_pass_table[i].run);
  lab_close(&l);
}

static void passes_give_back_what_they_took(void **state) {
  (void)state;
  for (int i = 0; i < SN_PASS_COUNT; i++) {
    for (int64_t k = 0;; k++) {
      lab l;
      lab_open(&l, true);
      sn_id x = input(&l, F32(4));
      for (int n = 0; n < 400; n++) x = sn_build_binary(&l.b, SN_OP_sub, x, n % 3 ? x : 0);
      OUTPUTS(&l, x);
      sn_graph to = {.arena = &l.arena};
      l.env.heap.fail_countdown = k;
      const sn_status status = sn_pass_table[i].run(&sharing, &l.graph, &to);
      l.env.heap.fail_countdown = -1;
      if (status) assert_int_equal(status, SN_ERR_MEMORY);
      lab_close(&l);
      if (!status) break;
    }
  }
}

static void passes_have_names(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  const char *const names[] = {"loops", "planes",   "scalars",  "fold",    "layout",
                               "prune", "simplify", "strength", "cse",     "rematerialize",
                               "dce",   "fuse",     "jit",      "winograd"};
  assert_int_equal(sn_pass_count(), 14);
  for (int i = 0; i < 14; i++) {
    assert_string_equal(sn_pass_name(i), names[i]);
    assert_int_equal(sn_pass_enable(f.ctx, names[i], i % 2), SN_OK);
  }
  assert_null(sn_pass_name(-1));
  assert_null(sn_pass_name(14));
  assert_int_equal(sn_pass_enable(f.ctx, "vectorise", true), SN_ERR_ARGUMENT);
  expect_error(f.ctx, SN_ERR_ARGUMENT, "no pass is called vectorise");
  assert_int_equal(sn_pass_enable(f.ctx, "", true), SN_ERR_ARGUMENT);
  sn_error_clear(f.ctx);
  fixture_close(&f);
}

/* A mixture of everything the passes look for. */
static sn_tensor *mixture(sn_context *ctx, sn_tensor *x) {
  sn_scope_begin(ctx);
  sn_tensor *one = sn_full(ctx, SN_F32, 0, NULL, 1), *zero = sn_full(ctx, SN_F32, 0, NULL, 0);
  sn_tensor *third = sn_div(one, sn_full(ctx, SN_F32, 0, NULL, 3));
  sn_tensor *a = sn_add(sn_mul(x, one), zero);
  sn_tensor *b = sn_transpose(sn_transpose(sn_mul(a, third), NULL), NULL);
  sn_tensor *c = sn_neg(sn_neg(sn_sub(b, zero)));
  sn_tensor *d = sn_add(sn_exp(sn_mul(x, third)), sn_exp(sn_mul(third, x)));
  sn_tensor *e = sn_softmax_cross_entropy(sn_reshape(sn_add(c, d), 2, (int64_t[]){4, 6}),
                                          sn_iota(ctx, SN_I32, 1, (int64_t[]){4}, 0), SN_DEFAULT);
  sn_tensor *y = sn_keep(sn_concat((sn_tensor *[]){e, sn_sum(sn_add(c, d), 2, false)}, 2, 0));
  sn_scope_end(ctx);
  return y;
}

static void every_set_of_switches_gives_the_same_bits(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  float expected[8], values[8];
  float data[24];
  for (int i = 0; i < 24; i++) data[i] = (float)(i - 11) / 7;
  data[3] = -0.0f;
  data[10] = INFINITY;
  data[20] = NAN;
  for (int set = (1 << 8) - 1; set >= 0; set--) {
    for (int i = 0; i < 8; i++)
      assert_int_equal(sn_pass_enable(f.ctx, sn_pass_name(i), set >> i & 1), SN_OK);
    sn_tensor *x = sn_from_data(f.ctx, SN_F32, 2, (int64_t[]){4, 6}, data);
    sn_tensor *y = mixture(f.ctx, x);
    assert_int_equal(sn_read(y, values, sizeof values), SN_OK);
    if (set == (1 << 8) - 1) memcpy(expected, values, sizeof values);
    for (int i = 0; i < 8; i++)
      if (memcmp(&values[i], &expected[i], 4) != 0 && !(isnan(values[i]) && isnan(expected[i])))
        fail_msg("switches %d: element %d is %.9g, not %.9g", set, i, (double)values[i],
                 (double)expected[i]);
    sn_release(x);
    sn_release(y);
  }
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(identities),
      cmocka_unit_test(numbers_are_seen_through_broadcasts),
      cmocka_unit_test(views_are_composed),
      cmocka_unit_test(casts_and_markers_vanish),
      cmocka_unit_test(numbers_are_computed),
      cmocka_unit_test(nothing_else_is_folded),
      cmocka_unit_test(folding_keeps_dtypes),
      cmocka_unit_test(infinities_and_signed_zero_survive_folding),
      cmocka_unit_test(equal_nodes_become_one),
      cmocka_unit_test(what_nobody_needs_goes),
      cmocka_unit_test(cse_and_dce_leave_each_others_work),
      cmocka_unit_test(a_chain_of_100000_nodes),
      cmocka_unit_test(passes_give_back_what_they_took),
      cmocka_unit_test(passes_have_names),
      cmocka_unit_test(every_set_of_switches_gives_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
