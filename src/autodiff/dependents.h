/* dependents.h - which values depend on which, also through control flow: a result of control flow depends only on the inputs
 * that it is made of, not on all inputs of its node. */
#ifndef SN_AUTODIFF_DEPENDENTS_H
#define SN_AUTODIFF_DEPENDENTS_H

#include "build/build.h"
#include "build/range.h"

/* Marks the nodes of the range whose values depend on marked nodes. marks: per node, by its number - range.first. */
sn_status sn_mark_dependents(sn_build *b, sn_range range, uint8_t *marks);

#endif
