/* nested.h - random programs with nested control flow, and the same programs without: loops unrolled round by round, choices
 * as selects. An unrolled program has no regions, so the judge evaluates it op by op (judge.h), and the program with loops
 * is right if its results are near that.
 *
 * A program is a block of steps over a few arguments. A step is one of author.h's, or a scan, a while or a cond, whose
 * regions are blocks again, over some values from outside (captures), the carries and the slices. A step's numbers are its
 * own, so what a region makes is the same in every round, and a failing program shrinks by leaving steps out.
 *
 * The program is the argument of a transform: gradients, tangents, vmap, and combinations of these. */
#ifndef SN_TESTS_NESTED_H
#define SN_TESTS_NESTED_H

#include "judge.h"
#include "tensor/trace.h"

#define NESTED_ARGUMENTS 8 /* tangents included */
#define NESTED_RESULTS 8
#define NESTED_EXAMPLE_COUNT 3
#define NESTED_STEPS 64
#define NESTED_TEXT 16384

typedef enum nested_transform {
  NESTED_VALUES,
  NESTED_GRADIENT,
  NESTED_TANGENT,
  NESTED_EXAMPLES,
  NESTED_GRADIENT_OF_EXAMPLES,
  NESTED_EXAMPLES_OF_GRADIENT,
  NESTED_TANGENT_OF_GRADIENT,
  NESTED_TRANSFORMS
} nested_transform;

typedef struct nested {
  uint64_t seed;
  nested_transform transform;
  uint64_t dropped[NESTED_STEPS]; /* steps that are left out */
  size_t n_dropped;
} nested;

nested nested_of(uint64_t seed);

/* A program with its arguments, written out and judged. */
typedef struct nested_case {
  nested program;
  sn_context *ctx;
  sn_type types[NESTED_ARGUMENTS];
  void *data[NESTED_ARGUMENTS];
  size_t n_arguments, n_results;
  sn_arena arena;
  sn_trace trace;
  judge judge;
  const void *arguments[NESTED_ARGUMENTS];
  uint64_t steps[NESTED_STEPS]; /* of the program with loops */
  size_t n_steps;
  char text[NESTED_TEXT]; /* why it failed, and the program */
} nested_case;

/* Opens a scope of ctx, which ends when the case is closed. False: it was refused; text says why. */
bool nested_open(nested_case *c, const nested *program, sn_context *ctx);
void nested_close(nested_case *c);

const sn_type *nested_type(const nested_case *c, size_t result);

/* Placeholders for the arguments, or values. */
void nested_give(nested_case *c, bool values, sn_tensor **given);

/* The program of what is given, with its loops or written out. Returns the number of results, 0 if it was refused. */
size_t nested_write(nested_case *c, bool loops, sn_tensor *const *given, sn_tensor **results);

/* Sets the case's text; false. */
bool nested_refuse(nested_case *c, const char *engine, const char *reason);

/* Whether results, data of each, are right. */
bool nested_accepts(nested_case *c, const char *engine, const void *const *results);

/* Whether the program is right at once, or compiled with passes and fusion off by a mask. */
bool nested_runs_at_once(nested_case *c);
bool nested_runs_compiled(nested_case *c, uint32_t off);

/* All of these, of a program, which passes are off being its own choice; text: as a case has it. */
bool nested_try(const nested *program, sn_context *ctx, char text[NESTED_TEXT]);

/* Leaves steps out as long as the program still fails, and returns how many are left. */
typedef bool nested_trial(const nested *program, sn_context *ctx, char text[NESTED_TEXT]);
size_t nested_shrink(nested *program, nested_trial *right, sn_context *ctx, char text[NESTED_TEXT]);

#endif
