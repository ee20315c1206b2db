/* vmap.h - batching: turns nodes that were recorded for one example into nodes for many examples at once, on the nodes of
 * any builder (build/build.h). */
#ifndef SN_BATCHING_VMAP_H
#define SN_BATCHING_VMAP_H

#include "build/build.h"

/* Sets out[k], for each of the n nodes y, to a node with one more axis in front, of length `size`: slice
 * j of it is the value of y[k] if each of the n_examples nodes `examples` is slice j of its node in
 * `batches`. batches[i] has the type of examples[i] with that axis in front. out[k] is SN_NONE if y[k]
 * depends on no example. The result has no loop over examples. Linear in the number of nodes; temporary
 * memory comes from the builder's arena. */
sn_status sn_vmap_nodes(sn_build *b, const sn_id *y, size_t n, const sn_id *examples,
                        const sn_id *batches, size_t n_examples, int64_t size, sn_id *out);

#endif
