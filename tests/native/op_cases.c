#include "op_cases.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "fixture.h"
#include "graph/reference.h"
#include "tensor/apply.h"

/* ---- contexts -------------------------------------------------------------------------------- */

enum { CONTEXTS = 8 };
static fixture contexts[CONTEXTS];

sn_context *case_context(int threads, sn_isa_id isa) {
  return case_context_with((sn_options){.threads = threads}, isa);
}

sn_context *case_context_with(sn_options options, sn_isa_id isa) {
  for (int i = 0; i < CONTEXTS; i++) {
    if (contexts[i].ctx) continue;
    fixture_open(&contexts[i], options);
    contexts[i].ctx->device.machine.isa = isa;
    contexts[i].ctx->target.fused = !options.deterministic && sn_isa_fuses(isa);
    return contexts[i].ctx;
  }
  fail_msg("more than %d contexts", (int)CONTEXTS);
  return NULL;
}

void case_context_end(sn_context *ctx) {
  for (int i = 0; i < CONTEXTS; i++)
    if (contexts[i].ctx == ctx) fixture_close(&contexts[i]);
}

void case_poisoned_contexts(sn_context **all, int n) {
  for (int i = 0; i < n; i++) {
    all[i] = case_context(1 + i, sn_isa_detect());
    sn_set_poison(all[i], true);
  }
}

void case_contexts_end(sn_context *const *all, int n) {
  for (int i = 0; i < n; i++) case_context_end(all[i]);
}

void case_passes_off(sn_context *ctx, uint32_t off) {
  for (int i = 0; i < sn_pass_count(); i++)
    assert_int_equal(sn_pass_enable(ctx, sn_pass_name(i), !(off >> i & 1)), SN_OK);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

#define SHAPE(rank_, ...)                  \
  {                                        \
    .rank = rank_, .dims = { __VA_ARGS__ } \
  }
const sn_type case_shapes[] = {
    SHAPE(0, 0),
    SHAPE(1, 0),
    SHAPE(1, 1),
    SHAPE(1, 7),
    SHAPE(1, 8),
    SHAPE(1, 15),
    SHAPE(1, 16),
    SHAPE(1, 17),
    SHAPE(1, 255),
    SHAPE(1, 256),
    SHAPE(1, 257),
    SHAPE(1, 1000),
    SHAPE(2, 1, 1),
    SHAPE(2, 3, 5),
    SHAPE(2, 0, 4),
    SHAPE(2, 4, 0),
    SHAPE(2, 16, 17),
    SHAPE(2, 2, 128),
    SHAPE(2, 33, 31),
    SHAPE(2, 300, 2),
    SHAPE(3, 2, 3, 4),
    SHAPE(3, 1, 7, 1),
    SHAPE(3, 5, 1, 3),
    SHAPE(3, 4, 9, 8),
    SHAPE(4, 2, 2, 2, 2),
    SHAPE(4, 3, 0, 2, 1),
    SHAPE(5, 1, 2, 3, 4, 1),
    SHAPE(6, 2, 1, 3, 1, 2, 2),
    SHAPE(7, 2, 3, 1, 2, 1, 2, 2),
    SHAPE(8, 2, 1, 2, 1, 2, 2, 1, 2),
    SHAPE(8, 1, 1, 1, 1, 1, 1, 1, 1),
    SHAPE(8, 2, 2, 2, 3, 2, 2, 1, 3),
};
#undef SHAPE
const size_t case_shape_count = sizeof case_shapes / sizeof case_shapes[0];

sn_type case_shape(case_random *r, sn_dtype dtype, int rank, int64_t most) {
  static const int64_t sizes[] = {2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 64, 255, 256, 257, 300};
  sn_type type = {.dtype = dtype, .rank = (int32_t)case_below(r, rank + 1)};
  int64_t left = most;
  for (int i = 0; i < type.rank; i++) {
    int64_t size = sizes[case_below(r, sizeof sizes / sizeof *sizes)];
    if (size > left || case_one_in(r, 6)) size = 1;
    if (case_one_in(r, 40)) size = 0;
    type.dims[i] = size;
    if (size) left /= size;
  }
  return type;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const float specials_f32[] = {
    0.0f,       -0.0f,    1.0f,           -1.0f,      INFINITY,
    -INFINITY,  NAN,      0x1p-149f,      -0x1p-149f, 0x1.fffffcp-127f,
    -0x1p-126f, FLT_MAX,  -FLT_MAX,       0.5f,       -0.5f,
    1.5f,       2.5f,     -2.5f,          0x1p23f,    -0x1.000002p23f,
    0x1p31f,    -0x1p31f, 0x1.fffffep30f, 3e-5f};
/* clang-format off */
static const double specials_f64[] = {
    0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 0x1p-1074, -0x1p-1074, 0x1p-1022, DBL_MAX, -DBL_MAX,
    0.5, -0.5, 1.5, 2.5, -2.5, 0x1p52, -0x1.0000000000001p52, 2147483648.0, -2147483649.0, 2147483647.5,
    1e300, 3e-5};
/* clang-format on */
static const int32_t specials_i32[] = {0,  1,  -1,  2,     INT32_MIN, INT32_MAX,     31,
                                       32, 33, -31, 65536, 46341,     INT32_MIN + 1, 0x55555555};
static const uint8_t specials_bool[] = {0, 1};
/* zeros, subnormals and their end, 1, the largest, infinities, NaNs */
static const uint16_t specials_f16[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400,
                                        0x3c00, 0xbc00, 0x3c01, 0x7bff, 0xfbff, 0x7c00,
                                        0xfc00, 0x7e00, 0x7c01, 0xfe00, 0x3555, 0x6400};
static const uint16_t specials_bf16[] = {0,      0x8000, 1,      0x8001, 0x007f, 0x0080,
                                         0x3f80, 0xbf80, 0x3f81, 0x7f7f, 0xff7f, 0x7f80,
                                         0xff80, 0x7fc0, 0x7f81, 0xffc0, 0x3eab, 0x4300};
static const int8_t specials_i8[] = {0, 1, -1, 2, INT8_MIN, INT8_MAX, 31, -64};
static const uint8_t specials_u8[] = {0, 1, 2, UINT8_MAX, 127, 128, 31};

static const struct {
  const void *values;
  size_t count;
} specials[] = {
    [SN_F32] = {specials_f32, sizeof specials_f32 / sizeof specials_f32[0]},
    [SN_F64] = {specials_f64, sizeof specials_f64 / sizeof specials_f64[0]},
    [SN_I32] = {specials_i32, sizeof specials_i32 / sizeof specials_i32[0]},
    [SN_BOOL] = {specials_bool, sizeof specials_bool / sizeof specials_bool[0]},
    [SN_F16] = {specials_f16, sizeof specials_f16 / sizeof specials_f16[0]},
    [SN_BF16] = {specials_bf16, sizeof specials_bf16 / sizeof specials_bf16[0]},
    [SN_I8] = {specials_i8, sizeof specials_i8 / sizeof specials_i8[0]},
    [SN_U8] = {specials_u8, sizeof specials_u8 / sizeof specials_u8[0]},
};

size_t case_special_count(sn_dtype dtype) { return specials[dtype].count; }

static double in_domain(case_random *r, sn_op op, sn_dtype dtype, bool whole) {
  const sn_op_bounds *domain = &sn_op_bounds_table[op];
  if (dtype == SN_BOOL) return (double)case_below(r, 2);
  const double value = case_between(r, domain->lo, domain->hi);
  return whole || sn_dtype_wide(dtype) == SN_I32 ? floor(value + 0.5) : value;
}

/* Input `which` changes with element i as digit `which` of i does in base count. */
static double special(sn_dtype dtype, int which, int64_t i) {
  const int64_t count = (int64_t)specials[dtype].count;
  for (int k = 0; k < which; k++) i /= count;
  return sn_ref_load(dtype, specials[dtype].values, i % count);
}

void case_fill(case_random *r, sn_op op, int which, sn_dtype dtype, case_values values, int64_t n,
               void *out) {
  for (int64_t i = 0; i < n; i++) {
    const bool pick = values == CASE_SPECIALS || (values == CASE_MIXED && case_one_in(r, 4));
    const int64_t at = values == CASE_SPECIALS ? i : case_below(r, 1 << 20);
    sn_ref_store(dtype, out, i,
                 pick ? special(dtype, which, at) : in_domain(r, op, dtype, values == CASE_WHOLE));
  }
}

/* ---- comparing ------------------------------------------------------------------------------- */

bool case_same(sn_dtype dtype, const void *a, const void *b, int64_t n, int64_t *where) {
  const size_t bytes = sn_dtype_bytes(dtype);
  for (int64_t i = 0; i < n; i++) {
    *where = i;
    if (memcmp((const char *)a + (size_t)i * bytes, (const char *)b + (size_t)i * bytes, bytes) ==
        0)
      continue;
    if (!sn_dtype_is_float(dtype)) return false; /* a bool is the byte 0 or 1 */
    if (!isnan(sn_ref_load(dtype, a, i)) || !isnan(sn_ref_load(dtype, b, i))) return false;
  }
  return true;
}

/* clang-format off */
#define UNARY(id) case SN_OP_##id: return sn_##id(x[0]);
#define BINARY(id) case SN_OP_##id: return sn_##id(x[0], x[1]);
#define TERNARY(id) case SN_OP_##id: return sn_##id(x[0], x[1], x[2]);
/* clang-format on */
sn_tensor *case_apply(sn_op op, sn_tensor *const *x, size_t n) {
  switch ((int)op) {
    SN_UNARY_OPS(UNARY)
    SN_BINARY_OPS(BINARY)
    SN_TERNARY_OPS(TERNARY)
  default: return sn_hand_out(sn_elementwise(op, x, n));
  }
}
