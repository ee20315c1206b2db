#include "kernels/gemm.h"

#include <string.h>

#include "kernels/elements.h"
#include "kernels/gemm_direct.h"
#include "kernels/pack.h"
#include "kernels/quant_rows.h"
#include "kernels/vec128.h"

/* A part of the result in memory: rows x cols, with rows ld elements apart. */
typedef struct area {
  void *at;
  ptrdiff_t ld;
  int64_t rows, cols;
} area;

static size_t bytes_of_panel(const sn_gemm *g, const sn_gemm_side *s, int64_t k) {
  return s->run_bytes ? s->run_bytes : (size_t)(s->panel * k) * sn_gemm_bytes(g);
}

/* How many of n positions from w on are packed in one walk along k: if runs along k are short, the
 * walk takes most of the time. */
static int64_t together(const sn_gemm_side *s, int64_t w, int64_t n) {
  const sn_nest *across = &s->walk.across;
  int64_t width = s->panel;
  if (!s->run_bytes && !s->walk.bounds.guards && sn_nest_stride(across) == 1) {
    const sn_nest_place at = sn_nest_seek(across, w);
    const int64_t most = sn_gemm_least(SN_PACK_TOGETHER, SN_PACK_MOST / s->panel) * s->panel;
    const int64_t adjacent = sn_gemm_least(sn_nest_run(across, &at), most) / s->panel * s->panel;
    if (adjacent) width = adjacent;
  }
  return sn_gemm_least(n, width);
}

/* Joins `together` rows of terms to one row of a panel's elements. The last vectors overlap. */
static void put_together(uint32_t *to, const uint32_t *terms, int panel, int together) {
  const int bits = 32 / together;
  for (int next = 0; next < panel; next += 4) {
    const int w = next + 4 <= panel ? next : panel - 4;
    vec_words elements = {0};
    for (int t = 0; t < together; t++) {
      vec_words row;
      memcpy(&row, terms + t * panel + w, sizeof row);
      elements |= (row << (32 - bits)) >> (32 - bits) << t * bits;
    }
    memcpy(to + w, &elements, sizeof elements);
  }
}

/* Packs bytes: some terms at a time are packed one per element and then joined. Terms behind the last one are 0. */
static void pack_bytes(const sn_gemm *g, const sn_gemm_side *s, uint32_t *panels, const void *base,
                       int64_t w, int64_t width, int64_t p, int64_t k) {
  enum { MOST = 2048 };
  uint32_t terms[MOST];
  const int64_t panel = s->panel, together = g->ukr->together, some = MOST / (panel * together);
  for (int64_t i = 0; i < width; i += panel)
    for (int64_t q = 0; q < k; q += some) {
      const int64_t n = sn_gemm_least(some, k - q), first = (p + q) * together;
      const int64_t count = sn_gemm_least(n * together, g->of_bytes - first);
      sn_pack_nests(s->walk.small, terms, base, &s->walk.across, w + i,
                    sn_gemm_least(panel, width - i), &s->walk.along, first, count, &s->walk.bounds,
                    s->panel);
      memset(terms + count * panel, 0, (size_t)((n * together - count) * panel) * sizeof *terms);
      s->walk.widen(terms, terms, terms, terms, count * panel, false);
      for (int64_t e = 0; e < n; e++, panels += panel)
        put_together(panels, terms + e * together * panel, s->panel, (int)together);
    }
}

/* Packs positions w .. w + width and p .. p + k of a side, as panels one behind the other or as runs. */
static void pack(const sn_gemm *g, const sn_gemm_side *s, void *panels, const void *base, int64_t w,
                 int64_t width, int64_t p, int64_t k) {
  const sn_dtype dtype = s->walk.small ? s->walk.small : g->dtype;
  const size_t bytes = sn_dtype_bytes(dtype), panel_bytes = bytes_of_panel(g, s, k);
  const bool even = s->even && !s->run_bytes;
  if (g->blocks.bytes && s == &g->right) {
    g->blocks.kernels->pack(g->blocks.kind, base, g->blocks.bytes, w, width, p, k, s->panel,
                            panels);
    return;
  }
  if (g->of_bytes) {
    pack_bytes(g, s, panels, base, w, width, p, k);
    return;
  }
  if (even)
    sn_pack_panels(dtype, panels, sn_element(base, w * s->ws + p * s->ks, bytes), NULL, width, k,
                   s->ws, s->ks, s->panel, s->panel * k);
  char *to = panels;
  for (int64_t n, i = 0; i < width && !even;
       i += n, to += (size_t)sn_gemm_panels(s, n) * panel_bytes) {
    n = together(s, w + i, width - i);
    const sn_nest *across = &s->walk.across, *along = &s->walk.along;
    if (s->run_bytes)
      sn_pack_runs(dtype, (ptrdiff_t *)(void *)to, base, across, w + i, n, along, p, k,
                   &s->walk.bounds, s->panel);
    else
      sn_pack_nests(dtype, to, base, across, w + i, n, along, p, k, &s->walk.bounds, s->panel);
  }
  const int64_t elements = sn_gemm_panels(s, width) * s->panel * k;
  if (s->walk.widen) s->walk.widen(panels, panels, panels, panels, elements, false);
  if (s->walk.to_float) s->walk.to_float(panels, panels, panels, panels, elements, false);
}

/* Where, in elements, panels from position w on begin in a side that is packed before the tiles: block of k by block of k. */
static int64_t shared_place(const sn_gemm_side *s, int64_t w, int64_t p, int64_t k) {
  return p * sn_gemm_panels(s, s->width) * s->panel + w * k;
}

/* The memory of a side that is packed before the tiles; NULL if it is not. */
static char *home_of(const sn_gemm_side *s, const void *shared) {
  return s->kept ? s->kept : s->shared ? (char *)(uintptr_t)shared + s->shared_offset : NULL;
}

void sn_gemm_pack(const sn_gemm *g, const void *a, const void *b, int64_t unit, void *shared) {
  const bool left = unit < g->left.units;
  const sn_gemm_side *s = left ? &g->left : &g->right;
  char *home = home_of(s, shared);
  if (!home || s->ready) return;
  if (!left) unit -= g->left.units;
  const int64_t p = unit / s->blocks * g->kc, w = unit % s->blocks * s->block;
  const int64_t k = sn_gemm_least(g->kc, g->k - p);
  pack(g, s, sn_element_mutable(home, shared_place(s, w, p, k), sn_gemm_bytes(g)),
       left != g->swapped ? a : b, w, sn_gemm_least(s->block, s->width - w), p, k);
}

/* Computes one block at (i, j) of out: MR rows, or those that are left, x NR. If its columns stick out
 * of the result, it is computed in the edge buffer; what that holds beyond the result is never used.
 * Of its k terms the first n are a sum, or the rest of one. */
static void run_block(const sn_gemm *g, int64_t n, int64_t k, const void *left, const void *right,
                      const area *out, int64_t i, int64_t j, bool first, void *edge) {
  const sn_gemm_ukr *ukr = g->ukr;
  sn_gemm_ukr_fn *run = g->left.run_bytes ? ukr->run_rows : ukr->run;
  const size_t bytes = sn_gemm_bytes(g);
  void *c = sn_element_mutable(out->at, i * out->ld + j, bytes);
  const int64_t rows = sn_gemm_least(ukr->mr, out->rows - i),
                cols = sn_gemm_least(ukr->nr, out->cols - j);
  const size_t row_bytes = (size_t)cols * bytes;
  const bool whole = cols == ukr->nr;
  void *block = whole ? c : edge;
  const ptrdiff_t ld = whole ? out->ld : ukr->nr;
  if (!whole && !first)
    for (int64_t r = 0; r < rows; r++)
      memcpy(sn_element_mutable(edge, r * ld, bytes), sn_element(c, r * out->ld, bytes), row_bytes);
  for (;; n = sn_gemm_least(g->sum, k)) {
    run((ptrdiff_t)n, left, right, block, ld, first, (int)rows);
    if (!(k -= n)) break;
    left = sn_element(left, n * ukr->mr, bytes);
    right = sn_element(right, n * ukr->nr, bytes);
    first = false;
  }
  if (!whole)
    for (int64_t r = 0; r < rows; r++)
      memcpy(sn_element_mutable(c, r * out->ld, bytes), sn_element(edge, r * ld, bytes), row_bytes);
}

/* The tile and the terms of a task, in positions of left and right. */
typedef struct place_of_tile {
  int64_t l, r, rows, cols;
  int64_t p, end; /* range of its terms */
} place_of_tile;

typedef struct memories {
  const void *shared;
  char *scratch;
} memories;

/* Panels from position w on, `apart` bytes from one to the next. They were packed before the tiles,
 * for the whole block of k, or are packed now into `own`. */
static const void *panels_of(const sn_gemm *g, const sn_gemm_side *s, const void *base,
                             const memories *m, void *own, int64_t w, int64_t width, int64_t p,
                             int64_t k, size_t *apart) {
  const char *home = home_of(s, m->shared);
  if (home) {
    const int64_t skipped = p % g->kc, block = sn_gemm_least(g->kc, g->k - p + skipped);
    *apart = bytes_of_panel(g, s, block);
    return sn_element(home, shared_place(s, w, p - skipped, block) + skipped * s->panel,
                      sn_gemm_bytes(g));
  }
  *apart = bytes_of_panel(g, s, k);
  pack(g, s, own, base, w, width, p, k);
  return own;
}

/* The loops of gemm.h's drawing. */
static void compute_packed(const sn_gemm *g, const void *left, const void *right,
                           const place_of_tile *t, const area *out, const memories *m) {
  const int mr = g->ukr->mr, nr = g->ukr->nr;
  const int64_t together = nr * g->right.panels;
  void *edge = m->scratch + g->edge_offset;
  int64_t p = t->p;
  do { /* also once for k = 0, which writes zeros */
    const int64_t k = sn_gemm_least(g->kc - p % g->kc, t->end - p),
                  n = sn_gemm_least(g->sum - p % g->sum, k);
    size_t left_bytes, right_bytes = 0;
    const void *lefts =
        panels_of(g, &g->left, left, m, m->scratch, t->l, t->rows, p, k, &left_bytes);
    const char *panel = NULL;
    for (int64_t j = 0; j < t->cols; j += nr) {
      panel += j % together ? right_bytes : 0;
      if (j % together == 0)
        panel = panels_of(g, &g->right, right, m, m->scratch + g->panel_offset, t->r + j,
                          sn_gemm_least(together, t->cols - j), p, k, &right_bytes);
      const char *panel_of_left = lefts;
      for (int64_t i = 0; i < t->rows; i += mr, panel_of_left += left_bytes)
        run_block(g, n, k, panel_of_left, panel, out, i, j, p == t->p, edge);
    }
    p += k;
  } while (p < t->end);
}

static place_of_tile locate(const sn_gemm *g, int64_t task) {
  const int64_t l = g->left.first + task / g->right.blocks % g->left.blocks * g->left.block;
  const int64_t r = g->right.first + task % g->right.blocks * g->right.block;
  const int64_t p = g->from + task / (g->right.blocks * g->left.blocks) * g->segment;
  return (place_of_tile){.l = l,
                         .r = r,
                         .p = p,
                         .end = sn_gemm_least(p + g->segment, g->to),
                         .rows = sn_gemm_least(g->left.block, g->left.end - l),
                         .cols = sn_gemm_least(g->right.block, g->right.end - r)};
}

static void compute(const sn_gemm *g, const void *a, const void *b, const place_of_tile *t,
                    const area *out, const memories *m) {
  const void *left = g->swapped ? b : a, *right = g->swapped ? a : b;
  if (g->direct)
    sn_gemm_direct(g, left, right, t->l, t->rows, t->r, t->cols, out->at, out->ld, m->scratch);
  else
    compute_packed(g, left, right, t, out, m);
}

void sn_gemm_tile(const sn_gemm *g, const void *a, const void *b, int64_t task, const void *shared,
                  void *scratch, sn_tile_fn *store, void *user, void *worker_memory) {
  const place_of_tile t = locate(g, task);
  char *tile = (char *)scratch + g->tile_offset;
  /* The private tile has room for whole columns of panels, so no block needs the edge buffer. */
  const area out = {
      .at = tile, .ld = (ptrdiff_t)g->right.block, .rows = t.rows, .cols = g->right.block};
  compute(g, a, b, &t, &out, &(memories){shared, scratch});
  if (!g->swapped) {
    store(user, worker_memory, t.l, t.r, t.rows, t.cols, tile, out.ld);
    return;
  }
  if (t.rows > 1) { /* a single row is its own transpose */
    char *transposed = (char *)scratch + g->transposed_offset;
    sn_pack_panels(g->dtype, transposed, tile, NULL, t.rows, t.cols, out.ld, 1, (int)t.rows, 0);
    tile = transposed;
  }
  store(user, worker_memory, t.r, t.l, t.cols, t.rows, tile, (ptrdiff_t)t.rows);
}

typedef struct plain_result {
  void *c;
  ptrdiff_t rs_c;
  size_t element_bytes;
} plain_result;

static void copy_tile(void *user, void *worker_memory, int64_t row, int64_t col, int64_t rows,
                      int64_t cols, void *tile, ptrdiff_t ld) {
  (void)worker_memory;
  const plain_result *to = user;
  for (int64_t i = 0; i < rows; i++)
    memcpy(sn_element_mutable(to->c, (row + i) * to->rs_c + col, to->element_bytes),
           sn_element(tile, i * ld, to->element_bytes), (size_t)cols * to->element_bytes);
}

void sn_gemm_tile_to(const sn_gemm *g, const void *a, const void *b, void *c, ptrdiff_t rs_c,
                     int64_t task, const void *shared, void *scratch) {
  const size_t bytes = sn_gemm_bytes(g);
  const bool column = g->swapped && g->n == 1 && rs_c == 1; /* C^T is a row of C's memory */
  if (g->swapped && !column) {
    plain_result to = {.c = c, .rs_c = rs_c, .element_bytes = bytes};
    sn_gemm_tile(g, a, b, task, shared, scratch, copy_tile, &to, NULL);
    return;
  }
  const place_of_tile t = locate(g, task);
  const area out = {.at = sn_element_mutable(c, column ? t.r : t.l * rs_c + t.r, bytes),
                    .ld = rs_c,
                    .rows = t.rows,
                    .cols = t.cols};
  compute(g, a, b, &t, &out, &(memories){shared, scratch});
}
