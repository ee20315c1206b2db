/* rounds.h - how the CPU runs a step of control flow: rounds of the regions' programs, on the pointers of the run
 * under way. Nothing is allocated from round to round.
 *
 *   shared memory of the step:  [ carry 0: a | b | carry 1: a | b | ... | test | spare | a region's arena and shared | kept | stacks ]
 *
 * A carry of round i lies in the caller's buffer for i = 0, then in a and b by turns; the last round of a scan writes
 * the result itself. What nobody uses of a result goes to spare memory. Regions use the workers' memory of the whole
 * run: while they run, no other kernel of it does. */
#ifndef SN_RUN_ROUNDS_H
#define SN_RUN_ROUNDS_H

#include "run/executable.h"

/* Makes a step of the regions' executables. */
sn_status sn_control_make(sn_arena *arena, const sn_program_code *program, const sn_step *step,
                          sn_executable *const *regions, sn_control_step **out);

#endif
