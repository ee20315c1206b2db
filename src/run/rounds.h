/* rounds.h - how the CPU runs a step of control flow: in rounds of the regions' programs, on the buffers of the run
 * under way. Nothing is allocated from round to round.
 *
 * Carries, intermediates of the region under way and unused results lie in the step's room (program/rooms.h). A carry of
 * round i lies in the caller's buffer for i = 0, then in a and b by turns; the last round of a scan writes the result
 * itself. A carry that the body updates in place is first copied to its place, and stays there. Regions use the
 * workers' memory of the whole run, as no other kernel of it runs meanwhile.
 *
 *   shared memory of the step:  [ operands that stay packed | shared memory of a region's kernels | stacks ] */
#ifndef SN_RUN_ROUNDS_H
#define SN_RUN_ROUNDS_H

#include "run/executable.h"

/* Makes a step of control flow from its regions' executables. */
sn_status sn_control_make(sn_arena *arena, const sn_program_code *program, const sn_step *step,
                          sn_executable *const *regions, sn_control_step **out);

#endif
