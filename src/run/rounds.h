/* rounds.h - how the CPU runs a step of control flow: rounds of the regions' programs, on the pointers of the run
 * under way. Nothing is allocated from round to round.
 *
 *   shared memory of the step:  [ carry 0: a | b | carry 1: a | b | ... | test | spare | a region's arena and shared ]
 *
 * A carry of round i lies in the caller's buffer for i = 0, then in a and b by turns; the last round of a scan writes
 * the result itself. What nobody uses of a result goes to spare memory. Regions use the workers' memory of the whole
 * run: while they run, no other kernel of it does. */
#ifndef SN_RUN_ROUNDS_H
#define SN_RUN_ROUNDS_H

#include "run/executable.h"

typedef struct sn_control_step {
  sn_control control;
  const sn_group *group;
  sn_run runs[SN_MAX_REGIONS]; /* each with the program's executable and room for its pointers */
  size_t *carries;             /* per carry: offset of a; b lies a buffer further */
  size_t *bytes;               /* per result: of one buffer, of a slice of what is stacked */
  size_t *slices;              /* per stack: bytes of a slice */
  uint32_t *stores;            /* per result: the group's store, or SN_NONE */
  size_t spare, test, regions; /* offsets */
  size_t shared_bytes, worker_bytes;
  int64_t round;       /* under way */
  bool testing;        /* of a while_loop: its test is under way */
  const void **inputs; /* per input: its buffer in the run under way */
  const void **now;    /* per carry: where it lies in this round */
} sn_control_step;

/* Makes a step of the regions' executables. */
sn_status sn_control_make(sn_arena *arena, const sn_program_code *program, const sn_step *step,
                          sn_executable *const *regions, sn_control_step **out);

/* The step from where it was interrupted, or from its beginning; false: interrupted again. */
bool sn_control_run(const sn_run *run, sn_control_step *step, bool begins, double until,
                    sn_status *status);

#endif
