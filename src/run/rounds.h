/* rounds.h - how the CPU runs a step of control flow: rounds of the regions' programs, on the pointers of the run
 * under way. Nothing is allocated from round to round.
 *
 * Carries, intermediates of the region under way and what nobody uses lie in the step's room (program/rooms.h).
 * A carry of round i lies in the caller's buffer for i = 0, then in a and b by turns; the last round of a scan writes
 * the result itself. One that the body writes over itself is copied to its place first, and stays there. Regions use
 * the workers' memory of the whole run: while they run, no other kernel of it does.
 *
 *   shared memory of the step:  [ what stays packed from round to round | what a region's kernels share | stacks ] */
#ifndef SN_RUN_ROUNDS_H
#define SN_RUN_ROUNDS_H

#include "run/executable.h"

/* Makes a step of the regions' executables. */
sn_status sn_control_make(sn_arena *arena, const sn_program_code *program, const sn_step *step,
                          sn_executable *const *regions, sn_control_step **out);

#endif
