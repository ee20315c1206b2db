/* range.h - the range of nodes that a derivative's walk visits: from the first of wrt to the last of y and wrt. Only these
 * can both depend on wrt and contribute to y, because inputs have smaller numbers than their users. */
#ifndef SN_BUILD_RANGE_H
#define SN_BUILD_RANGE_H

#include "graph/graph.h"

typedef struct sn_range {
  sn_id first, end;
} sn_range;

static inline sn_range sn_range_of(const sn_id *y, size_t n, const sn_id *wrt, size_t n_wrt) {
  sn_range r = {SN_NONE, 0};
  for (size_t i = 0; i < n_wrt; i++) {
    r.first = wrt[i] < r.first ? wrt[i] : r.first;
    r.end = wrt[i] < r.end ? r.end : wrt[i] + 1;
  }
  for (size_t i = 0; i < n; i++) r.end = y[i] < r.end ? r.end : y[i] + 1;
  if (!n_wrt) r.first = r.end;
  return r;
}

#endif
