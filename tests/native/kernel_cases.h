/* kernel_cases.h - a micro-kernel against its contract (kernels/ukr/ukr.h), natively and inside
 * WebAssembly. */
#ifndef SN_TESTS_KERNEL_CASES_H
#define SN_TESTS_KERNEL_CASES_H

#include "kernels/ukr/ukr.h"

/* Both forms, every number of rows, blocks of k of several lengths, first and not: exact bits, C
 * around the block untouched, no effect of what stands beyond the rows and the panels. false: *why
 * (of `size`) tells where. */
bool kernel_cases(const sn_gemm_ukr *ukr, char *why, size_t size);

#endif
