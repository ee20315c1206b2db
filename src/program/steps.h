/* steps.h - a compiled program: a list of steps, and the memory they use. It has no addresses: handles
 * refer to memory, and the number of a group says what a step does. A backend (backend/backend.h) makes
 * an executable of it.
 *
 *   steps    0         1       2         3
 *            kernel    call    kernel    kernel          group 0, 1, 2, 3
 *
 *   buffers  0 .. n_arguments - 1     arguments, the caller's
 *            then n_fresh             outputs with memory of their own
 *            the last                 the arena of the intermediates
 *
 * A step of control flow has a program for each of its regions: that program's arguments are the
 * region's, and each result of the region is an output.
 *
 * Invariant: a value lies at one place from its first step to its last; two values whose lives
 * overlap never share bytes, except where plan/ has one overwrite the other in place. */
#ifndef SN_PROGRAM_STEPS_H
#define SN_PROGRAM_STEPS_H

#include "graph/regions.h"
#include "plan/plan.h"

/* Where a value lies. */
typedef struct sn_handle {
  uint32_t buffer; /* SN_NONE: no step touches it */
  size_t offset, bytes;
} sn_handle;

typedef enum sn_step_kind {
  SN_STEP_KERNEL,     /* loops over the points of a group */
  SN_STEP_CALL,       /* a group that is one op with a kernel of its own (library call) */
  SN_STEP_COLLECTIVE, /* an exchange with the other processes (run/exchange.h) */
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
  /* The same graph, but still with its shards, to be divided among processes; NULL: it has none. */
  sn_graph *shared;
  sn_groups groups;
  sn_plan plan;
  sn_step *steps;
  size_t n_steps;
  sn_handle *handles; /* per value of the groups */
  size_t n_arguments, n_buffers;
  double flops, bytes; /* of a run; of a while_loop, one round */
  /* Bytes that the arena may take, 0 if there is no budget; and what it would take without one. */
  size_t memory_budget, needed_bytes;
  sn_stage_text *texts; /* dumps of the stages, if asked for */
  size_t n_texts;
  const char *inspection; /* what the compiler did, as JSON; NULL unless recorded */
} sn_program_code;

/* Makes a step for each group, before there is a plan. The programs of regions are added by the caller.
 * When it is called again, after groups were repeated for a memory budget, steps of control flow keep
 * their programs. */
sn_status sn_program_make_steps(sn_program_code *program);

/* Makes the handles from the plan, and counts flops and bytes. */
sn_status sn_program_assemble(sn_program_code *program);

/* Allocates an empty program; and frees one with the programs of all its regions. */
sn_status sn_program_code_new(sn_env *env, sn_program_code **out);
void sn_program_code_free(sn_program_code *program);

/* The buffer in which output i of a region's program lies. */
static inline uint32_t sn_output_buffer(const sn_program_code *program, size_t i) {
  return program->handles[program->groups.outputs[i]].buffer;
}

/* Whether a loop's body, with this program, overwrites carry k in place: its output is an argument's buffer. */
static inline bool sn_carry_is_in_place(const sn_program_code *body, size_t k) {
  return sn_output_buffer(body, k) < body->n_arguments;
}

/* The numbers of the arena's buffer and of that of fresh output i. */
static inline size_t sn_arena_buffer(const sn_program_code *program) {
  return program->n_buffers - 1;
}
static inline size_t sn_fresh_buffer(const sn_program_code *program, uint32_t i) {
  return program->n_arguments + i;
}

#endif
