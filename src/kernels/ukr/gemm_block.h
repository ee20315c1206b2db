/* gemm_block.h - both forms of a SIMD micro-kernel (contract in ukr.h). Included once per kernel,
 * after definitions of
 *
 *   NAME        the function               MR, NV           rows, vectors per row (NR = NV * LANES)
 *   REAL        float, double or uint32_t  SPLAT(x)         a VEC with x in every lane
 *   VEC, LANES  vector type, its length    MADD(x, y, sum)  sum + x * y: fused or not
 *
 * and, if the machine's multiply-adds take a factor from a lane, COLUMN, which loads a column of A's
 * panel as (UNALIGNED) vectors, and LEFT(i), its element i.
 *
 * The MR * NV sums, one row of B and one splat of A must fit the vector registers: the loops over
 * them have constant bounds and vanish when compiled. The names are undefined again at the end. */
#ifndef UNROLL /* steps of k; 1 leaves it to compilers that unroll better themselves */
#define UNROLL 1
#endif
#ifndef COLUMN
#define COLUMN
#define LEFT(i) a[i]
#endif
#define SN_PRAGMA_(x) _Pragma(#x)
#define SN_PRAGMA(x) SN_PRAGMA_(x)
#define SN_JOIN_(a, b) a##b
#define SN_JOIN(a, b) SN_JOIN_(a, b)
#define FORM(suffix) SN_JOIN(NAME, suffix)

#define UNALIGNED FORM(_unaligned)

sn_gemm_ukr_fn NAME, FORM(_rows);

typedef VEC UNALIGNED __attribute__((aligned(sizeof(REAL)), may_alias));

/* A step of k for `count` rows, where left(i) is A's element of row i. */
#define STEP(left)                                                         \
  do {                                                                     \
    VEC row[NV];                                                           \
    SN_PRAGMA(GCC unroll 8)                                                \
    for (int v = 0; v < NV; v++) row[v] = *(const VEC *)(b + v * LANES);   \
    SN_PRAGMA(GCC unroll 16)                                               \
    for (int i = 0; i < count; i++) {                                      \
      const VEC x = SPLAT(left(i));                                        \
      SN_PRAGMA(GCC unroll 8)                                              \
      for (int v = 0; v < NV; v++) acc[i][v] = MADD(x, row[v], acc[i][v]); \
    }                                                                      \
    b += NV * LANES;                                                       \
  } while (0)

#define INLINE static inline __attribute__((always_inline))

INLINE void FORM(_finish)(VEC acc[MR][NV], REAL *c, ptrdiff_t ldc, bool first, int rows,
                          const int count) {
#pragma GCC unroll 16
  for (int i = 0; i < count && i < rows; i++) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; v++) {
      UNALIGNED *out = (UNALIGNED *)(c + i * ldc + v * LANES);
      if (!first) acc[i][v] = *out + acc[i][v];
      *out = acc[i][v];
    }
  }
}

INLINE void FORM(_panel)(ptrdiff_t k, const REAL *a, const REAL *b, REAL *c, ptrdiff_t ldc,
                         bool first, int rows, const int count) {
  VEC acc[MR][NV] = {0};
  SN_PRAGMA(GCC unroll UNROLL)
  for (ptrdiff_t p = 0; p < k; p++) {
    COLUMN
    STEP(LEFT);
    a += MR;
    /* makes the pointers move, instead of p being scaled and added at each use: 7% in WebAssembly */
    __asm__("" : "+r"(a), "+r"(b));
  }
  FORM(_finish)(acc, c, ldc, first, rows, count);
}

INLINE void FORM(_runs)(ptrdiff_t k, const ptrdiff_t *run, const REAL *b, REAL *c, ptrdiff_t ldc,
                        bool first, int rows, const int count) {
  (void)k;
  VEC acc[MR][NV] = {0};
  for (; run[0]; run += SN_GEMM_RUN_WORDS(MR)) {
    const ptrdiff_t n = run[0];
    SN_PRAGMA(GCC unroll UNROLL)
    for (ptrdiff_t p = 0; p < n; p++) {
#define IN_ROW(i) ((const REAL *)run[1 + (i)])[p]
      STEP(IN_ROW);
    }
  }
  FORM(_finish)(acc, c, ldc, first, rows, count);
}

/* Computes only 4 or 8 rows if there are no more, each by code of its own. */
#define DISPATCH(sums)                        \
  do {                                        \
    if (MR > 4 && rows <= 4)                  \
      sums(k, a, b, c, ldc, first, rows, 4);  \
    else if (MR > 8 && rows <= 8)             \
      sums(k, a, b, c, ldc, first, rows, 8);  \
    else                                      \
      sums(k, a, b, c, ldc, first, rows, MR); \
  } while (0)

void NAME(ptrdiff_t k, const void *a, const void *b, void *c, ptrdiff_t ldc, bool first, int rows) {
  DISPATCH(FORM(_panel));
}

void FORM(_rows)(ptrdiff_t k, const void *a, const void *b, void *c, ptrdiff_t ldc, bool first,
                 int rows) {
  DISPATCH(FORM(_runs));
}

#undef DISPATCH
#undef INLINE
#undef IN_ROW
#undef STEP
#undef UNALIGNED
#undef FORM
#undef SN_JOIN
#undef SN_JOIN_
#undef NAME
#undef REAL
#undef VEC
#undef LANES
#undef MR
#undef NV
#undef SPLAT
#undef MADD
#undef SN_PRAGMA_
#undef SN_PRAGMA
