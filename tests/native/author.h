/* author.h - the author of a random program: its arguments, the values made so far, its steps. */
#ifndef SN_TESTS_AUTHOR_H
#define SN_TESTS_AUTHOR_H

#include "written.h"

#define AUTHOR_ARGUMENTS 40

typedef struct author_argument {
  sn_type type;
  void *data;
  int same_as;   /* an earlier argument, which as used is this one; -1: none */
  bool constant; /* as used it is no argument but a number everywhere */
  double number;
  bool variable;     /* gradients may be asked for */
  sn_tensor *given;  /* placeholder, value or constant */
  sn_tensor *tensor; /* what steps read: of a variable the copy that gradients know */
} author_argument;

typedef struct author {
  sn_context *ctx;
  case_random r; /* of the present step */
  bool apart, eager;
  int64_t most_elements;
  sn_dtype dtype; /* of most floats */
  bool no_slope;  /* a step's derivative is not that of its values */
  size_t step;
  sn_tensor *made[WRITTEN_STEPS]; /* floats; NULL where a step made none */
  author_argument arguments[AUTHOR_ARGUMENTS];
  size_t n_arguments;
} author;

/* A new argument with random numbers; NULL: there are too many. */
sn_tensor *author_argument_of(author *a, const sn_type *type);

/* Any float made so far, later ones more often; NULL: none. */
sn_tensor *author_pick(author *a);

/* Makes a value, or none if what it picked does not suit the step. */
void author_step(author *a);

/* A number: the sum of x, weighted or squared, its mean, or the like. */
sn_tensor *author_total(author *a, sn_tensor *x);

#endif
