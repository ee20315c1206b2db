/* test_einsum.c - einsum against plain loops over all letters, in long double, with a parser of their
 * own for the spec. Bound: |error| <= (8 n + log2 terms) eps sum |terms| for n operands;
 * integers are exact, modulo 2^32. Then gradients. */
#include <math.h>
#include <stdio.h>

#include "einsum_cases.h"

/* ---- plain loops ----------------------------------------------------------------------------- */

/* A term with its ellipsis as the digits up to 8, so that the order of characters is that of the
 * implicit output: "...ij" with two dimensions is "78ij". */
static void expand(char *out, const char *term, size_t length, int dims) {
  size_t letters = 0;
  for (size_t i = 0; i < length; i++) letters += isalpha((unsigned char)term[i]) != 0;
  for (size_t i = 0; i < length; i++) {
    if (isalpha((unsigned char)term[i])) *out++ = term[i];
    if (term[i] != '.') continue;
    i += 2;
    for (int d = dims - (int)letters; d > 0; d--) *out++ = (char)('9' - d);
  }
  *out = '\0';
}

typedef struct reading {
  char terms[MAX_OPERANDS][TEXT], output[TEXT], all[TEXT];
  int64_t size[128];
} reading;

static void read_spec(const einsum_case *c, reading *r) {
  *r = (reading){.size = {0}};
  int uses[128] = {0};
  int ellipsis = 0;
  const char *at = c->spec, *arrow = strstr(c->spec, "->");
  for (int l = 0; l < 128; l++) r->size[l] = 1;
  for (size_t k = 0; k < c->n; k++) {
    const size_t length = strcspn(at, ",-");
    expand(r->terms[k], at, length, c->in[k].rank);
    at += length + 1;
    for (int i = 0; i < c->in[k].rank; i++) {
      const char l = r->terms[k][i];
      uses[(int)l]++;
      if (c->in[k].dims[i] != 1) r->size[(int)l] = c->in[k].dims[i];
      if (isdigit((unsigned char)l) && '9' - l > ellipsis) ellipsis = '9' - l;
    }
  }
  char *out = r->output;
  if (arrow) {
    size_t letters = 0;
    for (const char *p = arrow + 2; *p; p++) letters += isalpha((unsigned char)*p) != 0;
    expand(out, arrow + 2, strlen(arrow + 2), (int)letters + ellipsis);
  } else {
    for (char l = '0'; l <= 'z'; l++)
      if (uses[(int)l] && (uses[(int)l] == 1 || isdigit((unsigned char)l))) *out++ = l;
  }
  strcpy(r->all, r->output);
  for (char l = '0'; l <= 'z'; l++)
    if (uses[(int)l] && !strchr(r->output, l)) strncat(r->all, &l, 1);
}

typedef struct expected {
  int rank;
  int64_t dims[SN_MAX_RANK], size, terms;
  long double *value, *magnitude;
} expected;

static expected plain_loops(const einsum_case *c, double *const *data) {
  reading r;
  read_spec(c, &r);
  expected e = {.size = 1, .terms = 1, .rank = (int)strlen(r.output)};
  for (int i = 0; i < e.rank; i++) e.size *= e.dims[i] = r.size[(int)r.output[i]];
  for (const char *l = r.all + e.rank; *l; l++) e.terms *= r.size[(int)*l];
  e.value = calloc((size_t)e.size + 1, sizeof *e.value);
  e.magnitude = calloc((size_t)e.size + 1, sizeof *e.magnitude);
  int64_t index[128] = {0};
  for (int64_t at = 0; at < e.size * e.terms; at++) {
    long double term = 1;
    int64_t rest = at;
    for (size_t i = strlen(r.all); i-- > 0;) {
      index[(int)r.all[i]] = rest % r.size[(int)r.all[i]];
      rest /= r.size[(int)r.all[i]];
    }
    for (size_t k = 0; k < c->n; k++) {
      int64_t flat = 0;
      for (int i = 0; i < c->in[k].rank; i++)
        flat = flat * c->in[k].dims[i] + (c->in[k].dims[i] == 1 ? 0 : index[(int)r.terms[k][i]]);
      term *= (long double)data[k][flat];
    }
    e.value[at / e.terms] += term;
    e.magnitude[at / e.terms] += fabsl(term);
  }
  return e;
}

/* ---- one case -------------------------------------------------------------------------------- */

static int64_t size_of(const operand *o) {
  int64_t size = 1;
  for (int i = 0; i < o->rank; i++) size *= o->dims[i];
  return size;
}

static double *draw(case_random *state, int64_t n, bool integers) {
  double *data = malloc(((size_t)n + 1) * sizeof *data);
  for (int64_t i = 0; i < n; i++) {
    const uint32_t bits = (uint32_t)case_bits(state);
    data[i] = integers ? (double)(bits % 9) - 4 : (double)(float)((double)(bits % 8001) / 2000 - 2);
  }
  return data;
}

/* perm: the tensor is made in another order of its axes and transposed. */
static sn_tensor *tensor_of(const operand *o, const double *data, sn_dtype dtype, const int *perm) {
  if (!perm) return sn_astype(sn_from_data(f.ctx, SN_F64, o->rank, o->dims, data), dtype);
  int inverse[SN_MAX_RANK];
  for (int i = 0; i < o->rank; i++) inverse[perm[i]] = i;
  sn_tensor *moved = sn_transpose(sn_from_data(f.ctx, SN_F64, o->rank, o->dims, data), perm);
  sn_tensor *stored = sn_astype(moved, dtype);
  assert_int_equal(sn_eval(&stored, 1), SN_OK);
  return sn_transpose(stored, inverse);
}

static void check_values(const einsum_case *c, sn_tensor *y, sn_dtype dtype, const expected *e) {
  const double eps = dtype == SN_F32 ? 0x1p-24 : dtype == SN_F64 ? 0x1p-53 : 0;
  const double factor = (8.0 * (double)c->n + log2((double)e->terms + 1)) * eps;
  if (!y) fail_msg("%s: %s", c->spec, sn_error_message(f.ctx));
  assert_int_equal(sn_dtype_of(y), dtype);
  assert_int_equal(sn_rank(y), e->rank);
  for (int i = 0; i < e->rank; i++) assert_int_equal(sn_dims(y)[i], e->dims[i]);
  double *got = malloc(((size_t)e->size + 1) * sizeof *got);
  assert_int_equal(sn_read(sn_astype(y, SN_F64), got, (size_t)e->size * sizeof *got), SN_OK);
  for (int64_t i = 0; i < e->size; i++)
    if (!(fabsl((long double)got[i] - e->value[i]) <= (long double)factor * e->magnitude[i]))
      fail_msg("%s: element %lld is %.17g, not %.17Lg", c->spec, (long long)i, got[i], e->value[i]);
  free(got);
}

static void print_case(const einsum_case *c) {
  print_message("%s", c->spec);
  for (size_t k = 0; k < c->n; k++) {
    print_message(" (");
    for (int i = 0; i < c->in[k].rank; i++) print_message(" %lld", (long long)c->in[k].dims[i]);
    print_message(" )");
  }
  print_message("\n");
}

static void check_case(const einsum_case *c, sn_dtype dtype, case_random *state, bool transposed) {
  double *data[MAX_OPERANDS];
  sn_tensor *x[MAX_OPERANDS];
  assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
  for (size_t k = 0; k < c->n; k++) {
    int perm[SN_MAX_RANK];
    for (int i = 0; i < c->in[k].rank; i++) {
      const int j = (int)case_below(state, i + 1);
      perm[i] = perm[j];
      perm[j] = i;
    }
    data[k] = draw(state, size_of(&c->in[k]), dtype == SN_I32);
    x[k] = tensor_of(&c->in[k], data[k], dtype, transposed ? perm : NULL);
  }
  const expected e = plain_loops(c, data);
  if (getenv("SINTER_TEST_VERBOSE")) print_case(c);
  check_values(c, sn_einsum(c->spec, x, c->n), dtype, &e);
  free(e.value);
  free(e.magnitude);
  for (size_t k = 0; k < c->n; k++) free(data[k]);
  sn_scope_end(f.ctx);
}

/* clang-format off */
static const char *const table[][2] = {
    {"i->i", "5"}, {"i->", "5"}, {"i", "5"}, {"->", ""}, {"", ""}, {",->", "|"},
    {"ij->ji", "2 3"}, {"ba", "2 3"}, {"ij->j", "2 3"}, {"ij->", "2 3"}, {"ijk->kij", "2 3 4"},
    {"ii->i", "4 4"}, {"ii", "4 4"}, {"ii->", "4 4"}, {"iii->i", "3 3 3"}, {"iij->ji", "3 3 2"},
    {"iji->ij", "3 4 3"}, {"iji->j", "3 2 3"}, {"ijij->ij", "2 3 2 3"}, {"iijj->ji", "3 3 2 2"},
    {"i,i->", "7|7"}, {"i,i->i", "7|7"}, {"i,j->ij", "3|4"}, {"i,j->ji", "3|4"}, {"i,j->", "3|4"},
    {"ij,jk->ik", "3 4|4 5"}, {"ij,jk", "3 4|4 5"}, {"ij,jk->ki", "3 4|4 5"}, {"ji,kj->ik", "4 3|5 4"},
    {"ij,kj->ik", "3 4|5 4"}, {"ij,j->i", "3 4|4"}, {"i,ij->j", "3|3 4"}, {"bij,bjk->bik", "2 3 4|2 4 5"},
    {"bij,bkj->bik", "2 3 4|2 5 4"}, {"bij,jk->bik", "2 3 4|4 5"}, {"ijb,jkb->bik", "3 4 2|4 5 2"},
    {"bqhd,bkhd->bhqk", "2 3 4 5|2 6 4 5"}, {"bhqk,bkhd->bqhd", "2 4 3 6|2 6 4 5"},
    {"ijkl,klm->ijm", "2 3 4 5|4 5 6"}, {"ijkl,lkm->ijm", "2 3 4 5|5 4 6"}, {"kilj,mlk->jmi", "4 2 5 3|6 5 4"},
    {"aibj,jbc->cia", "2 3 4 5|5 4 6"}, {"ij,ij->i", "3 4|3 4"}, {"ij,ij->ij", "3 4|3 4"}, {"ij,ji->", "3 4|4 3"},
    {"ij,ik->", "3 4|3 5"}, {"ijx,jky->ik", "2 3 2|3 4 3"}, {"ii,ij->j", "3 3|3 4"}, {"ii,jj->ij", "3 3|2 2"},
    {"...i->...", "2 3 4"}, {"...ij,...jk->...ik", "2 3 4 5|3 5 2"}, {"...ij,...jk", "2 1 4 5|3 5 2"},
    {"i...,...j", "3 2|2 4"}, {"...,...", "2 3|3"}, {"...ii->...i", "2 3 3"}, {"i...->i...", "3"},
    {"ij,jk->ik", "3 1|4 5"}, {"ij,jk->ik", "1 4|4 5"}, {"ij,ij->ij", "3 1|1 4"}, {"ii->i", "1 1"}, {"ii,i->i", "1 1|4"}, {"i,i->i", "1|1"},
    {"ij,jk->ik", "3 0|0 5"}, {"ij,jk->ik", "0 4|4 5"}, {"ij,jk->ik", "3 1|0 5"}, {"ii->i", "0 0"}, {"i->", "0"},
    {"aB,Bc->ac", "2 3|3 4"}, {"bA,Bb", "2 3|4 2"}, {" i j , j k -> i k ", "2 3|3 4"},
    {"ij,jk,kl,lm->im", "2 9|9 3|3 8|8 2"}, {"i,i,i->i", "4|4|4"}, {"ab,bc,ca->", "3 4|4 5|5 3"},
    {"bi,bo,io->b", "4 3|4 5|3 5"}, {"a,b,c,d,e,f,g->", "2|3|2|3|2|3|2"},
    {"ab,bc,cd,de,ef,fg,gh->ah", "2 3|3 2|2 4|4 2|2 3|3 2|2 5"},
    {"ab,bc,cd,de,ef,fg,gh->ah", "2 0|0 2|2 4|4 0|0 3|3 2|2 5"},
    {"abcdefgh,abcdefgh->", "2 2 2 2 2 2 2 2|2 2 2 2 2 2 2 2"},
    {"abcdefgh,abcdefgi->ihabcdef", "2 2 2 2 2 2 1 3|2 2 2 2 2 2 3 2"},
    {"abcdefgh,abcdefgh->gfedcba", "2 2 2 2 2 2 2 3|2 2 2 2 2 2 2 3"},
    {"abcdefgh,abcdefgi->abcdefhi", "2 2 2 2 2 2 3 2|2 2 2 2 2 2 3 2"},
    {"abcdefgh,abcdeijk->fghijk", "2 2 2 2 2 2 3 2|2 2 2 2 2 2 3 2"},
};
/* clang-format on */

static void strip_blanks(char *text) {
  char *out = text;
  for (const char *in = text; *in; in++)
    if (*in != ' ') *out++ = *in;
  *out = '\0';
}

static void table_against_loops(void **state) {
  (void)state;
  case_random random = {1};
  const sn_dtype dtypes[] = {SN_F32, SN_F64, SN_I32};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    for (int d = 0; d < 3; d++) {
      einsum_case c = case_of(table[i][0], table[i][1]);
      if (strchr(c.spec, ' ')) { /* the loops know no blanks */
        sn_tensor *x[MAX_OPERANDS];
        for (size_t k = 0; k < c.n; k++) x[k] = ramp(f.ctx, c.in[k].rank, c.in[k].dims, 1);
        assert_non_null(sn_einsum(c.spec, x, c.n));
        strip_blanks(c.spec);
      }
      check_case(&c, dtypes[d], &random, false);
      check_case(&c, dtypes[d], &random, true);
    }
}

/* ---- random specs ---------------------------------------------------------------------------- */

/* Operands of a few letters; false where the loops would be long or the output has too many. */
static bool random_case(case_random *s, einsum_case *c) {
  char pool[7] = "";
  const uint32_t letters = 1 + below(s, 6);
  int64_t size[128], ellipsis[2], work = 1;
  int widest = 0;
  bool used[128] = {false};
  *c = (einsum_case){.n = 1 + below(s, 5)};
  for (uint32_t i = 0; i < letters; i++) {
    do pool[i] = (char)((below(s, 2) ? 'a' : 'A') + below(s, 26));
    while (strchr(pool, pool[i]) != pool + i);
    work *= size[(int)pool[i]] = below(s, 25) ? 1 + below(s, 5) : 0;
  }
  for (int i = 0; i < 2; i++) ellipsis[i] = below(s, 20) ? 1 + below(s, 4) : 0;
  char *at = c->spec;
  for (size_t k = 0; k < c->n; k++) {
    operand *o = &c->in[k];
    int64_t own[128] = {0}; /* 1 + size */
    const uint32_t rank = below(s, 5), with = below(s, 3) ? rank + 1 : below(s, rank + 1);
    if (k) *at++ = ',';
    for (uint32_t i = 0; i <= rank; i++) {
      if (i == with) {
        const int dims = (int)below(s, 3);
        if (dims > widest) widest = dims;
        for (int d = 2 - dims; d < 2; d++) o->dims[o->rank++] = below(s, 6) ? ellipsis[d] : 1;
        at += sprintf(at, "...");
      }
      if (i == rank) break;
      const char l = pool[below(s, letters)];
      used[(int)l] = true;
      if (!own[(int)l]) own[(int)l] = below(s, 8) ? 1 + size[(int)l] : 2;
      o->dims[o->rank++] = own[(int)l] - 1; /* a diagonal does not broadcast */
      *at++ = l;
    }
  }
  if (below(s, 3)) {
    at += sprintf(at, "->");
    const uint32_t place = below(s, letters);
    for (uint32_t i = 0; i < letters; i++) {
      const uint32_t j = i + below(s, letters - i);
      const char l = pool[j];
      pool[j] = pool[i];
      if (i == place) at += sprintf(at, "...");
      if (used[(int)l] && below(s, 2)) *at++ = l;
    }
  }
  for (int d = 2 - widest; d < 2; d++) work *= ellipsis[d];
  return work <= 20000;
}

static void random_against_loops(void **state) {
  (void)state;
  const char *seed = getenv("SINTER_SEED");
  case_random s = {seed ? strtoull(seed, NULL, 10) : 20240611};
  const sn_dtype dtypes[] = {SN_F32, SN_F64, SN_I32};
  const int cases = case_short() ? 100 : 900;
  for (int done = 0; done < cases;) {
    einsum_case c;
    if (!random_case(&s, &c)) continue;
    check_case(&c, dtypes[done % 3], &s, below(&s, 2));
    done++;
  }
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static void dtypes_promote(void **state) {
  (void)state;
  sn_tensor *i = sn_iota(f.ctx, SN_I32, DIMS(2, 2), 1), *x = ramp(f.ctx, DIMS(2, 2), 1);
  sn_tensor *b = sn_less(i, x), *two = sn_scalar(f.ctx, 2), *half = sn_scalar(f.ctx, 0.5);
  const struct {
    sn_tensor *l, *r;
    const char *spec;
    sn_dtype dtype;
    float values[4];
  } rows[] = {
      {i, x, "ij,jk->ik", SN_F32, {3, 4, 3, 4}},    {b, b, "ij,jk->ik", SN_I32, {2, 2, 2, 2}},
      {b, i, "ij,jk->ik", SN_I32, {0, 2, 0, 2}},    {i, i, "ij,kj->ik", SN_I32, {1, 1, 1, 1}},
      {i, two, "ij,->ij", SN_I32, {0, 2, 0, 2}},    {half, x, ",ij->ij", SN_F32, {0.5, 1, 1.5, 2}},
      {i, half, "ij,->ij", SN_F32, {0, .5, 0, .5}},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    sn_tensor *y = sn_einsum(rows[k].spec, (sn_tensor *[]){rows[k].l, rows[k].r}, 2);
    assert_non_null(y);
    assert_int_equal(sn_dtype_of(y), rows[k].dtype);
    expect_values(sn_astype(y, SN_F32), rows[k].values, 4);
  }
  assert_int_equal(sn_dtype_of(sn_einsum("ij->ji", &b, 1)), SN_I32);
}

static void special_values_pass(void **state) {
  (void)state;
  const float a[] = {INFINITY, 1, NAN, 0}, b[] = {0, 1, 1, -0.0f};
  sn_tensor *x[] = {sn_from_data(f.ctx, SN_F32, DIMS(2, 2), a),
                    sn_from_data(f.ctx, SN_F32, DIMS(2, 2), b)};
  float got[4];
  assert_int_equal(sn_read(sn_einsum("ij,jk->ik", x, 2), got, sizeof got), SN_OK);
  assert_true(isnan(got[0]) && isinf(got[1]) && isnan(got[2]) && isnan(got[3]));
}

/* ---- gradients ------------------------------------------------------------------------------- */

static sn_tensor *weights(const sn_tensor *y) {
  case_random random = {5};
  double *w = draw(&random, sn_size(y), false);
  sn_tensor *t = sn_from_data(f.ctx, SN_F64, sn_rank(y), sn_dims(y), w);
  free(w);
  return t;
}

static sn_tensor *loss_of(sn_tensor *y) {
  return sn_sum(sn_mul(y, weights(y)), SN_ALL_AXES, false);
}

/* All operands brought to all letters, multiplied and summed; no letter twice in an operand. */
static sn_tensor *composed(const einsum_case *c, sn_tensor *const *x) {
  reading r;
  read_spec(c, &r);
  sn_tensor *product = sn_scalar(f.ctx, 1);
  const int rank = (int)strlen(r.all), out = (int)strlen(r.output);
  for (size_t k = 0; k < c->n; k++) {
    int perm[SN_MAX_RANK], at = 0;
    int64_t dims[SN_MAX_RANK];
    for (int i = 0; i < rank; i++) {
      const char *place = strchr(r.terms[k], r.all[i]);
      dims[i] = place ? c->in[k].dims[place - r.terms[k]] : 1;
      if (place) perm[at++] = (int)(place - r.terms[k]);
    }
    product = sn_mul(product, sn_reshape(sn_transpose(x[k], perm), rank, dims));
  }
  return sn_sum(product, ((1u << rank) - 1) & ~((1u << out) - 1), false);
}

static double value_of(sn_tensor *t) {
  double value;
  assert_non_null(t);
  assert_int_equal(sn_read(t, &value, sizeof value), SN_OK);
  return value;
}

static void check_differences(const einsum_case *c, double *const *data, sn_tensor *const *grads) {
  const double step = 1e-4;
  for (size_t k = 0; k < c->n; k++) {
    double grad[MAX_AXES];
    assert_int_equal(sn_read(grads[k], grad, sizeof grad), SN_OK);
    for (int64_t i = 0; i < size_of(&c->in[k]); i++) {
      double loss[2];
      const double was = data[k][i];
      for (int side = 0; side < 2; side++) {
        sn_tensor *x[MAX_OPERANDS];
        assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
        data[k][i] = was + (side ? step : -step);
        for (size_t j = 0; j < c->n; j++) x[j] = tensor_of(&c->in[j], data[j], SN_F64, NULL);
        loss[side] = value_of(loss_of(sn_einsum(c->spec, x, c->n)));
        sn_scope_end(f.ctx);
      }
      data[k][i] = was;
      const double difference = (loss[1] - loss[0]) / (2 * step);
      if (!(fabs(difference - grad[i]) <= 1e-8 * (1 + fabs(difference))))
        fail_msg("%s: d operand %zu [%lld] is %.12g, not %.12g", c->spec, k, (long long)i, grad[i],
                 difference);
    }
  }
}

static void check_same(const char *spec, sn_tensor *a, sn_tensor *b) {
  double x[MAX_AXES], y[MAX_AXES];
  assert_int_equal(sn_size(a), sn_size(b));
  assert_int_equal(sn_read(a, x, sizeof x), SN_OK);
  assert_int_equal(sn_read(b, y, sizeof y), SN_OK);
  for (int64_t i = 0; i < sn_size(a); i++)
    if (!(fabs(x[i] - y[i]) <= 1e-13 * (1 + fabs(y[i]))))
      fail_msg("%s: gradient %.17g, composed %.17g", spec, x[i], y[i]);
}

static void gradients_are_right(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"ij,jk->ik", "2 3|3 4"},
      {"ij->j", "2 3"},
      {"ii->", "3 3"},
      {"iij->ij", "2 2 3"},
      {"iji,j->i", "2 3 2|3"},
      {"bij,bkj->bik", "2 2 3|2 4 3"},
      {"ijkl,lkm->mij", "2 2 3 2|2 3 2"},
      {"ij,ij->i", "2 3|2 3"},
      {"i,j,k->kij", "2|3|2"},
      {"ij,jk,kl,lm->im", "2 3|3 2|2 4|4 2"},
      {"...ij,...jk->...ik", "2 2 3|3 2"},
      {"ij,jk->ik", "2 1|3 2"},
      {"ijx,jk->k", "2 3 2|3 2"},
      {"ab,bc,ca->", "2 3|3 2|2 2"},
      {"i,i->", "4|4"},
      {"i,ij,j->", "2|2 3|3"},
  };
  case_random random = {3};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const einsum_case c = case_of(cases[i][0], cases[i][1]);
    double *data[MAX_OPERANDS];
    sn_tensor *x[MAX_OPERANDS], *grads[MAX_OPERANDS], *others[MAX_OPERANDS];
    for (size_t k = 0; k < c.n; k++) {
      data[k] = draw(&random, size_of(&c.in[k]), false);
      x[k] = sn_variable(tensor_of(&c.in[k], data[k], SN_F64, NULL));
    }
    sn_tensor *y = sn_einsum(c.spec, x, c.n);
    assert_non_null(y);
    assert_int_equal(sn_gradients(loss_of(y), x, c.n, grads), SN_OK);
    check_differences(&c, data, grads);
    if (strncmp(c.spec, "ii", 2) != 0 && strncmp(c.spec, "iji", 3) != 0) {
      assert_int_equal(sn_gradients(loss_of(composed(&c, x)), x, c.n, others), SN_OK);
      for (size_t k = 0; k < c.n; k++) check_same(c.spec, grads[k], others[k]);
    }
    for (size_t k = 0; k < c.n; k++) free(data[k]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(table_against_loops), TEST(random_against_loops), TEST(dtypes_promote),
      TEST(special_values_pass), TEST(gradients_are_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
