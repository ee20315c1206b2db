#include "jit/expand.h"

#include <math.h>

#include "graph/convert.h"
#include "graph/ops.h"
#include "graph/vocabulary.h"

static uint32_t bits_of_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static uint64_t bits_of_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* ---- the vocabulary, the same for both widths ------------------------------------------------ */

#define X_F sn_lane
#define X_I sn_lane
#define X_M sn_lane
#define X_PARAM sn_lanes *lanes,
#define X_ARG lanes,
#define OP1(op, a) sn_lane_op(lanes, SN_WASM_##op, a, 0, 0)
#define OP2(op, a, b) sn_lane_op(lanes, SN_WASM_##op, a, b, 0)
#define X_BITS(a) (a)
#define X_FLOAT(a) (a)
#define X_IAND(a, b) OP2(v128_and, a, b)
#define X_IOR(a, b) OP2(v128_or, a, b)
#define X_IXOR(a, b) OP2(v128_xor, a, b)
#define X_MAND(a, b) OP2(v128_and, a, b)
#define X_MOR(a, b) OP2(v128_or, a, b)
#define X_MXOR(a, b) OP2(v128_xor, a, b)
#define X_MNOT(m) sn_lane_not(lanes, m)
#define X_NEG(a) sn_lane_neg(lanes, WIDTH, a)
#define X_SEL(m, a, b) sn_lane_select(lanes, WIDTH, m, a, b)
#define X_ISEL(m, a, b) sn_lane_select(lanes, WIDTH, m, a, b)
#define X_SEL_RARE(m, a, b) (sn_lane_rare(lanes, m), sn_lane_rare_end(lanes, WIDTH, m, a, b))
#define X_FUSED (lanes->target.relaxed)
#undef X_NE
#undef X_MAX
#undef X_MIN
#undef X_ROUND
#undef X_FLOOR
#undef X_TRUNC

/* ---- 32-bit lanes ---------------------------------------------------------------------------- */

#define WIDTH 32
#define X_FN(name) f32_##name
#define X_SIGN_BIT 0x80000000u
#define X_C(c) sn_lane_const32(lanes, bits_of_f32((float)(c)))
#define X_IC(c) sn_lane_const32(lanes, (uint32_t)(c))
#define X_ADD(a, b) OP2(f32x4_add, a, b)
#define X_SUB(a, b) OP2(f32x4_sub, a, b)
#define X_MUL(a, b) OP2(f32x4_mul, a, b)
#define X_DIV(a, b) OP2(f32x4_div, a, b)
#define X_ABS(a) OP1(f32x4_abs, a)
#define X_SQRT(a) OP1(f32x4_sqrt, a)
#define X_FMA(a, b, c) sn_lane_madd(lanes, a, b, c)
#define X_PMIN(a, b) OP2(f32x4_pmin, a, b)
#define X_PMAX(a, b) OP2(f32x4_pmax, a, b)
#define X_MIN(a, b) sn_lane_min(lanes, a, b)
#define X_MAX(a, b) sn_lane_max(lanes, a, b)
#define X_ROUND(a) OP1(f32x4_nearest, a)
#define X_FLOOR(a) OP1(f32x4_floor, a)
#define X_TRUNC(a) OP1(f32x4_trunc, a)
#define X_IADD(a, b) OP2(i32x4_add, a, b)
#define X_ISUB(a, b) OP2(i32x4_sub, a, b)
#define X_IMUL(a, b) OP2(i32x4_mul, a, b)
#undef X_IMIN
#undef X_IMAX
#define X_IMIN(a, b) OP2(i32x4_min_s, a, b)
#define X_IMAX(a, b) OP2(i32x4_max_s, a, b)
#define X_ISHL(a, n) sn_lane_shift(lanes, SN_WASM_i32x4_shl, a, n)
#define X_ISHR(a, n) sn_lane_shift(lanes, SN_WASM_i32x4_shr_u, a, n)
#define X_ISHLV(a, n) sn_lane_shiftv(lanes, SN_WASM_i32_shl, a, n)
#define X_ISHRV(a, n) sn_lane_shiftv(lanes, SN_WASM_i32_shr_u, a, n)
#define X_TOI(a) OP1(i32x4_trunc_sat_f32x4_s, a)
#define X_TOF(a) OP1(f32x4_convert_i32x4_s, a)
#define X_LT(a, b) OP2(f32x4_lt, a, b)
#define X_LE(a, b) OP2(f32x4_le, a, b)
#define X_EQ(a, b) OP2(f32x4_eq, a, b)
#define X_NE(a, b) OP2(f32x4_ne, a, b)
#define X_IEQ(a, b) OP2(i32x4_eq, a, b)
#define X_ILT(a, b) OP2(i32x4_lt_s, a, b)

#include "graph/expand_f32.inc"

#define ROW(id, expr) \
  case SN_OP_##id: return expr;

static sn_lane op_f32(sn_lanes *lanes, sn_op op, sn_lane a, sn_lane b) {
  switch ((int)op) {
#define EW_F(id, n, f, c, lo, hi, u, d, xf) ROW(id, xf)
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi) ROW(id, xf)
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb) ROW(id, xf)
#define CMP_F(id, n, f, c, d, xf) ROW(id, xf)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb) ROW(id, xf)
#define REDUCE(id, f, c, d, idf, idi, xf, xi) ROW(id, xf)
#include "graph/ops.def"
  default: return 0;
  }
}

static sn_lane op_i32(sn_lanes *lanes, sn_op op, sn_lane a, sn_lane b) {
  switch ((int)op) {
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi) ROW(id, xi)
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb) ROW(id, xi)
#define EW_I(id, n, f, c, d, xi) ROW(id, xi)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb) ROW(id, xi)
#define REDUCE(id, f, c, d, idf, idi, xf, xi) ROW(id, xi)
#include "graph/ops.def"
  default: return 0;
  }
}

static sn_lane op_bool(sn_lanes *lanes, sn_op op, sn_lane a, sn_lane b) {
  switch ((int)op) {
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb) ROW(id, xb)
#define EW_B(id, n, f, c, d, xb) ROW(id, xb)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb) ROW(id, xb)
#include "graph/ops.def"
  default: return 0;
  }
}

#undef WIDTH
#undef X_FN
#undef X_SIGN_BIT
#undef X_C
#undef X_IC
#undef X_ADD
#undef X_SUB
#undef X_MUL
#undef X_DIV
#undef X_ABS
#undef X_SQRT
#undef X_PMIN
#undef X_PMAX
#undef X_MIN
#undef X_MAX
#undef X_ROUND
#undef X_FLOOR
#undef X_TRUNC
#undef X_IADD
#undef X_ISUB
#undef X_ISHL
#undef X_ISHR
#undef X_LT
#undef X_LE
#undef X_EQ
#undef X_NE
#undef X_IEQ
#undef X_ILT

/* ---- 64-bit lanes ---------------------------------------------------------------------------- */

#define WIDTH 64
#define X_FN(name) f64_##name
#define X_SIGN_BIT 0x8000000000000000u
#define X_C(c) sn_lane_const64(lanes, bits_of_f64((double)(c)))
#define X_IC(c) sn_lane_const64(lanes, (uint64_t)(c))
#define X_ADD(a, b) OP2(f64x2_add, a, b)
#define X_SUB(a, b) OP2(f64x2_sub, a, b)
#define X_MUL(a, b) OP2(f64x2_mul, a, b)
#define X_DIV(a, b) OP2(f64x2_div, a, b)
#define X_ABS(a) OP1(f64x2_abs, a)
#define X_SQRT(a) OP1(f64x2_sqrt, a)
#define X_PMIN(a, b) OP2(f64x2_pmin, a, b)
#define X_PMAX(a, b) OP2(f64x2_pmax, a, b)
#define X_MIN(a, b) OP2(f64x2_min, a, b)
#define X_MAX(a, b) OP2(f64x2_max, a, b)
#define X_ROUND(a) OP1(f64x2_nearest, a)
#define X_FLOOR(a) OP1(f64x2_floor, a)
#define X_TRUNC(a) OP1(f64x2_trunc, a)
#define X_IADD(a, b) OP2(i64x2_add, a, b)
#define X_ISUB(a, b) OP2(i64x2_sub, a, b)
#define X_ISHL(a, n) sn_lane_shift(lanes, SN_WASM_i64x2_shl, a, n)
#define X_ISHR(a, n) sn_lane_shift(lanes, SN_WASM_i64x2_shr_u, a, n)
#define X_LT(a, b) OP2(f64x2_lt, a, b)
#define X_LE(a, b) OP2(f64x2_le, a, b)
#define X_EQ(a, b) OP2(f64x2_eq, a, b)
#define X_NE(a, b) OP2(f64x2_ne, a, b)
#define X_IEQ(a, b) OP2(i64x2_eq, a, b)
#define X_ILT(a, b) OP2(i64x2_lt_s, a, b)

#include "graph/expand_f64.inc"

/* The functions of float64 would be a tenth of what a page downloads, and hardly a page computes
 * with them: their bodies are left to the VM, except for what is a few instructions. */
#define CHEAP(id, cost, expr) \
  case SN_OP_##id: return (cost) < SN_COSTLY ? (expr) : 0;

static sn_lane op_f64(sn_lanes *lanes, sn_op op, sn_lane a, sn_lane b) {
  switch ((int)op) {
#define EW_F(id, n, f, c, lo, hi, u, d, xf) CHEAP(id, c, xf)
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi) CHEAP(id, c, xf)
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb) ROW(id, xf)
#define CMP_F(id, n, f, c, d, xf) ROW(id, xf)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb) ROW(id, xf)
#define REDUCE(id, f, c, d, idf, idi, xf, xi) ROW(id, xf)
#include "graph/ops.def"
  default: return 0;
  }
}

/* ---- between widths -------------------------------------------------------------------------- */

static sn_lane high_half(sn_lanes *lanes, sn_lane a) {
  return sn_lane_shuffled(lanes, SN_SHUFFLE_HIGH, a, a);
}

static bool is_narrowed(const sn_lanes *lanes, sn_lane mask) {
  return lanes->nodes[mask].kind == SN_LANE_SHUFFLE && lanes->nodes[mask].code == SN_SHUFFLE_EVEN;
}

/* Masks of 64-bit lanes from those of 32; a mask that was narrowed is still there. */
static sn_lane_value widen(sn_lanes *lanes, sn_lane mask) {
  const sn_lane *wide = lanes->nodes[mask].args;
  if (is_narrowed(lanes, mask)) return (sn_lane_value){{wide[0], wide[1]}};
  return (sn_lane_value){
      {OP1(i64x2_extend_low_i32x4_s, mask), OP1(i64x2_extend_high_i32x4_s, mask)}};
}

static sn_lane narrow(sn_lanes *lanes, const sn_lane_value *masks) {
  return sn_lane_shuffled(lanes, SN_SHUFFLE_EVEN, masks->half[0], masks->half[1]);
}

static sn_lane_value to_f64(sn_lanes *lanes, sn_dtype from, sn_lane a) {
  if (from == SN_BOOL) {
    sn_lane_value wide = widen(lanes, a);
    const sn_lane one = sn_expand_const(lanes, SN_F64, 1);
    for (int h = 0; h < 2; h++) wide.half[h] = OP2(v128_and, wide.half[h], one);
    return wide;
  }
  const sn_lane high = high_half(lanes, a);
  if (from == SN_F32)
    return (sn_lane_value){{OP1(f64x2_promote_low_f32x4, a), OP1(f64x2_promote_low_f32x4, high)}};
  return (sn_lane_value){{OP1(f64x2_convert_low_i32x4_s, a), OP1(f64x2_convert_low_i32x4_s, high)}};
}

static sn_lane from_f64(sn_lanes *lanes, sn_dtype to, const sn_lane_value *a) {
  sn_lane_value parts;
  for (int h = 0; h < 2; h++) {
    const sn_lane x = a->half[h];
    parts.half[h] = to == SN_F32   ? OP1(f32x4_demote_f64x2_zero, x)
                    : to == SN_I32 ? OP1(i32x4_trunc_sat_f64x2_s_zero, x)
                                   : OP2(f64x2_ne, x, sn_lane_const64(lanes, 0));
  }
  if (to == SN_BOOL) return narrow(lanes, &parts);
  return sn_lane_shuffled(lanes, SN_SHUFFLE_LOWS, parts.half[0], parts.half[1]);
}

static sn_lane between_32(sn_lanes *lanes, sn_dtype from, sn_dtype to, sn_lane a) {
  const sn_lane zero = sn_lane_const32(lanes, 0);
  if (from == to) return a;
  if (from == SN_BOOL) return OP2(v128_and, a, sn_expand_const(lanes, to, 1));
  if (to == SN_BOOL) return from == SN_F32 ? OP2(f32x4_ne, a, zero) : OP2(i32x4_ne, a, zero);
  return to == SN_F32 ? OP1(f32x4_convert_i32x4_s, a) : OP1(i32x4_trunc_sat_f32x4_s, a);
}

static sn_lane_value cast(sn_lanes *lanes, sn_dtype from, sn_dtype to, const sn_lane_value *a) {
  if (from == to) return *a;
  if (to == SN_F64) return to_f64(lanes, from, a->half[0]);
  if (from == SN_F64) return (sn_lane_value){{from_f64(lanes, to, a)}};
  return (sn_lane_value){{between_32(lanes, from, to, a->half[0])}};
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static sn_lane_value select_values(sn_lanes *lanes, sn_dtype dtype, const sn_lane_value *args) {
  const sn_lane mask = args[0].half[0];
  if (dtype != SN_F64)
    return (sn_lane_value){{sn_lane_select(lanes, 32, mask, args[1].half[0], args[2].half[0])}};
  const sn_lane_value wide = widen(lanes, mask);
  sn_lane_value out;
  for (int h = 0; h < 2; h++)
    out.half[h] = sn_lane_select(lanes, 64, wide.half[h], args[1].half[h], args[2].half[h]);
  return out;
}

sn_lane sn_expand_combine(sn_lanes *lanes, sn_op op, sn_dtype dtype, sn_lane a, sn_lane b) {
  switch (dtype) {
  case SN_F32: return op_f32(lanes, op, a, b);
  case SN_F64: return op_f64(lanes, op, a, b);
  case SN_I32: return op_i32(lanes, op, a, b);
  case SN_BOOL: return op_bool(lanes, op, a, b);
  }
  return 0;
}

sn_lane_value sn_expand_op(sn_lanes *lanes, const sn_insn *insn, const sn_lane_value *args,
                           const sn_dtype *dtypes) {
  if (insn->op == SN_OP_astype) return cast(lanes, dtypes[0], insn->dtype, &args[0]);
  if (insn->op == SN_OP_bitcast) return args[0];
  if (insn->op == SN_OP_where) return select_values(lanes, insn->dtype, args);
  sn_lane_value out = {{0, 0}};
  const sn_lane_value *b = &args[insn->n_args > 1 ? 1 : 0];
  for (int h = 0; h < sn_lane_halves(insn->in_dtype); h++)
    out.half[h] = sn_expand_combine(lanes, insn->op, insn->in_dtype, args[0].half[h], b->half[h]);
  if (insn->in_dtype == SN_F64 && insn->dtype == SN_BOOL)
    return (sn_lane_value){{narrow(lanes, &out)}};
  return out;
}

bool sn_expand_knows(const sn_insn *insn) {
  const sn_op_info *info = sn_op_describe(insn->op);
  if (insn->op == SN_OP_astype || insn->op == SN_OP_where) return true;
  if (insn->op == SN_OP_bitcast) return insn->dtype != SN_F64 && insn->in_dtype != SN_F64;
  if (insn->in_dtype == SN_F64 && info->kind == SN_CLASS_MAP && info->cost >= SN_COSTLY)
    return false;
  return (info->kind == SN_CLASS_MAP || info->kind == SN_CLASS_COMPARE) && info->arity <= 2 &&
         (info->types & 1 << insn->in_dtype);
}

sn_lane sn_expand_const(sn_lanes *lanes, sn_dtype dtype, double value) {
  switch (dtype) {
  case SN_F32: return sn_lane_const32(lanes, bits_of_f32((float)value));
  case SN_F64: return sn_lane_const64(lanes, bits_of_f64(value));
  case SN_I32: return sn_lane_const32(lanes, (uint32_t)sn_i32_from_f64(value));
  case SN_BOOL: return sn_lane_const32(lanes, value != 0 ? UINT32_MAX : 0);
  }
  return 0;
}
