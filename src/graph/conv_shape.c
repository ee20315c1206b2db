#include "graph/conv_shape.h"

#include "base/size.h"

/* The positions that a window spans: (size - 1) dilation + 1. False if the number overflows. */
static bool span_of(int64_t size, int64_t dilation, int64_t *out) {
  return size >= 1 && dilation >= 1 && !sn_int_mul_overflows(size - 1, dilation, out) &&
         !sn_int_add_overflows(*out, 1, out);
}

bool sn_conv_padded_size(const sn_conv_attrs *c, int i, int64_t n, int64_t window, int64_t out,
                         int64_t *size) {
  int64_t span, extent, needed;
  if (out < 0 || c->low[i] < 0 || c->step[i] < 1 || c->spread[i] < 1) return false;
  if (!span_of(window, c->dilation[i], &span) || c->low[i] >= span) return false;
  if (!span_of(n ? n : 1, c->spread[i], &extent)) return false;
  if (!span_of(out ? out : 1, c->step[i], &needed)) return false;
  if (sn_int_add_overflows(n ? extent : 0, c->low[i], &extent)) return false;
  if (sn_int_add_overflows(needed, span - 1, &needed)) return false;
  *size = needed > extent ? needed : extent;
  return true;
}

/* Failures here are internal errors: tensor/conv.c has checked first, with messages for users. */
sn_status sn_conv_infer(sn_env *env, const int64_t *attrs, const sn_type *x, const sn_type *w,
                        sn_type *y) {
  const int axes = x->rank - 2;
  SN_CHECK(env, axes >= 1 && axes <= SN_CONV_AXES && w->rank == x->rank && y->rank == x->rank &&
                    x->dtype == w->dtype);
  const sn_conv_attrs c = sn_conv_of(attrs, axes);
  const int64_t in = x->dims[axes + 1], q = w->dims[axes + 1];
  int64_t grouped = 0; /* the filter's dim of channels per group, times groups */
  int64_t depth = in;  /* elements of a window over all channels */
  bool fits = !sn_int_mul_overflows(w->dims[axes], c.groups, &grouped) && q % c.groups == 0 &&
              in == (c.transpose_filter ? q : grouped);
  sn_type padded = *x;
  for (int i = 0; i < axes; i++)
    fits = fits && sn_conv_padded_size(&c, i, x->dims[i + 1], w->dims[i], y->dims[i + 1],
                                       &padded.dims[i + 1]);
  SN_CHECK(env, fits);
  y->dtype = x->dtype;
  y->dims[0] = x->dims[0];
  sn_type patches = *y; /* all windows; its size must not overflow either, like that of padded */
  y->dims[axes + 1] = c.transpose_filter ? grouped : q;
  for (int i = 0; i < axes; i++)
    SN_FAIL_IF(env, sn_int_mul_overflows(depth, w->dims[i], &depth), SN_ERR_MEMORY, "conv",
               "the windows are too large");
  patches.dims[axes + 1] = depth;
  SN_TRY(sn_type_check(env, &padded, "conv"));
  return sn_type_check(env, &patches, "conv");
}

void sn_conv_reverse(const int64_t *attrs, int axes, const int64_t *window, int64_t *out) {
  const sn_conv_attrs c = sn_conv_of(attrs, axes);
  for (int i = 0; i < axes; i++) {
    out[i] = (window[i] - 1) * c.dilation[i] - c.low[i];
    out[axes + i] = c.spread[i];
    out[2 * axes + i] = c.dilation[i];
    out[3 * axes + i] = c.step[i];
  }
  out[4 * axes] = c.groups;
  out[4 * axes + 1] = !c.transpose_filter;
}
