/* case_support.h - for tests that draw many cases: one context with one thread, and one random
 * stream. */
#ifndef SN_TESTS_CASE_SUPPORT_H
#define SN_TESTS_CASE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "op_cases.h"

extern sn_context *ctx; /* of all tests of the executable */
extern case_random rng;

/* Set-up and teardown of the group of tests; the seed is printed. */
int open_cases(void **state);
int close_cases(void **state);

/* Fail with what was made and the context's error. */
sn_tensor *must(const char *what, sn_tensor *t);
void succeed(const char *what, sn_status status);

/* Numbers of a tensor like t that follow from a seed. */
sn_tensor *random_like(sn_tensor *t, uint64_t seed);

#endif
