/* einsum_cases.h - a spec with shapes, for the tests of einsum. */
#ifndef EINSUM_CASES_H
#define EINSUM_CASES_H

#include <ctype.h>

#include "api_support.h"

enum { MAX_OPERANDS = 8, MAX_AXES = 128, MAX_ELEMENTS = 1 << 17, TEXT = 256 };

typedef struct operand {
  int rank;
  int64_t dims[SN_MAX_RANK];
} operand;

typedef struct einsum_case {
  char spec[TEXT];
  size_t n;
  operand in[MAX_OPERANDS];
} einsum_case;

/* Shapes as "2 3|3 4". */
static inline einsum_case case_of(const char *spec, const char *shapes) {
  einsum_case c = {.n = 1};
  strcpy(c.spec, spec);
  for (const char *at = shapes; *at;) {
    operand *o = &c.in[c.n - 1];
    if (isdigit((unsigned char)*at))
      o->dims[o->rank++] = strtol(at, (char **)(uintptr_t)&at, 10);
    else
      c.n += *at++ == '|';
  }
  return c;
}

static inline uint32_t below(case_random *r, uint32_t n) { return (uint32_t)case_below(r, n); }

#endif
