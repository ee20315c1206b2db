/* test_nests.c - axes that consist of several dims: nests themselves, and matrix products whose rows,
 * columns and k are nests of any strides, which have the bits of a product of contiguous copies. */
#include "op_cases.h"
#include "support.h"

#include "fuse/nest.h"
#include "kernels/gemm.h"

/* ---- nests ----------------------------------------------------------------------------------- */

static sn_nest nest_of(int rank, const int64_t *dims, const int64_t *strides) {
  sn_nest nest = {.rank = 0};
  for (int i = 0; i < rank; i++) assert_true(sn_nest_add(&nest, dims[i], strides[i]));
  return nest;
}
#define NEST(n, dims, strides) nest_of(n, (const int64_t[])dims, (const int64_t[])strides)
#define L(...) \
  { __VA_ARGS__ }

static void expect_nest(const sn_nest *nest, const sn_nest *expected) {
  assert_int_equal(nest->rank, expected->rank);
  for (int i = 0; i < nest->rank; i++) {
    assert_int_equal(nest->dims[i], expected->dims[i]);
    assert_int_equal(nest->strides[i], expected->strides[i]);
  }
}

static void dims_that_continue_each_other_are_one(void **state) {
  (void)state;
  const sn_nest rows = NEST(4, L(2, 3, 1, 4), L(12, 4, 99, 1)), line = sn_nest_line(24, 1);
  expect_nest(&rows, &line);
  const sn_nest apart = NEST(3, L(1, 3, 4), L(7, -5, 1));
  assert_int_equal(apart.rank, 2);
  const sn_nest one = NEST(2, L(1, 1), L(5, 6)), same = sn_nest_line(1, 5);
  expect_nest(&one, &same);
  const sn_nest still = NEST(2, L(3, 4), L(0, 0)), zeros = sn_nest_line(12, 0);
  expect_nest(&still, &zeros);
}

static void a_full_nest_takes_no_more(void **state) {
  (void)state;
  sn_nest nest = {.rank = 0};
  for (int i = 0; i < SN_MAX_RANK; i++) assert_true(sn_nest_add(&nest, 2, 1));
  assert_int_equal(nest.rank, SN_MAX_RANK);
  assert_false(sn_nest_add(&nest, 2, 1));
  assert_true(sn_nest_add(&nest, 1, 1));
  assert_int_equal(sn_nest_size(&nest), 1 << SN_MAX_RANK);
}

static void nests_are_split_where_dims_divide(void **state) {
  (void)state;
  const sn_nest nest = NEST(2, L(6, 4), L(100, 3));
  sn_nest axes[3];
  assert_true(sn_nest_split(&nest, (const int64_t[]){3, 8}, 2, axes));
  const sn_nest first = sn_nest_line(3, 200), second = NEST(2, L(2, 4), L(100, 3));
  expect_nest(&axes[0], &first);
  expect_nest(&axes[1], &second);
  assert_true(sn_nest_split(&nest, (const int64_t[]){12, 1, 2}, 3, axes));
  const sn_nest outer = NEST(2, L(6, 2), L(100, 6)), inner = sn_nest_line(2, 3);
  expect_nest(&axes[0], &outer);
  assert_int_equal(axes[1].dims[0], 1);
  expect_nest(&axes[2], &inner);
  assert_false(sn_nest_split(&nest, (const int64_t[]){8, 3}, 2, axes));
}

static int64_t offset_of(const sn_nest *nest, int64_t position) {
  int64_t offset = 0;
  for (int i = nest->rank - 1; i >= 0; i--) {
    offset += position % nest->dims[i] * nest->strides[i];
    position /= nest->dims[i];
  }
  return offset;
}

static void walks_meet_every_position(void **state) {
  (void)state;
  const sn_nest nest = NEST(3, L(3, 4, 5), L(-7, 100, 2));
  for (int64_t from = 0; from < 60; from++) {
    sn_nest_place at = sn_nest_seek(&nest, from);
    for (int64_t p = from; p < 60;) {
      assert_int_equal(at.offset, offset_of(&nest, p));
      const int64_t run = sn_nest_run(&nest, &at), n = p % 3 ? run : 1;
      assert_in_range(run, 1, 5);
      assert_int_equal(offset_of(&nest, p + run - 1), at.offset + (run - 1) * 2);
      sn_nest_advance(&nest, &at, n);
      p += n;
    }
  }
}

/* ---- products -------------------------------------------------------------------------------- */

/* An operand of up to `across` x `along` elements and a plain copy of it, row by row. */
typedef struct operand {
  sn_gemm_walk walk;
  void *block, *copy;
  const void *start;
  int64_t across, along;
} operand;

static size_t bytes_of(sn_dtype dtype) { return dtype == SN_F64 ? 8 : 4; }

/* At least `least` positions in up to three dims; one dim in four is adjacent, as channels are. */
static sn_nest random_nest(case_random *r, int64_t least) {
  sn_nest nest = {.rank = 0};
  const int rank = 1 + (int)case_below(r, 3);
  int64_t dims[3], inner = 1;
  for (int i = rank - 1; i > 0; i--) inner *= dims[i] = 1 + case_below(r, i == rank - 1 ? 30 : 4);
  dims[0] = (least + inner - 1) / inner;
  for (int i = 0; i < rank; i++) {
    const bool adjacent = i == rank - 1 && case_one_in(r, 2);
    assert_true(sn_nest_add(&nest, dims[i], adjacent ? 1 : case_below(r, 41) - 20));
  }
  return nest;
}

/* The lowest and highest offset. */
static void widen(const sn_nest *nest, int64_t *low, int64_t *high) {
  for (int i = 0; i < nest->rank; i++) {
    const int64_t last = (nest->dims[i] - 1) * nest->strides[i];
    *(last < 0 ? low : high) += last;
  }
}

static operand random_operand(case_random *r, sn_dtype dtype, int64_t across, int64_t along) {
  operand x = {
      .walk = {random_nest(r, across), random_nest(r, along)}, .across = across, .along = along};
  const size_t bytes = bytes_of(dtype);
  int64_t low = 0, high = 0;
  widen(&x.walk.across, &low, &high);
  widen(&x.walk.along, &low, &high);
  x.block = malloc((size_t)(high - low + 1) * bytes);
  x.copy = malloc((size_t)(across * along) * bytes);
  assert_true(x.block && x.copy);
  for (int64_t i = 0; i <= high - low; i++) {
    const double value = case_between(r, -1, 1);
    if (dtype == SN_F64)
      ((double *)x.block)[i] = value;
    else
      ((float *)x.block)[i] = (float)value;
  }
  x.start = (const char *)x.block - low * (int64_t)bytes;
  for (int64_t w = 0; w < across; w++)
    for (int64_t p = 0; p < along; p++)
      memcpy((char *)x.copy + (size_t)(w * along + p) * bytes,
             (const char *)x.start +
                 (offset_of(&x.walk.across, w) + offset_of(&x.walk.along, p)) * (int64_t)bytes,
             bytes);
  return x;
}

static void operand_free(operand *x) {
  free(x->block);
  free(x->copy);
}

static void *run(const sn_gemm *g, const void *a, const void *b) {
  void *c = malloc((size_t)(g->m * g->n + 1) * bytes_of(g->dtype));
  void *scratch = aligned_alloc(64, g->scratch_bytes + 64);
  assert_true(c && scratch);
  memset(scratch, 0xff, g->scratch_bytes);
  for (int64_t t = 0; t < g->tasks; t++) sn_gemm_tile_to(g, a, b, c, g->n, t, NULL, scratch);
  free(scratch);
  return c;
}

/* Of nests and of the copies, m x n x k of it. */
static void expect_same_bits(const sn_gemm_ukr *ukr, const operand *a, const operand *b, int64_t m,
                             int64_t n, int64_t k, bool always_pack) {
  sn_gemm g = {.dtype = ukr->dtype,
               .m = m,
               .n = n,
               .k = k,
               .a = a->walk,
               .b = b->walk,
               .sum_limit = 12,
               .always_pack = always_pack};
  sn_gemm plain = g;
  plain.a = (sn_gemm_walk){.across = sn_nest_line(m, a->along), .along = sn_nest_line(k, 1)};
  plain.b = (sn_gemm_walk){.across = sn_nest_line(n, b->along), .along = sn_nest_line(k, 1)};
  plain.always_pack = true;
  sn_gemm_plan_with(&g, ukr);
  sn_gemm_plan_with(&plain, ukr);
  if (g.direct && ukr->fused) return; /* rounds each product: other bits */
  void *c = run(&g, a->start, b->start), *expected = run(&plain, a->copy, b->copy);
  if (memcmp(c, expected, (size_t)(m * n) * bytes_of(ukr->dtype)) != 0)
    fail_msg("%s %d x %d: m %d n %d k %d, ranks %d %d and %d %d%s", sn_isa_name(ukr->isa), ukr->mr,
             ukr->nr, (int)m, (int)n, (int)k, a->walk.across.rank, a->walk.along.rank,
             b->walk.across.rank, b->walk.along.rank, g.direct ? ", direct" : "");
  free(c);
  free(expected);
}

/* Every m <= MR + 1 and n <= NR + 1 with an odd k, and larger ones of many panels. */
static void sweep(const sn_gemm_ukr *ukr, case_random *r) {
  const int64_t mr = ukr->mr, nr = ukr->nr, step = getenv("SINTER_TEST_SHORT") ? 5 : 1;
  for (int draw = 0; draw < 6; draw++) {
    const int64_t k = 1 + 2 * case_below(r, 25);
    operand a = random_operand(r, ukr->dtype, 5 * mr, k);
    operand b = random_operand(r, ukr->dtype, 3 * nr, k);
    for (int64_t m = 1; m <= mr + 1; m++)
      for (int64_t n = 1 + m % step; n <= nr + 1; n += step)
        expect_same_bits(ukr, &a, &b, m, n, k, true);
    for (int more = 0; more < 12; more++)
      expect_same_bits(ukr, &a, &b, 1 + case_below(r, a.across), 1 + case_below(r, b.across),
                       1 + case_below(r, k), true);
    operand_free(&a);
    operand_free(&b);
  }
}

static void products_of_nests_have_the_bits_of_copies(void **state) {
  (void)state;
  case_random r = {.state = case_seed()};
  for (size_t i = 0; i < sn_gemm_ukr_count; i++)
    if (sn_gemm_ukrs[i].isa <= sn_isa_detect() && sn_gemm_ukrs[i].together == 1)
      sweep(&sn_gemm_ukrs[i], &r);
}

/* Single rows and columns, and products small enough to go without packing. */
static void direct_products_too(void **state) {
  (void)state;
  case_random r = {.state = case_seed() + 1};
  for (int draw = 0; draw < 400; draw++) {
    const sn_dtype dtype = draw % 2 ? SN_F64 : SN_F32;
    const sn_gemm_ukr *ukr = sn_gemm_ukr_for(dtype, sn_isa_detect(), true);
    const int64_t m = case_one_in(&r, 2) ? 1 : 1 + case_below(&r, 12);
    const int64_t n = 1 + case_below(&r, m == 1 ? 100 : 12), k = 1 + case_below(&r, 14);
    operand a = random_operand(&r, dtype, m, k), b = random_operand(&r, dtype, n, k);
    expect_same_bits(ukr, &a, &b, m, n, k, false);
    expect_same_bits(ukr, &b, &a, n, m, k, false);
    operand_free(&a);
    operand_free(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dims_that_continue_each_other_are_one),
      cmocka_unit_test(a_full_nest_takes_no_more),
      cmocka_unit_test(nests_are_split_where_dims_divide),
      cmocka_unit_test(walks_meet_every_position),
      cmocka_unit_test(products_of_nests_have_the_bits_of_copies),
      cmocka_unit_test(direct_products_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
