#include "jit/expand.h"

#include <math.h>

#include "graph/convert.h"
#include "graph/ops.h"
#include "math/scalar_words.h"

/* ---- words: each is one instruction if there is one that gives the same bits ----------------- */

/* The functions of math/ are some 2,000 words. Each word is a C function that takes only its operands, and not the
 * instruction: this makes calls short, and saves a page 9 kB of code to compile. */
#define WORD __attribute__((noinline)) static sn_vec
#define WORD1(op) \
  WORD word_##op(sn_vecs *lanes, sn_vec a) { return sn_vec_op(lanes, SN_WASM_##op, a, 0, 0); }
#define WORD2(op)                                      \
  WORD word_##op(sn_vecs *lanes, sn_vec a, sn_vec b) { \
    return sn_vec_op(lanes, SN_WASM_##op, a, b, 0);    \
  }
#define WORD_SHIFT(op)                                   \
  WORD word_##op(sn_vecs *lanes, sn_vec a, uint32_t n) { \
    return sn_vec_shift(lanes, SN_WASM_##op, a, n);      \
  }
#define WORD_SELECT(shape, width)                                            \
  WORD word_##shape##_select(sn_vecs *lanes, sn_vec m, sn_vec a, sn_vec b) { \
    return sn_vec_select(lanes, width, m, a, b);                             \
  }
#define WORDS_OF_FLOATS(shape) \
  WORD2(shape##_add)           \
  WORD2(shape##_sub)           \
  WORD2(shape##_mul)           \
  WORD2(shape##_div)           \
  WORD2(shape##_lt)            \
  WORD2(shape##_le)            \
  WORD2(shape##_eq)            \
  WORD2(shape##_ne)            \
  WORD2(shape##_pmin)          \
  WORD2(shape##_pmax)          \
  WORD1(shape##_abs)           \
  WORD1(shape##_sqrt)          \
  WORD1(shape##_nearest)       \
  WORD1(shape##_floor)         \
  WORD1(shape##_trunc)
#define WORDS_OF_INTS(shape) \
  WORD2(shape##_add)         \
  WORD2(shape##_sub)         \
  WORD2(shape##_eq)          \
  WORD2(shape##_lt_s)        \
  WORD_SHIFT(shape##_shl)    \
  WORD_SHIFT(shape##_shr_u)

WORDS_OF_FLOATS(f32x4)
WORDS_OF_FLOATS(f64x2)
WORD_SELECT(f32x4, 32)
WORD_SELECT(f64x2, 64)
WORDS_OF_INTS(i32x4)
WORDS_OF_INTS(i64x2)
WORD2(i32x4_mul)
WORD2(i32x4_min_s)
WORD2(i32x4_max_s)
WORD2(v128_or)
WORD word_f32x4_const(sn_vecs *lanes, float c) { return sn_vec_const32(lanes, sn_f32_to_bits(c)); }
WORD word_f64x2_const(sn_vecs *lanes, double c) { return sn_vec_const64(lanes, sn_f64_to_bits(c)); }

#define OP1(op, a) sn_vec_op(lanes, SN_WASM_##op, a, 0, 0)
#define OP2(op, a, b) sn_vec_op(lanes, SN_WASM_##op, a, b, 0)
#define FLOAT1(op, a) FLOATS(op)(lanes, a)
#define FLOAT2(op, a, b) FLOATS(op)(lanes, a, b)
#define INT2(op, a, b) INTS(op)(lanes, a, b)

#define X_F sn_vec
#define X_I sn_vec
#define X_M sn_vec
#define X_PARAM sn_vecs *lanes,
#define X_ARG lanes,
#define X_FUSED (lanes->target.relaxed)
#define X_BITS(a) (a)
#define X_FLOAT(a) (a)
#define X_ADD(a, b) FLOAT2(add, a, b)
#define X_SUB(a, b) FLOAT2(sub, a, b)
#define X_MUL(a, b) FLOAT2(mul, a, b)
#define X_DIV(a, b) FLOAT2(div, a, b)
#define X_FMA(a, b, c) sn_vec_madd(lanes, a, b, c)
#define X_NEG(a) sn_vec_neg(lanes, WIDTH, a)
#define X_ABS(a) FLOAT1(abs, a)
#define X_SQRT(a) FLOAT1(sqrt, a)
#define X_ROUND(a) FLOAT1(nearest, a)
#define X_FLOOR(a) FLOAT1(floor, a)
#define X_TRUNC(a) FLOAT1(trunc, a)
#define X_PMIN(a, b) FLOAT2(pmin, a, b)
#define X_PMAX(a, b) FLOAT2(pmax, a, b)
#define X_LT(a, b) FLOAT2(lt, a, b)
#define X_LE(a, b) FLOAT2(le, a, b)
#define X_EQ(a, b) FLOAT2(eq, a, b)
#define X_NE(a, b) FLOAT2(ne, a, b)
#define X_IADD(a, b) INT2(add, a, b)
#define X_ISUB(a, b) INT2(sub, a, b)
#define X_IMUL(a, b) INT2(mul, a, b)
#define X_IMIN(a, b) INT2(min_s, a, b)
#define X_IMAX(a, b) INT2(max_s, a, b)
#define X_IEQ(a, b) INT2(eq, a, b)
#define X_ILT(a, b) INT2(lt_s, a, b)
#define X_IAND(a, b) sn_vec_and(lanes, a, b)
#define X_IOR(a, b) word_v128_or(lanes, a, b)
#define X_IXOR(a, b) sn_vec_xor(lanes, a, b)
#define X_ISHL(a, n) INT2(shl, a, n)
#define X_ISHR(a, n) INT2(shr_u, a, n)
#define X_ISHLV(a, n) sn_vec_shiftv(lanes, SN_WASM_i32_shl, a, n)
#define X_ISHRV(a, n) sn_vec_shiftv(lanes, SN_WASM_i32_shr_u, a, n)
#define X_ISARV(a, n) sn_vec_shiftv(lanes, SN_WASM_i32_shr_s, a, n)
#define X_TOI(a) OP1(i32x4_trunc_sat_f32x4_s, a)
#define X_TOF(a) OP1(f32x4_convert_i32x4_s, a)
#define X_MAND(a, b) sn_vec_and(lanes, a, b)
#define X_MOR(a, b) word_v128_or(lanes, a, b)
#define X_MXOR(a, b) OP2(v128_xor, a, b)
#define X_MNOT(m) sn_vec_not(lanes, m)
#define X_SEL(m, a, b) FLOATS(select)(lanes, m, a, b)
#define X_ISEL(m, a, b) FLOATS(select)(lanes, m, a, b)
/* Relies on the order: the RARE comes before the nodes of `a`, which may be skipped, and the RARE_END behind them. */
#define X_SEL_RARE(m, a, b) (sn_vec_rare(lanes, m), sn_vec_rare_end(lanes, WIDTH, m, a, b))

#define ROW(id, expr) \
  case SN_OP_##id: return expr;

/* ---- 32-bit lanes ---------------------------------------------------------------------------- */

#define WIDTH 32
#define FLOATS(op) word_f32x4_##op
#define INTS(op) word_i32x4_##op
#define X_FN(name) emit_f32_##name
#define X_C(c) FLOATS(const)(lanes, (float)(c))
#define X_IC(c) sn_vec_const32(lanes, (uint32_t)(c))
#define X_MIN(a, b) sn_vec_min(lanes, a, b)
#define X_MAX(a, b) sn_vec_max(lanes, a, b)
#include "math/expand_f32.inc"

static sn_vec combine_f32(sn_vecs *lanes, sn_op op, sn_vec a, sn_vec b) {
  switch ((int)op) {
#define EW_F(id, n, f, c, lo, hi, u, d, xf, ...) ROW(id, xf)
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) ROW(id, xf)
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb, ...) ROW(id, xf)
#define CMP_F(id, n, f, c, d, xf, ...) ROW(id, xf)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb, ...) ROW(id, xf)
#define REDUCE(id, f, c, d, idf, idi, xf, xi, ...) ROW(id, xf)
#include "graph/ops.def"
  default: return 0;
  }
}

static sn_vec combine_i32(sn_vecs *lanes, sn_op op, sn_vec a, sn_vec b) {
  switch ((int)op) {
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) ROW(id, xi)
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb, ...) ROW(id, xi)
#define EW_I(id, n, f, c, d, xi, ...) ROW(id, xi)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb, ...) ROW(id, xi)
#define REDUCE(id, f, c, d, idf, idi, xf, xi, ...) ROW(id, xi)
#define REDUCE_I(id, f, c, d, idi, xi, ...) ROW(id, xi)
#include "graph/ops.def"
  default: return 0;
  }
}

static sn_vec combine_bool(sn_vecs *lanes, sn_op op, sn_vec a, sn_vec b) {
  switch ((int)op) {
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb, ...) ROW(id, xb)
#define EW_B(id, n, f, c, d, xb, ...) ROW(id, xb)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb, ...) ROW(id, xb)
#include "graph/ops.def"
  default: return 0;
  }
}

/* Casts between a small dtype and the wide dtype that strips compute it in. */
static sn_vec cast_small(sn_vecs *lanes, sn_dtype from, sn_dtype to, sn_vec a) {
  switch (sn_dtype_is_small(to) ? to : from) {
#define CASE_FLOAT(id, s)
#define CASE_INT(id, s)
#define CASE_FLAG(id, s)
#define CASE_HALF(id, s) \
  case SN_##id:          \
    return to == SN_##id ? emit_f32_narrow_##s(lanes, a) : emit_f32_widen_##s(lanes, a);
#define CASE_SMALL(id, s) \
  case SN_##id:           \
    return to == SN_##id ? emit_f32_narrow_##s(lanes, a) : a;
#define DTYPE(id, name, s, T, kind, ...) CASE_##kind(id, s)
#include "graph/dtypes.def"
  default: return a;
  }
}

#undef CASE_HALF
#undef CASE_SMALL
sn_vec sn_expand_rounded(sn_vecs *lanes, sn_dtype dtype, sn_vec a) {
  switch (dtype) {
#define CASE_HALF(id, s) \
  case SN_##id:          \
    return emit_f32_round_##s(lanes, a);
#define CASE_SMALL(id, s)
#define DTYPE(id, name, s, T, kind, ...) CASE_##kind(id, s)
#include "graph/dtypes.def"
  default: return a;
  }
}

#undef WIDTH
#undef FLOATS
#undef INTS
#undef X_FN
#undef X_C
#undef X_IC
#undef X_MIN
#undef X_MAX

/* ---- 64-bit lanes ---------------------------------------------------------------------------- */

#define WIDTH 64
#define FLOATS(op) word_f64x2_##op
#define INTS(op) word_i64x2_##op
#define X_FN(name) emit_f64_##name
#define X_C(c) FLOATS(const)(lanes, (double)(c))
#define X_IC(c) sn_vec_const64(lanes, (uint64_t)(c))
#define X_MIN(a, b) OP2(f64x2_min, a, b)
#define X_MAX(a, b) OP2(f64x2_max, a, b)
#include "math/expand_f64.inc"

static sn_vec combine_f64(sn_vecs *lanes, sn_op op, sn_vec a, sn_vec b) {
  switch ((int)op) {
#define EW_F(id, n, f, c, lo, hi, u, d, xf, ...) ROW(id, xf)
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) ROW(id, xf)
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb, ...) ROW(id, xf)
#define CMP_F(id, n, f, c, d, xf, ...) ROW(id, xf)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb, ...) ROW(id, xf)
#define REDUCE(id, f, c, d, idf, idi, xf, xi, ...) ROW(id, xf)
#include "graph/ops.def"
  default: return 0;
  }
}

sn_vec sn_expand_combine(sn_vecs *lanes, sn_op op, sn_dtype dtype, sn_vec a, sn_vec b) {
  switch (dtype) {
  case SN_F32: return combine_f32(lanes, op, a, b);
  case SN_F64: return combine_f64(lanes, op, a, b);
  case SN_I32: return combine_i32(lanes, op, a, b);
  default: return combine_bool(lanes, op, a, b);
  }
}

/* ---- between widths -------------------------------------------------------------------------- */

static sn_vec high_half(sn_vecs *lanes, sn_vec a) {
  return sn_vec_shuffled(lanes, SN_SHUFFLE_HIGH, a, a);
}

static bool is_narrowed(const sn_vecs *lanes, sn_vec mask) {
  return lanes->nodes[mask].kind == SN_VEC_SHUFFLE && lanes->nodes[mask].code == SN_SHUFFLE_EVEN;
}

/* A mask of 32-bit lanes as two of 64-bit lanes. If it was made by narrowing two, these are returned. */
static sn_vec_value widen(sn_vecs *lanes, sn_vec mask) {
  const sn_vec *wide = lanes->nodes[mask].args;
  if (is_narrowed(lanes, mask)) return (sn_vec_value){{wide[0], wide[1]}};
  return (sn_vec_value){
      {OP1(i64x2_extend_low_i32x4_s, mask), OP1(i64x2_extend_high_i32x4_s, mask)}};
}

static sn_vec narrow(sn_vecs *lanes, const sn_vec_value *masks) {
  return sn_vec_shuffled(lanes, SN_SHUFFLE_EVEN, masks->half[0], masks->half[1]);
}

static sn_vec_value to_f64(sn_vecs *lanes, sn_dtype from, sn_vec a) {
  if (from == SN_BOOL) {
    sn_vec_value wide = widen(lanes, a);
    const sn_vec one = sn_expand_const(lanes, SN_F64, 1);
    for (int h = 0; h < 2; h++) wide.half[h] = OP2(v128_and, wide.half[h], one);
    return wide;
  }
  const sn_vec high = high_half(lanes, a);
  if (from == SN_F32)
    return (sn_vec_value){{OP1(f64x2_promote_low_f32x4, a), OP1(f64x2_promote_low_f32x4, high)}};
  return (sn_vec_value){{OP1(f64x2_convert_low_i32x4_s, a), OP1(f64x2_convert_low_i32x4_s, high)}};
}

static sn_vec from_f64(sn_vecs *lanes, sn_dtype to, const sn_vec_value *a) {
  sn_vec_value parts;
  for (int h = 0; h < 2; h++) {
    const sn_vec x = a->half[h];
    parts.half[h] = to == SN_F32   ? OP1(f32x4_demote_f64x2_zero, x)
                    : to == SN_I32 ? OP1(i32x4_trunc_sat_f64x2_s_zero, x)
                                   : OP2(f64x2_ne, x, sn_vec_const64(lanes, 0));
  }
  if (to == SN_BOOL) return narrow(lanes, &parts);
  return sn_vec_shuffled(lanes, SN_SHUFFLE_LOWS, parts.half[0], parts.half[1]);
}

static sn_vec between_32(sn_vecs *lanes, sn_dtype from, sn_dtype to, sn_vec a) {
  const sn_vec zero = sn_vec_const32(lanes, 0);
  if (from == to) return a;
  if (from == SN_BOOL) return OP2(v128_and, a, sn_expand_const(lanes, to, 1));
  if (to == SN_BOOL) return from == SN_F32 ? OP2(f32x4_ne, a, zero) : OP2(i32x4_ne, a, zero);
  return to == SN_F32 ? OP1(f32x4_convert_i32x4_s, a) : OP1(i32x4_trunc_sat_f32x4_s, a);
}

static sn_vec_value cast(sn_vecs *lanes, sn_dtype from, sn_dtype to, const sn_vec_value *a) {
  if (from == to) return *a;
  if (sn_dtype_is_small(from) || sn_dtype_is_small(to))
    return (sn_vec_value){{cast_small(lanes, from, to, a->half[0])}};
  if (to == SN_F64) return to_f64(lanes, from, a->half[0]);
  if (from == SN_F64) return (sn_vec_value){{from_f64(lanes, to, a)}};
  return (sn_vec_value){{between_32(lanes, from, to, a->half[0])}};
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static sn_vec_value select_values(sn_vecs *lanes, sn_dtype dtype, const sn_vec_value *args) {
  const sn_vec mask = args[0].half[0];
  if (dtype != SN_F64)
    return (sn_vec_value){{sn_vec_select(lanes, 32, mask, args[1].half[0], args[2].half[0])}};
  const sn_vec_value wide = widen(lanes, mask);
  sn_vec_value out;
  for (int h = 0; h < 2; h++)
    out.half[h] = sn_vec_select(lanes, 64, wide.half[h], args[1].half[h], args[2].half[h]);
  return out;
}

sn_vec_value sn_expand_op(sn_vecs *lanes, const sn_insn *insn, const sn_vec_value *args,
                          const sn_dtype *dtypes) {
  if (insn->op == SN_OP_astype) return cast(lanes, dtypes[0], insn->dtype, &args[0]);
  if (insn->op == SN_OP_bitcast) return args[0];
  if (insn->op == SN_OP_where) return select_values(lanes, insn->dtype, args);
  sn_vec_value out = {{0, 0}};
  const sn_vec_value *b = &args[insn->n_args > 1 ? 1 : 0];
  for (int h = 0; h < sn_vec_halves(insn->in_dtype); h++)
    out.half[h] = sn_expand_combine(lanes, insn->op, insn->in_dtype, args[0].half[h], b->half[h]);
  if (insn->in_dtype == SN_F64 && insn->dtype == SN_BOOL)
    return (sn_vec_value){{narrow(lanes, &out)}};
  return out;
}

bool sn_expand_knows(const sn_insn *insn) {
  const sn_op_info *info = sn_op_describe(insn->op);
  if (insn->op == SN_OP_astype || insn->op == SN_OP_where) return true;
  if (insn->op == SN_OP_bitcast) return insn->dtype != SN_F64 && insn->in_dtype != SN_F64;
  return (info->kind == SN_CLASS_MAP || info->kind == SN_CLASS_COMPARE) && info->arity <= 2 &&
         (info->types & 1 << insn->in_dtype);
}

sn_vec sn_expand_const(sn_vecs *lanes, sn_dtype dtype, double value) {
  switch (dtype) {
  case SN_F32: return sn_vec_const32(lanes, sn_f32_to_bits((float)value));
  case SN_F64: return sn_vec_const64(lanes, sn_f64_to_bits(value));
  case SN_I32: return sn_vec_const32(lanes, (uint32_t)sn_i32_from_f64(value));
  default: return sn_vec_const32(lanes, value != 0 ? UINT32_MAX : 0);
  }
}
