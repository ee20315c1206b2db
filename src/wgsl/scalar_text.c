#include "wgsl/scalar_text.h"

#include <math.h>

#include "base/format.h"
#include "math/scalar_words.h"

/* WGSL types of values in the function being written. */
typedef enum register_type { REG_F32, REG_I32, REG_U32, REG_BOOL } register_type;

/* The number of a value. */
typedef uint32_t word;

enum { MOST_WORDS = 512, FIRST = 1, TEXT = 256 };

typedef struct value {
  register_type type;
  bool is_constant;
  uint32_t bits;    /* of a constant; */
  const char *name; /* else a variable or an argument */
  word sides[2];    /* the operands if it is a comparison of floats; else 0 */
} value;

typedef struct words {
  sn_scalar_text *s;
  sn_text lines;
  value values[MOST_WORDS];
  word n;
  bool is_function; /* it becomes a function, not an inline expression */
  bool drops_nan;   /* its result for NaN does not matter */
  uint32_t n_lines;
  const char *last; /* the expression of the last line */
} words;

static const char *const type_names[] = {"f32", "i32", "u32", "bool"};

static word push(words *ws, value v) {
  if (ws->n == MOST_WORDS) {
    ws->lines.status = SN_ERR_INTERNAL;
    return FIRST;
  }
  ws->values[ws->n] = v;
  return ws->n++;
}

static word constant(words *ws, register_type type, uint32_t bits) {
  return push(ws, (value){.type = type, .is_constant = true, .bits = bits});
}

void sn_scalar_text_add_constant(sn_scalar_text *s, sn_text *out, uint32_t bits) {
  size_t i = 0;
  while (i < s->n_constants && s->constants[i] != bits) i++;
  if (i == s->n_constants) {
    if (!s->status)
      s->status = sn_arena_grow(s->arena, (void **)&s->constants, &s->cap_constants, s->n_constants,
                                sizeof *s->constants);
    if (s->status) return;
    s->constants[s->n_constants++] = bits;
  }
  sn_text_add(out, "c[%zu].%c", i / 4, "xyzw"[i % 4]);
}

static void add_float(sn_scalar_text *s, sn_text *out, uint32_t bits) {
  const float x = sn_f32_from_bits(bits);
  char digits[TEXT];
  if (!(fabsf(x) <= 0x1.fffffep127f)) {
    sn_text_add(out, "bitcast<f32>(");
    sn_scalar_text_add_constant(s, out, bits);
    sn_text_add(out, ")");
    return;
  }
  sn_format(digits, sizeof digits, "%.9g", (double)x);
  sn_text_add(out, sn_f32_to_bits(x) >> 31 ? "(%sf)" : "%sf", digits);
}

/* Adds a value to out, reinterpreted as the wanted type; bools are not reinterpreted. */
static void add_as(words *ws, sn_text *out, word x, register_type wanted) {
  const value *v = &ws->values[x];
  if (v->is_constant && wanted == REG_F32)
    add_float(ws->s, out, v->bits);
  else if (v->is_constant && wanted == REG_BOOL)
    sn_text_add(out, v->bits ? "true" : "false");
  else if (v->is_constant)
    sn_text_add(out, wanted == REG_U32 ? "0x%xu" : "bitcast<i32>(0x%xu)", v->bits);
  else if (v->type == wanted)
    sn_text_add(out, "%s", v->name);
  else
    sn_text_add(out, "bitcast<%s>(%s)", type_names[wanted], v->name);
}

/* Adds a line that computes `pattern`, of type `type`. Each @ stands for the next argument, taken as type `from`. */
static word line(words *ws, register_type type, const char *pattern, register_type from,
                 const word *args) {
  sn_text e = sn_text_in(ws->s->arena);
  for (const char *at = pattern; *at; at++) {
    if (*at == '@')
      add_as(ws, &e, *args++, from);
    else
      sn_text_add(&e, "%c", *at);
  }
  char name[TEXT];
  sn_format(name, sizeof name, "x%u", ws->n_lines++);
  const char *kept = name;
  if (!ws->lines.status) ws->lines.status = e.status;
  if (!ws->lines.status) ws->lines.status = sn_arena_text(ws->s->arena, name, &kept);
  sn_text_add(&ws->lines, "  let %s = %s;\n", kept, e.data);
  ws->last = e.data;
  return push(ws, (value){.type = type, .name = kept});
}

static word of_one(words *ws, register_type type, const char *pattern, register_type from, word a) {
  return line(ws, type, pattern, from, (word[]){a});
}

static word of_two(words *ws, register_type type, const char *pattern, register_type from, word a,
                   word b) {
  return line(ws, type, pattern, from, (word[]){a, b});
}

/* The type in which two integers are combined: that of one that is not a constant. */
static register_type common(const words *ws, word a, word b) {
  return ws->values[ws->values[a].is_constant ? b : a].type;
}

static word of_ints(words *ws, const char *pattern, word a, word b) {
  const register_type type = common(ws, a, b);
  return of_two(ws, type, pattern, type, a, b);
}

/* a + b or a - b, rounded exactly there. WGSL compilers may simplify (a + b) - b to a, but functions of math/ need the rounding
 * of such a sum. So its bits go through an `or` with a zero that is known only at run time. */
static word add_exactly(words *ws, const char *pattern, word a, word b) {
  const word sum = of_two(ws, REG_F32, pattern, REG_F32, a, b);
  if (!ws->is_function) return sum;
  sn_text zero = sn_text_in(ws->s->arena);
  sn_text_add(&zero, "exactly(@, ");
  sn_scalar_text_add_constant(ws->s, &zero, 0);
  sn_text_add(&zero, ")");
  if (zero.status) {
    ws->lines.status = zero.status;
    return sum;
  }
  return of_one(ws, REG_F32, zero.data, REG_F32, sum);
}

static word chosen(words *ws, word m, word a, word b);

/* a - b. Compilers take a - a for 0, but it is NaN where a is not finite, which is written out. */
static word subtract(words *ws, word a, word b) {
  if (a != b) return add_exactly(ws, "@ - @", a, b);
  const word bits = of_one(ws, REG_I32, "bitcast<i32>(@) & 0x7fffffff", REG_F32, a);
  const word finite = of_one(ws, REG_BOOL, "@ < 0x7f800000", REG_I32, bits);
  return chosen(ws, finite, constant(ws, REG_F32, 0), constant(ws, REG_F32, 0x7fc00000));
}

static word shifted(words *ws, const char *pattern, word a, int n) {
  char text[TEXT];
  sn_format(text, sizeof text, pattern, n);
  return of_one(ws, REG_U32, text, REG_U32, a);
}

static word as_kind(words *ws, word a, register_type type) {
  const value *v = &ws->values[a];
  if (v->type == type) return a;
  if (v->is_constant) return constant(ws, type, v->bits);
  return of_one(ws, type, type == REG_F32 ? "bitcast<f32>(@)" : "bitcast<u32>(@)", v->type, a);
}

static word fused(words *ws, word a, word b, word c) {
  return line(ws, REG_F32, "fma(@, @, @)", REG_F32, (word[]){a, b, c});
}

static word equal(words *ws, word a, word b) {
  if (a == b) return of_one(ws, REG_BOOL, "!is_nan(@)", REG_F32, a);
  return of_two(ws, REG_BOOL, "@ == @", REG_F32, a, b);
}

static word not_equal(words *ws, word a, word b) {
  if (a == b) return of_one(ws, REG_BOOL, "is_nan(@)", REG_F32, a);
  return of_two(ws, REG_BOOL, "!(@ == @)", REG_F32, a, b); /* some drivers make != false for NaN */
}

static word compared(words *ws, const char *pattern, word a, word b) {
  const word test = of_two(ws, REG_BOOL, pattern, REG_F32, a, b);
  memcpy(ws->values[test].sides, (const word[]){a, b}, sizeof(word[2]));
  return test;
}

static bool is_same(const words *ws, word a, word b) {
  const value *x = &ws->values[a], *y = &ws->values[b];
  return a == b || (x->is_constant && y->is_constant && x->bits == y->bits);
}

/* Whether m compares a and b: then drivers turn m ? a : b into a minimum or a maximum, which drops NaN. */
static bool is_extremum(const words *ws, word m, word a, word b) {
  const word *sides = ws->values[m].sides;
  if (!sides[0]) return false;
  const bool first = is_same(ws, sides[0], a), second = is_same(ws, sides[1], b);
  return (first && second) || (is_same(ws, sides[0], b) && is_same(ws, sides[1], a));
}

/* v, or b where one of the two compared floats is NaN, since their comparison is then false. */
static word unless_nan(words *ws, word v, word b, const word sides[2]) {
  for (int i = 0; i < 2; i++) {
    if (ws->values[sides[i]].is_constant) continue;
    const word args[] = {v, b, sides[i]};
    v = line(ws, REG_F32, "select(@, @, is_nan(@))", REG_F32, args);
  }
  return v;
}

/* m ? a : b */
static word chosen(words *ws, word m, word a, word b) {
  const register_type type = common(ws, a, b);
  sn_text pattern = sn_text_in(ws->s->arena);
  sn_text_add(&pattern, "select(@, @, ");
  add_as(ws, &pattern, m, REG_BOOL);
  sn_text_add(&pattern, ")");
  if (pattern.status) {
    ws->lines.status = pattern.status;
    return FIRST;
  }
  const word v = of_two(ws, type, pattern.data, type, b, a);
  return is_extremum(ws, m, a, b) && !ws->drops_nan ? unless_nan(ws, v, b, ws->values[m].sides) : v;
}

static word lesser(words *ws, word a, word b) {
  return chosen(ws, compared(ws, "@ < @", b, a), b, a);
}

static word greater(words *ws, word a, word b) {
  return chosen(ws, compared(ws, "@ < @", a, b), b, a);
}

/* WGSL does not define the root of a negative number; here it is NaN. */
static word square_root(words *ws, word a) {
  const word root = of_one(ws, REG_F32, "sqrt(@)", REG_F32, a);
  const word negative = of_two(ws, REG_BOOL, "@ < @", REG_F32, a, constant(ws, REG_F32, 0));
  return chosen(ws, negative, constant(ws, REG_F32, 0x7fc00000), root);
}

/* ---- words ----------------------------------------------------------------------------------- */

#define FLOAT1(pattern, a) of_one(ws, REG_F32, pattern, REG_F32, a)
#define FLOAT2(pattern, a, b) of_two(ws, REG_F32, pattern, REG_F32, a, b)
#define TEST2(pattern, from, a, b) of_two(ws, REG_BOOL, pattern, from, a, b)
#define SIGNED2(pattern, a, b) of_two(ws, REG_I32, pattern, REG_I32, a, b)
#define MASK2(pattern, a, b) TEST2(pattern, REG_BOOL, a, b)

#define X_F word
#define X_I word
#define X_M word
#define X_PARAM words *ws,
#define X_ARG ws,
#define X_FUSED true
#define X_FN(name) speak_##name
#define X_C(c) constant(ws, REG_F32, sn_f32_to_bits((float)(c)))
#define X_IC(c) constant(ws, REG_U32, (uint32_t)(c))
#define X_BITS(a) as_kind(ws, a, REG_U32)
#define X_FLOAT(a) as_kind(ws, a, REG_F32)
#define X_ADD(a, b) add_exactly(ws, "@ + @", a, b)
#define X_SUB(a, b) subtract(ws, a, b)
#define X_MUL(a, b) FLOAT2("@ * @", a, b)
#define X_DIV(a, b) FLOAT2("@ / @", a, b)
#define X_FMA(a, b, c) fused(ws, a, b, c)
#define X_NEG(a) FLOAT1("-@", a)
#define X_ABS(a) FLOAT1("abs(@)", a)
#define X_SQRT(a) square_root(ws, a)
#define X_ROUND(a) FLOAT1("round(@)", a)
#define X_FLOOR(a) FLOAT1("floor(@)", a)
#define X_TRUNC(a) FLOAT1("trunc(@)", a)
#define X_PMIN(a, b) lesser(ws, a, b)
#define X_PMAX(a, b) greater(ws, a, b)
#define X_MIN(a, b) FLOAT2("minimum(@, @)", a, b)
#define X_MAX(a, b) FLOAT2("maximum(@, @)", a, b)
#define X_LT(a, b) compared(ws, "@ < @", a, b)
#define X_LE(a, b) compared(ws, "@ <= @", a, b)
#define X_EQ(a, b) equal(ws, a, b)
#define X_NE(a, b) not_equal(ws, a, b)
#define X_IADD(a, b) of_ints(ws, "@ + @", a, b)
#define X_ISUB(a, b) of_ints(ws, "@ - @", a, b)
#define X_IMUL(a, b) of_ints(ws, "@ * @", a, b)
#define X_IAND(a, b) of_ints(ws, "@ & @", a, b)
#define X_IOR(a, b) of_ints(ws, "@ | @", a, b)
#define X_IXOR(a, b) of_ints(ws, "@ ^ @", a, b)
#define X_IMIN(a, b) SIGNED2("min(@, @)", a, b)
#define X_IMAX(a, b) SIGNED2("max(@, @)", a, b)
#define X_IEQ(a, b) TEST2("@ == @", common(ws, a, b), a, b)
#define X_ILT(a, b) TEST2("@ < @", REG_I32, a, b)
#define X_ISHL(a, n) shifted(ws, "@ << %du", a, n)
#define X_ISHR(a, n) shifted(ws, "@ >> %du", a, n)
#define X_ISHLV(a, b) of_two(ws, REG_U32, "@ << (@ & 31u)", REG_U32, a, b)
#define X_ISHRV(a, b) of_two(ws, REG_U32, "@ >> (@ & 31u)", REG_U32, a, b)
#define X_ISARV(a, b) of_two(ws, REG_I32, "@ >> bitcast<u32>(@ & 31)", REG_I32, a, b)
#define X_TOI(a) of_one(ws, REG_I32, "i32(@)", REG_F32, a)
#define X_TOF(a) of_one(ws, REG_F32, "f32(@)", REG_I32, a)
#define X_MAND(a, b) MASK2("@ && @", a, b)
#define X_MOR(a, b) MASK2("@ || @", a, b)
#define X_MXOR(a, b) MASK2("@ != @", a, b)
#define X_MNOT(m) of_one(ws, REG_BOOL, "!@", REG_BOOL, m)
#define X_SEL(m, a, b) chosen(ws, m, a, b)
#define X_ISEL(m, a, b) chosen(ws, m, a, b)
#define X_SEL_RARE(m, a, b) chosen(ws, m, a, b)
#include "math/expand_f32.inc"

/* ---- rows ------------------------------------------------------------------------------------ */

#define ROW(id, expr) \
  case SN_OP_##id: return expr;

static word speak_float(words *ws, sn_op op, word a, word b) {
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

static word speak_int(words *ws, sn_op op, word a, word b) {
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

static word speak_bool(words *ws, sn_op op, word a, word b) {
  switch ((int)op) {
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb, ...) ROW(id, xb)
#define EW_B(id, n, f, c, d, xb, ...) ROW(id, xb)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb, ...) ROW(id, xb)
#include "graph/ops.def"
  default: return 0;
  }
}

/* Casts to a small dtype from its wide one. */
static word speak_narrow(words *ws, sn_dtype dtype, word a) {
  switch ((int)dtype) {
#define CASE_FLOAT(id, s)
#define CASE_INT(id, s)
#define CASE_FLAG(id, s)
#define CASE_HALF(id, s) \
  case SN_##id:          \
    return speak_narrow_##s(ws, a);
#define CASE_SMALL(id, s) CASE_HALF(id, s)
#define DTYPE(id, name, s, T, k, ...) CASE_##k(id, s)
#include "graph/dtypes.def"
  default: return a;
  }
}

static register_type register_of(sn_dtype dtype) {
  return dtype == SN_F32                              ? REG_F32
         : dtype == SN_BOOL                           ? REG_BOOL
         : sn_dtype_table[dtype].kind == SN_KIND_HALF ? REG_U32
                                                      : REG_I32;
}

const char *sn_scalar_text_type(sn_dtype dtype) { return type_names[register_of(dtype)]; }

/* ---- functions and expressions ---------------------------------------------------------------- */

static words *begin(sn_scalar_text *s, register_type type, const char *const *args, uint32_t n) {
  words *ws;
  if (sn_arena_alloc(s->arena, 1, sizeof *ws, (void **)&ws)) {
    s->status = SN_ERR_MEMORY;
    return NULL;
  }
  *ws = (words){.s = s, .lines = sn_text_in(s->arena), .n = FIRST};
  for (uint32_t i = 0; i < n; i++) push(ws, (value){.type = type, .name = args[i]});
  return ws;
}

static word speak(words *ws, sn_op op, sn_dtype in_dtype, sn_dtype narrowed, uint32_t n_args) {
  const word a = FIRST, b = n_args > 1 ? FIRST + 1 : FIRST;
  if (narrowed != SN_F32) return speak_narrow(ws, narrowed, a);
  if (in_dtype == SN_F32) return speak_float(ws, op, a, b);
  return in_dtype == SN_BOOL ? speak_bool(ws, op, a, b) : speak_int(ws, op, a, b);
}

/* Defines the function <name> of an op, with arguments a and b. narrowed: SN_F32, or the small dtype that it casts to. */
static void define(sn_scalar_text *s, const char *name, sn_op op, sn_dtype dtype, sn_dtype in_dtype,
                   sn_dtype narrowed, uint32_t n_args, bool drops_nan) {
  const char *type = sn_scalar_text_type(in_dtype);
  words *ws = begin(s, register_of(in_dtype), (const char *[]){"a", "b"}, n_args);
  if (!ws) return;
  ws->is_function = true;
  ws->drops_nan = drops_nan;
  const word result = speak(ws, op, in_dtype, narrowed, n_args);
  sn_text *f = &s->functions;
  sn_text_add(f, "fn %s(a: %s", name, type);
  if (n_args > 1) sn_text_add(f, ", b: %s", type);
  sn_text_add(f, ") -> %s {\n%s  return ", sn_scalar_text_type(dtype),
              ws->lines.data ? ws->lines.data : "");
  add_as(ws, f, result, register_of(dtype));
  sn_text_add(f, ";\n}\n\n");
  if (!s->status) s->status = ws->lines.status;
}

/* Adds the row as an inline expression if it takes at most one line. Returns whether it did. */
static bool add_inline(sn_scalar_text *s, sn_text *out, sn_op op, sn_dtype dtype, sn_dtype in_dtype,
                       sn_dtype narrowed, const char *const *args, uint32_t n_args) {
  words *ws = begin(s, register_of(in_dtype), args, n_args);
  if (!ws) return true;
  const size_t n_constants = s->n_constants;
  const word result = speak(ws, op, in_dtype, narrowed, n_args);
  const value *v = &ws->values[result];
  const bool is_line = ws->n_lines == 1 && v->type == register_of(dtype) && !v->is_constant;
  if (!ws->lines.status && is_line)
    sn_text_add(out, "%s", ws->last);
  else if (!ws->lines.status && ws->n_lines == 0)
    add_as(ws, out, result, register_of(dtype));
  else
    s->n_constants = n_constants; /* drops the constants of the discarded lines */
  return !ws->lines.status && (is_line || ws->n_lines == 0);
}

static void add_call(sn_scalar_text *s, sn_text *out, const char *op_name, sn_op op, sn_dtype dtype,
                     sn_dtype in_dtype, sn_dtype narrowed, const char *const *args,
                     uint32_t n_args) {
  char name[TEXT];
  sn_format(name, sizeof name, "%s_%s", op_name,
            sn_dtype_table[narrowed != SN_F32 ? narrowed : in_dtype].name);
  const uint32_t bit = 1u << (narrowed != SN_F32 ? narrowed : in_dtype);
  if (!(s->known[op] & bit)) define(s, name, op, dtype, in_dtype, narrowed, n_args, false);
  s->known[op] |= bit;
  sn_text_add(out, "%s(%s", name, args[0]);
  for (uint32_t k = 1; k < n_args; k++) sn_text_add(out, ", %s", args[k]);
  sn_text_add(out, ")");
}

static void add_row(sn_scalar_text *s, sn_text *out, sn_op op, sn_dtype dtype, sn_dtype in_dtype,
                    const char *const *args, uint32_t n_args) {
  if (!add_inline(s, out, op, dtype, in_dtype, SN_F32, args, n_args))
    add_call(s, out, sn_op_describe(op)->name, op, dtype, in_dtype, SN_F32, args, n_args);
}

static void add_cast(sn_scalar_text *s, sn_text *out, sn_dtype to, sn_dtype from, const char *x) {
  if (to == from)
    sn_text_add(out, "%s", x);
  else if (from == SN_F16)
    sn_text_add(out, "unpack2x16float(%s).x", x);
  else if (from == SN_BF16)
    sn_text_add(out, "bitcast<f32>(%s << 16u)", x);
  else if (sn_dtype_is_small(to))
    add_call(s, out, "narrow", SN_OP_astype, to, sn_dtype_wide(to), to, &x, 1);
  else if (sn_dtype_is_small(from)) /* an i32 already */
    add_cast(s, out, to, SN_I32, x);
  else if (to == SN_BOOL)
    sn_text_add(out, from == SN_F32 ? "(bitcast<u32>(%s) << 1u != 0u)" : "(%s != 0)", x);
  else if (to == SN_I32 && from == SN_F32)
    sn_text_add(out, "to_int(%s)", x);
  else
    sn_text_add(out, "%s(%s)", sn_scalar_text_type(to), x);
}

sn_status sn_scalar_text_add_op(sn_scalar_text *s, sn_text *out, sn_op op, sn_dtype dtype,
                                sn_dtype in_dtype, const char *const *args, uint32_t n_args) {
  if (op == SN_OP_bitcast)
    sn_text_add(out, "bitcast<%s>(%s)", sn_scalar_text_type(dtype), args[0]);
  else if (op == SN_OP_astype)
    add_cast(s, out, dtype, in_dtype, args[0]);
  else if (op == SN_OP_where)
    sn_text_add(out, "select(%s, %s, %s)", args[2], args[1], args[0]);
  else
    add_row(s, out, op, dtype, in_dtype, args, n_args);
  return s->status ? s->status : out->status;
}

sn_status sn_scalar_text_add_number_exp(sn_scalar_text *s, sn_text *out, const char *x) {
  if (!s->knows_number_exp) define(s, "exp_of_number", SN_OP_exp, SN_F32, SN_F32, SN_F32, 1, true);
  s->knows_number_exp = true;
  sn_text_add(out, "exp_of_number(%s)", x);
  return s->status ? s->status : out->status;
}

sn_status sn_scalar_text_add_step(sn_scalar_text *s, sn_text *out, sn_op reduction, sn_dtype dtype,
                                  const char *a, const char *b) {
  const char *args[] = {a, b};
  const sn_op op =
      dtype == SN_BOOL ? sn_op_describe(sn_op_describe(reduction)->step)->on_bools : reduction;
  add_row(s, out, op, dtype, dtype, args, 2);
  return s->status ? s->status : out->status;
}

void sn_scalar_text_add_identity(sn_scalar_text *s, sn_text *out, sn_op reduction, sn_dtype dtype) {
  const double identity = sn_reduce_identity(reduction, dtype);
  sn_scalar_text_add_value(s, out, dtype, dtype == SN_BOOL ? identity > 0 : identity);
}

void sn_scalar_text_add_value(sn_scalar_text *s, sn_text *out, sn_dtype dtype, double x) {
  if (dtype == SN_BOOL) {
    sn_text_add(out, x != 0 ? "true" : "false");
  } else if (dtype == SN_F32) {
    const uint32_t bits = sn_f32_to_bits((float)x);
    if (x == 0 || x == 1) {
      add_float(s, out, bits);
      return;
    }
    sn_text_add(out, "bitcast<f32>(");
    sn_scalar_text_add_constant(s, out, bits);
    sn_text_add(out, ")");
  } else {
    sn_text_add(out, x < 0 ? "i32(%.0f)" : "%.0f", x);
  }
}
