/* kernel_cases.h - a micro-kernel against its contract (kernels/ukr/ukr.h), natively and inside
 * WebAssembly. */
#ifndef SN_TESTS_KERNEL_CASES_H
#define SN_TESTS_KERNEL_CASES_H

#include "kernels/ukr/ukr.h"

/* Both forms, every number of rows, blocks of k of several lengths, first and not: bits are exact,
 * C around the block is untouched, and what stands beyond the rows and the panels has no effect.
 * false: *why (of `size`) says where. */
bool kernel_cases(const sn_gemm_ukr *ukr, char *why, size_t size);

#endif
