/* rooms.h - the memory that a step of control flow works in, beside what it reads and what its
 * results are. It is a value of the program that lives as long as the step runs, so that it lies in
 * the arena among others and counts as they do.
 *
 *   [ carry 0: a | b | carry 1: a | b | ... | spares | test | arena of the region that runs ]
 *
 * A carry that the body writes over itself (plan/plan.h) has one place for all rounds: its result's, or if nobody uses
 * that one in here. Any other is read at one place and written at another in each round. */
#ifndef SN_PROGRAM_ROOMS_H
#define SN_PROGRAM_ROOMS_H

#include "program/steps.h"

typedef struct sn_room {
  size_t *carries; /* per carry: where its places begin, if it has any here */
  size_t test;     /* of a while_loop: whether it goes on */
  size_t *
      spares; /* per result behind the carries that nobody uses: a buffer, as its region may read it */
  size_t arena;
  size_t bytes;
} sn_room;

/* The regions of the step have their programs. */
sn_status sn_room_of(sn_arena *arena, const sn_program_code *program, const sn_step *step,
                     sn_room *out);

/* Adds a value for each, and the operands of control flow that name them. */
sn_status sn_program_add_rooms(sn_program_code *program);

#endif
