/* scalar_wasm.c - the rows word by word from their data, which a page has downloaded anyway for the
 * emitter. A value is the bits of a float or an integer; of a mask 0 or 1. */
#include "graph/functions.h"
#include "graph/scalar.h"
#include "graph/scalar_words.h"
#include "graph/vocabulary.h"

#define TO_F(x) X_FLOAT((X_I)(x))
#define TO_I(x) ((X_I)(x))
#define TO_M(x) ((X_M)(x))
#define TO_N(x) ((int)(x))
#define FROM_F(x) X_BITS(x)
#define FROM_I(x) (x)
#define FROM_M(x) ((uint64_t)(x))
#define X_RARE(m) (m)
#define X_RARE_END(m, a, b) X_SEL(m, a, b)
#define CASE1(name, to, kind_a)                 \
  case SN_WORD_##name: {                        \
    const __auto_type a = TO_##kind_a(args[0]); \
    return FROM_##to(X_##name(a));              \
  }
#define CASE2(name, to, kind_a, kind_b)         \
  case SN_WORD_##name: {                        \
    const __auto_type a = TO_##kind_a(args[0]); \
    const __auto_type b = TO_##kind_b(args[1]); \
    return FROM_##to(X_##name(a, b));           \
  }
#define CASE3(name, to, kind_a, kind_b, kind_c) \
  case SN_WORD_##name: {                        \
    const __auto_type a = TO_##kind_a(args[0]); \
    const __auto_type b = TO_##kind_b(args[1]); \
    const __auto_type c = TO_##kind_c(args[2]); \
    return FROM_##to(X_##name(a, b, c));        \
  }

#define SN_WORDS_F32
#include "graph/words.h"
static uint64_t word_32(void *self, sn_word word, const uint64_t *args) {
  const bool fused = *(const bool *)self;
  switch ((int)word) {
#define WORD1 CASE1
#define WORD2 CASE2
#define WORD3 CASE3
#define WORD1_32 CASE1
#define WORD2_32 CASE2
#define WORD3_32 CASE3
#include "graph/words.def"
  default: return args[0];
  }
}

#define SN_WORDS_F64
#include "graph/words.h"
static uint64_t word_64(void *self, sn_word word, const uint64_t *args) {
  (void)self;
  switch ((int)word) {
#define WORD1 CASE1
#define WORD2 CASE2
#define WORD3 CASE3
#define WORD1_32(...)
#define WORD2_32(...)
#define WORD3_32(...)
#include "graph/words.def"
  default: return args[0];
  }
}

static uint64_t to_bits(sn_dtype dtype, double x) {
  switch (dtype) {
  case SN_F32: return sn_f32_to_bits((float)x);
  case SN_F64: return sn_f64_to_bits(x);
  case SN_I32: return (uint32_t)(int32_t)x;
  case SN_BOOL: return x != 0;
  }
  return 0;
}

double sn_op_scalar(sn_op op, sn_dtype dtype, bool fused, double a, double b) {
  const sn_word_user user = {
      .word = dtype == SN_F64 ? word_64 : word_32, .self = &fused, .fused = fused};
  const uint64_t bits = sn_function_apply(&user, op, dtype, to_bits(dtype, a), to_bits(dtype, b));
  if (sn_op_describe(op)->kind == SN_CLASS_COMPARE) return (double)bits;
  switch (dtype) {
  case SN_F32: return (double)sn_f32_from_bits((uint32_t)bits);
  case SN_F64: return sn_f64_from_bits(bits);
  case SN_I32: return (double)(int32_t)(uint32_t)bits;
  case SN_BOOL: return (double)bits;
  }
  return 0;
}
