/* conv_shape.h - attributes and shape rule of convolution over 1 to SN_CONV_AXES spatial axes. Along
 * each axis
 *
 *   y[n, o, f] = sum over k, c of  x[n, (o step + k dilation - low) / spread, c]  w[k, c, f]
 *
 * where a term is 0 if its index into x is not whole or lies outside of x. Channels come last; with
 * groups, output f reads the channels of its own group only. A spread s > 1 puts s - 1 zeros between
 * the elements of x: a gradient or a transposed convolution is the same op with step and spread
 * exchanged and the filter transposed (flipped along the window, with w[k, f, c] in place of
 * w[k, c, f]). */
#ifndef SN_GRAPH_CONV_SHAPE_H
#define SN_GRAPH_CONV_SHAPE_H

#include "graph/shape.h"

#define SN_CONV_AXES 3

/* Number of int64 of a convolution's attributes: four per axis, then groups and transpose_filter. */
#define SN_CONV_ATTRS(axes) (4 * (axes) + 2)

typedef struct sn_conv_attrs {
  int axes;
  const int64_t *low, *step, *dilation, *spread;
  int64_t groups;
  bool transpose_filter; /* as transpose_kernel of JAX: see above */
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

/* Writes the attributes of the convolution that makes the cotangent of x from that of y. window: the
 * filter's spatial sizes. */
void sn_conv_reverse(const int64_t *attrs, int axes, const int64_t *window, int64_t *out);

/* Sets *size to the size of axis i, which is n in x, once it is spread and padded so that all `out`
 * windows lie inside. False if the number overflows or the attributes make no sense. */
bool sn_conv_padded_size(const sn_conv_attrs *c, int i, int64_t n, int64_t window, int64_t out,
                         int64_t *size);

/* The shape rule. *y comes with the wanted spatial sizes; its other dims and its dtype are set. */
sn_status sn_conv_infer(sn_env *env, const int64_t *attrs, const sn_type *x, const sn_type *w,
                        sn_type *y);

#endif
