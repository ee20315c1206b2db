#include "kernels/gemm_direct.h"

#include <string.h>

#include "kernels/elements.h"
#include "kernels/gemm_columns.h"
#include "kernels/vec128.h"

#define TYPE f32
#include "kernels/gemm_direct_type.h"
#undef TYPE
#define TYPE f64
#include "kernels/gemm_direct_type.h"
#undef TYPE

static void add_products(const sn_gemm *g, void *out, const void *x, ptrdiff_t xs, const void *y,
                         ptrdiff_t ws, ptrdiff_t ks, int64_t cols, int64_t k) {
  if (g->dtype == SN_F64)
    add_products_f64(out, x, xs, y, ws, ks, (ptrdiff_t)cols, (ptrdiff_t)k);
  else
    add_products_f32(out, x, xs, y, ws, ks, (ptrdiff_t)cols, (ptrdiff_t)k);
}

/* Adds the products of k positions from p on of left's row l and right's columns from r on, in pieces
 * in which both are evenly spaced. Pieces do not change the order of a sum. */
static __attribute__((noinline)) void add_pieces(const sn_gemm *g, void *out, const void *left,
                                                 int64_t l, const void *right, int64_t r,
                                                 int64_t cols, int64_t p, int64_t k) {
  const size_t bytes = sn_gemm_bytes(g);
  const sn_gemm_walk *x = &g->left.walk, *y = &g->right.walk;
  left = sn_element(left, sn_nest_seek(&x->across, l).offset, bytes);
  sn_nest_place px = sn_nest_seek(&x->along, p), py = sn_nest_seek(&y->along, p);
  while (k) {
    const int64_t run_x = sn_nest_run(&x->along, &px), run_y = sn_nest_run(&y->along, &py);
    int64_t n = run_x < run_y ? run_x : run_y;
    if (n > k) n = k;
    sn_nest_place column = sn_nest_seek(&y->across, r);
    for (int64_t j = 0; j < cols;) {
      const int64_t run = sn_nest_run(&y->across, &column), w = run < cols - j ? run : cols - j;
      add_products(g, sn_element_mutable(out, j, bytes), sn_element(left, px.offset, bytes),
                   g->left.ks, sn_element(right, column.offset + py.offset, bytes), g->right.ws,
                   g->right.ks, w, n);
      sn_nest_advance(&y->across, &column, w);
      j += w;
    }
    sn_nest_advance(&x->along, &px, n);
    sn_nest_advance(&y->along, &py, n);
    k -= n;
  }
}

void sn_gemm_direct(const sn_gemm *g, const void *left, const void *right, int64_t l, int64_t rows,
                    int64_t r, int64_t cols, void *c, ptrdiff_t ldc, void *sums) {
  static const float one_f32 = 1;
  static const double one_f64 = 1;
  const void *one = g->dtype == SN_F64 ? (const void *)&one_f64 : &one_f32;
  const sn_gemm_side *x = &g->left, *y = &g->right;
  const size_t bytes = sn_gemm_bytes(g), row_bytes = (size_t)cols * bytes;
  for (int64_t i = l; i < l + rows; i++, c = sn_element_mutable(c, ldc, bytes)) {
    memset(c, 0, row_bytes);
    for (int64_t k, p = g->from; p < g->to; p += k) {
      const int64_t block = g->sum - p % g->sum;
      const bool first = p == g->from;
      void *out = first ? c : sums;
      k = g->to - p < block ? g->to - p : block;
      if (!first) memset(sums, 0, row_bytes);
      if (x->even && y->even)
        add_products(g, out, sn_element(left, i * x->ws + p * x->ks, bytes), x->ks,
                     sn_element(right, r * y->ws + p * y->ks, bytes), y->ws, y->ks, cols, k);
      else
        add_pieces(g, out, left, i, right, r, cols, p, k);
      if (!first) add_products(g, c, one, 0, sums, 1, 0, cols, 1); /* c + 1 * sums, rounded once */
    }
  }
}
