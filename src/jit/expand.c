#include "jit/expand.h"

#include "graph/convert.h"
#include "graph/functions.h"
#include "graph/ops.h"
#include "graph/scalar_words.h"

/* ---- words ----------------------------------------------------------------------------------- */

/* The words that are one instruction, of 32- and of 64-bit lanes. */
static const uint16_t instructions[SN_WORD_COUNT][2] = {
#define FLOATS(word, op) [SN_WORD_##word] = {SN_WASM_f32x4_##op, SN_WASM_f64x2_##op}
#define INTS(word, op) [SN_WORD_##word] = {SN_WASM_i32x4_##op, SN_WASM_i64x2_##op}
#define BITS(word, op) [SN_WORD_##word] = {SN_WASM_v128_##op, SN_WASM_v128_##op}
    FLOATS(ABS, abs),
    FLOATS(SQRT, sqrt),
    FLOATS(ROUND, nearest),
    FLOATS(FLOOR, floor),
    FLOATS(TRUNC, trunc),
    FLOATS(ADD, add),
    FLOATS(SUB, sub),
    FLOATS(MUL, mul),
    FLOATS(DIV, div),
    FLOATS(PMIN, pmin),
    FLOATS(PMAX, pmax),
    FLOATS(MIN, min),
    FLOATS(MAX, max),
    FLOATS(LT, lt),
    FLOATS(LE, le),
    FLOATS(EQ, eq),
    FLOATS(NE, ne),
    INTS(IADD, add),
    INTS(ISUB, sub),
    INTS(IEQ, eq),
    INTS(ILT, lt_s),
    INTS(ISHL, shl),
    INTS(ISHR, shr_u),
    BITS(IAND, and),
    BITS(IOR, or),
    BITS(IXOR, xor),
    BITS(MAND, and),
    BITS(MOR, or),
    BITS(MXOR, xor),
    [SN_WORD_TOI] = {SN_WASM_i32x4_trunc_sat_f32x4_s},
    [SN_WORD_TOF] = {SN_WASM_f32x4_convert_i32x4_s},
    [SN_WORD_IMUL] = {SN_WASM_i32x4_mul},
    [SN_WORD_IMIN] = {SN_WASM_i32x4_min_s},
    [SN_WORD_IMAX] = {SN_WASM_i32x4_max_s},
    [SN_WORD_ISHLV] = {SN_WASM_i32_shl},
    [SN_WORD_ISHRV] = {SN_WASM_i32_shr_u},
};

#define OP1(op, a) sn_vec_op(lanes, SN_WASM_##op, a, 0, 0)
#define OP2(op, a, b) sn_vec_op(lanes, SN_WASM_##op, a, b, 0)

typedef struct emitter {
  sn_vecs *lanes;
  uint32_t width; /* of a lane: 32 or 64 */
} emitter;

static uint64_t emit_word(void *self, sn_word word, const uint64_t *args) {
  const emitter *e = self;
  sn_vecs *lanes = e->lanes;
  const sn_vec a = (sn_vec)args[0], b = (sn_vec)args[1], c = (sn_vec)args[2];
  const sn_wasm_op op = word < SN_WORD_COUNT ? instructions[word][e->width == 64] : 0;
  switch ((int)word) {
  case SN_WORD_CONSTANT:
    return e->width == 64 ? sn_vec_const64(lanes, args[0])
                          : sn_vec_const32(lanes, (uint32_t)args[0]);
  case SN_WORD_NEG: return sn_vec_neg(lanes, e->width, a);
  case SN_WORD_MNOT: return sn_vec_not(lanes, a);
  case SN_WORD_ISHL:
  case SN_WORD_ISHR: return sn_vec_shift(lanes, op, a, b);
  case SN_WORD_ISHLV:
  case SN_WORD_ISHRV: return sn_vec_shiftv(lanes, op, a, b);
  case SN_WORD_FMA: return sn_vec_madd(lanes, a, b, c);
  case SN_WORD_SEL:
  case SN_WORD_ISEL: return sn_vec_select(lanes, e->width, a, b, c);
  case SN_WORD_RARE: return sn_vec_rare(lanes, a);
  case SN_WORD_RARE_END: return sn_vec_rare_end(lanes, e->width, a, b, c);
  }
  if (e->width == 32 && word == SN_WORD_MIN) return sn_vec_min(lanes, a, b);
  if (e->width == 32 && word == SN_WORD_MAX) return sn_vec_max(lanes, a, b);
  return sn_vec_op(lanes, op, a, b, 0);
}

sn_vec sn_expand_combine(sn_vecs *lanes, sn_op op, sn_dtype dtype, sn_vec a, sn_vec b) {
  emitter e = {lanes, dtype == SN_F64 ? 64 : 32};
  const sn_word_user user = {.word = emit_word, .self = &e, .fused = lanes->target.relaxed};
  return (sn_vec)sn_function_apply(&user, op, dtype, a, b);
}

/* ---- between widths -------------------------------------------------------------------------- */

static sn_vec high_half(sn_vecs *lanes, sn_vec a) {
  return sn_vec_shuffled(lanes, SN_SHUFFLE_HIGH, a, a);
}

static bool is_narrowed(const sn_vecs *lanes, sn_vec mask) {
  return lanes->nodes[mask].kind == SN_VEC_SHUFFLE && lanes->nodes[mask].code == SN_SHUFFLE_EVEN;
}

/* Masks of 64-bit lanes from those of 32; a mask that was narrowed is still there. */
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

/* Between a small dtype and its wide one, all in 32-bit lanes. */
static sn_vec cast_small(sn_vecs *lanes, sn_dtype from, sn_dtype to, sn_vec a) {
  emitter e = {lanes, 32};
  const sn_word_user user = {.word = emit_word, .self = &e};
  const bool narrow = sn_dtype_is_small(to);
  return (sn_vec)sn_function_cast(&user, narrow ? to : from, narrow, a);
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
