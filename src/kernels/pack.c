#include "kernels/pack.h"

#include "kernels/vec128.h"

/* Widths of the SIMD micro-kernels in ukr/, for speed; every other one goes the general way. */
#ifdef __wasm__
#define PANELS(X) X(4) X(6) X(8)
#else
#define PANELS(X) X(4) X(6) X(8) X(14) X(16) X(32)
#endif

#define TYPE f32
#include "kernels/pack_type.h"
#undef TYPE
#define TYPE f64
#include "kernels/pack_type.h"
#undef TYPE

/* offsets: of each position across, or NULL where they are ws apart. */
static void pack(sn_dtype dtype, void *panel_out, const void *source, const ptrdiff_t *offsets,
                 int64_t width, int64_t k, ptrdiff_t ws, ptrdiff_t ks, int panel) {
  if (dtype == SN_F64)
    pack_panel_f64(panel_out, source, offsets, (ptrdiff_t)width, (ptrdiff_t)k, ws, ks, panel);
  else
    pack_panel_f32(panel_out, source, offsets, (ptrdiff_t)width, (ptrdiff_t)k, ws, ks, panel);
}

void sn_pack_panel(sn_dtype dtype, void *panel_out, const void *source, int64_t width, int64_t k,
                   ptrdiff_t ws, ptrdiff_t ks, int panel) {
  pack(dtype, panel_out, source, NULL, width, k, ws, ks, panel);
}

void sn_pack_nests(sn_dtype dtype, void *panel_out, const void *source, const sn_nest *across,
                   int64_t w, int64_t width, const sn_nest *along, int64_t p, int64_t k,
                   int panel) {
  const ptrdiff_t item = dtype == SN_F64 ? 8 : 4;
  const ptrdiff_t ws = (ptrdiff_t)sn_nest_stride(across), ks = (ptrdiff_t)sn_nest_stride(along);
  ptrdiff_t offsets[SN_PACK_MOST];
  sn_nest_place at = sn_nest_seek(across, w);
  const ptrdiff_t first = (ptrdiff_t)at.offset;
  const bool even = width <= sn_nest_run(across, &at);
  for (int64_t i = 0; i < width && !even;) {
    const int64_t run = sn_nest_run(across, &at), n = run < width - i ? run : width - i;
    for (int64_t j = 0; j < n; j++) offsets[i + j] = (ptrdiff_t)(at.offset + j * ws) - first;
    sn_nest_advance(across, &at, n);
    i += n;
  }
  char *to = panel_out;
  for (at = sn_nest_seek(along, p); k > 0;) {
    const int64_t run = sn_nest_run(along, &at), n = run < k ? run : k;
    const ptrdiff_t from = first + (ptrdiff_t)at.offset;
    pack(dtype, to, (const char *)source + from * item, even ? NULL : offsets, width, n, ws, ks,
         panel);
    sn_nest_advance(along, &at, n);
    to += n * panel * item;
    k -= n;
  }
}
