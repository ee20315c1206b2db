/* test_chain.c - chains, groups that go together through blocks of rows: they have the bits of the same
 * groups run one by one, for any sizes, views and threads; attention is one kernel and takes little
 * memory. */
#include "support.h"

#include "op_cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef sn_tensor *formula(sn_tensor *const *x);

static sn_context *tracing; /* of the formula under way */

typedef struct sample {
  sn_context *ctx;
  sn_tensor *x[4];
  int n;
} sample;

static sn_tensor *random_tensor(sn_context *ctx, case_random *r, sn_dtype dtype, int rank,
                                const int64_t *dims) {
  void *data;
  sn_tensor *t = sn_empty(ctx, dtype, rank, dims, &data);
  assert_non_null(t);
  for (int64_t i = 0; i < sn_size(t); i++) {
    const double value = case_between(r, -2, 2);
    if (dtype == SN_F64)
      ((double *)data)[i] = value;
    else if (dtype == SN_F32)
      ((float *)data)[i] = (float)value;
    else
      ((uint8_t *)data)[i] = value > 0;
  }
  return t;
}

static uint32_t pass_bit(const char *name) {
  for (int i = 0; i < sn_pass_count(); i++)
    if (!strcmp(sn_pass_name(i), name)) return 1u << i;
  fail_msg("no pass %s", name);
  return 0;
}

/* f compiled, without a pass if one is named, and run. The values go to *out. */
static sn_program_info run(const sample *s, formula *f, const char *without, void **out,
                           int64_t *n) {
  sn_tensor *in[4], *y, *result;
  sn_program *program;
  sn_program_info info;
  tracing = s->ctx;
  assert_int_equal(sn_scope_begin(s->ctx), SN_OK);
  for (int i = 0; i < s->n; i++)
    in[i] = sn_placeholder(s->ctx, sn_dtype_of(s->x[i]), sn_rank(s->x[i]), sn_dims(s->x[i]));
  y = f(in);
  const sn_program_options options = {.passes_off = without ? pass_bit(without) : 0};
  assert_int_equal(sn_compile_with(s->ctx, in, (size_t)s->n, &y, 1, &options, &program), SN_OK);
  assert_int_equal(sn_program_run(program, s->x, &result), SN_OK);
  sn_program_describe(program, &info);
  *n = sn_size(result);
  *out = malloc(sn_size_bytes(result) + 1);
  assert_int_equal(sn_read(result, *out, sn_size_bytes(result)), SN_OK);
  sn_program_release(program);
  sn_scope_end(s->ctx);
  return info;
}

/* With the pass and without. What the first is. */
static sn_program_info expect_same_bits_without(const char *pass, const sample *s, formula *f) {
  void *fused, *apart;
  int64_t n, m, where;
  const sn_program_info info = run(s, f, NULL, &fused, &n);
  run(s, f, pass, &apart, &m);
  assert_int_equal(n, m);
  if (!case_same(sn_dtype_of(s->x[0]), fused, apart, n, &where))
    fail_msg("element %lld of %lld differs", (long long)where, (long long)n);
  free(fused);
  free(apart);
  return info;
}

static sn_program_info expect_same_bits(const sample *s, formula *f) {
  return expect_same_bits_without("fuse", s, f);
}

static void give_back(sample *s) {
  for (int i = 0; i < s->n; i++) sn_release(s->x[i]);
}

/* ---- formulas -------------------------------------------------------------------------------- */

static sn_tensor *flipped(sn_tensor *x) {
  const int rank = sn_rank(x);
  int perm[SN_MAX_RANK];
  for (int i = 0; i < rank; i++) perm[i] = i;
  perm[rank - 1]--;
  perm[rank - 2]++;
  return sn_transpose(x, perm);
}

static sn_tensor *by_hand(sn_tensor *const *x) {
  return sn_matmul(sn_softmax(sn_matmul(x[0], flipped(x[1])), -1), x[2]);
}
static sn_tensor *plain(sn_tensor *const *x) {
  return sn_attention(x[0], x[1], x[2], false, NULL, NULL, NAN);
}
static sn_tensor *causal(sn_tensor *const *x) {
  return sn_attention(x[0], x[1], x[2], true, NULL, NULL, NAN);
}
static sn_tensor *masked(sn_tensor *const *x) {
  return sn_attention(x[0], x[1], x[2], false, NULL, x[3], 0.3);
}
/* q (batch, tokens, heads, size): heads are views */
static sn_tensor *of_views(sn_tensor *const *x) {
  const int perm[] = {0, 2, 1, 3};
  return sn_transpose(sn_attention(sn_transpose(x[0], perm), sn_transpose(x[1], perm),
                                   sn_transpose(x[2], perm), true, NULL, NULL, NAN),
                      perm);
}
/* scores are returned too, so they lie in memory, and rows go through two norms */
static sn_tensor *gated(sn_tensor *const *x) {
  sn_tensor *s = sn_layer_norm(sn_tanh(sn_matmul(x[0], flipped(x[1]))), 1u << (sn_rank(x[0]) - 1),
                               NULL, NULL, 1e-5);
  return sn_sum(sn_square(sn_matmul(sn_softmax(s, -1), x[2])), 1u << 3, true);
}

/* The number of each row or column of scores. */
static sn_tensor *number_of(sn_tensor *s, int from_last) {
  return sn_iota(tracing, SN_I32, sn_rank(s), sn_dims(s), sn_rank(s) - 1 - from_last);
}

/* Masks written by hand: columns up to the row's number and some more, also where that is less than
 * nothing, in both orders of a comparison. */
static sn_tensor *up_to(sn_tensor *const *x, int64_t more, bool strict, bool turned) {
  sn_tensor *s = sn_matmul(x[0], flipped(x[1])), *column = number_of(s, 0);
  sn_tensor *never = sn_full(tracing, sn_dtype_of(s), 0, NULL, -INFINITY);
  sn_tensor *row = sn_add(number_of(s, 1), sn_full(tracing, SN_I32, 0, NULL, (double)more));
  sn_tensor *seen = turned ? (strict ? sn_greater : sn_greater_equal)(row, column)
                           : (strict ? sn_less : sn_less_equal)(column, row);
  return sn_matmul(sn_softmax(sn_where(seen, s, never), -1), x[2]);
}
static sn_tensor *shifted(sn_tensor *const *x) {
  const int64_t tokens = sn_dims(x[0])[2], sources = sn_dims(x[1])[2];
  return up_to(x, sources > tokens ? sources - tokens : 0, false, false);
}
static sn_tensor *one_behind(sn_tensor *const *x) { return up_to(x, 1, true, true); }
static sn_tensor *strictly(sn_tensor *const *x) { return up_to(x, 0, true, false); }
static sn_tensor *late(sn_tensor *const *x) { return up_to(x, -20, false, true); }
/* what is masked is not what the maximum and the sum are used to */
static sn_tensor *half_masked(sn_tensor *const *x) {
  sn_tensor *s = sn_matmul(x[0], flipped(x[1]));
  sn_tensor *seen = sn_less_equal(number_of(s, 0), number_of(s, 1));
  return sn_matmul(sn_softmax(sn_where(seen, s, sn_mul(s, s)), -1), x[2]);
}
static sn_tensor *causal_masked(sn_tensor *const *x) {
  return sn_attention(x[0], x[1], x[2], true, NULL, x[3], 0.3);
}

/* a product between whose rows are as long as those that it reads: not in their place */
static sn_tensor *mixed(sn_tensor *const *x) {
  sn_tensor *p = sn_softmax(sn_matmul(x[0], flipped(x[1])), -1);
  return sn_matmul(sn_matmul(p, sn_matmul(x[1], flipped(x[1]))), x[2]);
}

/* All cotangents of a loss of attention, one behind the other. */
static sn_tensor *slopes(sn_tensor *const *x, formula *attention) {
  sn_tensor *in[4], *out[3];
  for (int i = 0; i < 4; i++) in[i] = i < 3 ? sn_variable(x[i]) : x[i];
  sn_tensor *loss = sn_sum(sn_square(sn_tanh(attention(in))), SN_ALL_AXES, false);
  if (sn_gradients(loss, in, 3, out)) return NULL;
  for (int i = 0; i < 3; i++) out[i] = sn_reshape(out[i], 1, (int64_t[]){sn_size(out[i])});
  return sn_concat(out, 3, 0);
}
static sn_tensor *slopes_by_hand(sn_tensor *const *x) { return slopes(x, by_hand); }
static sn_tensor *slopes_plain(sn_tensor *const *x) { return slopes(x, plain); }
static sn_tensor *slopes_causal(sn_tensor *const *x) { return slopes(x, causal); }
static sn_tensor *slopes_shifted(sn_tensor *const *x) { return slopes(x, shifted); }
static sn_tensor *slopes_masked(sn_tensor *const *x) { return slopes(x, masked); }
static sn_tensor *slopes_of_views(sn_tensor *const *x) { return slopes(x, of_views); }
/* softmax of its rows, of its columns' sums, of both: scores read in many ways */
static sn_tensor *crossed(sn_tensor *const *x) {
  sn_tensor *s = sn_matmul(x[0], flipped(x[1])), *p = sn_softmax(s, -1), *g = sn_tanh(s);
  sn_tensor *o = sn_matmul(p, x[1]), *t = sn_matmul(flipped(g), o);
  return sn_matmul(sn_mul(p, g), sn_add(t, x[1]));
}
static sn_tensor *slopes_crossed(sn_tensor *const *x) { return slopes(x, crossed); }

/* what comes before a product: x (rows, k), g (k), w (k, columns) */
static sn_tensor *scaled(sn_tensor *const *x) {
  return sn_tanh(sn_matmul(sn_mul(x[0], x[1]), x[2]));
}
static sn_tensor *normed(sn_tensor *const *x) {
  return sn_matmul(sn_layer_norm(x[0], 1u << (sn_rank(x[0]) - 1), x[1], NULL, 1e-5), x[2]);
}
static sn_tensor *chosen(sn_tensor *const *x) {
  return sn_softmax(sn_matmul(sn_softmax(sn_add(x[0], x[1]), -1), x[2]), -1);
}
/* below the diagonal where x is square: all terms count, as nothing but a 0 hides them */
static sn_tensor *triangle(sn_tensor *const *x) {
  sn_tensor *below = sn_less_equal(number_of(x[0], 0), number_of(x[0], 1));
  sn_tensor *nothing = sn_full(tracing, sn_dtype_of(x[0]), 0, NULL, 0);
  return sn_matmul(sn_where(below, sn_mul(x[0], x[1]), nothing), x[2]);
}
/* the queries are made for it */
static sn_tensor *turned(sn_tensor *const *x) {
  sn_tensor *in[] = {sn_mul(sn_sin(x[0]), x[0]), x[1], x[2], NULL};
  return causal(in);
}

static uint32_t last_axis(sn_tensor *x) { return 1u << (sn_rank(x) - 1); }

/* what only a number per row of a product is wanted of */
static sn_tensor *best(sn_tensor *const *x) {
  return sn_max(sn_matmul(x[0], x[2]), last_axis(x[0]), false);
}
/* squared distance to the nearest column */
static sn_tensor *nearest(sn_tensor *const *x) {
  const uint32_t last = last_axis(x[0]);
  sn_tensor *xw = sn_matmul(x[0], x[2]), *xx = sn_sum(sn_square(x[0]), last, true);
  sn_tensor *ww = sn_sum(sn_square(x[2]), last >> 1, true);
  return sn_sqrt(sn_min(sn_add(sn_sub(xx, sn_add(xw, xw)), ww), last, true));
}
static sn_tensor *all_above(sn_tensor *const *x) {
  sn_tensor *least = sn_full(tracing, sn_dtype_of(x[0]), 0, NULL, -30);
  const uint32_t last = last_axis(x[0]);
  return sn_astype(sn_all(sn_greater(sn_matmul(x[0], x[2]), least), last, false),
                   sn_dtype_of(x[0]));
}
static sn_tensor *mean_of_rows(sn_tensor *const *x) {
  return sn_mean(sn_tanh(sn_matmul(x[0], x[2])), last_axis(x[0]), false);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static sample sample_of(sn_context *ctx, case_random *r, sn_dtype dtype, int64_t batch,
                        int64_t heads, int64_t shared, int64_t tokens, int64_t sources,
                        int64_t size) {
  const int64_t q[] = {batch, heads, tokens, size}, k[] = {batch, shared, sources, size};
  const int64_t v[] = {batch, shared, sources, size + 3},
                m[] = {tokens > 1000 ? 1 : tokens, sources};
  return (sample){ctx,
                  {random_tensor(ctx, r, dtype, 4, q), random_tensor(ctx, r, dtype, 4, k),
                   random_tensor(ctx, r, dtype, 4, v),
                   random_tensor(ctx, r, case_one_in(r, 2) ? SN_BOOL : dtype, 2, m)},
                  4};
}

/* x (m, k), a row (k), w (k, n); with a batch, x and w have it before */
static sample product_of(sn_context *ctx, case_random *r, sn_dtype dtype, int64_t batch, int64_t m,
                         int64_t k, int64_t n) {
  const int64_t x[] = {batch, m, k}, w[] = {batch, k, n};
  const int rank = batch > 1 ? 3 : 2;
  return (sample){ctx,
                  {random_tensor(ctx, r, dtype, rank, x + 3 - rank),
                   random_tensor(ctx, r, dtype, 1, &k),
                   random_tensor(ctx, r, dtype, rank, w + 3 - rank)},
                  3};
}

static void all_sizes_have_the_bits_of_single_kernels(void **state) {
  (void)state;
  static formula *const formulas[] = {by_hand, plain, causal, masked, gated, mixed};
  for (int threads = case_short() ? 3 : 1; threads <= 3; threads += 2) {
    case_random r = {.state = case_seed()};
    sn_context *ctx = case_context(threads, sn_isa_detect());
    for (int64_t tokens = 1; tokens <= 70; tokens += case_short() ? 7 : 1) {
      const int64_t sources = case_one_in(&r, 2) ? tokens : 1 + case_below(&r, 90);
      const int64_t heads = 1 + case_below(&r, 3);
      const sn_dtype dtype = case_one_in(&r, 3) ? SN_F64 : SN_F32;
      sample s = sample_of(ctx, &r, dtype, 1 + case_below(&r, 4), heads, heads, tokens, sources,
                           1 + case_below(&r, 12));
      expect_same_bits(&s, formulas[case_below(&r, 6)]);
      expect_same_bits(&s, formulas[tokens % 6]);
      give_back(&s);
    }
    case_context_end(ctx);
  }
}

static void attention_is_one_kernel(void **state) {
  (void)state;
  static formula *const formulas[] = {by_hand, plain, causal, masked, of_views};
  case_random r = {.state = case_seed()};
  sn_context *ctx = case_context(2, sn_isa_detect());
  for (int i = 0; i < 5; i++) {
    sample s = sample_of(ctx, &r, SN_F32, 2, 4, 4, 150, 150, 16);
    if (formulas[i] == of_views) {
      give_back(&s);
      s = sample_of(ctx, &r, SN_F32, 2, 150, 150, 4, 4, 16);
    }
    const sn_program_info info = expect_same_bits(&s, formulas[i]);
    assert_int_equal(info.kernels, formulas[i] == of_views ? 2 : 1); /* and the transposed copy */
    assert_true(info.arena_bytes <= (formulas[i] == of_views ? 4u * 2 * 4 * 150 * 19 + 64 : 0));
    give_back(&s);
  }
  case_context_end(ctx);
}

/* Whether scores are made again (small ones are in a hostile build only) or kept. */
static void gradients_have_the_bits_of_single_kernels(void **state) {
  (void)state;
  static formula *const formulas[] = {slopes_by_hand, slopes_plain,    slopes_causal,
                                      slopes_masked,  slopes_of_views, slopes_crossed};
  for (int threads = case_short() ? 3 : 1; threads <= 3; threads += 2) {
    case_random r = {.state = case_seed()};
    sn_context *ctx = case_context(threads, sn_isa_detect());
    for (int64_t tokens = 5; tokens <= 130; tokens += case_short() ? 41 : 11)
      for (int i = 0; i < 6; i++) {
        const bool alike = formulas[i] == slopes_by_hand || formulas[i] == slopes_crossed;
        const int64_t sources =
            alike || case_one_in(&r, 2) ? tokens : 1 + (int64_t)case_below(&r, 90);
        const int64_t heads = formulas[i] == slopes_of_views ? tokens : alike ? 2 : 4;
        const int64_t shared = heads == 4 ? 2 : heads;
        sample s = formulas[i] == slopes_of_views
                       ? sample_of(ctx, &r, SN_F32, 2, heads, heads, 3, 3, 8)
                       : sample_of(ctx, &r, case_one_in(&r, 3) ? SN_F64 : SN_F32, 2, heads, shared,
                                   tokens, sources, 1 + case_below(&r, 12));
        expect_same_bits(&s, formulas[i]);
        expect_same_bits_without("rematerialize", &s, formulas[i]);
        give_back(&s);
      }
    /* Tiny once turned, though not where heads that share keys are one product. */
    sample s = sample_of(ctx, &r, SN_F32, 2, 4, 2, 32, 32, 2);
    expect_same_bits_without("rematerialize", &s, slopes_causal);
    give_back(&s);
    case_context_end(ctx);
  }
}

static void large_scores_are_made_again(void **state) {
  (void)state;
  static formula *const formulas[] = {slopes_by_hand, slopes_causal, slopes_masked};
  case_random r = {.state = case_seed()};
  sn_context *ctx = case_context(2, sn_isa_detect());
  for (int i = 0; i < 3; i++) {
    sample s =
        sample_of(ctx, &r, SN_F32, 1, 2, formulas[i] == slopes_by_hand ? 2 : 1, 1500, 1450, 8);
    const sn_program_info info = expect_same_bits_without("rematerialize", &s, formulas[i]);
    assert_true(info.arena_bytes < 1u << 20);
    if (!case_short()) expect_same_bits(&s, formulas[i]);
    give_back(&s);
  }
  case_context_end(ctx);
}

/* A map or a row group that one product reads goes with it, and never lies in memory. */
static void what_comes_before_a_product_goes_with_it(void **state) {
  (void)state;
  static const struct {
    formula *f;
    int64_t batch, m, k, n;
  } cases[] = {{scaled, 1, 4100, 64, 5},    {scaled, 3, 3001, 33, 16},   {normed, 1, 8193, 33, 16},
               {normed, 2, 600, 260, 17},   {chosen, 1, 4100, 64, 64},   {chosen, 5, 300, 200, 9},
               {triangle, 1, 530, 530, 17}, {triangle, 8, 200, 200, 200}};
  for (int threads = case_short() ? 3 : 1; threads <= 3; threads += 2) {
    case_random r = {.state = case_seed()};
    sn_context *ctx = case_context(threads, sn_isa_detect());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      const int64_t batch = cases[i].batch, m = cases[i].m, k = cases[i].k, n = cases[i].n;
      sample s = product_of(ctx, &r, i % 3 ? SN_F32 : SN_F64, batch, m, k, n);
      const sn_program_info info = expect_same_bits(&s, cases[i].f);
      assert_int_equal(info.kernels, 1);
      assert_int_equal(info.arena_bytes, 0);
      assert_true(info.flops >= 2.0 * (double)(batch * m * k * n));
      give_back(&s);
    }
    sample s = sample_of(ctx, &r, SN_F32, 1, 4, 4, 511, 511, 130);
    const sn_program_info info = expect_same_bits(&s, turned);
    assert_int_equal(info.kernels, 1);
    assert_true(info.flops < 0.9 * expect_same_bits(&s, plain).flops); /* still causal */
    give_back(&s);
    case_context_end(ctx);
  }
}

static void reductions_of_rows_go_with_their_product(void **state) {
  (void)state;
  static const struct {
    formula *f;
    int64_t batch, m, k, n;
    uint32_t kernels;
  } cases[] = {{best, 1, 1000, 12, 300, 1},      {best, 3, 513, 5, 65, 1},
               {nearest, 1, 1000, 12, 300, 3},   {nearest, 2, 400, 9, 127, 3},
               {all_above, 1, 700, 12, 31, 1},   {mean_of_rows, 1, 300, 12, 8192, 1},
               {mean_of_rows, 4, 90, 3, 200, 1}, {mean_of_rows, 1, 64, 12, 8193, 2}};
  for (int threads = case_short() ? 3 : 1; threads <= 3; threads += 2) {
    case_random r = {.state = case_seed()};
    sn_context *ctx = case_context(threads, sn_isa_detect());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      sample s = product_of(ctx, &r, i % 3 ? SN_F32 : SN_F64, cases[i].batch, cases[i].m,
                            cases[i].k, cases[i].n);
      const sn_program_info info = expect_same_bits(&s, cases[i].f);
      if (info.kernels != cases[i].kernels)
        fail_msg("case %zu: %zu kernels", i, (size_t)info.kernels);
      give_back(&s);
    }
    case_context_end(ctx);
  }
}

/* Bits of masks are those of all columns, and fewer of them are computed. */
static void masked_columns_are_not_computed(void **state) {
  (void)state;
  static const struct {
    formula *f;
    bool limited;
  } cases[] = {{causal, true},        {shifted, true},       {one_behind, false},
               {causal_masked, true}, {strictly, false},     {late, false},
               {half_masked, false},  {slopes_causal, true}, {slopes_shifted, true}};
  for (int threads = case_short() ? 3 : 1; threads <= 3; threads += 2) {
    case_random r = {.state = case_seed()};
    sn_context *ctx = case_context(threads, sn_isa_detect());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      static const int64_t sizes[][2] = {{1, 1},     {7, 9},     {65, 65},
                                         {511, 511}, {511, 300}, {300, 511}};
      for (size_t n = case_short() ? i % 2 : 0; n < sizeof sizes / sizeof *sizes;
           n += case_short() ? 2 : 1) {
        const int64_t tokens = sizes[n][0], sources = sizes[n][1];
        const bool grouped = cases[i].f == causal || cases[i].f == slopes_causal;
        sample s =
            sample_of(ctx, &r, n % 2 ? SN_F32 : SN_F64, 1, 4, grouped ? 2 : 4, tokens, sources, 11);
        const sn_program_info info = expect_same_bits(&s, cases[i].f);
        if (tokens >= 511 && i < 7) {
          assert_int_equal(info.kernels, 1);
          const bool fewer = info.flops < 0.9 * expect_same_bits(&s, plain).flops;
          if (fewer != cases[i].limited) fail_msg("case %zu, sizes %zu", i, n);
        }
        give_back(&s);
      }
      /* turned scores, too, where they are made again; products of 17 columns run turned */
      const int64_t least = case_short() ? 17 : 8;
      for (int64_t size = least; cases[i].f == slopes_causal && size <= 17; size += 9) {
        sample s = sample_of(ctx, &r, SN_F32, 1, 2, 1, 1500, 1450, size);
        const double all = expect_same_bits(&s, slopes_plain).flops;
        assert_true(expect_same_bits(&s, slopes_causal).flops < 0.65 * all);
        give_back(&s);
      }
    }
    case_context_end(ctx);
  }
}

/* A token that many do not see is not read for them, whatever it holds; who sees it has it. */
static void what_a_mask_hides_is_not_read(void **state) {
  (void)state;
  static const double hidden[] = {NAN, INFINITY, -INFINITY};
  enum { TOKENS = 700, WIDTH = 11, BYTES = TOKENS * WIDTH * (int)sizeof(float) };
  case_random r = {.state = case_seed()};
  sn_context *ctx = case_context(1, sn_isa_detect());
  for (int i = 0; i < 3; i++) {
    sample s = sample_of(ctx, &r, SN_F32, 1, 1, 1, TOKENS, TOKENS, 8);
    float *with, *clean, *v = malloc(BYTES);
    int64_t n;
    run(&s, causal, NULL, (void **)&clean, &n);
    assert_int_equal(sn_read(s.x[2], v, BYTES), SN_OK);
    sn_release(s.x[2]);
    void *data;
    s.x[2] = sn_empty(ctx, SN_F32, 4, (int64_t[]){1, 1, TOKENS, WIDTH}, &data);
    memcpy(data, v, BYTES);
    for (int j = 0; j < WIDTH; j++) ((float *)data)[600 * WIDTH + j] = (float)hidden[i];
    run(&s, causal, NULL, (void **)&with, &n);
    assert_memory_equal(with, clean, BYTES / 7 * 3);
    for (int64_t j = 600 * WIDTH; j < n; j++) assert_true(!isfinite(with[j]));
    free(v), free(with), free(clean);
    give_back(&s);
  }
  case_context_end(ctx);
}

/* 8 heads of 4,096 tokens: forward, backward, both. */
static void no_matrix_of_all_scores_is_in_memory(void **state) {
  (void)state;
  static formula *const formulas[] = {by_hand,      plain,         causal,         masked,
                                      slopes_plain, slopes_causal, slopes_by_hand, slopes_masked};
  const int64_t dims[] = {1, 8, 4096, 64}, few[] = {1, 2, 4096, 64}, mask[] = {4096, 4096};
  sn_context *ctx = case_context(2, sn_isa_detect());
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  for (int i = 0; i < 8; i++) {
    const bool grouped = formulas[i] == slopes_causal;
    sn_tensor *x[4] = {sn_placeholder(ctx, SN_F32, 4, dims),
                       sn_placeholder(ctx, SN_F32, 4, grouped ? few : dims),
                       sn_placeholder(ctx, SN_F32, 4, grouped ? few : dims),
                       sn_placeholder(ctx, SN_BOOL, 2, mask)};
    sn_tensor *y = formulas[i](x);
    sn_program *program;
    sn_program_info info;
    assert_int_equal(sn_compile_with(ctx, x, 4, &y, 1, &(sn_program_options){0}, &program), SN_OK);
    sn_program_describe(program, &info);
    assert_true(info.arena_bytes < 48u << 20);
    assert_true(info.kernels <= (i < 4 ? 1 : 8));
    sn_program_release(program);
  }
  sn_scope_end(ctx);
  case_context_end(ctx);
}

static void heads_share_keys(void **state) {
  (void)state;
  case_random r = {.state = case_seed()};
  sn_context *ctx = case_context(2, sn_isa_detect());
  for (int64_t shared = 1; shared <= 6; shared++) {
    if (6 % shared) continue;
    sample s = sample_of(ctx, &r, SN_F32, 2, 6, shared, 65, 67, 8);
    assert_int_equal(expect_same_bits(&s, masked).kernels, 1);
    assert_int_equal(expect_same_bits(&s, causal).kernels, 1);
    give_back(&s);
  }
  /* Alone, the heads' rows together are one product, and no longer a tiny one. */
  sample s = sample_of(ctx, &r, SN_F32, 64, 4, 2, 16, 20, 5);
  assert_int_equal(expect_same_bits(&s, causal).kernels, 1);
  give_back(&s);
  case_context_end(ctx);
}

/* NaN and infinities go where single kernels let them go; a token that sees nothing is NaN. */
static void special_values_pass_through(void **state) {
  (void)state;
  case_random r = {.state = case_seed()};
  sn_context *ctx = case_context(1, sn_isa_detect());
  sample s = sample_of(ctx, &r, SN_F32, 1, 2, 2, 90, 90, 8);
  const int64_t dims[] = {1, 2, 90, 8}, mask_dims[] = {90, 90};
  for (int which = 0; which < 3; which++) {
    float *data;
    sn_release(s.x[which]);
    if (which == 2) {
      const int64_t wide[] = {1, 2, 90, 11};
      s.x[2] = random_tensor(ctx, &r, SN_F32, 4, wide);
    } else {
      s.x[which] = sn_empty(ctx, SN_F32, 4, dims, (void **)&data);
      case_fill(&r, SN_OP_add, 0, SN_F32, CASE_SPECIALS, sn_size(s.x[which]), data);
    }
    expect_same_bits(&s, plain);
    expect_same_bits(&s, causal);
    expect_same_bits(&s, slopes_causal);
    expect_same_bits_without("rematerialize", &s, slopes_masked);
  }
  give_back(&s);
  s = sample_of(ctx, &r, SN_F32, 1, 2, 2, 90, 90, 8);
  sn_release(s.x[3]);
  bool *seen;
  s.x[3] = sn_empty(ctx, SN_BOOL, 2, mask_dims, (void **)&seen);
  for (int i = 0; i < 90 * 90; i++) seen[i] = i / 90 != 40;
  void *values;
  int64_t n;
  run(&s, masked, NULL, &values, &n);
  for (int64_t i = 0; i < n; i++)
    assert_int_equal(isnan(((float *)values)[i]) != 0, i / 11 % 90 == 40);
  free(values);
  give_back(&s);
  case_context_end(ctx);
}

static void long_sequences_take_little_memory(void **state) {
  (void)state;
  const int64_t tokens = case_short() ? 1024 : 4096;
  case_random r = {.state = case_seed()};
  sn_context *ctx = case_context(2, sn_isa_detect());
  sample s = sample_of(ctx, &r, SN_F32, 1, 1, 1, tokens, tokens, 16);
  sn_release(s.x[--s.n]);
  sn_memory_info before, after;
  void *values;
  int64_t n;
  sn_memory(ctx, &before);
  const sn_program_info info = run(&s, causal, NULL, &values, &n);
  sn_memory(ctx, &after);
  assert_int_equal(info.kernels, 1);
  assert_int_equal(info.arena_bytes, 0);
  assert_true(info.naive_bytes > (size_t)(tokens * tokens) * 8);
  assert_true(after.bytes_peak < before.bytes_in_use + (12u << 20));
  free(values);
  give_back(&s);
  case_context_end(ctx);
}

static void bad_shapes_are_refused(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
  sn_tensor *q = sn_full(f.ctx, SN_F32, 4, (int64_t[]){2, 4, 5, 8}, 1);
  const struct {
    int64_t k[4], v[4];
    const char *message;
  } cases[] = {
      {{2, 4, 5, 7},
       {2, 4, 5, 8},
       "q and k differ in size: q (2, 4, 5, 8), k (2, 4, 5, 7), v (2, 4, 5, 8)"},
      {{2, 4, 5, 8},
       {2, 4, 6, 8},
       "k and v differ in tokens: q (2, 4, 5, 8), k (2, 4, 5, 8), v (2, 4, 6, 8)"},
      {{3, 4, 5, 8},
       {3, 4, 5, 8},
       "batch dimensions differ: q (2, 4, 5, 8), k (3, 4, 5, 8), v (3, 4, 5, 8)"},
      {{2, 3, 5, 8},
       {2, 3, 5, 8},
       "heads of k do not divide those of q: q (2, 4, 5, 8), k (2, 3, 5, 8), v (2, 3, 5, 8)"},
      {{2, 4, 0, 8},
       {2, 4, 0, 8},
       "k has no tokens: q (2, 4, 5, 8), k (2, 4, 0, 8), v (2, 4, 0, 8)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char message[200];
    snprintf(message, sizeof message, "attention: %s", cases[i].message);
    assert_null(sn_attention(q, sn_full(f.ctx, SN_F32, 4, cases[i].k, 1),
                             sn_full(f.ctx, SN_F32, 4, cases[i].v, 1), false, NULL, NULL, NAN));
    expect_error(f.ctx, SN_ERR_SHAPE, message);
  }
  assert_null(
      sn_attention(q, q, sn_full(f.ctx, SN_F32, 2, (int64_t[]){5, 8}, 1), false, NULL, NULL, NAN));
  expect_error(
      f.ctx, SN_ERR_SHAPE,
      "attention: needs (..., heads, tokens, size): q (2, 4, 5, 8), k (2, 4, 5, 8), v (5, 8)");
  assert_null(
      sn_attention(q, q, q, false, NULL, sn_full(f.ctx, SN_BOOL, 2, (int64_t[]){4, 5}, 1), NAN));
  expect_error(f.ctx, SN_ERR_SHAPE,
               "attention: the mask does not fit the scores: q (2, 4, 5, 8), k (2, 4, 5, 8), v (2, "
               "4, 5, 8), mask (4, 5)");
  sn_scope_end(f.ctx);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_sizes_have_the_bits_of_single_kernels),
      cmocka_unit_test(attention_is_one_kernel),
      cmocka_unit_test(gradients_have_the_bits_of_single_kernels),
      cmocka_unit_test(large_scores_are_made_again),
      cmocka_unit_test(what_comes_before_a_product_goes_with_it),
      cmocka_unit_test(reductions_of_rows_go_with_their_product),
      cmocka_unit_test(masked_columns_are_not_computed),
      cmocka_unit_test(what_a_mask_hides_is_not_read),
      cmocka_unit_test(no_matrix_of_all_scores_is_in_memory),
      cmocka_unit_test(heads_share_keys),
      cmocka_unit_test(special_values_pass_through),
      cmocka_unit_test(long_sequences_take_little_memory),
      cmocka_unit_test(bad_shapes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
