/* judge.h - a judge outside the compiler: a traced graph, before any pass, evaluated node by node
 * by graph/reference.c in three ways.
 *
 *   narrow    in the program's dtypes
 *   wide      with float64 in place of float32: the distance of narrow from it shows how well the
 *             program is conditioned at these numbers
 *   shaken    wide, with the result of every rounding op moved at random by as much as float32 would
 *             have rounded
 *
 * A result of a compiled program is right if it has narrow's bits, or is about as near to wide as
 * narrow is, or as near as shaken results are. There is no fixed tolerance: an element that no rounding
 * can move has to be exact. Derivatives are judged against differences of the wide function, so a wrong
 * rule is seen although all engines share it. */
#ifndef SN_TESTS_JUDGE_H
#define SN_TESTS_JUDGE_H

#include "op_cases.h"

typedef struct judge {
  const sn_graph *traced;              /* with its outputs; kept by the caller */
  const void *const *arguments;        /* per argument of the graph: its elements */
  sn_graph wide, smooth;               /* copies of traced in float64; smooth: halves, too */
  void **narrow_values, **wide_values; /* per node */
  double **bounds; /* per output: what shaken ones are off at most, once asked for */
  struct judge_block *blocks;
} judge;

void judge_open(judge *j, const sn_graph *traced, const void *const *arguments);
void judge_close(judge *j);

const void *judge_narrow(const judge *j, size_t output);
double judge_wide_at(const judge *j, size_t output, int64_t i);

/* Whether got holds the elements of an output; if not, *where is the first wrong one, and *bound
 * how far it may be off. */
bool judge_accepts(judge *j, size_t output, const void *got, int64_t *where, double *bound);

typedef enum judge_verdict {
  JUDGE_RIGHT,
  JUDGE_WRONG,
  JUDGE_OPEN /* no derivative there: a kink, infinite values, or too curved to tell */
} judge_verdict;

/* Output `value`, one number, against outputs gradients[i], its derivatives by arguments
 * variables[i]: along a random direction, near the arguments. *slope: of the gradients;
 * *difference: measured. */
judge_verdict judge_derivative(judge *j, uint64_t seed, size_t value, const size_t *gradients,
                               const size_t *variables, size_t n, double *slope,
                               double *difference);

#endif
