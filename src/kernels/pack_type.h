/* pack_type.h - packing for one type of elements, T(item); those of panels are T(real). pack.inc
 * includes it per TYPE. */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* For elements adjacent across (ws = 1): copies rows, on into the next panels, so that memory is read
 * in order. `most` is a constant at every call and width is not much less, so that a panel's row
 * becomes a few loads and stores without a loop; the last ones overlap. */
ALWAYS_INLINE void T(copy_rows)(T(real) *restrict to, const T(item) *restrict from, ptrdiff_t k,
                                ptrdiff_t ks, ptrdiff_t panels, ptrdiff_t ld, const int width,
                                const int most) {
  for (ptrdiff_t p = 0; p < k; p++, to += width, from += ks) {
    T(real) *out = to;
    const T(item) *in = from;
    for (ptrdiff_t q = 0; q < panels; q++, out += ld, in += width) {
#pragma GCC unroll 8
      for (int next = 0; next < most; next += T(LANES)) {
        const int w = next == 0 || next + T(LANES) <= width ? next : width - T(LANES);
        T(sn_store)(out + w, T(sn_load)(in + w));
      }
    }
  }
}

/* For elements adjacent along k (ks = 1): transposes small squares in registers, one vector of rows
 * at a time down the whole of k, so that there are few streams of reads whatever the panel's width. If
 * the width is no multiple of the vector, the last rows overlap those before and write the same values
 * again. */
ALWAYS_INLINE void T(transpose_rows)(T(real) *restrict to, const T(item) *restrict from,
                                     const ptrdiff_t *offsets, ptrdiff_t k, ptrdiff_t ws,
                                     const int width) {
  for (int next = 0; next < width; next += T(LANES)) {
    const int w = next + T(LANES) <= width ? next : width - T(LANES);
    const T(item) * row[T(LANES)];
#pragma GCC unroll 4
    for (int r = 0; r < T(LANES); r++) row[r] = from + (offsets ? offsets[w + r] : (w + r) * ws);
    T(real) *out = to + w;
    ptrdiff_t p = 0;
    for (; p + T(LANES) <= k; p += T(LANES)) {
      T(vec) square[T(LANES)];
#pragma GCC unroll 4
      for (int r = 0; r < T(LANES); r++) square[r] = T(sn_load)(row[r] + p);
      T(sn_transpose)(square);
#pragma GCC unroll 4
      for (int r = 0; r < T(LANES); r++) T(sn_store)(out + r * width, square[r]);
      out += T(LANES) * width;
    }
    for (; p < k; p++, out += width)
#pragma GCC unroll 4
      for (int r = 0; r < T(LANES); r++) out[r] = T(value)(row[r][p]);
  }
}

/* For any strides, and for the last panel of a matrix, which it pads with zeros. */
static void T(gather)(T(real) *restrict to, const T(item) *restrict from, const ptrdiff_t *offsets,
                      ptrdiff_t width, ptrdiff_t k, ptrdiff_t ws, ptrdiff_t ks, int panel) {
  for (ptrdiff_t p = 0; p < k; p++) {
    if (offsets)
      for (ptrdiff_t w = 0; w < width; w++) to[w] = T(value)(from[offsets[w]]);
    else
      for (ptrdiff_t w = 0; w < width; w++) to[w] = T(value)(from[w * ws]);
    for (ptrdiff_t w = width; w < panel; w++) to[w] = 0;
    to += panel;
    from += ks;
  }
}

static void T(pack_panels)(T(real) * to, const T(item) * from, const ptrdiff_t *offsets,
                           ptrdiff_t width, ptrdiff_t k, ptrdiff_t ws, ptrdiff_t ks, int panel,
                           ptrdiff_t ld) {
  const bool rows = ws == 1 && !offsets;
  for (ptrdiff_t n; width > 0; width -= n) {
    const ptrdiff_t most = rows ? SN_PACK_TOGETHER : 1, whole = width / panel;
    const ptrdiff_t panels = whole < most ? whole : most;
    n = panels ? panels * panel : width;
/* Code for the widths of the SIMD micro-kernels; every other width is gathered. */
#define CODE(widths, width, most)                             \
  case widths:                                                \
    if (rows)                                                 \
      T(copy_rows)(to, from, k, ks, panels, ld, width, most); \
    else                                                      \
      T(transpose_rows)(to, from, offsets, k, ws, width);     \
    break;
#define WIDTH(w) CODE(w, w, w)
#define WIDTHS(least, most) CODE(least... most, panel, most)
    switch (panels && (rows || ks == 1) ? panel : 0) {
    default:
      n = n < panel ? n : panel;
      T(gather)(to, from, offsets, n, k, ws, ks, panel);
      break;
      T(SN_PACK_WIDTHS)(WIDTH, WIDTHS)
    }
#undef WIDTHS
#undef WIDTH
#undef CODE
    to += (n + panel - 1) / panel * ld;
    from += n * ws;
  }
}

#undef ALWAYS_INLINE
