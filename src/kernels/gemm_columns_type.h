/* gemm_columns_type.h - gemm_columns.c for one element type. */

/* For elements adjacent along k (ks = 1): squares of vectors of columns are transposed in registers,
 * so that lanes are columns and every column still sums in order of k. */
enum { T(GROUPS) = SN_GEMM_COLUMN_VECTORS, T(GROUP_COLUMNS) = T(GROUPS) * T(LANES) };

void T(sn_gemm_add_columns)(T(real) *restrict out, const T(real) * x, ptrdiff_t xs,
                            const T(real) * y, ptrdiff_t ws, ptrdiff_t k) {
  T(vec) sum[T(GROUPS)];
#pragma GCC unroll 4
  for (int g = 0; g < T(GROUPS); g++) sum[g] = T(sn_load)(out + g * T(LANES));
  ptrdiff_t p = 0;
  for (; p + T(LANES) <= k; p += T(LANES)) {
#pragma GCC unroll 4
    for (int g = 0; g < T(GROUPS); g++) {
      T(vec) square[T(LANES)];
#pragma GCC unroll 4
      for (int r = 0; r < T(LANES); r++) square[r] = T(sn_load)(y + (g * T(LANES) + r) * ws + p);
      T(sn_transpose)(square);
#pragma GCC unroll 4
      for (int r = 0; r < T(LANES); r++) sum[g] = sum[g] + T(sn_splat)(x[(p + r) * xs]) * square[r];
    }
  }
#pragma GCC unroll 4
  for (int g = 0; g < T(GROUPS); g++) T(sn_store)(out + g * T(LANES), sum[g]);
  for (; p < k; p++)
    for (int j = 0; j < T(GROUP_COLUMNS); j++) out[j] = out[j] + x[p * xs] * y[j * ws + p];
}
