/* gemm_direct_type.h - a row vector times an evenly spaced matrix, for one element type;
 * gemm_direct.c includes it per TYPE. Each function adds k products per column to out in order of
 * k: out += x * y, where x has stride xs, and y(p, j) = y[j * ws + p * ks]. */

/* For adjacent columns (ws = 1): whole rows of y are added to the sums, four rows at a time. */
static void T(add_rows)(T(real) *restrict out, const T(real) * x, ptrdiff_t xs, const T(real) * y,
                        ptrdiff_t ks, ptrdiff_t cols, ptrdiff_t k) {
  ptrdiff_t p = 0;
  for (; p + 4 <= k; p += 4) {
    const T(real) *x4 = x + p * xs, *y0 = y + p * ks, *y1 = y0 + ks, *y2 = y1 + ks, *y3 = y2 + ks;
    const T(real) a0 = x4[0], a1 = x4[xs], a2 = x4[2 * xs], a3 = x4[3 * xs];
    const T(vec) v0 = T(sn_splat)(a0), v1 = T(sn_splat)(a1), v2 = T(sn_splat)(a2),
                 v3 = T(sn_splat)(a3);
    ptrdiff_t j = 0;
    for (; j + T(LANES) <= cols; j += T(LANES)) {
      T(vec) sum = T(sn_load)(out + j);
      sum = sum + v0 * T(sn_load)(y0 + j);
      sum = sum + v1 * T(sn_load)(y1 + j);
      sum = sum + v2 * T(sn_load)(y2 + j);
      sum = sum + v3 * T(sn_load)(y3 + j);
      T(sn_store)(out + j, sum);
    }
    for (; j < cols; j++) out[j] = (((out[j] + a0 * y0[j]) + a1 * y1[j]) + a2 * y2[j]) + a3 * y3[j];
  }
  for (; p < k; p++)
    for (ptrdiff_t j = 0; j < cols; j++) out[j] = out[j] + x[p * xs] * y[p * ks + j];
}

static void T(add_products)(T(real) *restrict out, const T(real) * x, ptrdiff_t xs,
                            const T(real) * y, ptrdiff_t ws, ptrdiff_t ks, ptrdiff_t cols,
                            ptrdiff_t k) {
  if (ws == 1) {
    T(add_rows)(out, x, xs, y, ks, cols, k);
    return;
  }
  ptrdiff_t j = 0;
  if (ks == 1) /* adjacent along k */
    for (; j + SN_GEMM_COLUMN_VECTORS * T(LANES) <= cols; j += SN_GEMM_COLUMN_VECTORS * T(LANES))
      T(sn_gemm_add_columns)(out + j, x, xs, y + j * ws, ws, k);
  for (; j < cols; j++) {
    T(real) sum = out[j];
    for (ptrdiff_t p = 0; p < k; p++) sum = sum + x[p * xs] * y[j * ws + p * ks];
    out[j] = sum;
  }
}
