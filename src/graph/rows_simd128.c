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

#define LOAD_F(i) X_LOAD((const void *)((uintptr_t)args[i] + at))
#define LOAD_I(i) X_BITS(LOAD_F(i))
#define LOAD_M(i) ((X_M)LOAD_F(i))
#define LOAD_N(i) ((int)args[i])
#define STORE(value)                \
  do {                              \
    const __auto_type v = (value);  \
    memcpy(out + at, &v, sizeof v); \
  } while (0)
#define X_RARE(m) (m)
#define X_RARE_END(m, a, b) X_SEL(m, a, b)
#define CASE1(name, to, a)        \
  case SN_WORD_##name:            \
    STORE(X_##name(LOAD_##a(0))); \
    break;
#define CASE2(name, to, a, b)                  \
  case SN_WORD_##name:                         \
    STORE(X_##name(LOAD_##a(0), LOAD_##b(1))); \
    break;
#define CASE3(name, to, a, b, c)                            \
  case SN_WORD_##name:                                      \
    STORE(X_##name(LOAD_##a(0), LOAD_##b(1), LOAD_##c(2))); \
    break;

#define SN_WORDS_VF32
#include "graph/words.h"
#undef X_FMA
#define X_FMA(a, b, c) (r->fused ? fused_madd(a, b, c) : (a) * (b) + (c))
#define X_LOAD(from) sn_vf32_load(from)
static uint64_t word_32(void *self, sn_word word, const uint64_t *args) {
  arrays *r = self;
  char *out = r->next;
  r->next += r->block;
  for (size_t at = 0; at < r->block; at += SN_SIMD_BYTES) switch ((int)word) {
#define WORD1 CASE1
#define WORD2 CASE2
#define WORD3 CASE3
#define WORD1_32 CASE1
#define WORD2_32 CASE2
#define WORD3_32 CASE3
#include "graph/words.def"
    default: STORE(sn_vu32_splat((uint32_t)args[0]));
    }
  return (uintptr_t)out;
}
#undef X_LOAD

#define SN_WORDS_VF64
#include "graph/words.h"
#define X_LOAD(from) sn_vf64_load(from)
static uint64_t word_64(void *self, sn_word word, const uint64_t *args) {
  arrays *r = self;
  char *out = r->next;
  r->next += r->block;
  for (size_t at = 0; at < r->block; at += SN_SIMD_BYTES) switch ((int)word) {
#define WORD1 CASE1
#define WORD2 CASE2
#define WORD3 CASE3
#define WORD1_32(...)
#define WORD2_32(...)
#define WORD3_32(...)
#include "graph/words.def"
    default: STORE(sn_vu64_splat(args[0]));
    }
  return (uintptr_t)out;
}
#undef X_LOAD

static size_t whole_vectors(size_t bytes) {
  return (bytes + SN_SIMD_BYTES - 1) / SN_SIMD_BYTES * SN_SIMD_BYTES;
}

/* The longest array of which there is one for each word and the inputs. */
static size_t block_bytes(sn_op op, sn_dtype dtype, bool fused, size_t wanted) {
  size_t n = 2;
  const sn_word_user counter = {.word = count_word, .self = &n, .fused = fused};
  sn_function_apply(&counter, op, dtype, 0, 0);
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
        (const void *)(uintptr_t)sn_function_apply(&user, op, dtype, (uintptr_t)x, (uintptr_t)y);
    if (narrow)
      store_masks_of_64((int32_t *)dst + i, result, count);
    else
      memcpy((char *)dst + (size_t)i * bytes, result, (size_t)count * bytes);
  }
}
