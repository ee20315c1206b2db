/* gemm_direct_type.h - a row vector times a matrix, for one element type; gemm_direct.c includes it
 * per TYPE. Each function adds k products per column to out in order of k: out += x * y, where x
 * has stride xs, and y(p, j) = y[j * ws + p * ks]. */

/* Adjacent columns (ws = 1): whole rows of y stream past the sums, four to a visit. */
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
  if (ks == 1 && T(SQUARES)) /* adjacent along k */
    for (; j + SN_GEMM_COLUMN_VECTORS * T(LANES) <= cols; j += SN_GEMM_COLUMN_VECTORS * T(LANES))
      T(sn_gemm_add_columns)(out + j, x, xs, y + j * ws, ws, k);
  for (; j < cols; j++) {
    T(real) sum = out[j];
    for (ptrdiff_t p = 0; p < k; p++) sum = sum + x[p * xs] * y[j * ws + p * ks];
    out[j] = sum;
  }
}

/* The products of k positions from p on of left's row l and right's columns from r on, piece by
 * piece where both are evenly spaced. Pieces do not change the order of a sum. */
static __attribute__((noinline)) void T(add_pieces)(const sn_gemm *g, T(real) *restrict out,
                                                    const T(real) * left, int64_t l,
                                                    const T(real) * right, int64_t r, int64_t cols,
                                                    int64_t p, int64_t k) {
  const sn_gemm_walk *x = &g->left.walk, *y = &g->right.walk;
  left += sn_nest_seek(&x->across, l).offset;
  sn_nest_place px = sn_nest_seek(&x->along, p), py = sn_nest_seek(&y->along, p);
  while (k) {
    const int64_t run_x = sn_nest_run(&x->along, &px), run_y = sn_nest_run(&y->along, &py);
    int64_t n = run_x < run_y ? run_x : run_y;
    if (n > k) n = k;
    sn_nest_place at = sn_nest_seek(&y->across, r);
    for (int64_t j = 0; j < cols;) {
      const int64_t run = sn_nest_run(&y->across, &at), w = run < cols - j ? run : cols - j;
      T(add_products)
      (out + j, left + px.offset, g->left.ks, right + at.offset + py.offset, g->right.ws,
       g->right.ks, (ptrdiff_t)w, (ptrdiff_t)n);
      sn_nest_advance(&y->across, &at, w);
      j += w;
    }
    sn_nest_advance(&x->along, &px, n);
    sn_nest_advance(&y->along, &py, n);
    k -= n;
  }
}

static void T(direct)(const sn_gemm *g, const T(real) * left, const T(real) * right, int64_t l,
                      int64_t rows, int64_t r, int64_t cols, T(real) * c, ptrdiff_t ldc,
                      T(real) * sums) {
  const sn_gemm_side *x = &g->left, *y = &g->right;
  const bool even = x->even && y->even;
  for (int64_t i = l; i < l + rows; i++, c += ldc) {
    memset(c, 0, (size_t)cols * sizeof *c);
    for (int64_t p = 0; p < g->k; p += g->kc) {
      const int64_t k = g->k - p < g->kc ? g->k - p : g->kc;
      T(real) *out = p == 0 ? c : sums;
      if (p != 0) memset(sums, 0, (size_t)cols * sizeof *sums);
      if (even) T(add_products)
      (out, left + i * x->ws + p * x->ks, x->ks, right + r * y->ws + p * y->ks, y->ws, y->ks,
       (ptrdiff_t)cols, (ptrdiff_t)k);
      else T(add_pieces)(g, out, left, i, right, r, cols, p, k);
      if (p != 0)
        for (int64_t j = 0; j < cols; j++) c[j] = c[j] + sums[j];
    }
  }
}
