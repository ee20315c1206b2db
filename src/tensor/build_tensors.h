/* build_tensors.h - the maker of lazy tensors: lets formulas of build.h work on lazy tensors.
 *
 *   number   0 .. n_wrt - 1   the tensors wrt, which are leaves
 *            ..               the tensors that the outputs depend on, in the order of the walk: forward nodes
 *            ..               tensors made afterwards, each with one reference
 *
 * Equal nodes have one number, as in a dense graph. So the cotangents of two equal expressions are added up
 * before they are passed on. */
#ifndef SN_TENSOR_BUILD_TENSORS_H
#define SN_TENSOR_BUILD_TENSORS_H

#include "build/build.h"
#include "tensor/region.h"
#include "tensor/tensor.h"

typedef struct sn_tensor_build {
  sn_build b; /* first member: the maker's functions get a pointer to it */
  sn_context *ctx;
  sn_tensor **tensors; /* by number; the first n_borrowed are not owned */
  size_t n, cap, n_borrowed;
  sn_id_table table;   /* finds equal nodes; holds all numbers but those of leaves */
  sn_region **regions; /* regions made on the way, with a reference each */
  size_t n_regions, cap_regions;
} sn_tensor_build;

/* Numbers wrt and all that the outputs depend on. The walk goes through values that are tracked. Until
 * sn_tensor_build_end nothing else may walk over the context's tensors. */
sn_status sn_tensor_build_begin(sn_tensor_build *tb, sn_context *ctx, sn_arena *arena,
                                sn_tensor *const *wrt, size_t n_wrt, sn_tensor *const *outputs,
                                size_t n_outputs);

/* Numbers one more tensor, as a leaf unless it has a number already. Call it before anything is made. */
sn_status sn_tensor_build_leaf(sn_tensor_build *tb, sn_tensor *t);

/* out[i] is a new marker node of the tensor with number ids[i]: so each result is a tensor of its own, even if the number
 * is that of an older tensor or of another result. */
sn_status sn_tensor_build_results(const sn_tensor_build *tb, const sn_id *ids, size_t n,
                                  sn_tensor **out);

/* Releases the references to what was made. Call it after a failure, too. */
void sn_tensor_build_end(sn_tensor_build *tb);

#endif
