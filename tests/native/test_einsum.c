/* test_einsum.c - einsum against plain loops over all letters, in long double, with a reading of
 * the spec of its own. Bound: |error| <= (8 n + log2 terms) eps sum |terms| for n operands;
 * integers exactly. Then gradients, messages, order of multiplication and number of kernels. */
#include "api_support.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "tensor/einsum.h"

enum { MAX_OPERANDS = 8, MAX_AXES = 128, MAX_ELEMENTS = 1 << 17, TEXT = 256 };

typedef struct operand {
  int rank;
  int64_t dims[SN_MAX_RANK];
} operand;

typedef struct einsum_case {
  char spec[TEXT];
  size_t n;
  operand in[MAX_OPERANDS];
} einsum_case;

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

static double *draw(uint64_t *state, int64_t n, bool integers) {
  double *data = malloc(((size_t)n + 1) * sizeof *data);
  for (int64_t i = 0; i < n; i++) {
    const uint32_t bits = next_random(state);
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

static void check_case(const einsum_case *c, sn_dtype dtype, uint64_t *state, bool transposed) {
  double *data[MAX_OPERANDS];
  sn_tensor *x[MAX_OPERANDS];
  assert_int_equal(sn_scope_begin(f.ctx), SN_OK);
  for (size_t k = 0; k < c->n; k++) {
    int perm[SN_MAX_RANK];
    for (int i = 0; i < c->in[k].rank; i++) {
      const int j = (int)(next_random(state) % (uint32_t)(i + 1));
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

/* Shapes as "2 3|3 4". */
static einsum_case case_of(const char *spec, const char *shapes) {
  einsum_case c = {.n = 1};
  strcpy(c.spec, spec);
  for (const char *at = shapes; *at;) {
    operand *o = &c.in[c.n - 1];
    if (isdigit((unsigned char)*at))
      o->dims[o->rank++] = strtol(at, (char **)(uintptr_t)&at, 10);
    else
      c.n += *at++ == '|';
  }
  return c;
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
    {"ij,jk->ik", "3 1|4 5"}, {"ij,jk->ik", "1 4|4 5"}, {"ij,ij->ij", "3 1|1 4"}, {"ii->i", "1 4"}, {"i,i->i", "1|1"},
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
  uint64_t random = 1;
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

static uint32_t below(uint64_t *state, uint32_t n) { return next_random(state) % n; }

/* Operands of a few letters; false where the loops would be long or the output has too many. */
static bool random_case(uint64_t *s, einsum_case *c) {
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
      o->dims[o->rank++] = below(s, 8) ? size[(int)l] : 1;
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
  uint64_t s = seed ? strtoull(seed, NULL, 10) : 20240611;
  const sn_dtype dtypes[] = {SN_F32, SN_F64, SN_I32};
  const int cases = test_short() ? 100 : 900;
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
  uint64_t random = 5;
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
  uint64_t random = 3;
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
  REFUSED_SPEC(2, "ij,jk->ik", "letter 'j' is both 3 and 4", AB);
  REFUSED_SPEC(3, "ij,kl,ji->", "letter 'j' is both 3 and 2", "a (2, 3), c (2, 3)");
  REFUSED_SPEC(1, "ii", "letter 'i' is both 2 and 3", A);
  REFUSED_SPEC(2, "...,...", "a dimension of '...' is both 2 and 4", AB);
  REFUSED_SPEC(2, "ij->ij", "1 term for 2 operands", AB);
  REFUSED_SPEC(1, "ij,jk->ik", "2 terms for 1 operand", A);
  REFUSED_SPEC(1, "ij,", "2 terms for 1 operand", A);
  REFUSED_SPEC(1, "", "0 letters for rank 2 of a", A);
  REFUSED_SPEC(2, "ij,j->i", "1 letter for rank 2 of b", AB);
  REFUSED_SPEC(1, "ijk", "3 letters for rank 2 of a", A);
  REFUSED_SPEC(1, "ij...k", "3 letters for rank 2 of a", A);
  REFUSED_SPEC(1, "abcdefghijkl", "12 letters for rank 2 of a", A);
  REFUSED_SPEC(1, "i1->i", "'1' is not a letter", A);
  REFUSED_SPEC(1, "ij->i\xc3", "byte 0xc3 is not a letter", A);
  REFUSED_SPEC(1, "i..j->i", "a '.' that is not part of '...'", A);
  REFUSED_SPEC(1, "i...j...->i", "more than one '...' in a term", A);
  REFUSED_SPEC(1, "ij>i", "a '>' that is not part of '->'", A);
  REFUSED_SPEC(1, "ij-i", "a '-' that is not part of '->'", A);
  REFUSED_SPEC(1, "ij->i->j", "more than one '->'", A);
  REFUSED_SPEC(1, "ij->i,j", "more than one output", A);
  REFUSED_SPEC(1, "ij->ii", "letter 'i' occurs twice in the output", A);
  REFUSED_SPEC(1, "ij->iZ", "output letter 'Z' occurs in no operand", A);
  REFUSED_SPEC(1, "i...->i", "no '...' in the output for that of the operands", A);
  REFUSED_SPEC(1, "ij->abcdefghi", "rank 9 of the output is not in 0..8", A);
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
          "einsum: inputs of two contexts");
  sn_release(foreign);
  fixture_close(&other);
}

/* Every pair of the four, and every one after, has more than 8 letters. */
static void impossible_orders_are_refused(void **state) {
  (void)state;
  sn_tensor *wide = sn_full(f.ctx, SN_F32, DIMS(2, 2, 2, 2, 2, 2, 2, 2), 1);
  sn_tensor *x[] = {wide, wide, wide, wide};
  REFUSED(sn_einsum("abcdefgh,abijklmn,cdijopqr,efklopst->ghmnqrst", x, 4), SN_ERR_UNSUPPORTED,
          "einsum: every order of multiplication has a result of more than 8 dimensions");
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
  uint64_t s = 11;
  for (int i = 0; i < 400; i++) {
    const size_t n = 2 + below(&s, i % 20 ? 4 : 5);
    sn_letters sets[64] = {0}, output = 0;
    int64_t size[SN_LETTERS];
    for (int l = 0; l < SN_LETTERS; l++) size[l] = (int64_t)1 << below(&s, 10);
    for (size_t k = 0; k < n; k++)
      for (uint32_t r = below(&s, 4) + 1; r > 0; r--) sets[k] |= sn_letter_bit((int)below(&s, 7));
    for (size_t k = 0; k < n; k++) output |= sets[k] & next_random(&s);
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

/* Chains of 7 to 46 random matrices, far too many for all orders: every step is valid, and on
 * average greed costs no more than half as much again as the best order. */
static void many_operands_are_ordered_well(void **state) {
  (void)state;
  uint64_t s = 13;
  double cost = 0;
  for (int i = 0; i < 200; i++) {
    const size_t n = 7 + below(&s, 40);
    sn_letters sets[64];
    int64_t size[SN_LETTERS];
    for (int l = 0; l < SN_LETTERS; l++) size[l] = (int64_t)1 << below(&s, 8);
    for (size_t k = 0; k < n; k++) sets[k] = sn_letter_bit((int)k) | sn_letter_bit((int)k + 1);
    const sn_letters output = sn_letter_bit(0) | sn_letter_bit((int)n);
    sn_arena arena;
    sn_arena_init(&arena, &f.ctx->env);
    sn_einsum_step steps[64];
    assert_int_equal(sn_einsum_order(&arena, sets, n, output, size, steps), SN_OK);
    sn_arena_free(&arena);
    cost += cost_of_steps(sets, n, output, size, steps) / best_chain(size, n);
  }
  print_message("operations, greedily against the best: %.3f\n", cost / 200);
  assert_true(cost <= 1.5 * 200);
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
      {"ijkl,lkm->ijm", "3 4 5 6|6 5 7", 2, 1}, /* the smaller one is copied */
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

/* What a transpose was made from is seen: no copy where its letters lie together in memory. */
static void memory_order_is_seen_through_transposes(void **state) {
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
      TEST(table_against_loops),
      TEST(random_against_loops),
      TEST(dtypes_promote),
      TEST(special_values_pass),
      TEST(gradients_are_right),
      TEST(errors_name_spec_and_shapes),
      TEST(sizes_overflow_before_anything_is_built),
      TEST(impossible_orders_are_refused),
      TEST(every_allocation_may_fail),
      TEST(order_is_optimal),
      TEST(many_operands_are_ordered_well),
      TEST(a_chain_costs_what_it_must),
      TEST(products_are_one_kernel),
      TEST(memory_order_is_seen_through_transposes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
