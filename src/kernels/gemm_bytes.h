/* gemm_bytes.h - packs bytes for micro-kernels that have several terms in an element (ukr/ukr.h). */
#ifndef SN_KERNELS_GEMM_BYTES_H
#define SN_KERNELS_GEMM_BYTES_H

#include "kernels/gemm_plan.h"

/* Packs positions w .. w + width and elements p .. p + k of a side, as panels one behind the other. Terms behind the last one
 * are 0. */
void sn_gemm_pack_bytes(const sn_gemm *g, const sn_gemm_side *s, uint32_t *panels, const void *base,
                        int64_t w, int64_t width, int64_t p, int64_t k);

#endif
