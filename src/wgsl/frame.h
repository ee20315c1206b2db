/* frame.h - where the buffers of a program lie while it runs as a part of another one. Control flow lends its regions
 * pieces of memory; what the device binds are pieces of the buffers of the outermost program. Loops are written out as
 * their rounds when they are submitted, with the same shaders: so places tell how they move from round to round.
 *
 *   carry     two places by turns: read at one and written at the other, in odd rounds the other way round
 *   slice     the whole stack, and so many elements further in each round: a binding begins at multiples of 256 bytes
 *   gate      a flag in the device's memory: behind a closed one dispatches have no workgroups
 *
 * Invariant: two places of a frame are equal, or share no bytes. */
#ifndef SN_WGSL_FRAME_H
#define SN_WGSL_FRAME_H

#include "graph/regions.h"
#include "program/steps.h"

/* The buffer that says which gates are open: not one of the program. */
#define SN_GATES (SN_NONE - 1)
/* The buffer of a reduction's partial totals, between the two shaders that it has. */
#define SN_PARTS (SN_NONE - 2)

typedef struct sn_place_of {
  uint32_t buffer;               /* of the outermost program; SN_NONE: nothing is there */
  uint32_t level;                /* of the loop whose rounds turn it */
  size_t offset, turned;         /* in even and in odd rounds */
  size_t bytes;                  /* of all that is bound; 0: of the value alone */
  int64_t first;                 /* element that the value begins at */
  int64_t steps[SN_MAX_NESTING]; /* and by how many further in each round of a loop */
} sn_place_of;

typedef struct sn_frame {
  const sn_program_code *program;
  sn_place_of *places; /* per buffer of the program */
  uint32_t arena;      /* the number of the outermost program's arena */
  uint32_t depth;      /* loops around */
  uint32_t gate;       /* 0: there is none */
} sn_frame;

/* Of the outermost program. */
sn_status sn_frame_outermost(sn_arena *arena, const sn_program_code *program, sn_frame *out);

/* Of a region of a step in a frame: its places are to be set, but for its arena. room: of the step. */
sn_status sn_frame_region(sn_arena *arena, const sn_frame *outer, const sn_place_of *room,
                          const sn_program_code *region, sn_frame *out);

/* Where a value of the frame's program lies. */
sn_place_of sn_frame_place(const sn_frame *frame, uint32_t value);

/* Where an operand of control flow lies: a run of a value's elements. */
sn_place_of sn_frame_operand(const sn_frame *frame, const sn_operand *o);

bool sn_same_place(const sn_place_of *a, const sn_place_of *b);

/* Whether a value there begins where its binding does, in every round. */
bool sn_place_is_whole(const sn_place_of *at);

#endif
