/* flow.h - what depends on what, through control flow: a result on what it is made of, not on all that its node is given. */
#ifndef SN_AUTODIFF_FLOW_H
#define SN_AUTODIFF_FLOW_H

#include "build/build.h"
#include "build/range.h"

/* marks: per node of the range, by its number less range.first. Marks those whose values depend on nodes that are
 * marked. */
sn_status sn_flow_nodes(sn_build *b, sn_range range, uint8_t *marks);

#endif
