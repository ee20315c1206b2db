/* rooms.h - the room of a step of control flow: the memory it works in, besides its inputs and
 * results. A room is a value of the program that lives while the step runs, so the memory plan puts it
 * into the arena and counts it like any other.
 *
 *   [ carry 0: a | b | carry 1: a | b | ... | spares | test | arena of the region that runs ]
 *
 * A carry that the body overwrites in place (plan/plan.h) has one place for all rounds: that of its result, or one in the
 * room if nobody uses the result. Any other carry has two places, a and b: each round reads one and writes the other. */
#ifndef SN_PROGRAM_ROOMS_H
#define SN_PROGRAM_ROOMS_H

#include "program/steps.h"

typedef struct sn_room { /* offsets in bytes */
  size_t *carries;       /* per carry: its first place, if it has any in the room */
  size_t test;           /* of a while_loop: the test's result */
  /* Per result after the carries, if nobody uses it: a buffer, because the region writes and may read it. */
  size_t *spares;
  size_t arena;
  size_t bytes; /* of the whole room */
} sn_room;

/* Lays out the room of a step whose regions have their programs. */
sn_status sn_room_of(sn_arena *arena, const sn_program_code *program, const sn_step *step,
                     sn_room *out);

/* Adds a value for the room of each step of control flow, and the operand by which the step refers to it. */
sn_status sn_program_add_rooms(sn_program_code *program);

#endif
