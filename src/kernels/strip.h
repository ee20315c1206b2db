/* strip.h - the SIMD kernels of the strip VM: each computes one op over a strip of up to SN_STRIP
 * elements in L1. One table per instruction set, all made from the same text (strip_kernels.inc)
 * and the rows of ops.def, so every set computes the same bits.
 *
 * In a strip, float32, float64 and int32 lie as in memory; a bool is an int32 mask, 0 or -1; bits
 * of a small dtype are an int32, as math/expand_small.inc has them. dst may equal an input;
 * otherwise strips do not overlap. Nothing is read or written past n elements. */
#ifndef SN_KERNELS_STRIP_H
#define SN_KERNELS_STRIP_H

#include "graph/shape.h"
#include "kernels/isa.h"
#include "kernels/strip_size.h"

#define SN_DTYPE_COUNT 4 /* dtypes that are computed with; the small ones follow them */
#define SN_SMALL_COUNT (SN_DTYPES - SN_DTYPE_COUNT)

/* fused: whether a function of float32 has the fused bits (math/expand_f32.inc). Only WebAssembly's instance looks at it;
 * natively there is a table for either. */
typedef void sn_strip_fn(void *dst, const void *a, const void *b, const void *c, int64_t n,
                         bool fused);

/* lanes[j] = the identity combined with elements j, j + lanes, j + 2 lanes ... of a strip of n >= 0. SN_FOLD_BYTES of lanes. */
typedef void sn_fold_fn(void *lanes, const void *strip, int64_t n);

/* *out = all lanes combined: lane j with lane j + half, until one is left. */
typedef void sn_collapse_fn(void *out, const void *lanes);

typedef struct sn_strips {
  sn_strip_fn *op[SN_OP_COUNT][SN_DTYPE_COUNT];      /* by the last input's dtype */
  sn_strip_fn *combine[SN_OP_COUNT][SN_DTYPE_COUNT]; /* of a reduction: dst = a op b */
  sn_fold_fn *fold[SN_OP_COUNT][SN_DTYPE_COUNT];     /* of a reduction */
  sn_collapse_fn *collapse[SN_OP_COUNT][SN_DTYPE_COUNT];
  sn_strip_fn *cast[SN_DTYPE_COUNT][SN_DTYPE_COUNT]; /* [from][to] */
  sn_strip_fn *widen[SN_SMALL_COUNT]; /* of small dtypes, from SN_F16 on; int8 need not be
                                         sign-extended yet */
  sn_strip_fn *narrow[SN_SMALL_COUNT];
  sn_strip_fn *mask_load;  /* bytes -> masks */
  sn_strip_fn *mask_store; /* masks -> bytes 0, 1 */
} sn_strips;

/* The kernel of astype; a small dtype is cast only to or from its wide dtype. */
static inline sn_strip_fn *sn_strips_cast(const sn_strips *strips, sn_dtype from, sn_dtype to) {
  if (sn_dtype_is_small(to) && from == to) return strips->cast[SN_I32][SN_I32];
  if (sn_dtype_is_small(to)) return strips->narrow[to - SN_F16];
  return sn_dtype_is_small(from) ? strips->widen[from - SN_F16] : strips->cast[from][to];
}

/* The table for an instruction set that the machine has. fused: whether functions of float32 have the fused bits. Instruction
 * sets that do not fuse (sn_isa_fuses) have the plain bits only, except for WebAssembly's, whose kernels look at `fused`. */
const sn_strips *sn_strips_for(sn_isa_id isa, bool fused);

/* A strip kernel for the ops whose row is a function of math/: it interprets what code is emitted from
 * (jit/compute_nodes.c). */
void sn_strip_computed(sn_op op, sn_dtype dtype, void *dst, const void *a, const void *b, int64_t n,
                       bool fused);

/* Bytes of an element inside a strip. */
static inline size_t sn_strip_bytes(sn_dtype dtype) { return dtype == SN_F64 ? 8 : 4; }

/* Whether strips hold elements as memory does. */
static inline bool sn_strip_is_memory(sn_dtype dtype) {
  return dtype != SN_BOOL && !sn_dtype_is_small(dtype);
}

/* Copies element 0 of a strip to all n. */
void sn_strip_splat(sn_dtype dtype, void *strip, int64_t n);

/* Writes one value, converted, to n elements of a strip. */
void sn_strip_fill(sn_dtype dtype, void *strip, double value, int64_t n);

#endif
