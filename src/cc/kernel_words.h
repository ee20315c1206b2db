/* kernel_words.h - the C text that every compiled kernel begins with: the vectors, functions and rows of ops of which strips
 * are made, so that both have the same bits, and the few words in which kernels are written. scripts/embed.mjs puts it,
 * with all that it includes, into the library as text. SN_SIMD_BYTES is defined before it.
 *
 * A kernel computes LANES points at once. Their values are in
 *
 *   value_f32   vf32       value_bool  vi32: a mask
 *   value_f64   vf64 x 2   value_i32   vu32; small dtypes have their bits in it, too, as in strips */
#define ELEMENTWISE(id, dtype, V, N, R, RESULT, expr, computed) \
  APPLY(id##_##dtype, V, R, RESULT, expr)
#define INFINITY __builtin_inff()

#include "graph/convert.h"
#include "kernels/position.h"
#include "kernels/vectors.h"

#include "kernels/vector_rows.inc"

enum { LANES = SN_LANES_F32, STRIP = SN_STRIP };
#define ALIGNED __attribute__((aligned(64)))
#define EXPORT __attribute__((visibility("default")))

typedef struct both {
  vf64 low, high;
} both;
typedef vf32 value_f32;
typedef both value_f64;
typedef vu32 value_i32;
typedef vi32 value_bool;

/* ---- float64 takes two vectors ---- */

#define BOTH(apply, a, b) ((both){apply(false, (a).low, (b).low), apply(false, (a).high, (b).high)})
#define BOTH_MASKS(apply, a, b) \
  joined(apply(false, (a).low, (b).low), apply(false, (a).high, (b).high))

static inline vi32 joined(vi32_half low, vi32_half high) {
  const vi32_half halves[2] = {low, high};
  vi32 mask;
  memcpy(&mask, halves, sizeof mask);
  return mask;
}
static inline vi32_half low_half(vi32 a) {
  vi32_half half;
  memcpy(&half, &a, sizeof half);
  return half;
}
static inline vi32_half high_half(vi32 a) {
  vi32_half half;
  memcpy(&half, (const char *)&a + sizeof half, sizeof half);
  return half;
}

/* ---- constants, by their bits ---- */

static inline vf32 const_f32(uint32_t bits) { return (vf32)sn_vu32_splat(bits); }
static inline both const_f64(uint64_t bits) {
  return (both){(vf64)sn_vu64_splat(bits), (vf64)sn_vu64_splat(bits)};
}
static inline vu32 const_i32(uint32_t bits) { return sn_vu32_splat(bits); }
static inline vi32 const_bool(uint32_t bits) { return (vi32)sn_vu32_splat(bits); }

/* ---- memory: get_ loads LANES elements from p on, put_ stores them, one_ loads one element into all lanes ---- */

static inline vf32 get_f32(const void *p) { return load_vf32(p, 0); }
static inline vu32 get_i32(const void *p) { return load_vu32(p, 0); }
static inline both get_f64(const void *p) {
  return (both){load_vf64(p, 0), load_vf64(p, SN_LANES_F64)};
}
static inline void put_f32(void *p, vf32 v) { store_vf32(p, 0, v); }
static inline void put_i32(void *p, vu32 v) { store_vu32(p, 0, v); }
static inline void put_f64(void *p, both v) {
  store_vf64(p, 0, v.low);
  store_vf64(p, SN_LANES_F64, v.high);
}
static inline vf32 one_f32(const void *p) { return sn_vf32_splat(*(const float *)p); }
static inline vu32 one_i32(const void *p) { return sn_vu32_splat(*(const uint32_t *)p); }
static inline both one_f64(const void *p) {
  return (both){sn_vf64_splat(*(const double *)p), sn_vf64_splat(*(const double *)p)};
}

/* Stores that bypass the caches, to addresses aligned to vectors. Other threads see them only after stream_end. */
static inline bool lies_on_vectors(const void *p) { return (uintptr_t)p % SN_SIMD_BYTES == 0; }
#if defined(__clang__) && defined(__SSE2__)
static inline void stream_f32(void *p, vf32 v) { __builtin_nontemporal_store(v, (vf32 *)p); }
#elif defined(__AVX512F__) && SN_SIMD_BYTES == 64
static inline void stream_f32(void *p, vf32 v) { __builtin_ia32_movntps512(p, v); }
#elif defined(__AVX__) && SN_SIMD_BYTES == 32
static inline void stream_f32(void *p, vf32 v) { __builtin_ia32_movntps256(p, v); }
#elif defined(__SSE2__) && SN_SIMD_BYTES == 16
static inline void stream_f32(void *p, vf32 v) { __builtin_ia32_movntps(p, v); }
#else
static inline void stream_f32(void *p, vf32 v) { put_f32(p, v); }
#endif
static inline void stream_i32(void *p, vu32 v) { stream_f32(p, (vf32)v); }
static inline void stream_f64(void *p, both v) {
  stream_f32(p, (vf32)v.low);
  stream_f32((char *)p + sizeof v.low, (vf32)v.high);
}
static inline void stream_end(void) {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

/* Prefetches for writing what lies AHEAD bytes behind p, which is stored to soon. */
enum { AHEAD = 1024 };
static inline void ask_for(const void *p) { __builtin_prefetch((const char *)p + AHEAD, 1); }

/* Bools in strips are masks of 32 bits. */
static inline vi32 get_mask(const void *p) { return load_vi32(p, 0); }
static inline void put_mask(void *p, vi32 v) { store_vi32(p, 0, v); }
static inline vi32 one_mask(const void *p) { return (vi32)one_i32(p); }

#define DEFINE_SMALL(s, T, V, read, written)                                  \
  typedef T lanes_##s __attribute__((vector_size(SN_LANES_F32 * sizeof(T)))); \
  static inline V get_##s(const void *p) {                                    \
    lanes_##s from;                                                           \
    memcpy(&from, p, sizeof from);                                            \
    const vi32 x = __builtin_convertvector(from, vi32);                       \
    return (V)(read);                                                         \
  }                                                                           \
  static inline V one_##s(const void *p) {                                    \
    const vi32 x = sn_vi32_splat(*(const T *)p);                              \
    return (V)(read);                                                         \
  }                                                                           \
  static inline void put_##s(void *p, V v) {                                  \
    const vi32 x = (vi32)v;                                                   \
    const lanes_##s to = __builtin_convertvector(written, lanes_##s);         \
    memcpy(p, &to, sizeof to);                                                \
  }
#define SMALL_FLOAT(...)
#define SMALL_INT(...)
#define SMALL_FLAG(s, T) DEFINE_SMALL(flag, T, vi32, x != 0, x & 1)
#define SMALL_HALF(s, T) DEFINE_SMALL(s, T, vu32, x, x) typedef vu32 value_##s;
#define SMALL_SMALL(s, T) SMALL_HALF(s, T)
#define DTYPE(id, name, s, T, kind, ...) SMALL_##kind(s, T)
#include "graph/dtypes.def"

/* ---- select and casts, which ops.def has no expressions for ---- */

static inline vf32 select_f32(vi32 mask, vf32 a, vf32 b) { return sn_vf32_select(mask, a, b); }
static inline vu32 select_i32(vi32 mask, vu32 a, vu32 b) { return sn_vu32_select(mask, a, b); }
static inline vi32 select_bool(vi32 mask, vi32 a, vi32 b) { return sn_vi32_select(mask, a, b); }
static inline both select_f64(vi32 mask, both a, both b) {
  const vi64 low = __builtin_convertvector(low_half(mask), vi64);
  const vi64 high = __builtin_convertvector(high_half(mask), vi64);
  return (both){sn_vf64_select(low, a.low, b.low), sn_vf64_select(high, a.high, b.high)};
}

static inline vf32 cast_f32_f32(vf32 a) { return a; }
static inline both cast_f32_f64(vf32 a) {
  return (both){sn_vf64_from_low(a), sn_vf64_from_high(a)};
}
static inline vu32 cast_f32_i32(vf32 a) { return (vu32)sn_vi32_from_vf32(a); }
static inline vi32 cast_f32_bool(vf32 a) { return a != 0; }
static inline vf32 cast_f64_f32(both a) { return sn_vf32_from_vf64(a.low, a.high); }
static inline both cast_f64_f64(both a) { return a; }
static inline vu32 cast_f64_i32(both a) {
  vu32 v;
  for (int i = 0; i < SN_LANES_F64; i++) {
    v[i] = (uint32_t)sn_i32_from_f64(a.low[i]);
    v[SN_LANES_F64 + i] = (uint32_t)sn_i32_from_f64(a.high[i]);
  }
  return v;
}
static inline vi32 cast_f64_bool(both a) {
  return joined(TO_HALF(a.low != 0), TO_HALF(a.high != 0));
}
static inline vf32 cast_i32_f32(vu32 a) { return sn_vf32_from_vi32((vi32)a); }
static inline both cast_i32_f64(vu32 a) {
  return (both){__builtin_convertvector(low_half((vi32)a), vf64),
                __builtin_convertvector(high_half((vi32)a), vf64)};
}
static inline vu32 cast_i32_i32(vu32 a) { return a; }
static inline vi32 cast_i32_bool(vu32 a) { return a != 0; }
static inline vf32 cast_bool_f32(vi32 a) { return sn_vf32_from_vi32(-a); }
static inline both cast_bool_f64(vi32 a) { return cast_i32_f64((vu32)-a); }
static inline vu32 cast_bool_i32(vi32 a) { return (vu32)-a; }
static inline vi32 cast_bool_bool(vi32 a) { return a; }

/* ---- numbers of lanes ---- */

static const int32_t lane_numbers[16] ALIGNED = {0, 1, 2,  3,  4,  5,  6,  7,
                                                 8, 9, 10, 11, 12, 13, 14, 15};
static inline vi32 lanes_below(int64_t n) {
  return load_vi32(lane_numbers, 0) < sn_vi32_splat((int32_t)n);
}
/* from, from + step, from + 2 step ... */
static inline vu32 count_i32(int64_t from, int64_t step) {
  return sn_vu32_splat((uint32_t)from) + (vu32)load_vi32(lane_numbers, 0) * (uint32_t)step;
}

/* ---- loads of the first n > 0 lanes of a vector, which read no memory beyond them ---- */

#if defined(__AVX2__) && SN_SIMD_BYTES == 32
static inline vf32 some_f32(const void *p, int64_t n) {
  return __builtin_ia32_maskloadps256(p, lanes_below(n));
}
static inline vu32 some_i32(const void *p, int64_t n) {
  return (vu32)__builtin_ia32_maskloadd256(p, lanes_below(n));
}
static inline vf64 some_f64(const void *p, int64_t n) {
  return n < SN_LANES_F64 ? load_some_vf64(p, 0, n) : load_vf64(p, 0);
}
#else
#define DEFINE_SOME(s, V, N)                                     \
  static inline V some_##s(const void *p, int64_t n) {           \
    return n < N ? load_some_##V(p, 0, n) : load_##V(p, 0);      \
  }
DEFINE_SOME(f32, vf32, SN_LANES_F32)
DEFINE_SOME(i32, vu32, SN_LANES_F32)
DEFINE_SOME(f64, vf64, SN_LANES_F64)
#endif

/* Copies n < LANES elements to an array of LANES elements. */
static inline void copy_words(void *to, const void *from, int64_t n) {
  store_vu32(to, 0, some_i32(from, n));
}
#define COPY_SOME(to, from, n)                       \
  (sizeof *(to) == 4 ? copy_words(to, from, n)       \
                     : (void)memcpy(to, from, (size_t)(n) * sizeof *(to)))

/* ---- a block of fold.h ---- */

enum { BLOCK_LEVELS = 6 };
typedef struct block {
  uint32_t count; /* strips pushed so far */
  ALIGNED char levels[BLOCK_LEVELS][SN_FOLD_BYTES];
} block;

#define UNROLLED _Pragma("GCC unroll 32")

/* Combines lane j with lane j + half, for half = N / 2, N / 4 ..., until one lane is left. */
#define SHIFTED_2(v, h) __builtin_shufflevector(v, v, (h)&1, (1 + (h)) & 1)
#define SHIFTED_4(v, h) \
  __builtin_shufflevector(v, v, (h)&3, (1 + (h)) & 3, (2 + (h)) & 3, (3 + (h)) & 3)
#define SHIFTED_8(v, h)                                                                            \
  __builtin_shufflevector(v, v, (h)&7, (1 + (h)) & 7, (2 + (h)) & 7, (3 + (h)) & 7, (4 + (h)) & 7, \
                          (5 + (h)) & 7, (6 + (h)) & 7, (7 + (h)) & 7)
#define SHIFTED_16(v, h)                                                                    \
  __builtin_shufflevector(v, v, (h)&15, (1 + (h)) & 15, (2 + (h)) & 15, (3 + (h)) & 15,     \
                          (4 + (h)) & 15, (5 + (h)) & 15, (6 + (h)) & 15, (7 + (h)) & 15,   \
                          (8 + (h)) & 15, (9 + (h)) & 15, (10 + (h)) & 15, (11 + (h)) & 15, \
                          (12 + (h)) & 15, (13 + (h)) & 15, (14 + (h)) & 15, (15 + (h)) & 15)
#define COLLAPSE_2(f, v) f(false, v, SHIFTED_2(v, 1))
#define COLLAPSE_4(f, v) (v = f(false, v, SHIFTED_4(v, 2)), f(false, v, SHIFTED_4(v, 1)))
#define COLLAPSE_8(f, v) \
  (v = f(false, v, SHIFTED_8(v, 4)), v = f(false, v, SHIFTED_8(v, 2)), f(false, v, SHIFTED_8(v, 1)))
#define COLLAPSE_16(f, v)                                                \
  (v = f(false, v, SHIFTED_16(v, 8)), v = f(false, v, SHIFTED_16(v, 4)), \
   v = f(false, v, SHIFTED_16(v, 2)), f(false, v, SHIFTED_16(v, 1)))
#if SN_SIMD_BYTES == 64
#define COLLAPSE_f32 COLLAPSE_16
#define COLLAPSE_f64 COLLAPSE_8
#elif SN_SIMD_BYTES == 32
#define COLLAPSE_f32 COLLAPSE_8
#define COLLAPSE_f64 COLLAPSE_4
#else
#define COLLAPSE_f32 COLLAPSE_4
#define COLLAPSE_f64 COLLAPSE_2
#endif
#define COLLAPSE_i32 COLLAPSE_f32

/* By the dtype of a reduction: acc_ is the type of an accumulator, none_ a vector of the identity with these bits, below_ a
 * in the first n lanes and b in the others. */
typedef float acc_f32;
typedef double acc_f64;
typedef uint32_t acc_i32;
#define none_f32(bits) const_f32((uint32_t)(bits))
#define none_i32(bits) const_i32((uint32_t)(bits))
#define none_f64(bits) ((vf64)sn_vu64_splat(bits))
static inline vf32 below_f32(int64_t n, vf32 a, vf32 b) {
  return sn_vf32_select(lanes_below(n), a, b);
}
static inline vu32 below_i32(int64_t n, vu32 a, vu32 b) {
  return sn_vu32_select(lanes_below(n), a, b);
}
static inline vf64 below_f64(int64_t n, vf64 a, vf64 b) {
  return sn_vf64_select(__builtin_convertvector(low_half(lanes_below(n)), vi64), a, b);
}

/* A quick way to the largest or smallest of n points: lanes take one operation per point, while the reduction's exact
 * operation takes many for NaN and -0. The result is one of the points, whatever the order, so it is right unless a point is
 * NaN or the result is a zero, whose sign depends on the order. Then it returns false, and acc has no meaning. beyond: the
 * infinity that every point replaces; holds: the comparison by which a point is beyond zero; own: see DEFINE_BLOCK. */
#define DEFINE_QUICK(id, dtype, V, N, beyond, pick, holds)                                         \
  static inline bool quick_##id##_##dtype(V *acc, const void *points, int64_t n, bool own) {       \
    const acc_##dtype *at = points;                                                                \
    V odd[VECTORS];                                                                                \
    UNROLLED for (int v = 0; v < VECTORS; v++) acc[v] = beyond, odd[v] = (V){0};                   \
    int64_t i = 0;                                                                                 \
    for (; i + VECTORS * N <= n; i += VECTORS * N) UNROLLED for (int v = 0; v < VECTORS; v++) {    \
        const V x = load_##V(at, i + v * N);                                                       \
        acc[v] = sn_##V##_##pick(acc[v], x);                                                       \
        odd[v] = (V)((vi32)odd[v] | (vi32)(x != x));                                               \
      }                                                                                            \
    UNROLLED for (int v = 0; v < VECTORS; v++) {                                                   \
      const int64_t left = n - i - v * N;                                                          \
      if (left <= 0) break;                                                                        \
      V x = own ? load_##V(at, i + v * N) : some_##dtype(at + i + v * N, left);                    \
      x = below_##dtype(left, x, beyond);                                                          \
      acc[v] = sn_##V##_##pick(acc[v], x);                                                         \
      odd[v] = (V)((vi32)odd[v] | (vi32)(x != x));                                                 \
    }                                                                                              \
    V all = acc[0], any = odd[0];                                                                  \
    UNROLLED for (int v = 1; v < VECTORS; v++) {                                                   \
      all = sn_##V##_##pick(all, acc[v]);                                                          \
      any = (V)((vi32)any | (vi32)odd[v]);                                                         \
    }                                                                                              \
    const bool zero = !sn_vi32_any((vi32)(all holds 0)) && sn_vi32_any((vi32)(all == 0));          \
    return !zero && !sn_vi32_any((vi32)any);                                                       \
  }
DEFINE_QUICK(max, f32, vf32, SN_LANES_F32, sn_vf32_splat(-INFINITY), pmax, >)
DEFINE_QUICK(min, f32, vf32, SN_LANES_F32, sn_vf32_splat(INFINITY), pmin, <)
DEFINE_QUICK(max, f64, vf64, SN_LANES_F64, sn_vf64_splat(-INFINITY), pmax, >)
DEFINE_QUICK(min, f64, vf64, SN_LANES_F64, sn_vf64_splat(INFINITY), pmin, <)
#define quick_never(acc, points, n, own) false

/* Defines the functions of a reduction. V: the vector of its accumulators, with N lanes; identity: the bits of its identity;
 * quick: a function of DEFINE_QUICK, or quick_never. Every strip but the last is whole. own: the strip is the caller's array
 * of STRIP elements and may be read up to the end of a round of accumulators; points elsewhere may not be over-read. */
#define DEFINE_BLOCK(id, dtype, V, N, identity, quick)                                             \
  static inline void lanes_##id##_##dtype(V *acc, const void *strip, int64_t n, bool own) {        \
    if (quick(acc, strip, n, own)) return;                                                         \
    int64_t i = 0;                                                                                 \
    UNROLLED for (int v = 0; v < VECTORS; v++) acc[v] = none_##dtype(identity);                    \
    for (; i + VECTORS * N <= n; i += VECTORS * N)                                                 \
      UNROLLED for (int v = 0; v < VECTORS; v++) acc[v] =                                          \
          apply_##id##_##dtype(false, acc[v], load_##V(strip, i + v * N));                         \
    if (i == n) return;                                                                            \
    UNROLLED for (int v = 0; v < VECTORS; v++) {                                                   \
      const int64_t left = n - i - v * N;                                                          \
      if (left > 0) {                                                                              \
        const V x = own ? load_##V(strip, i + v * N)                                               \
                        : some_##dtype((const acc_##dtype *)strip + i + v * N, left);              \
        acc[v] = below_##dtype(left, apply_##id##_##dtype(false, acc[v], x), acc[v]);              \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static inline void collapsed_##id##_##dtype(V *acc, void *item) {                                \
    UNROLLED for (int half = VECTORS / 2; half; half /= 2) UNROLLED for (int v = 0; v < half; v++) \
        acc[v] = apply_##id##_##dtype(false, acc[v], acc[v + half]);                               \
    V all = acc[0];                                                                                \
    all = COLLAPSE_##dtype(apply_##id##_##dtype, all);                                             \
    *(acc_##dtype *)item = all[0];                                                                 \
  }                                                                                                \
  /* A block of one strip. */                                                                      \
  static inline void total_##id##_##dtype(const void *strip, int64_t n, bool own, void *item) {    \
    V acc[VECTORS];                                                                                \
    lanes_##id##_##dtype(acc, strip, n, own);                                                      \
    collapsed_##id##_##dtype(acc, item);                                                           \
  }                                                                                                \
  /* The lanes of 2^level strips into the counter. */                                              \
  static inline void block_push_##id##_##dtype(block *b, V *acc, int level) {                      \
    uint32_t bits = b->count >> level;                                                             \
    b->count += 1u << level;                                                                       \
    for (; bits & 1; bits >>= 1, level++)                                                          \
      UNROLLED for (int v = 0; v < VECTORS; v++) acc[v] =                                          \
          apply_##id##_##dtype(false, load_##V(b->levels[level], v * N), acc[v]);                  \
    UNROLLED for (int v = 0; v < VECTORS; v++) store_##V(b->levels[level], v *N, acc[v]);          \
  }                                                                                                \
  static inline void block_strip_##id##_##dtype(block *b, const void *strip, int64_t n,            \
                                                bool own) {                                        \
    V acc[VECTORS];                                                                                \
    lanes_##id##_##dtype(acc, strip, n, own);                                                      \
    block_push_##id##_##dtype(b, acc, 0);                                                          \
  }                                                                                                \
  /* Four strips at once, as sums of one wait for each other; to be pushed where four begin. */    \
  static inline void block_four_##id##_##dtype(block *b, const void *strips) {                     \
    V acc[4 * VECTORS];                                                                            \
    UNROLLED for (int v = 0; v < 4 * VECTORS; v++) acc[v] = none_##dtype(identity);                \
    for (int i = 0; i < STRIP; i += VECTORS * N)                                                   \
      UNROLLED for (int v = 0; v < 4 * VECTORS; v++) acc[v] = apply_##id##_##dtype(                \
          false, acc[v], load_##V(strips, v / VECTORS * STRIP + i + v % VECTORS * N));             \
    UNROLLED for (int v = 0; v < VECTORS; v++) acc[v] = apply_##id##_##dtype(                      \
        false, apply_##id##_##dtype(false, acc[v], acc[VECTORS + v]),                              \
        apply_##id##_##dtype(false, acc[2 * VECTORS + v], acc[3 * VECTORS + v]));                  \
    block_push_##id##_##dtype(b, acc, 2);                                                          \
  }                                                                                                \
  /* Points that lie in memory as they are folded: all of a block. */                              \
  static inline void block_points_##id##_##dtype(block *b, const void *points, int64_t n) {        \
    const acc_##dtype *at = points, *end = at + n;                                                 \
    V acc[VECTORS];                                                                                \
    if (quick(acc, points, n, false)) {                                                            \
      block_push_##id##_##dtype(b, acc, 0);                                                        \
      return;                                                                                      \
    }                                                                                              \
    for (; end - at >= 4 * STRIP; at += 4 * STRIP) block_four_##id##_##dtype(b, at);               \
    for (; at < end; at += STRIP)                                                                  \
      block_strip_##id##_##dtype(b, at, end - at < STRIP ? end - at : STRIP, false);               \
  }                                                                                                \
  static inline void block_end_##id##_##dtype(block *b, void *item) {                              \
    V acc[VECTORS];                                                                                \
    UNROLLED for (int v = 0; v < VECTORS; v++) acc[v] =                                            \
        b->count == 1 ? load_##V(b->levels[0], v * N) : none_##dtype(identity);                    \
    for (int level = 0; b->count != 1 && b->count >> level; level++)                               \
      UNROLLED for (int v = 0; b->count >> level & 1 && v < VECTORS; v++) acc[v] =                 \
          apply_##id##_##dtype(false, load_##V(b->levels[level], v * N), acc[v]);                  \
    collapsed_##id##_##dtype(acc, item);                                                           \
  }

#include "cc/wide_words.h"
