/* steps.h - a compiled program: which steps are taken one after the other, on which memory. There
 * is no address in it: memory is named by handles, and what a step does by the number of its
 * group. A backend (backend/backend.h) makes of it what it runs.
 *
 *   steps    0         1       2         3
 *            kernel    call    kernel    kernel          group 0, 1, 2, 3
 *
 *   buffers  0 .. n_arguments - 1     the caller's
 *            then n_fresh             outputs that have memory of their own
 *            the last                 the arena: intermediates
 *
 * A step of control flow has a program of its own for each region: its arguments are those of the
 * region, its fresh outputs what the region returns, each of them one.
 *
 * Invariant: a value lies at one place from its first step to its last; two values whose lives
 * overlap never share bytes, but for those that plan/ puts in each other's place. */
#ifndef SN_PROGRAM_STEPS_H
#define SN_PROGRAM_STEPS_H

#include "graph/regions.h"
#include "plan/plan.h"

/* Where a value lies. */
typedef struct sn_handle {
  uint32_t device; /* 0: there is one so far */
  uint32_t buffer; /* SN_NONE: no step touches it */
  size_t offset, bytes;
} sn_handle;

typedef enum sn_step_kind {
  SN_STEP_KERNEL,     /* loops over the points of a group */
  SN_STEP_CALL,       /* a group that is one call of a library function */
  SN_STEP_COLLECTIVE, /* one that is handed to the other processes (run/exchange.h) */
  SN_STEP_CONTROL     /* control flow */
} sn_step_kind;

typedef struct sn_step {
  sn_step_kind kind;
  uint32_t group;
  struct sn_program_code *regions[SN_MAX_REGIONS]; /* of control flow */
} sn_step;

typedef struct sn_stage_text {
  const char *stage, *text;
} sn_stage_text;

typedef struct sn_program_code {
  sn_arena arena; /* owns everything below, and what a backend makes of it */
  sn_graph graph; /* after all passes */
  sn_graph *
      shared; /* the same before shards were taken for whole: what processes share of it when it is loaded; NULL: none */
  sn_groups groups;
  sn_plan plan;
  sn_step *steps;
  size_t n_steps;
  sn_handle *handles; /* per value of the groups */
  size_t n_arguments, n_buffers;
  double flops, bytes;
  size_t memory_budget, needed_bytes; /* the arena without a budget; 0: there was none */
  sn_stage_text *texts;               /* dumps of the stages, when asked for */
  size_t n_texts;
  const char *inspection; /* what the compiler did, as JSON; NULL unless recorded */
} sn_program_code;

/* Makes the steps of the groups, before there is a plan: regions' programs are to be put in. The
 * second time, after groups were repeated, control flow keeps those that it has. */
sn_status sn_program_begin(sn_program_code *program);

/* Handles by the plan; flops and bytes. */
sn_status sn_program_assemble(sn_program_code *program);

/* An empty program in a block of its own; and its end, with all of its regions. */
sn_status sn_program_code_new(sn_env *env, sn_program_code **out);
void sn_program_code_free(sn_program_code *program);

/* The buffer that output i of a region's program is. */
static inline uint32_t sn_output_buffer(const sn_program_code *program, size_t i) {
  return program->handles[program->groups.outputs[i]].buffer;
}

/* Whether carry k of the loop that the program is the body of lies where it lay before. */
static inline bool sn_carry_stays(const sn_program_code *body, size_t k) {
  return sn_output_buffer(body, k) < body->n_arguments;
}

/* The number of the arena's buffer, and of fresh output i. */
static inline size_t sn_arena_buffer(const sn_program_code *program) {
  return program->n_buffers - 1;
}
static inline size_t sn_fresh_buffer(const sn_program_code *program, uint32_t i) {
  return program->n_arguments + i;
}

#endif
