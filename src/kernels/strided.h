/* strided.h - loads and stores between strips and memory with any strides. A strip is a flat range of
 * a row-major space; it is walked run by run along the innermost dimension. */
#ifndef SN_KERNELS_STRIDED_H
#define SN_KERNELS_STRIDED_H

#include "fuse/group.h"
#include "kernels/position.h"
#include "kernels/strip.h"

/* The offset, by these strides, of point `flat` of a row-major space. */
static inline int64_t sn_offset_at(const int64_t *dims, const int64_t *strides, int rank,
                                   int64_t flat) {
  int64_t at = 0;
  for (int i = rank - 1; i >= 0; i--) { /* no division where there is no need for one */
    if (strides[i]) at += (i ? flat % dims[i] : flat) * strides[i];
    if (i) flat /= dims[i];
  }
  return at;
}

/* strip[i] = element flat + i of the operand (bool: as masks), i < n. Here and below, offset replaces
 * the operand's own. */
void sn_gather(const sn_operand *o, int64_t offset, const int64_t *dims, int rank, int64_t flat,
               int64_t n, const void *base, void *strip);

/* The same for an indexed operand: `indices` is the buffer of its index, which begins at index_offset.
 * Returns where the elements are then: in the strip, or in memory if they are adjacent there. */
void *sn_gather_lookup(const sn_operand *o, int64_t offset, const sn_indexing *place,
                       int64_t index_offset, const int64_t *dims, int rank, int64_t flat, int64_t n,
                       void *base, const void *indices, void *strip);

/* The address of the same elements if they are adjacent in memory, as a bias is along its row; or NULL. */
void *sn_gather_in_place(const sn_operand *o, int64_t offset, const int64_t *dims, int rank,
                         int64_t flat, int64_t n, void *base);

/* n elements of memory, stride apart, as a strip. */
void sn_gather_run(sn_dtype dtype, void *to, const void *from, int64_t stride, int64_t n);

/* The operand's first element n times. */
void sn_gather_single(const sn_operand *o, int64_t offset, const void *base, void *strip,
                      int64_t n);

/* strip[i] = offset + sum of index times stride, in the operand's dtype. */
void sn_gather_index(const sn_operand *o, int64_t offset, const int64_t *dims, int rank,
                     int64_t flat, int64_t n, void *strip);

/* The reverse of sn_gather. linear: the operand is contiguous over the space. */
void sn_store_strided(const sn_strips *strips, const sn_operand *o, int64_t offset, bool linear,
                      const int64_t *dims, int rank, int64_t flat, int64_t n, const void *strip,
                      void *base);

#endif
