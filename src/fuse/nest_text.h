/* nest_text.h - where an element lies along an axis, as an expression in C or WGSL. */
#ifndef SN_FUSE_NEST_TEXT_H
#define SN_FUSE_NEST_TEXT_H

#include "base/text.h"
#include "fuse/nest.h"

/* Adds the terms of an axis at position `index`, a variable, with these strides in place of its own. any: whether there
 * was a term before. */
void sn_nest_add_terms(sn_text *text, bool *any, const sn_nest *axis, const int64_t *strides,
                       const char *index);

/* The strides of the coordinate along a padded axis that a field of the marks counts. */
void sn_nest_field(const sn_nest *axis, int field, int64_t *strides);

/* The bounds of that coordinate: it is inside from low to high. */
void sn_bounds_field(const sn_bounds *bounds, int field, int64_t *low, int64_t *high);

#endif
