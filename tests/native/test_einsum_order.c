/* test_einsum_order.c - errors of einsum, the order in which it multiplies, and the number of kernels
 * that it takes. */
#include <math.h>

#include "einsum_cases.h"
#include "tensor/einsum_order.h"

/* ---- errors ---------------------------------------------------------------------------------- */

static void errors_name_spec_and_shapes(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(2, 3), 1), *b = ramp(f.ctx, DIMS(4, 5), 1);
  sn_tensor *wide = sn_full(f.ctx, SN_F32, DIMS(2, 2, 2, 2, 2, 2, 2, 2), 1);
  sn_tensor *x[] = {a, b, a}, *w[] = {wide, wide};
#define REFUSED_SPEC(n, spec, detail, shapes) \
  REFUSED(sn_einsum(spec, x, n), SN_ERR_SHAPE, "einsum: " detail " in \"" spec "\": " shapes)
#define A "a (2, 3)"
#define AB "a (2, 3), b (4, 5)"
#define ABA "a (2, 3), b (4, 5), c (2, 3)"
  REFUSED_SPEC(2, "ij,jk->ik", "sizes 3 and 4 of 'j' differ", AB);
  REFUSED_SPEC(3, "ij,kl,ji->", "sizes 3 and 2 of 'j' differ", ABA);
  REFUSED_SPEC(1, "ii", "sizes 2 and 3 of 'i' differ", A);
  REFUSED_SPEC(2, "...,...", "sizes 2 and 4 of '.' differ", AB);
  REFUSED_SPEC(2, "ij->ij", "terms: 1, operands: 2", AB);
  REFUSED_SPEC(1, "ij,jk->ik", "terms: 2, operands: 1", A);
  REFUSED_SPEC(1, "ij,", "terms: 2, operands: 1", A);
  REFUSED_SPEC(1, "", "term 1 does not fit rank 2", A);
  REFUSED_SPEC(2, "ij,j->i", "term 2 does not fit rank 2", AB);
  REFUSED_SPEC(1, "ijk", "term 1 does not fit rank 2", A);
  REFUSED_SPEC(1, "ij...k", "term 1 does not fit rank 2", A);
  REFUSED_SPEC(1, "abcdefghijkl", "term 1 does not fit rank 2", A);
  REFUSED_SPEC(1, "ij1->i", "unexpected character 3", A);
  REFUSED_SPEC(1, "ij->i\xc3", "unexpected character 6", A);
  REFUSED_SPEC(1, "ij..->i", "unexpected character 3", A);
  REFUSED_SPEC(1, "i...j...->i", "unexpected character 6", A);
  REFUSED_SPEC(1, "ij>i", "unexpected character 3", A);
  REFUSED_SPEC(1, "ij-i", "unexpected character 3", A);
  REFUSED_SPEC(1, "ij- >i", "unexpected character 3", A);
  REFUSED_SPEC(1, "ij->i->j", "unexpected character 6", A);
  REFUSED_SPEC(1, "ij->i,j", "unexpected character 6", A);
  REFUSED_SPEC(2, "ij1,jk->ik", "unexpected character 3", AB);
  REFUSED_SPEC(1, "ij->ii", "output 'i' is repeated", A);
  REFUSED_SPEC(1, "ij->iZ", "output 'Z' is in no operand", A);
  REFUSED_SPEC(1, "i...->i", "the output lacks '...'", A);
  REFUSED_SPEC(1, "ij->abcdefghi", "rank 9 of the output is not in 0..8", A);
  sn_tensor *thin = sn_full(f.ctx, SN_F32, DIMS(1, 4), 1);
  REFUSED(sn_einsum("ii->i", &thin, 1), SN_ERR_SHAPE,
          "einsum: sizes 1 and 4 of 'i' differ in \"ii->i\": a (1, 4)");
  REFUSED(sn_einsum("abcdefgh,ijklmnop", w, 2), SN_ERR_SHAPE,
          "einsum: rank 16 of the output is not in 0..8 in \"abcdefgh,ijklmnop\": "
          "a (2, 2, 2, 2, 2, 2, 2, 2), b (2, 2, 2, 2, 2, 2, 2, 2)");
  assert_null(sn_einsum("ij,jk->ik", (sn_tensor *[]){a, NULL}, 2));
  assert_null(sn_einsum("", NULL, 0));
  char endless[2000];
  memset(endless, 'i', sizeof endless);
  endless[sizeof endless - 1] = '\0';
  assert_null(sn_einsum(endless, x, 1));
  assert_int_equal(sn_error_status(f.ctx), SN_ERR_SHAPE);
  sn_error_clear(f.ctx);
  EXPECT(a, 1, 2, 3, 4, 5, 6);
}

static void sizes_overflow_before_anything_is_built(void **state) {
  (void)state;
  sn_tensor *row = sn_full(f.ctx, SN_F32, DIMS((int64_t)1 << 40), 1);
  sn_tensor *x[] = {row, row};
  sn_memory_info before, after;
  sn_memory(f.ctx, &before);
  REFUSED(sn_einsum("i,j->ij", x, 2), SN_ERR_MEMORY,
          "einsum: shape (1099511627776, 1099511627776) is too large");
  sn_memory(f.ctx, &after);
  assert_int_equal(before.bytes_in_use, after.bytes_in_use);
  fixture other;
  fixture_open(&other, (sn_options){.threads = 1});
  sn_tensor *foreign = sn_scalar(other.ctx, 1);
  REFUSED(sn_einsum("i,->i", (sn_tensor *[]){row, foreign}, 2), SN_ERR_ARGUMENT,
          "einsum: inputs of two contexts, or on two devices");
  sn_release(foreign);
  fixture_close(&other);
}

/* Every pair of the four, and every one after, has more than 8 letters. */
static void impossible_orders_are_refused(void **state) {
  (void)state;
  sn_tensor *wide = sn_full(f.ctx, SN_F32, DIMS(2, 2, 2, 2, 2, 2, 2, 2), 1);
  sn_tensor *x[] = {wide, wide, wide, wide};
  REFUSED(sn_einsum("abcdefgh,abijklmn,cdijopqr,efklopst->ghmnqrst", x, 4), SN_ERR_UNSUPPORTED,
          "einsum: found no order with results of rank 0..8");
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  sn_tensor *a = ramp(f.ctx, DIMS(3, 3), 1), *b = ramp(f.ctx, DIMS(3, 4, 2), 1);
  sn_tensor *x[] = {a, b, a, b, a, a, a, a}, *y = NULL;
  const size_t live = f.ledger.live_bytes;
  for (int64_t k = 0; !y; k++) {
    assert_true(k < 1000);
    f.ledger.countdown = k;
    y = sn_einsum("ii,ijk,ab,bcd,ea,fe,gf,hg->kdhj", x, 8);
    f.ledger.countdown = -1;
    if (y) break;
    assert_int_equal(sn_error_status(f.ctx), SN_ERR_MEMORY);
    sn_error_clear(f.ctx);
    assert_true(f.ledger.live_bytes <= live + 4096); /* the context's own tables may have grown */
  }
}

/* ---- order ----------------------------------------------------------------------------------- */

static double elements(sn_letters set, const int64_t *size) {
  double product = 1;
  for (int l = 0; l < SN_LETTERS; l++)
    if (set >> l & 1) product *= (double)size[l];
  return product;
}

/* The cost of joining i and j of n sets, which become one at place i; the last moves to j. */
static double join(sn_letters *sets, size_t n, size_t i, size_t j, sn_letters output,
                   const int64_t *size) {
  sn_letters others = output;
  for (size_t k = 0; k < n; k++)
    if (k != i && k != j) others |= sets[k];
  const sn_letters both = sets[i] | sets[j];
  sets[i] = both & others;
  sets[j] = sets[n - 1];
  return elements(both, size) * (both & ~others ? 2 : 1);
}

static double best_by_trying_all(const sn_letters *sets, size_t n, sn_letters output,
                                 const int64_t *size) {
  double best = n == 1 ? 0 : INFINITY;
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++) {
      sn_letters left[SN_EINSUM_OPTIMAL];
      memcpy(left, sets, n * sizeof *sets);
      const double first = join(left, n, i, j, output, size);
      const double all = first + best_by_trying_all(left, n - 1, output, size);
      if (all < best) best = all;
    }
  return best;
}

/* What the steps cost; each uses what is there, once, and leaves what is needed. */
static double cost_of_steps(const sn_letters *given, size_t n, sn_letters output,
                            const int64_t *size, const sn_einsum_step *steps) {
  sn_letters sets[100];
  bool there[100] = {false};
  double cost = 0;
  memcpy(sets, given, n * sizeof *sets);
  for (size_t k = 0; k < n; k++) there[k] = true;
  for (size_t s = 0; s + 1 < n; s++) {
    const size_t l = steps[s].left, r = steps[s].right;
    assert_true(l < n + s && r < n + s && l != r && there[l] && there[r]);
    there[l] = there[r] = false;
    sn_letters others = output;
    for (size_t k = 0; k < n + s; k++)
      if (there[k]) others |= sets[k];
    const sn_letters both = sets[l] | sets[r];
    assert_true(steps[s].keep == (both & others));
    cost += elements(both, size) * (both & ~others ? 2 : 1);
    sets[n + s] = steps[s].keep;
    there[n + s] = true;
  }
  return cost;
}

static void order_is_optimal(void **state) {
  (void)state;
  case_random s = {11};
  for (int i = 0; i < 400; i++) {
    const size_t n = 2 + below(&s, i % 20 ? 4 : 5);
    sn_letters sets[64] = {0}, output = 0;
    int64_t size[SN_LETTERS];
    for (int l = 0; l < SN_LETTERS; l++) size[l] = (int64_t)1 << below(&s, 10);
    for (size_t k = 0; k < n; k++)
      for (uint32_t r = below(&s, 4) + 1; r > 0; r--) sets[k] |= sn_letter_bit((int)below(&s, 7));
    for (size_t k = 0; k < n; k++) output |= sets[k] & case_bits(&s);
    for (size_t k = 0; k < n; k++) {
      sn_letters others = output;
      for (size_t j = 0; j < n; j++)
        if (j != k) others |= sets[j];
      sets[k] &= others;
    }
    sn_arena arena;
    sn_arena_init(&arena, &f.ctx->env);
    sn_einsum_step steps[64];
    assert_int_equal(sn_einsum_order(&arena, sets, n, output, size, steps), SN_OK);
    sn_arena_free(&arena);
    assert_true(cost_of_steps(sets, n, output, size, steps) ==
                best_by_trying_all(sets, n, output, size));
  }
}

/* 2 x the fewest multiplications of a chain of n matrices, d[k] x d[k + 1]. */
static double best_chain(const int64_t *d, size_t n) {
  double best[48][48] = {{0}};
  for (size_t length = 1; length < n; length++)
    for (size_t i = 0; i + length < n; i++) {
      const size_t j = i + length;
      best[i][j] = INFINITY;
      for (size_t k = i; k < j; k++) {
        const double cost = best[i][k] + best[k + 1][j] + 2 * (double)(d[i] * d[k + 1] * d[j + 1]);
        if (cost < best[i][j]) best[i][j] = cost;
      }
    }
  return best[0][n - 1];
}

/* Chains of 7 to 46 random matrices, far too many for all orders: there is one, every step is
 * valid, and on average greed costs no more than half as much again as the best order. */
static double cost_of_chain(case_random *s) {
  const size_t n = 7 + below(s, 40);
  sn_letters sets[64];
  int64_t size[SN_LETTERS];
  for (int l = 0; l < SN_LETTERS; l++) size[l] = (int64_t)1 << below(s, 8);
  for (size_t k = 0; k < n; k++) sets[k] = sn_letter_bit((int)k) | sn_letter_bit((int)k + 1);
  const sn_letters output = sn_letter_bit(0) | sn_letter_bit((int)n);
  sn_arena arena;
  sn_arena_init(&arena, &f.ctx->env);
  sn_einsum_step steps[64];
  assert_int_equal(sn_einsum_order(&arena, sets, n, output, size, steps), SN_OK);
  sn_arena_free(&arena);
  return cost_of_steps(sets, n, output, size, steps) / best_chain(size, n);
}

static void many_operands_are_ordered_well(void **state) {
  (void)state;
  for (unsigned seed = 12; seed < 32; seed++) {
    case_random s = {seed};
    double cost = 0;
    for (int i = 0; i < 200; i++) cost += cost_of_chain(&s);
    assert_true(cost <= 1.5 * 200);
  }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static sn_program *compile_spec(const einsum_case *c, sn_program_info *info) {
  sn_tensor *x[MAX_OPERANDS];
  sn_program *program;
  for (size_t k = 0; k < c->n; k++)
    x[k] = sn_placeholder(f.ctx, SN_F32, c->in[k].rank, c->in[k].dims);
  sn_tensor *y = sn_einsum(c->spec, x, c->n);
  if (!y) fail_msg("%s: %s", c->spec, sn_error_message(f.ctx));
  const sn_program_options options = {.record = true};
  assert_int_equal(sn_compile_with(f.ctx, x, c->n, &y, 1, &options, &program), SN_OK);
  sn_program_describe(program, info);
  return program;
}

static void a_chain_costs_what_it_must(void **state) {
  (void)state;
  const int64_t d[] = {5, 200, 7, 300, 11};
  einsum_case c = {.spec = "ij,jk,kl,lm->im", .n = 4};
  for (int k = 0; k < 4; k++) c.in[k] = (operand){2, {d[k], d[k + 1]}};
  sn_program_info info;
  sn_program_release(compile_spec(&c, &info));
  assert_true(info.flops == best_chain(d, 4));
  assert_int_equal(info.kernels, 3);
}

static size_t count_of(const char *text, const char *part) {
  size_t n = 0;
  for (; (text = strstr(text, part)); text++) n++;
  return n;
}

static void products_are_one_kernel(void **state) {
  (void)state;
  static const struct {
    const char *spec, *shapes;
    size_t kernels, contractions;
  } rows[] = {
      {"ij,jk->ik", "30 40|40 50", 1, 1},
      {"ij,jk->ki", "30 40|40 50", 1, 1},
      {"ji,kj->ik", "40 30|50 40", 1, 1},
      {"ij,jk->ik", "30 40|40 1", 1, 1},
      {"bij,bkj->bik", "4 30 40|4 50 40", 1, 1},
      {"bij,bjk->bik", "4 30 40|4 40 50", 1, 1},
      {"bij,jk->bik", "4 30 40|40 50", 1, 1},
      {"ijb,jkb->bik", "30 40 4|40 50 4", 1, 1},
      {"bqhd,bkhd->bhqk", "2 30 4 8|2 20 4 8", 1, 1},
      {"bhqk,bkhd->bhqd", "2 4 30 20|2 20 4 8", 1, 1},
      {"ijkl,klm->ijm", "3 4 5 6|5 6 7", 1, 1},
      {"klij,mkl->ijm", "5 6 3 4|7 5 6", 1, 1},
      {"ijkl,lkm->ijm", "3 4 5 6|6 5 7", 1, 1},
      {"ijkl,klm->jim", "3 4 5 6|5 6 7", 1, 1},
      {"aibj,jbc->bcia", "3 4 5 6|6 5 7", 1, 1},
      {"...ij,...jk->...ik", "4 30 40|4 40 50", 1, 1},
      {"ij,j->i", "30 40|40", 1, 1},
      {"ij,ij->ij", "30 40|30 40", 1, 0},
      {"i,j->ij", "30|40", 1, 0},
      {"ij,ij->i", "30 40|30 40", 1, 0},
      {"i,i->", "40|40", 1, 0},
      {"ii->", "40 40", 1, 0},
      {"ii->i", "40 40", 1, 0},
      {"ij->j", "30 40", 1, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const einsum_case c = case_of(rows[i].spec, rows[i].shapes);
    sn_program_info info;
    sn_program *program = compile_spec(&c, &info);
    const char *groups = sn_program_text(program, "groups");
    if (info.kernels != rows[i].kernels ||
        count_of(groups, " contraction ") != rows[i].contractions)
      fail_msg("%s:\n%s", c.spec, groups);
    sn_program_release(program);
  }
}

/* Letters that a transpose has taken apart are merged without a copy. */
static void transposes_are_read_in_place(void **state) {
  (void)state;
  sn_tensor *a = sn_placeholder(f.ctx, SN_F32, DIMS(3, 4, 5, 6));
  sn_tensor *b = sn_placeholder(f.ctx, SN_F32, DIMS(5, 6, 7));
  sn_tensor *x[] = {sn_transpose(a, (int[]){3, 0, 2, 1}), b}; /* l i k j */
  sn_tensor *y = sn_einsum("likj,klm->ijm", x, 2);
  sn_program *program;
  sn_program_info info;
  assert_int_equal(sn_compile(f.ctx, (sn_tensor *[]){a, b}, 2, &y, 1, NULL, &program), SN_OK);
  sn_program_describe(program, &info);
  assert_int_equal(info.kernels, 1);
  sn_program_release(program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(errors_name_spec_and_shapes),
      TEST(sizes_overflow_before_anything_is_built),
      TEST(impossible_orders_are_refused),
      TEST(every_allocation_may_fail),
      TEST(order_is_optimal),
      TEST(many_operands_are_ordered_well),
      TEST(a_chain_costs_what_it_must),
      TEST(products_are_one_kernel),
      TEST(transposes_are_read_in_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
