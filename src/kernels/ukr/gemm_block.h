/* gemm_block.h - body of every SIMD micro-kernel (contract in ukr.h). Included once per kernel,
 * after definitions of
 *
 *   NAME        the function               MR, NV           rows, vectors per row (NR = NV * LANES)
 *   REAL        float or double            SPLAT(x)         a VEC with x in every lane
 *   VEC, LANES  vector type, its length    MADD(x, y, sum)  sum + x * y: fused or not
 *
 * and, where multiply-adds take a factor from a lane, of COLUMN, which loads a column of A as vectors, and
 * LEFT(i), its element i.
 *
 * The MR * NV sums, one row of B and one splat of A must fit the vector registers: the loops over
 * them have constant bounds and vanish when compiled. The names are undefined again at the end.
 */
#ifndef UNROLL /* steps of k, 1: for compilers that do better themselves */
#define UNROLL 1
#endif
#ifndef COLUMN
#define COLUMN
#define LEFT(i) a[i]
#endif
#define SN_PRAGMA_(x) _Pragma(#x)
#define SN_PRAGMA(x) SN_PRAGMA_(x)

sn_gemm_ukr_fn NAME;

void NAME(ptrdiff_t k, const void *a_panel, const void *b_panel, void *c_block, ptrdiff_t ldc,
          bool first) {
  typedef VEC unaligned_vec __attribute__((aligned(sizeof(REAL)), may_alias));
  const REAL *a = a_panel, *b = b_panel;
  REAL *c = c_block;
  VEC acc[MR][NV] = {0};
  SN_PRAGMA(GCC unroll UNROLL)
  for (ptrdiff_t p = 0; p < k; p++) {
    COLUMN
    VEC row[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; v++) row[v] = *(const VEC *)(b + v * LANES);
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++) {
      const VEC left = SPLAT(LEFT(i));
#pragma GCC unroll 8
      for (int v = 0; v < NV; v++) acc[i][v] = MADD(left, row[v], acc[i][v]);
    }
    a += MR;
    b += NV * LANES;
    /* Pointers that move, not p scaled and added to their bases at each use: 7% in WebAssembly. */
    __asm__("" : "+r"(a), "+r"(b));
  }
#pragma GCC unroll 16
  for (int i = 0; i < MR; i++) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; v++) {
      unaligned_vec *out = (unaligned_vec *)(c + i * ldc + v * LANES);
      if (!first) acc[i][v] = *out + acc[i][v];
      *out = acc[i][v];
    }
  }
}

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
