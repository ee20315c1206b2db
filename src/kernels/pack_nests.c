/* pack_nests.c - packing from nests: finds runs of evenly spaced positions along k, and packs each as
 * pack.inc does. */
#include <string.h>

#include "kernels/pack.h"

/* The positions across of a panel: the offset of each from the first one, and its mark. */
typedef struct places {
  ptrdiff_t first, offsets[SN_PACK_MOST];
  int64_t width, marks[SN_PACK_MOST];
  bool even; /* ws apart */
} places;

static void find_places(places *to, const sn_nest *across, int64_t w, int64_t width) {
  const int64_t ws = sn_nest_stride(across), mark = across->marks[across->rank - 1];
  sn_nest_place at = sn_nest_seek(across, w);
  to->first = (ptrdiff_t)at.offset;
  to->width = width;
  to->even = true;
  for (int64_t i = 0; i < width;) {
    const int64_t run = sn_nest_run(across, &at), n = run < width - i ? run : width - i;
    to->even = to->even && at.offset == to->first + i * ws;
    for (int64_t j = 0; j < n; j++) {
      to->offsets[i + j] = (ptrdiff_t)(at.offset + j * ws) - to->first;
      to->marks[i + j] = at.mark + j * mark;
    }
    sn_nest_advance(across, &at, n);
    i += n;
  }
}

static bool all_inside(const places *across, const sn_bounds *bounds, int64_t mark) {
  bool all = true;
  for (int64_t i = 0; i < across->width; i++)
    all = all && sn_inside(bounds, across->marks[i] + mark);
  return all;
}

/* Whether all positions have an element. Marks grow along every dim, so the first and last are enough. */
static bool is_interior(const places *across, const sn_nest *along, const sn_bounds *bounds) {
  int64_t last = 0;
  if (!bounds->guards) return true;
  for (int i = 0; i < along->rank; i++) last += (along->dims[i] - 1) * along->marks[i];
  return all_inside(across, bounds, 0) && all_inside(across, bounds, last);
}

/* How many of n positions along, from `at` on, have elements at the same positions across. */
static int64_t same_places(const places *across, const sn_nest *along, const sn_bounds *bounds,
                           const sn_nest_place *at, int64_t n) {
  const int64_t mark = along->marks[along->rank - 1];
  if (mark == 0) return n;
  if (!all_inside(across, bounds, at->mark)) return 1;
  while (!all_inside(across, bounds, at->mark + (n - 1) * mark)) n--;
  return n;
}

/* Copies the offsets, with another position's offset where there is no element; false if no position
 * has one. */
static bool fill_in(const places *across, const sn_bounds *bounds, int64_t mark,
                    ptrdiff_t *offsets) {
  int64_t other = 0;
  while (other < across->width && !sn_inside(bounds, across->marks[other] + mark)) other++;
  for (int64_t i = 0; i < across->width && other < across->width; i++)
    offsets[i] = across->offsets[sn_inside(bounds, across->marks[i] + mark) ? i : other];
  return other < across->width;
}

/* Moves `at` over the next run, at most k positions along that are evenly spaced and have elements at
 * the same positions across, and returns its length. If nothing is padded (interior), a run may go on
 * over several dims. */
static int64_t next_run(const places *across, const sn_nest *along, const sn_bounds *bounds,
                        bool interior, int64_t k, sn_nest_place *at) {
  const int64_t ks = sn_nest_stride(along), begin = at->offset;
  int64_t n = 0;
  do {
    const int64_t run = sn_nest_run(along, at);
    int64_t more = run < k - n ? run : k - n;
    if (!interior) more = same_places(across, along, bounds, at, more);
    sn_nest_advance(along, at, more);
    n += more;
  } while (interior && n < k && at->offset == begin + n * ks);
  return n;
}

void sn_pack_nests(sn_dtype dtype, void *panel_out, const void *source, const sn_nest *across,
                   int64_t w, int64_t width, const sn_nest *along, int64_t p, int64_t k,
                   const sn_bounds *bounds, int panel) {
  const ptrdiff_t item = dtype == SN_F64 ? 8 : 4; /* in panels */
  const ptrdiff_t source_item = (ptrdiff_t)sn_dtype_bytes(dtype);
  const ptrdiff_t ws = (ptrdiff_t)sn_nest_stride(across), ks = (ptrdiff_t)sn_nest_stride(along);
  const int64_t ld = k * panel;
  places all;
  ptrdiff_t filled[SN_PACK_MOST];
  find_places(&all, across, w, width);
  const bool interior = is_interior(&all, along, bounds);
  char *to = panel_out;
  for (sn_nest_place at = sn_nest_seek(along, p); k > 0;) {
    const int64_t mark = at.mark;
    const char *from = (const char *)source + (all.first + (ptrdiff_t)at.offset) * source_item;
    const int64_t n = next_run(&all, along, bounds, interior, k, &at);
    if (interior || all_inside(&all, bounds, mark)) {
      sn_pack_panels(dtype, to, from, all.even ? NULL : all.offsets, width, n, ws, ks, panel, ld);
    } else if (!fill_in(&all, bounds, mark, filled)) {
      memset(to, 0, (size_t)(n * panel * item));
    } else {
      sn_pack_panels(dtype, to, from, filled, width, n, ws, ks, panel, ld);
      for (int64_t i = 0; i < width; i++)
        for (int64_t j = 0; j < n && !sn_inside(bounds, all.marks[i] + mark); j++)
          memset(to + (j * panel + i) * item, 0, (size_t)item);
    }
    to += n * panel * item;
    k -= n;
  }
}

void sn_pack_runs(sn_dtype dtype, ptrdiff_t *runs, const void *source, const sn_nest *across,
                  int64_t w, int64_t width, const sn_nest *along, int64_t p, int64_t k,
                  const sn_bounds *bounds, int panel) {
  static const double zeros[SN_PACK_LONGEST_RUN];
  const ptrdiff_t item = dtype == SN_F64 ? 8 : 4;
  places all;
  find_places(&all, across, w, width);
  const bool interior = is_interior(&all, along, bounds);
  for (sn_nest_place at = sn_nest_seek(along, p); k > 0;) {
    const int64_t mark = at.mark;
    const char *from = (const char *)source + (all.first + (ptrdiff_t)at.offset) * item;
    const int64_t n = next_run(&all, along, bounds, interior, k, &at);
    *runs++ = (ptrdiff_t)n;
    for (int64_t i = 0; i < panel; i++) {
      const int64_t row = i < width ? i : 0;
      const bool inside = interior || sn_inside(bounds, all.marks[row] + mark);
      *runs++ = inside ? (ptrdiff_t)(from + all.offsets[row] * item) : (ptrdiff_t)zeros;
    }
    k -= n;
  }
  *runs = 0;
}
