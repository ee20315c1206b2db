/* conv_shape.h - attributes and shape rule of convolution over 1 to SN_CONV_AXES spatial axes. Per
 * axis
 *
 *   y[n, o, f] = sum over k, c of  x[n, (o step + k dilation - low) / spread, c]  w[k, c, f]
 *
 * where terms whose index is not whole or lies outside of x are 0. Channels come last; with groups,
 * output f reads the channels of its own group only. Spread is what a gradient or a transposed
 * convolution does to its input: the same op with step and spread exchanged and the filter turned
 * (flipped along the window, w[k, f, c] in place of w[k, c, f]). */
#ifndef SN_GRAPH_CONV_SHAPE_H
#define SN_GRAPH_CONV_SHAPE_H

#include "graph/shape.h"

#define SN_CONV_AXES 3

/* How many attributes it has; the first four are per axis. */
#define SN_CONV_ATTRS(axes) (4 * (axes) + 2)

typedef struct sn_conv_attrs {
  int axes;
  const int64_t *low, *step, *dilation, *spread;
  int64_t groups;
  bool turned;
} sn_conv_attrs;

static inline sn_conv_attrs sn_conv_of(const int64_t *attrs, int axes) {
  return (sn_conv_attrs){axes,
                         attrs,
                         attrs + axes,
                         attrs + 2 * axes,
                         attrs + 3 * axes,
                         attrs[4 * axes],
                         attrs[4 * axes + 1] != 0};
}

/* The attributes of the convolution that takes the result's cotangent back to x: windows are of the
 * filter's sizes. */
void sn_conv_reverse(const int64_t *attrs, int axes, const int64_t *window, int64_t *out);

/* The size of axis i, n in x, once it is spread and padded so that all `out` windows lie inside;
 * false if that cannot be counted or the attributes make no sense. */
bool sn_conv_padded_size(const sn_conv_attrs *c, int i, int64_t n, int64_t window, int64_t out,
                         int64_t *size);

/* The shape rule; *y has the wanted spatial sizes. */
sn_status sn_conv_infer(sn_env *env, const int64_t *attrs, const sn_type *x, const sn_type *w,
                        sn_type *y);

#endif
