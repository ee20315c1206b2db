#include "csource/spell.h"

#include <ctype.h>
#include <string.h>

#include "base/format.h"

/* These names must not be expanded in the text of rows. */
#undef INFINITY
#undef INT32_MIN
#undef INT32_MAX

#define C_TEXT_(...) #__VA_ARGS__
#define C_TEXT(...) C_TEXT_(__VA_ARGS__)

#include "csource/c_words.h"

#define ROW(op, expression) [SN_OP_##op] = C_TEXT(expression),

static const char *const in_float[SN_OP_COUNT] = {
#define EW_F(n, ar, f, co, lo, hi, u, d, xf, ...) ROW(n, xf)
#define EW_FI(n, ar, f, co, lo, hi, u, d, xf, xi, ...) ROW(n, xf)
#define EW_FIB(n, ar, f, co, lo, hi, u, d, xf, xi, xb, ...) ROW(n, xf)
#define CMP_F(n, ar, f, co, d, xf, ...) ROW(n, xf)
#define CMP_FIB(n, ar, f, co, d, xf, xi, xb, ...) ROW(n, xf)
#define REDUCE(n, f, co, d, idf, idi, xf, xi, ...) ROW(n, xf)
#include "graph/ops.def"
};

static const char *const in_i32[SN_OP_COUNT] = {
#define EW_FI(n, ar, f, co, lo, hi, u, d, xf, xi, ...) ROW(n, xi)
#define EW_FIB(n, ar, f, co, lo, hi, u, d, xf, xi, xb, ...) ROW(n, xi)
#define EW_I(n, ar, f, co, d, xi, ...) ROW(n, xi)
#define CMP_FIB(n, ar, f, co, d, xf, xi, xb, ...) ROW(n, xi)
#define REDUCE(n, f, co, d, idf, idi, xf, xi, ...) ROW(n, xi)
#define REDUCE_I(n, f, co, d, idi, xi, ...) ROW(n, xi)
#include "graph/ops.def"
};

static const char *const in_bool[SN_OP_COUNT] = {
#define EW_FIB(n, ar, f, co, lo, hi, u, d, xf, xi, xb, ...) ROW(n, xb)
#define EW_B(n, ar, f, co, d, xb, ...) ROW(n, xb)
#define CMP_FIB(n, ar, f, co, d, xf, xi, xb, ...) ROW(n, xb)
#include "graph/ops.def"
};

static const char *const identity_float[SN_OP_COUNT] = {
#define REDUCE(n, f, co, d, idf, idi, xf, xi, ...) ROW(n, idf)
#include "graph/ops.def"
};

static const char *const identity_int[SN_OP_COUNT] = {
#define REDUCE(n, f, co, d, idf, idi, xf, xi, ...) ROW(n, idi)
#define REDUCE_I(n, f, co, d, idi, xi, ...) ROW(n, idi)
#include "graph/ops.def"
};

const char *sn_c_expression(sn_op op, sn_dtype dtype) {
  static const char *const *const tables[] = {
      [SN_F32] = in_float, [SN_F64] = in_float, [SN_I32] = in_i32, [SN_BOOL] = in_bool};
  if (sn_op_describe(op)->kind == SN_CLASS_SELECT) return "(a ? b : c)";
  return tables[dtype][op];
}

const char *sn_c_identity(sn_op op, sn_dtype dtype) {
  return sn_dtype_is_float(dtype) ? identity_float[op] : identity_int[op];
}

const char *sn_c_type(sn_dtype dtype) {
  return dtype == SN_BOOL ? "bool" : sn_dtype_table[dtype].c_type;
}

sn_status sn_c_check_dtype(sn_env *env, sn_dtype dtype) {
  SN_FAIL_IF(env, sn_dtype_table[dtype].kind == SN_KIND_HALF, SN_ERR_UNSUPPORTED, NULL,
             "c source: %s has no C", sn_dtype_name(dtype));
  return SN_OK;
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* Whether the first parenthesis closes at the very end. */
static bool is_enclosed(const char *e, size_t n) {
  int depth = 0;
  if (n < 2 || e[0] != '(') return false;
  for (size_t i = 0; i < n; i++) {
    depth += (e[i] == '(') - (e[i] == ')');
    if (!depth) return i == n - 1;
  }
  return false;
}

static size_t word_length(const char *s) {
  size_t n = 0;
  while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.') n++;
  return n;
}

void sn_c_add_expression(sn_text *text, sn_op op, sn_dtype dtype, const char *const *arguments) {
  const char *expression = sn_c_expression(op, dtype);
  size_t n = strlen(expression);
  while (is_enclosed(expression, n)) {
    expression++;
    n -= 2;
  }
  for (const char *at = expression, *end = expression + n; at < end;) {
    const size_t word = word_length(at);
    if (*at == ' ' && at > expression && at[-1] == '(') { /* a space that an empty word has left */
      at++;
      continue;
    }
    if (word == 3 && sn_text_after(at, "mod"))
      sn_text_add(text, "floor_"); /* with an f, "mod" would be C's modf, which does something else */
    if (word == 1 && *at >= 'a' && *at <= 'c')
      sn_text_add(text, "%s", arguments[*at - 'a']);
    else
      sn_text_add(text, "%.*s", word ? (int)word : 1, at);
    at += word ? word : 1;
    if (word && *at == '(' && dtype == SN_F32) sn_text_add(text, "f");
  }
}

static void add_digits(sn_text *text, double value, int digits, const char *suffix) {
  char number[40];
  sn_format(number, sizeof number, "%.*g", digits, value);
  /* Without a point or an exponent it would be an integer literal. */
  const char *fraction = sn_text_find(number, ".") || sn_text_find(number, "e") ? "" : ".0";
  sn_text_add(text, value < 0 ? "(%s%s%s)" : "%s%s%s", number, fraction, suffix);
}

void sn_c_add_literal(sn_text *text, double value, sn_dtype dtype) {
  const char *suffix = dtype == SN_F32 ? "f" : "";
  if (dtype == SN_BOOL)
    sn_text_add(text, "%s", value != 0 ? "true" : "false");
  else if (dtype == SN_I32)
    sn_text_add(text, value == -0x1p31 ? "INT32_MIN" : value < 0 ? "(%.0f)" : "%.0f", value);
  else if (value != value)
    sn_text_add(text, "%s", dtype == SN_F32 ? "NAN" : "(double)NAN");
  else if (value - value != 0)
    sn_text_add(text, value < 0 ? "(-%sINFINITY)" : "%sINFINITY",
                dtype == SN_F32 ? "" : "(double)");
  else if (value == (double)(long long)value && value < 1e6 && value > -1e6)
    sn_text_add(text, __builtin_signbit(value) ? "(%.1f%s)" : "%.1f%s", value, suffix);
  else
    add_digits(text, value, dtype == SN_F32 ? 9 : 17, suffix);
}

/* ---- helpers --------------------------------------------------------------------------------- */

/* Functions that C's library lacks. $T is the type, $F the suffix of its functions. A helper comes after
 * those that it calls. */
typedef struct helper {
  const char *name, *code;
} helper;

static const helper float_helpers[] = {
    {"maximum", "/* NaN stays */\n"
                "static $T maximum$F($T a, $T b) {\n"
                "  if (a == b) return signbit(a) ? b : a;\n"
                "  return a > b || a != a ? a : b;\n"
                "}\n"},
    {"minimum", "/* NaN stays */\n"
                "static $T minimum$F($T a, $T b) {\n"
                "  if (a == b) return signbit(a) ? a : b;\n"
                "  return a < b || a != a ? a : b;\n"
                "}\n"},
    {"sign", "static $T sign$F($T a) { return a > 0 ? 1 : a < 0 ? -1 : a; }\n"},
    {"sigmoid", "static $T sigmoid$F($T a) { return 1 / (1 + exp$F(-a)); }\n"},
    {"rsqrt", "static $T rsqrt$F($T a) { return 1 / sqrt$F(a); }\n"},
    {"silu", "static $T silu$F($T a) { return a == -INFINITY ? -0.0$F : a / (1 + exp$F(-a)); }\n"},
    {"softplus",
     "/* log(1 + e^a) */\n"
     "static $T softplus$F($T a) { return (a > 0 ? a : 0) + log1p$F(exp$F(-fabs$F(a))); }\n"},
    {"mish", "/* a tanh(log(1 + e^a)) */\n"
             "static $T mish$F($T a) {\n"
             "  if (a == -INFINITY) return -0.0$F;\n"
             "  return a * tanh$F((a > 0 ? a : 0) + log1p$F(exp$F(-fabs$F(a))));\n"
             "}\n"},
    {"gelu", "/* a times the share of N(0, 1) below a */\n"
             "static $T gelu$F($T a) {\n"
             "  return a == -INFINITY ? -0.0$F : a * erfc$F(a * -0.70710678118654752$F) / 2;\n"
             "}\n"},
    {"floor_mod", "/* a - floor(a / b) b, with the sign of b */\n"
                  "static $T floor_mod$F($T a, $T b) {\n"
                  "  $T rest = fmod$F(fabs$F(a), fabs$F(b));\n"
                  "  if (rest > 0 && !signbit(a) != !signbit(b)) rest = fabs$F(b) - rest;\n"
                  "  return copysign$F(rest, b);\n"
                  "}\n"},
};

static const helper helpers[] = {
    {"mod_int", "/* with the sign of b; 0 for b = 0 */\n"
                "static int32_t mod_int(int32_t a, int32_t b) {\n"
                "  if (b == 0 || b == -1) return 0;\n"
                "  return a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b;\n"
                "}\n"},
    {"end_of",
     "static long end_of(long end, long n) { return end < 0 ? 0 : end > n ? n : end; }\n"},
    {"position_of", "/* below 0 from the end on; clamped */\n"
                    "static long position_of(long index, long n) {\n"
                    "  if (index < 0) index += n;\n"
                    "  return index < 0 ? 0 : index >= n ? n - 1 : index;\n"
                    "}\n"},
    {"precedes", "/* NaN comes last */\n"
                 "static bool precedes(double a, double b) {\n"
                 "  return a < b || (a == a && b != b);\n"
                 "}\n"},
    {"to_int32", "/* saturates; NaN becomes 0 */\n"
                 "static int32_t to_int32(double a) {\n"
                 "  if (a != a) return 0;\n"
                 "  if (a >= 2147483648.0) return INT32_MAX;\n"
                 "  if (a <= -2147483649.0) return INT32_MIN;\n"
                 "  return (int32_t)a;\n"
                 "}\n"},
    {"bits_of_float", "static int32_t bits_of_float(float a) {\n"
                      "  int32_t bits;\n"
                      "  memcpy(&bits, &a, sizeof bits);\n"
                      "  return bits;\n"
                      "}\n"},
    {"float_of_bits", "static float float_of_bits(int32_t a) {\n"
                      "  float value;\n"
                      "  memcpy(&value, &a, sizeof value);\n"
                      "  return value;\n"
                      "}\n"},
};

/* Whether the code calls the function name + suffix. */
static bool calls(const char *code, const char *name, const char *suffix) {
  const size_t n = strlen(name);
  for (const char *at = code; (at = sn_text_find(at, name)); at += n) {
    const bool begins = at == code || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
    const char *behind = sn_text_after(at + n, suffix);
    if (begins && behind && *behind == '(') return true;
  }
  return false;
}

static void add_helper(sn_text *text, const char *code, const char *type, const char *suffix) {
  for (; *code; code++) {
    if (*code != '$')
      sn_text_add(text, "%c", *code);
    else
      sn_text_add(text, "%s", *++code == 'T' ? type : suffix);
  }
}

void sn_c_add_helpers(sn_text *text, const char *code) {
  for (size_t i = 0; i < sizeof float_helpers / sizeof *float_helpers; i++) {
    if (calls(code, float_helpers[i].name, "f"))
      add_helper(text, float_helpers[i].code, "float", "f");
    if (calls(code, float_helpers[i].name, ""))
      add_helper(text, float_helpers[i].code, "double", "");
  }
  for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
    if (calls(code, helpers[i].name, "")) add_helper(text, helpers[i].code, "", "");
}
