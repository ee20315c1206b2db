/* derivative_cases.h - the cases for tests of derivatives and vmap: every elementwise row of ops.def at several shapes, and a
 * case for each structured op and for what functions are composed of. Inputs are floats that keep a distance from
 * kinks: from every multiple of 1/4, and from each other. */
#ifndef SN_TESTS_DERIVATIVE_CASES_H
#define SN_TESTS_DERIVATIVE_CASES_H

#include "op_cases.h"

#define DERIVATIVE_INPUTS 3
#define DERIVATIVE_ELEMENTS 64

/* A tensor of any shape and dtype made from n float inputs. */
typedef struct derivative_case {
  const char *name;
  sn_tensor *(*build)(sn_context *ctx, const struct derivative_case *c, sn_tensor *const *x);
  int n;
  sn_type in[DERIVATIVE_INPUTS];
  sn_op op; /* for build */
  double lo, hi;
  bool stops; /* the derivative is 0 whatever the differences say */
} derivative_case;

/* Elements of each input. */
typedef struct derivative_point {
  double x[DERIVATIVE_INPUTS][DERIVATIVE_ELEMENTS];
} derivative_point;

/* Calls check with each elementwise row at each shape; with each structured case. */
typedef void derivative_check(const derivative_case *c);
void derivative_rows(derivative_check *check);
void derivative_structured(derivative_check *check);

/* Inputs of even and odd number fall into different places between the multiples of 1/4. */
derivative_point derivative_random_point(const derivative_case *c, case_random *r);

#endif
