/* bits.c - inputs, hashes, and the cases that the op table gives: every elementwise op on every
 * dtype of arithmetic, read through views of all kinds. */
#include "bits/bits.h"

#include <stdio.h>
#include <string.h>

#include "native/random.h"

/* ---- hashes ---------------------------------------------------------------------------------- */

static void add_word(bits_run *r, uint64_t word) {
  r->hash = random_mixed(r->hash + RANDOM_STEP + word);
}

/* The bits of element i; of a NaN always the same. */
static uint64_t element_bits(sn_dtype dtype, const void *data, size_t i) {
  const size_t bytes = sn_dtype_bytes(dtype);
  uint64_t bits = 0;
  memcpy(&bits, (const char *)data + i * bytes, bytes); /* all targets are little-endian */
  const uint64_t magnitude = bits & (UINT64_MAX >> (65 - 8 * bytes));
  const uint64_t infinity = dtype == SN_F32    ? 0x7f800000
                            : dtype == SN_F64  ? UINT64_C(0x7ff0000000000000)
                            : dtype == SN_F16  ? 0x7c00
                            : dtype == SN_BF16 ? 0x7f80
                                               : UINT64_MAX;
  return magnitude > infinity ? infinity + 1 : bits;
}

void bits_result(bits_run *r, sn_tensor *t) {
  const void *data = t ? sn_data(t) : NULL;
  if (!data) {
    add_word(r, (uint64_t)sn_error_status(r->ctx) << 32);
    sn_error_clear(r->ctx);
    return;
  }
  const sn_dtype dtype = sn_dtype_of(t);
  add_word(r, (uint64_t)dtype);
  for (int i = 0; i < sn_rank(t); i++) add_word(r, (uint64_t)sn_dims(t)[i]);
  for (size_t i = 0; i < (size_t)sn_size(t); i++) add_word(r, element_bits(dtype, data, i));
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static const double specials[] = {0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -1e30, 1e-40, 3e38, 16777217.0};

static double wide_value(uint64_t h) {
  const double unit = (double)(int32_t)(h >> 32) * 0x1p-31; /* exact, as all that follows */
  switch (h & 15) {
  case 0: return specials[(h >> 8) % (sizeof specials / sizeof *specials)];
  case 1:
  case 6:
  case 7:
  case 8: return (double)((int)(h >> 8 & 15) - 8);
  case 2: return unit * 1024;
  case 3: return unit * 0x1p-20;
  case 4: return (h >> 8 & 31) ? unit : (h >> 16 & 1 ? 1 : -1) / (h >> 17 & 1 ? 0.0 : 1e-38);
  case 5: return (h >> 8 & 7) ? unit * 64 : 0.0 / 0.0;
  default: return unit * (h & 1 ? 9 : 2);
  }
}

static double value_of(bits_values values, uint64_t h) {
  const double unit = (double)(int32_t)(h >> 32) * 0x1p-31;
  switch (values) {
  case BITS_WIDE: return wide_value(h);
  case BITS_UNIT: return unit;
  case BITS_SURE: return 1 + 0.5 * unit;
  case BITS_PLACE: break;
  }
  return (double)(h % 15) - 3;
}

static void store(sn_dtype dtype, void *data, int64_t i, double value, uint64_t h) {
  if (dtype == SN_F32)
    ((float *)data)[i] = (float)value;
  else if (dtype == SN_F64)
    ((double *)data)[i] = value;
  else if (dtype == SN_BOOL)
    ((uint8_t *)data)[i] = h >> 40 & 1;
  else /* whole numbers that fit; one in eight is any int32 */
    ((int32_t *)data)[i] = value > -1e9 && value < 1e9 && h % 8 ? (int32_t)value : (int32_t)h;
}

sn_tensor *bits_input(bits_run *r, sn_dtype dtype, bits_values values, int rank,
                      const int64_t *dims) {
  const bool is_small = dtype > SN_BOOL;
  const sn_dtype drawn = dtype == SN_I8 || dtype == SN_U8 ? SN_I32 : is_small ? SN_F32 : dtype;
  const uint64_t salt = random_mixed(++r->salt * RANDOM_STEP);
  void *data;
  sn_tensor *t = sn_empty(r->ctx, drawn, rank, dims, &data);
  for (int64_t i = 0; t && i < sn_size(t); i++) {
    const uint64_t h = random_mixed(salt + (uint64_t)i * UINT64_C(0xd1342543de82ef95));
    store(drawn, data, i, value_of(values, h),
          values == BITS_PLACE ? h | 1 : h); /* an index is never any int32 */
  }
  return is_small ? sn_astype(t, dtype) : t;
}

/* ---- elementwise ops ------------------------------------------------------------------------- */

typedef struct elementwise {
  const char *name;
  int arity;
  union {
    sn_tensor *(*one)(sn_tensor *);
    sn_tensor *(*two)(sn_tensor *, sn_tensor *);
    sn_tensor *(*three)(sn_tensor *, sn_tensor *, sn_tensor *);
  } fn;
} elementwise;

/* clang-format off */
#define ROW1(id) {#id, 1, {.one = sn_##id}},
#define ROW2(id) {#id, 2, {.two = sn_##id}},
#define ROW3(id) {#id, 3, {.three = sn_##id}},
/* clang-format on */
static const elementwise ops[] = {SN_UNARY_OPS(ROW1) SN_BINARY_OPS(ROW2) SN_TERNARY_OPS(ROW3)};
enum { OPS = sizeof ops / sizeof *ops };

/* Each op runs once per row of this table. */
static const struct {
  const char *name;
  sn_dtype dtype;
  bool gradient;
} kinds[] = {{"float32", SN_F32, false},
             {"float64", SN_F64, false},
             {"int32", SN_I32, false},
             {"bool", SN_BOOL, false},
             {"gradient", SN_F32, true}};
enum { KINDS = sizeof kinds / sizeof *kinds };

enum { PLAIN, TRANSPOSED, STEPPED, BROADCAST, SMALL, VIEWS };

/* A (29, 37) tensor that lies in memory as the view says; SMALL: in 16 or 8 bits. */
static sn_tensor *viewed(bits_run *r, sn_dtype dtype, int view) {
  switch (view) {
  case TRANSPOSED: return sn_transpose(bits_input(r, dtype, BITS_WIDE, BITS_DIMS(37, 29)), NULL);
  case STEPPED:
    return sn_slice(bits_input(r, dtype, BITS_WIDE, BITS_DIMS(30, 80)), (int64_t[]){0, 78},
                    (int64_t[]){29, 37}, (int64_t[]){1, -2});
  case BROADCAST:
    return sn_broadcast_to(bits_input(r, dtype, BITS_WIDE, BITS_DIMS(29, 1)), BITS_DIMS(29, 37));
  case SMALL:
    if (dtype == SN_F32 || dtype == SN_F64)
      return bits_input(r, dtype == SN_F32 ? SN_F16 : SN_BF16, BITS_WIDE, BITS_DIMS(29, 37));
    if (dtype == SN_I32)
      return bits_input(r, r->salt & 1 ? SN_I8 : SN_U8, BITS_WIDE, BITS_DIMS(29, 37));
    break;
  default: break;
  }
  return bits_input(r, dtype, BITS_WIDE, BITS_DIMS(29, 37));
}

static void run_elementwise(bits_run *r, const elementwise *op, sn_dtype dtype, int view,
                            bool gradient) {
  sn_tensor *c = op->arity == 3 ? viewed(r, SN_BOOL, (view + 1) % SMALL) : NULL;
  sn_tensor *a = viewed(r, dtype, view), *slope = NULL;
  sn_tensor *b = op->arity == 1 ? NULL : viewed(r, dtype, (view + 3) % VIEWS);
  if (gradient) a = sn_variable(a);
  sn_tensor *y = op->arity == 1   ? op->fn.one(a)
                 : op->arity == 2 ? op->fn.two(a, b)
                                  : op->fn.three(c, a, b);
  if (gradient) {
    (void)sn_gradients(sn_sum(sn_mul(y, a), SN_ALL_AXES, false), &a, 1, &slope);
    y = slope;
  }
  bits_result(r, y);
}

/* ---- the list -------------------------------------------------------------------------------- */

static size_t count_of(const bits_family *families, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) count += (size_t)families[i].count;
  return count;
}

size_t bits_count(void) {
  return OPS * KINDS + count_of(bits_ops, bits_ops_count) +
         count_of(bits_programs, bits_programs_count);
}

/* Inputs and views follow from the name, so that a new op or case changes no other. */
static uint64_t hash_of_name(const char *name) {
  uint64_t h = 0;
  for (; *name; name++) h = random_mixed(h + RANDOM_STEP + (uint64_t)*name);
  return h;
}

static void run_row(bits_run *r, const elementwise *op, size_t kind, char name[BITS_NAME]) {
  snprintf(name, BITS_NAME, "%s.%s", op->name, kinds[kind].name);
  r->salt = hash_of_name(op->name);
  run_elementwise(r, op, kinds[kind].dtype, (int)((r->salt + kind) % VIEWS), kinds[kind].gradient);
}

static void run_family(bits_run *r, const bits_family *family, size_t number,
                       char name[BITS_NAME]) {
  for (; number >= (size_t)family->count; family++) number -= (size_t)family->count;
  snprintf(name, BITS_NAME, "%s.%zu", family->name, number);
  r->salt = hash_of_name(name);
  family->fn(r, (int)number);
}

uint64_t bits_hash(sn_context *ctx, size_t number, char name[BITS_NAME]) {
  bits_run run = {.ctx = ctx};
  const size_t op_cases = count_of(bits_ops, bits_ops_count);
  if (sn_scope_begin(ctx)) return 0;
  if (number < OPS * KINDS)
    run_row(&run, &ops[number / KINDS], number % KINDS, name);
  else if (number < OPS * KINDS + op_cases)
    run_family(&run, bits_ops, number - OPS * KINDS, name);
  else
    run_family(&run, bits_programs, number - OPS * KINDS - op_cases, name);
  sn_scope_end(ctx);
  return run.hash;
}
