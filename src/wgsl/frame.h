/* frame.h - a frame says where the buffers of a program are while it runs as a region of another one. The device binds pieces
 * of the outermost program's buffers only, and control flow lends its regions pieces of them. The host submits a loop as
 * its rounds, all with the same shaders, so a place also says how it moves from round to round.
 *
 *   carry     two places by turns: read at one and written at the other, in odd rounds the other way round
 *   slice     the whole stack is bound, and a round begins some elements further than the one before: offsets of bindings
 *             must be multiples of 256 bytes, so the slice itself cannot be bound
 *   gate      a flag in the device's memory: behind a closed gate dispatches have no workgroups
 *
 * Invariant: two places of a frame are equal, or share no bytes. */
#ifndef SN_WGSL_FRAME_H
#define SN_WGSL_FRAME_H

#include "graph/regions.h"
#include "program/steps.h"

/* The buffer with the gates (shader_gate.c); it is no buffer of the program. */
#define SN_GATES (SN_NONE - 1)
/* The buffer for what one shader of a group hands to its next one, such as partial totals. */
#define SN_PARTS (SN_NONE - 2)

typedef struct sn_place_of {
  uint32_t buffer;               /* of the outermost program; SN_NONE: nothing is there */
  uint32_t level;            /* depth of the loop by whose rounds offset and odd_offset alternate */
  size_t offset, odd_offset; /* bytes from the buffer's begin: in even rounds, in odd rounds */
  size_t bytes;                  /* that are bound; 0: those of the value alone */
  int64_t first;                 /* element, counted from there, with which the value begins; */
  int64_t steps[SN_MAX_NESTING]; /* elements by which it moves in each round of the loop at a depth */
} sn_place_of;

typedef struct sn_frame {
  const sn_program_code *program;
  sn_place_of *places; /* per buffer of the program */
  uint32_t arena;      /* the number of the outermost program's arena */
  uint32_t depth;      /* number of loops around */
  uint32_t gate;       /* innermost gate around; 0: none */
} sn_frame;

/* The frame of the outermost program. */
sn_status sn_frame_outermost(sn_arena *arena, const sn_program_code *program, sn_frame *out);

/* The frame of a region whose arena is at `room`. The caller sets the places of its other buffers. */
sn_status sn_frame_region(sn_arena *arena, const sn_frame *outer, const sn_place_of *room,
                          const sn_program_code *region, sn_frame *out);

/* The place of a value of the frame's program. */
sn_place_of sn_frame_place(const sn_frame *frame, uint32_t value);

/* The place of an operand of control flow, which is a range of a value's elements. */
sn_place_of sn_frame_operand(const sn_frame *frame, const sn_operand *o);

bool sn_same_place(const sn_place_of *a, const sn_place_of *b);

/* Whether a value at the place begins where its binding begins, in every round. */
bool sn_place_is_whole(const sn_place_of *at);

#endif
