/* rows_simd128.c - a value is an array of `block` bytes that a word fills from those of its
 * arguments, so the reading of a word is paid once for many elements: for as many as the memory has
 * room for all values of the row. */
#include "graph/rows.h"

#define SN_SIMD_BYTES 16
#include "graph/functions.h"
#include "graph/scalar_words.h"
#include "graph/simd.h"
#include "graph/vocabulary.h"

enum { MEMORY = 32768, LONGEST = 2048 };

typedef struct arrays {
  char *next;
  size_t block;
  bool fused;
} arrays;

static uint64_t count_word(void *self, sn_word word, const uint64_t *args) {
  (void)word;
  (void)args;
  ++*(size_t *)self;
  return 0;
}

static vf32 fused_madd(vf32 a, vf32 b, vf32 c) {
  for (int i = 0; i < SN_LANES_F32; i++) a[i] = sn_f32_fused_madd(a[i], b[i], c[i]);
  return a;
}

/* Where the arguments lie; what is none may be read, too, and means nothing. */
typedef struct sources {
  const char *a, *b, *c;
} sources;

enum { HIGHEST_NUMBER = 63 }; /* in the text: the count of a shift */

static const char *source(const char *spare, sn_word word, uint64_t argument) {
  const bool none = word == SN_WORD_CONSTANT || argument <= HIGHEST_NUMBER;
  return none ? spare : (const char *)(uintptr_t)argument;
}

static sources sources_of(arrays *r, sn_word word, const uint64_t *args) {
  const char *spare = r->next;
  r->next += r->block;
  return (sources){source(spare, word, args[0]), source(spare, word, args[1]),
                   source(spare, word, args[2])};
}

#define AS_F(x) (x)
#define AS_I(x) X_BITS(x)
#define AS_M(x) ((X_M)(x))
#define AS_N(x) ((int)args[1])
#define X_RARE(m) (m)
#define X_RARE_END(m, a, b) X_SEL(m, a, b)
#define CASE1(name, result, x)    \
  case SN_WORD_##name:            \
    v = (X_I)X_##name(AS_##x(a)); \
    break;
#define CASE2(name, result, x, y)            \
  case SN_WORD_##name:                       \
    v = (X_I)X_##name(AS_##x(a), AS_##y(b)); \
    break;
#define CASE3(name, result, x, y, z)                    \
  case SN_WORD_##name:                                  \
    v = (X_I)X_##name(AS_##x(a), AS_##y(b), AS_##z(c)); \
    break;

#define SN_WORDS_VF32
#include "graph/words.h"
#undef X_FMA
#define X_FMA(a, b, c) (r->fused ? fused_madd(a, b, c) : (a) * (b) + (c))
static uint64_t word_32(void *self, sn_word word, const uint64_t *args) {
  arrays *r = self;
  char *out = r->next;
  const sources from = sources_of(r, word, args);
  for (size_t at = 0; at < r->block; at += SN_SIMD_BYTES) {
    const vf32 a = sn_vf32_load((const void *)(from.a + at));
    const vf32 b = sn_vf32_load((const void *)(from.b + at));
    const vf32 c = sn_vf32_load((const void *)(from.c + at));
    vu32 v;
    switch ((int)word) {
#define WORD1 CASE1
#define WORD2 CASE2
#define WORD3 CASE3
#include "graph/words.def"
    default: v = sn_vu32_splat((uint32_t)args[0]);
    }
    memcpy(out + at, &v, sizeof v);
  }
  return (uintptr_t)out;
}

#define SN_WORDS_VF64
#include "graph/words.h"
static uint64_t word_64(void *self, sn_word word, const uint64_t *args) {
  arrays *r = self;
  char *out = r->next;
  const sources from = sources_of(r, word, args);
  for (size_t at = 0; at < r->block; at += SN_SIMD_BYTES) {
    const vf64 a = sn_vf64_load((const void *)(from.a + at));
    const vf64 b = sn_vf64_load((const void *)(from.b + at));
    const vf64 c = sn_vf64_load((const void *)(from.c + at));
    vu64 v;
    switch ((int)word) {
#define WORD1 CASE1
#define WORD2 CASE2
#define WORD3 CASE3
#define WORD1_32(...)
#define WORD2_32(...)
#define WORD3_32(...)
#include "graph/words.def"
    default: v = sn_vu64_splat(args[0]);
    }
    memcpy(out + at, &v, sizeof v);
  }
  return (uintptr_t)out;
}

#define WIDEN(name)                                                                        \
  void sn_rows_##name(void *dst, const void *a, const void *b, const void *c, int64_t n) { \
    (void)b;                                                                               \
    (void)c;                                                                               \
    int64_t i = 0;                                                                         \
    for (; i + SN_LANES_F32 <= n; i += SN_LANES_F32) {                                     \
      vu32 x;                                                                              \
      memcpy(&x, (const uint32_t *)a + i, sizeof x);                                       \
      x = (vu32)sn_vf32_##name(x);                                                         \
      memcpy((uint32_t *)dst + i, &x, sizeof x);                                           \
    }                                                                                      \
    if (i == n) return;                                                                    \
    vu32 last = {0};                                                                       \
    memcpy(&last, (const uint32_t *)a + i, (size_t)(n - i) * sizeof(uint32_t));            \
    sn_rows_##name(&last, &last, NULL, NULL, SN_LANES_F32);                                \
    memcpy((uint32_t *)dst + i, &last, (size_t)(n - i) * sizeof(uint32_t));                \
  }
WIDEN(widen_f16)
WIDEN(widen_bf16)
WIDEN(narrow_i8)

/* Of a row, or of astype to a small dtype. */
static uint64_t apply(const sn_word_user *user, sn_op op, sn_dtype dtype, uint64_t a, uint64_t b) {
  return op == SN_OP_astype ? sn_function_cast(user, dtype, true, a)
                            : sn_function_apply(user, op, dtype, a, b);
}

static size_t whole_vectors(size_t bytes) {
  return (bytes + SN_SIMD_BYTES - 1) / SN_SIMD_BYTES * SN_SIMD_BYTES;
}

/* The longest array of which there is one for each word and the inputs. */
static size_t block_bytes(sn_op op, sn_dtype dtype, bool fused, size_t wanted) {
  size_t n = 2;
  const sn_word_user counter = {.word = count_word, .self = &n, .fused = fused};
  apply(&counter, op, dtype, 0, 0);
  const size_t room = MEMORY / n / SN_SIMD_BYTES * SN_SIMD_BYTES;
  const size_t most = room < LONGEST ? room : LONGEST;
  return wanted < most ? whole_vectors(wanted) : most;
}

static void store_masks_of_64(int32_t *dst, const int64_t *masks, int64_t n) {
  for (int64_t i = 0; i < n; i++) dst[i] = (int32_t)masks[i];
}

void sn_rows_apply(sn_op op, sn_dtype dtype, bool fused, void *dst, const void *a, const void *b,
                   int64_t n) {
  _Alignas(SN_SIMD_BYTES) char memory[MEMORY];
  const size_t bytes = dtype == SN_F64 ? 8 : 4;
  const bool narrow = dtype == SN_F64 && sn_op_describe(op)->kind == SN_CLASS_COMPARE;
  arrays r = {.fused = fused, .block = block_bytes(op, dtype, fused, (size_t)n * bytes)};
  const sn_word_user user = {
      .word = dtype == SN_F64 ? word_64 : word_32, .self = &r, .fused = fused};
  const int64_t most = (int64_t)(r.block / bytes);
  for (int64_t i = 0; i < n; i += most) {
    const int64_t count = n - i < most ? n - i : most;
    char *x = memory, *y = memory + r.block;
    memcpy(x, (const char *)a + (size_t)i * bytes, (size_t)count * bytes);
    memcpy(y, (const char *)b + (size_t)i * bytes, (size_t)count * bytes);
    r.next = y + r.block;
    const void *result =
        (const void *)(uintptr_t)apply(&user, op, dtype, (uintptr_t)x, (uintptr_t)y);
    if (narrow)
      store_masks_of_64((int32_t *)dst + i, result, count);
    else
      memcpy((char *)dst + (size_t)i * bytes, result, (size_t)count * bytes);
  }
}
