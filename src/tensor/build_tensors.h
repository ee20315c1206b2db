/* build_tensors.h - the maker of lazy tensors: formulas of build.h over tensors as they are.
 *
 *   number   0 .. n_wrt - 1   the tensors wrt, which are leaves
 *            ..               what the outputs are made of, as the walk meets it: the forward nodes
 *            ..               what is made from then on, each a new tensor with one reference
 *
 * Equal nodes have one number, as in a dense graph: what two equal expressions hand back is added
 * before it is passed on. */
#ifndef SN_TENSOR_BUILD_TENSORS_H
#define SN_TENSOR_BUILD_TENSORS_H

#include "build/build.h"
#include "tensor/region.h"
#include "tensor/tensor.h"

typedef struct sn_tensor_build {
  sn_build b; /* first: the maker's functions are given this */
  sn_context *ctx;
  sn_tensor **tensors; /* by number */
  size_t n, cap, n_borrowed;
  sn_id_table table; /* of all but leaves */
  sn_region **regions; /* made on the way, a reference each */
  size_t n_regions, cap_regions;
} sn_tensor_build;

/* Numbers wrt and what the outputs are made of. The walk goes through values that are tracked. Until
 * the end nothing else may walk over the context's tensors. */
sn_status sn_tensor_build_begin(sn_tensor_build *tb, sn_context *ctx, sn_arena *arena,
                                sn_tensor *const *wrt, size_t n_wrt, sn_tensor *const *outputs,
                                size_t n_outputs);

/* Numbers a tensor from outside too, as a leaf unless it was met; before anything is made. */
sn_status sn_tensor_build_leaf(sn_tensor_build *tb, sn_tensor *t);

/* The tensors of these numbers, n of them, each as a node of its own: what is a tensor of before, or another result
 * too, is one, too. */
sn_status sn_tensor_build_results(const sn_tensor_build *tb, const sn_id *ids, size_t n,
                                  sn_tensor **out);

/* Releases what was made and is not held by others; after a failure too. */
void sn_tensor_build_end(sn_tensor_build *tb);

#endif
