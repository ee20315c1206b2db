#include "author.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/reference.h"
#include "tensor/tensor.h"

typedef sn_tensor *one_of(sn_tensor *);
typedef sn_tensor *two_of(sn_tensor *, sn_tensor *);

/* ---- arguments ------------------------------------------------------------------------------- */

/* Numbers between -2 and 2; now and then whole ones, which tie, or positive ones. */
static void fill(author *a, author_argument *x) {
  const int64_t size = sn_type_size(&x->type), kind = case_below(&a->r, 6);
  for (int64_t i = 0; i < size; i++) {
    double value = case_between(&a->r, -2, 2);
    if (kind == 0) value = floor(value);
    if (kind == 1) value = fabs(value) + 0.1;
    if (!sn_dtype_is_float(x->type.dtype)) value = floor(value * 4);
    sn_ref_store(x->type.dtype, x->data, i, x->constant ? x->number : value);
  }
}

/* Some arguments are an earlier one again, or constants. */
static void choose_sameness(author *a, author_argument *x) {
  static const double numbers[] = {0, 1, 0, 1, 0.5, -2};
  const int64_t choice = case_below(&a->r, 8);
  x->number = numbers[case_below(&a->r, 6)];
  if (!x->variable) return;
  x->constant = choice == 2;
  for (size_t i = 0; i < a->n_arguments && choice < 2; i++) {
    const author_argument *earlier = &a->arguments[i];
    if (memcmp(&earlier->type, &x->type, sizeof x->type) != 0) continue;
    x->same_as = earlier->same_as < 0 ? (int)i : earlier->same_as;
    return;
  }
}

/* As used, the newest argument is the one before it. */
static void repeat_argument(author *a) {
  author_argument *x = &a->arguments[a->n_arguments - 1];
  x->same_as = x[-1].same_as < 0 ? (int)a->n_arguments - 2 : x[-1].same_as;
  memcpy(x->data, x[-1].data, sn_type_bytes(&x->type));
  if (!a->apart) x->given = a->arguments[x->same_as].given;
  x->tensor = x->variable ? sn_variable(x->given) : x->given;
}

static sn_tensor *give(author *a, const author_argument *x) {
  const sn_type *t = &x->type;
  if (!a->apart && x->same_as >= 0) return a->arguments[x->same_as].given;
  if (!a->apart && x->constant) return sn_full(a->ctx, t->dtype, t->rank, t->dims, x->number);
  if (a->eager && !a->apart) return sn_from_data(a->ctx, t->dtype, t->rank, t->dims, x->data);
  return sn_placeholder(a->ctx, t->dtype, t->rank, t->dims);
}

sn_tensor *author_argument_of(author *a, const sn_type *type) {
  if (a->n_arguments == AUTHOR_ARGUMENTS) return NULL;
  author_argument *x = &a->arguments[a->n_arguments];
  *x = (author_argument){.type = *type, .same_as = -1};
  x->variable = sn_dtype_is_float(type->dtype) && !case_one_in(&a->r, 4);
  choose_sameness(a, x);
  x->data = malloc(sn_type_bytes(type) + 1);
  assert_non_null(x->data);
  fill(a, x);
  if (x->same_as >= 0) memcpy(x->data, a->arguments[x->same_as].data, sn_type_bytes(type));
  x->given = give(a, x);
  x->tensor = x->variable ? sn_variable(x->given) : x->given;
  a->n_arguments++;
  return x->tensor;
}

static sn_type some_shape(author *a) {
  static const int64_t sizes[] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 12, 16, 17, 31, 33, 40};
  sn_type type = {.dtype = a->dtype, .rank = (int32_t)case_below(&a->r, 4)};
  if (case_one_in(&a->r, 8)) type.rank++;
  int64_t left = a->most_elements;
  for (int i = 0; i < type.rank; i++) {
    int64_t size = sizes[case_below(&a->r, sizeof sizes / sizeof *sizes)];
    if (case_one_in(&a->r, 60)) size = 0;
    if (size > left) size = 1;
    type.dims[i] = size;
    left /= size ? size : 1;
  }
  /* now and then one long axis: longer than a block of a sum, than a row may be */
  if (a->most_elements > 16000 && case_one_in(&a->r, 2))
    type = (sn_type){.dtype = a->dtype,
                     .rank = 2,
                     .dims = {1 + case_below(&a->r, 2), 8190 + case_below(&a->r, 9)}};
  return type;
}

static sn_tensor *another(author *a, int rank, const int64_t *dims) {
  sn_type type = {.dtype = a->dtype, .rank = rank};
  for (int i = 0; i < rank; i++) type.dims[i] = dims[i];
  return author_argument_of(a, &type);
}

static bool is_empty(const author *a) {
  for (size_t i = 0; i < a->step; i++)
    if (a->made[i]) return false;
  return true;
}

sn_tensor *author_pick(author *a) {
  if (is_empty(a)) return NULL;
  const int64_t n = (int64_t)a->step, last = case_one_in(&a->r, 2) && n > 3 ? 3 : n;
  size_t i = (size_t)(n - 1 - case_below(&a->r, last));
  while (!a->made[i]) i = i ? i - 1 : a->step - 1;
  return a->made[i];
}

static bool fits(const author *a, int64_t elements) { return elements <= a->most_elements; }
static sn_tensor *number(const author *a, double value) { return sn_scalar(a->ctx, value); }

/* ---- elementwise ----------------------------------------------------------------------------- */

static sn_tensor *shifted(sn_tensor *x) { /* positive */
  return sn_add(sn_square(x), sn_scalar(x->ctx, 0.5));
}

/* Functions that keep numbers small, and their derivatives too. */
static sn_tensor *tame(author *a, sn_tensor *x) {
  static one_of *const functions[] = {
      sn_tanh,   sn_sigmoid, sn_sin,  sn_cos,  sn_relu,  sn_silu,     sn_gelu,      sn_abs,
      sn_neg,    sn_tanh,    sn_erf,  sn_atan, sn_mish,  sn_selu,     sn_hardswish, sn_gelu_tanh,
      sn_square, sn_neg,     sn_tanh, sn_sin,  sn_asinh, sn_softplus, sn_atan,      sn_sigmoid};
  static one_of *const positive[] = {sn_sqrt, sn_rsqrt, sn_log, sn_log1p, sn_reciprocal, sn_log2};
  static one_of *const bounded[] = {sn_exp, sn_expm1, sn_exp2, sn_sinh, sn_cosh, sn_tan, sn_asin};
  switch (case_below(&a->r, 8)) {
  case 0: return positive[case_below(&a->r, 6)](shifted(x));
  case 1: return bounded[case_below(&a->r, 7)](sn_mul(sn_tanh(x), sn_scalar(a->ctx, 0.75)));
  case 2: return case_one_in(&a->r, 2) ? sn_leaky_relu(x, 0.1) : sn_elu(x, 0.7);
  default: return functions[case_below(&a->r, (int64_t)(sizeof functions / sizeof *functions))](x);
  }
}

static sn_tensor *step_function(author *a) { return tame(a, author_pick(a)); }

static bool broadcasts(const author *a, const sn_tensor *x, const sn_tensor *y) {
  const int rank = sn_rank(x) > sn_rank(y) ? sn_rank(x) : sn_rank(y);
  int64_t size = 1;
  for (int i = 1; i <= rank; i++) {
    const int64_t dx = i > sn_rank(x) ? 1 : sn_dims(x)[sn_rank(x) - i];
    const int64_t dy = i > sn_rank(y) ? 1 : sn_dims(y)[sn_rank(y) - i];
    if (dx != dy && dx != 1 && dy != 1) return false;
    size *= dx == 1 ? dy : dx;
  }
  return fits(a, size);
}

/* The same elements in another shape, ones between its sizes. */
static sn_tensor *reshaped(author *a, sn_tensor *x) {
  int64_t dims[6], left = sn_size(x);
  int rank = 0;
  if (left == 0) return sn_reshape(x, 2, (const int64_t[]){case_below(&a->r, 3), 0});
  while (rank < 5 && (left > 1 || case_one_in(&a->r, 3))) {
    int64_t factor = left;
    if (left > 1 && rank < 4 && !case_one_in(&a->r, 3)) {
      factor = 1 + case_below(&a->r, left < 12 ? left : 12);
      while (left % factor) factor--;
    }
    dims[rank++] = factor;
    left /= factor;
  }
  return sn_reshape(x, rank, dims);
}

static sn_tensor *step_reshape(author *a) { return reshaped(a, author_pick(a)); }

/* A value that can stand beside x, often one that lies in memory in another shape of as many
 * elements. */
static sn_tensor *beside(author *a, sn_tensor *x) {
  for (int tries = 0; tries < 5; tries++) {
    sn_tensor *y = author_pick(a);
    if (broadcasts(a, x, y)) return y;
    if (sn_size(x) == sn_size(y)) return sn_reshape(y, sn_rank(x), sn_dims(x));
  }
  int64_t dims[SN_MAX_RANK];
  for (int i = 0; i < sn_rank(x); i++) dims[i] = case_one_in(&a->r, 3) ? 1 : sn_dims(x)[i];
  switch (case_below(&a->r, 4)) {
  case 0: return number(a, 0.5);
  case 1: {
    sn_tensor *flat = another(a, 1, (const int64_t[]){sn_size(x)});
    return flat ? sn_reshape(flat, sn_rank(x), sn_dims(x)) : number(a, -1.5);
  }
  case 2: {
    sn_tensor *y = another(a, sn_rank(x), dims);
    return y ? y : number(a, 0.25);
  }
  default: {
    sn_tensor *y = another(a, sn_rank(x), sn_dims(x));
    return y ? y : number(a, 2);
  }
  }
}

static sn_tensor *combined(author *a, sn_tensor *x, sn_tensor *y) {
  static two_of *const functions[] = {sn_add, sn_sub,     sn_mul,     sn_mul,
                                      sn_mul, sn_maximum, sn_minimum, sn_add};
  if (case_one_in(&a->r, 8)) return sn_div(x, shifted(y));
  if (case_one_in(&a->r, 16)) return sn_pow(shifted(x), sn_tanh(y));
  if (case_one_in(&a->r, 2)) return functions[case_below(&a->r, 8)](y, x);
  return functions[case_below(&a->r, 8)](x, y);
}

static sn_tensor *step_combine(author *a) {
  sn_tensor *x = author_pick(a);
  return combined(a, x, beside(a, x));
}

static sn_tensor *step_choose(author *a) {
  static two_of *const compares[] = {sn_less, sn_less_equal, sn_greater, sn_equal, sn_not_equal};
  sn_tensor *x = author_pick(a), *y = beside(a, x);
  switch (case_below(&a->r, 4)) {
  case 0: return sn_clip(x, number(a, -0.7), number(a, 0.8));
  case 1: return sn_where(sn_greater(x, number(a, 0)), sn_square(x), number(a, 0));
  case 2: return sn_mul(x, sn_astype(sn_greater(x, number(a, 0.1)), sn_dtype_of(x)));
  default: {
    const int64_t compare = case_below(&a->r, 5);
    a->no_slope = a->no_slope || compare > 2;
    return sn_where(compares[compare](x, y), x, y);
  }
  }
}

static sn_tensor *step_cast(author *a) {
  static const sn_dtype small[] = {SN_F16, SN_BF16, SN_I8, SN_U8, SN_I32, SN_F64, SN_F32};
  sn_tensor *x = author_pick(a);
  if (case_one_in(&a->r, 6)) {
    a->no_slope = true;
    return sn_stop_gradient(x);
  }
  const sn_dtype dtype = small[case_below(&a->r, 7)];
  sn_tensor *y = sn_astype(dtype == SN_U8 ? sn_abs(x) : x, dtype);
  return sn_dtype_is_float(dtype) && !sn_dtype_is_small(dtype) ? y : sn_astype(y, sn_dtype_of(x));
}

/* ---- views and structure --------------------------------------------------------------------- */

static sn_tensor *step_transpose(author *a) {
  sn_tensor *x = author_pick(a);
  int perm[SN_MAX_RANK];
  for (int i = 0; i < sn_rank(x); i++) perm[i] = i;
  for (int i = sn_rank(x) - 1; i > 0; i--) {
    const int j = (int)case_below(&a->r, i + 1), t = perm[i];
    perm[i] = perm[j];
    perm[j] = t;
  }
  return sn_transpose(x, perm);
}

static sn_tensor *step_slice(author *a) {
  sn_tensor *x = author_pick(a);
  int64_t begin[SN_MAX_RANK], size[SN_MAX_RANK], stride[SN_MAX_RANK];
  for (int i = 0; i < sn_rank(x); i++) {
    const int64_t n = sn_dims(x)[i];
    begin[i] = n && case_one_in(&a->r, 2) ? case_below(&a->r, n) : 0;
    stride[i] = case_one_in(&a->r, 4) ? 2 : 1;
    if (n && case_one_in(&a->r, 6)) {
      begin[i] = n - 1;
      stride[i] = -1;
    }
    const int64_t room = stride[i] < 0 ? n : (n - begin[i] + stride[i] - 1) / stride[i];
    size[i] = room && case_one_in(&a->r, 3) ? 1 + case_below(&a->r, room) : room;
  }
  return sn_slice(x, begin, size, stride);
}

static sn_tensor *step_pad(author *a) {
  sn_tensor *x = author_pick(a);
  int64_t before[SN_MAX_RANK], after[SN_MAX_RANK], size = 1;
  for (int i = 0; i < sn_rank(x); i++) {
    before[i] = case_below(&a->r, 3);
    after[i] = case_below(&a->r, 2);
    size *= before[i] + sn_dims(x)[i] + after[i];
  }
  return fits(a, size) ? sn_pad(x, before, after, SN_PAD_CONSTANT, (double)case_below(&a->r, 2))
                       : NULL;
}

static sn_tensor *step_concat(author *a) {
  sn_tensor *x = author_pick(a), *parts[3] = {x};
  if (!sn_rank(x)) return NULL;
  const int axis = (int)case_below(&a->r, sn_rank(x));
  size_t n = 1;
  for (int tries = 0; tries < 6 && n < 3; tries++) {
    sn_tensor *y = author_pick(a);
    bool same = sn_rank(x) == sn_rank(y) && sn_dtype_of(x) == sn_dtype_of(y);
    for (int i = 0; same && i < sn_rank(x); i++) same = i == axis || sn_dims(x)[i] == sn_dims(y)[i];
    if (same && fits(a, 3 * sn_size(y))) parts[n++] = y;
  }
  return fits(a, 3 * sn_size(x)) ? sn_concat(parts, n, axis) : NULL;
}

static sn_tensor *step_broadcast(author *a) {
  sn_tensor *x = author_pick(a);
  int64_t dims[SN_MAX_RANK + 1] = {1 + case_below(&a->r, 4)}, size = dims[0];
  for (int i = 0; i < sn_rank(x); i++) {
    dims[i + 1] = sn_dims(x)[i] == 1 ? 1 + case_below(&a->r, 5) : sn_dims(x)[i];
    size *= dims[i + 1];
  }
  if (!fits(a, size) || sn_rank(x) > 4) return NULL;
  const int skip = sn_rank(x) && case_one_in(&a->r, 2);
  return sn_broadcast_to(x, sn_rank(x) + 1 - skip, dims + skip);
}

/* ---- reductions ------------------------------------------------------------------------------ */

static uint32_t some_axes(author *a, const sn_tensor *x) {
  if (!sn_rank(x) || case_one_in(&a->r, 4)) return SN_ALL_AXES;
  return case_one_in(&a->r, 2) ? 1u << (sn_rank(x) - 1)
                               : 1 + (uint32_t)case_below(&a->r, (1 << sn_rank(x)) - 1);
}

/* Of the numbers beside each other, one less: of one number that is none, and 0 / 0. */
static sn_tensor *variance(author *a, sn_tensor *x, uint32_t axes, bool keep) {
  int64_t n = 1;
  for (int i = 0; i < sn_rank(x); i++) n *= axes >> i & 1 ? sn_dims(x)[i] : 1;
  const bool less = case_one_in(&a->r, 2);
  return sn_var(x, axes, keep, less && n > 1);
}

static sn_tensor *reduced(author *a, sn_tensor *x, uint32_t axes, bool keep) {
  if (!sn_size(x)) return sn_sum(x, axes, keep);
  switch (case_below(&a->r, 11)) {
  case 0: return sn_mean(x, axes, keep);
  case 1: return sn_max(x, axes, keep);
  case 2: return sn_min(x, axes, keep);
  case 3: return variance(a, x, axes, keep);
  case 4: return sn_std(x, axes, keep, 0);
  case 5: return sn_logsumexp(x, axes, keep);
  case 6: return sn_norm(x, axes, keep, 2);
  case 7: return sn_prod(sn_tanh(x), axes, keep);
  default: return sn_sum(x, axes, keep);
  }
}

static sn_tensor *step_reduce(author *a) {
  sn_tensor *x = author_pick(a);
  const uint32_t axes = some_axes(a, x);
  const bool keep = case_one_in(&a->r, 2);
  sn_tensor *y = reduced(a, x, axes, keep);
  if (keep && case_one_in(&a->r, 2)) return combined(a, x, y);
  return y;
}

sn_tensor *author_total(author *a, sn_tensor *x) {
  switch (case_below(&a->r, 8)) {
  case 0: return sn_mean(sn_square(x), SN_ALL_AXES, false);
  case 1: return sn_sum(x, SN_ALL_AXES, false);
  case 2: return sn_size(x) ? sn_logsumexp(x, SN_ALL_AXES, false) : sn_sum(x, SN_ALL_AXES, false);
  case 3: return sn_size(x) ? sn_max(x, SN_ALL_AXES, false) : sn_sum(x, SN_ALL_AXES, false);
  case 4:
    return sn_sum(sn_sum(x, sn_rank(x) ? 1u << (sn_rank(x) - 1) : SN_ALL_AXES, false), SN_ALL_AXES,
                  false);
  default: return sn_sum(sn_mul(x, beside(a, x)), SN_ALL_AXES, false);
  }
}

static sn_tensor *step_normalize(author *a) {
  sn_tensor *x = author_pick(a), *y = NULL;
  if (!sn_rank(x) || !sn_size(x)) return NULL;
  const int axis = (int)case_below(&a->r, sn_rank(x));
  const int64_t last = sn_dims(x)[sn_rank(x) - 1];
  switch (case_below(&a->r, 5)) {
  case 0: return sn_softmax(x, axis);
  case 1: return sn_log_softmax(x, axis);
  case 2:
    return sn_layer_norm(x, 1u << (sn_rank(x) - 1), another(a, 1, &last), another(a, 1, &last),
                         1e-3);
  case 3: return sn_rms_norm(x, another(a, 1, &last), 1e-3);
  default:
    y = another(a, 1, &sn_dims(x)[axis]);
    return sn_rank(x) > 1
               ? sn_batch_norm(x, axis, NULL, NULL, y, another(a, 1, &sn_dims(x)[axis]), 1e-3)
               : NULL;
  }
}

/* ---- products -------------------------------------------------------------------------------- */

/* x as a matrix, its first axes or its last ones together. */
static sn_tensor *matrix(author *a, sn_tensor *x) {
  int64_t dims[2] = {1, 1};
  const int cut = sn_rank(x) ? (int)case_below(&a->r, sn_rank(x)) : 0;
  for (int i = 0; i < sn_rank(x); i++) dims[i >= cut] *= sn_dims(x)[i];
  return sn_reshape(x, 2, dims);
}

static sn_tensor *step_matmul(author *a) {
  sn_tensor *x = author_pick(a);
  if (sn_rank(x) < 2 || sn_rank(x) > 3 || case_one_in(&a->r, 2)) x = matrix(a, x);
  const int64_t rows = sn_dims(x)[sn_rank(x) - 2], cols = sn_dims(x)[sn_rank(x) - 1];
  if (sn_rank(x) == 2 && case_one_in(&a->r, 4) && fits(a, rows * rows) &&
      fits(a, rows * rows * cols / 16))
    return sn_matmul(x, sn_transpose(x, NULL));
  const int64_t dims[2] = {cols, 1 + case_below(&a->r, 8)};
  if (!fits(a, sn_size(x) / (cols ? cols : 1) * dims[1]) || !fits(a, cols * dims[1])) return NULL;
  sn_tensor *w = another(a, 2, dims);
  if (!w) return NULL;
  sn_tensor *y = sn_matmul(x, w);
  return case_one_in(&a->r, 2) ? tame(a, sn_add(y, number(a, 0.25))) : y;
}

static sn_tensor *step_conv(author *a) {
  sn_tensor *x = author_pick(a);
  const int64_t size = sn_size(x);
  if (!size || size > 400) return NULL;
  const int64_t channels = size % 3 == 0 ? 3 : size % 2 == 0 ? 2 : 1;
  const int64_t dims[3] = {1, size / channels, channels}, length = dims[1];
  const int64_t window = 1 + case_below(&a->r, length < 3 ? length : 3);
  const int64_t stride = 1 + case_below(&a->r, 2);
  const sn_window_options options = {
      .strides = &stride, .padding = case_one_in(&a->r, 2) ? SN_PADDING_SAME : SN_PADDING_VALID};
  sn_tensor *image = sn_reshape(x, 3, dims);
  switch (case_below(&a->r, 4)) {
  case 0: return sn_max_pool(image, &window, 1, &options);
  case 1: return sn_avg_pool(image, &window, 1, &options);
  default: {
    sn_tensor *w = another(a, 3, (const int64_t[]){window, channels, 1 + case_below(&a->r, 3)});
    return w ? sn_conv(image, w, 1, &options) : NULL;
  }
  }
}

static sn_tensor *step_attention(author *a) {
  sn_tensor *x = author_pick(a);
  if (sn_rank(x) < 2 || !sn_size(x)) return NULL;
  const int64_t width = sn_dims(x)[sn_rank(x) - 1], tokens = sn_size(x) / width;
  if (tokens > 40) return NULL;
  sn_tensor *q = sn_reshape(x, 3, (const int64_t[]){1, tokens, width});
  return sn_attention(q, sn_tanh(q), tame(a, q), case_one_in(&a->r, 2), NULL, NULL, NAN);
}

/* ---- along an axis --------------------------------------------------------------------------- */

static sn_tensor *indices(author *a, int64_t n) {
  const sn_type type = {.dtype = SN_I32, .rank = 1, .dims = {n}};
  return author_argument_of(a, &type);
}

static sn_tensor *step_along(author *a) {
  sn_tensor *x = author_pick(a), *i;
  if (!sn_rank(x) || !sn_size(x)) return NULL;
  const int axis = (int)case_below(&a->r, sn_rank(x));
  const int64_t n = sn_dims(x)[axis], picked = 1 + case_below(&a->r, 4);
  if (n > 300) return NULL;
  switch (case_below(&a->r, 8)) {
  case 0: return sn_sort(x, axis, case_one_in(&a->r, 2));
  case 1: return sn_cumsum(x, axis, case_one_in(&a->r, 2), case_one_in(&a->r, 2));
  case 2: return sn_cumprod(sn_tanh(x), axis, case_one_in(&a->r, 2), case_one_in(&a->r, 2));
  case 3: return sn_take_along_axis(x, sn_argmax(x, axis, true), axis);
  case 4: return sn_take_along_axis(x, sn_argsort(x, axis, true), axis);
  case 5:
    return fits(a, n * n)
               ? sn_mul(sn_one_hot(sn_argmax(x, axis, false), n, sn_dtype_of(x)), number(a, 3))
               : NULL;
  case 6:
    i = indices(a, picked);
    return i && fits(a, picked * sn_size(x)) ? sn_take(x, i, axis) : NULL;
  default: {
    i = indices(a, picked);
    sn_tensor *updates = i && fits(a, picked * sn_size(x)) ? sn_take(sn_tanh(x), i, axis) : NULL;
    return updates ? sn_scatter_add(x, i, sn_mul(updates, number(a, 0.5)), axis) : NULL;
  }
  }
}

/* ---- gradients inside ------------------------------------------------------------------------ */

/* y with two arguments in it that are one tensor. */
static sn_tensor *with_equals(author *a, sn_tensor *x, sn_tensor *y) {
  sn_tensor *u = another(a, sn_rank(x), sn_dims(x));
  if (!another(a, sn_rank(x), sn_dims(x))) return y;
  repeat_argument(a);
  sn_tensor *v = a->arguments[a->n_arguments - 1].tensor;
  return sn_add(combined(a, tame(a, x), u), sn_mul(combined(a, x, v), y));
}

/* An inner function of one or two variables, equal ones among them, and its derivatives, which the
 * outer one is made of. */
static sn_tensor *step_gradient(author *a) {
  sn_tensor *x = author_pick(a), *from[2] = {x, x}, *v[2], *dx[2];
  const size_t n = 1 + (size_t)case_below(&a->r, 2);
  if (case_one_in(&a->r, 2)) from[1] = author_pick(a);
  for (size_t i = 0; i < n; i++) v[i] = sn_variable(from[i]);
  sn_tensor *y = tame(a, v[0]);
  y = combined(a, y, n > 1 && broadcasts(a, y, v[1]) ? v[1] : beside(a, y));
  if (case_one_in(&a->r, 2)) y = with_equals(a, v[0], y);
  if (case_one_in(&a->r, 2)) y = tame(a, y);
  if (sn_gradients(author_total(a, y), v, n, dx)) return NULL;
  return dx[case_below(&a->r, (int64_t)n)];
}

/* ---- the list -------------------------------------------------------------------------------- */

static sn_tensor *step_argument(author *a) {
  const sn_type type = some_shape(a);
  return author_argument_of(a, &type);
}

void author_step(author *a) {
  static const struct {
    sn_tensor *(*write)(author *);
    int weight;
  } steps[] = {{step_function, 20}, {step_combine, 26}, {step_reshape, 10}, {step_argument, 10},
               {step_transpose, 5}, {step_slice, 4},    {step_pad, 3},      {step_concat, 3},
               {step_broadcast, 4}, {step_reduce, 16},  {step_choose, 5},   {step_cast, 4},
               {step_normalize, 6}, {step_matmul, 6},   {step_conv, 3},     {step_attention, 1},
               {step_along, 5},     {step_gradient, 5}};
  int total = 0;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) total += steps[i].weight;
  int64_t at = case_below(&a->r, total);
  size_t i = 0;
  while (at >= steps[i].weight) at -= steps[i++].weight;
  a->made[a->step] = is_empty(a) ? step_argument(a) : steps[i].write(a);
}
