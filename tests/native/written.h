/* written.h - random programs as users write them: a function of some tensors, its value and its
 * gradients in one program, intermediate results returned as well, gradients inside of gradients.
 *
 * A program is a list of steps, each with a seed of its own. A step names its operands by the steps
 * that made them, and takes an earlier one in place of a dropped step, so a failing program can shrink.
 * It is written twice:
 *
 *   as used   some arguments are the same tensor twice, or constants: what the compiler gets
 *   apart     each argument is an input of its own, and equal nodes stay apart: what is judged
 *
 * The judge is judge.h's: the reference, op by op, in float32 and float64, and differences. */
#ifndef SN_TESTS_WRITTEN_H
#define SN_TESTS_WRITTEN_H

#include "judge.h"
#include "run/executable.h"

#define WRITTEN_STEPS 14
#define WRITTEN_TEXT 16384

typedef struct written {
  uint64_t seed;
  size_t n_steps;
  bool dropped[WRITTEN_STEPS];
} written;

/* What a test may break between compiling and running: true if it has. */
typedef bool written_fault(sn_executable *exe, void *user);

/* Is shown what the judge reads, when it has evaluated it. */
typedef void written_listener(const judge *j, void *user);

typedef struct written_trial {
  sn_context *ctx, *other; /* other: of another number of threads, equal bits; or NULL */
  bool differences;        /* gradients are compared with differences, too */
  written_fault *fault;    /* or NULL: then its compiled programs are forgotten, too */
  void *fault_user;
  sn_op rule, rule_as; /* a wrong derivative: that of `rule` has rule_as instead; equal: none */
  written_listener *listener; /* or NULL */
  void *listener_user;
  /* results */
  bool broken;         /* the fault has been put in */
  uint64_t bits;       /* of the results, and of the gradients op by op */
  judge_verdict slope; /* of the gradients, JUDGE_OPEN too where there are none */
  bool has_slope;
  char text[WRITTEN_TEXT]; /* why it failed, and the program */
} written_trial;

written written_of(uint64_t seed);

/* Whether the program is right on trial->ctx. */
bool written_try(const written *program, written_trial *trial);

/* Drops steps, last first, as long as the program still fails; returns how many are left. */
size_t written_shrink(written *program, written_trial *trial);

#endif
