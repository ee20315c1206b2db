/* vmap.h - a function that was recorded for one example, made one of many at once, on whatever a builder makes. */
#ifndef SN_BATCHING_VMAP_H
#define SN_BATCHING_VMAP_H

#include "build/build.h"

/* Makes of each node y, n of them, one with one more axis in front, `size` long: its values where the
 * nodes examples, n_examples of them, are the parts of batches along their first axis. batches[i] has
 * the type of examples[i] but for that. SN_NONE in out: y[k] depends on no example. No loop over
 * examples is made. Linear in the number of nodes; scratch comes from the builder's arena. */
sn_status sn_vmap_nodes(sn_build *b, const sn_id *y, size_t n, const sn_id *examples,
                        const sn_id *batches, size_t n_examples, int64_t size, sn_id *out);

#endif
