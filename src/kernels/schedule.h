/* schedule.h - how the CPU runs a chain: in blocks of rows. For a block the members are groups of
 * their own, over (rows of the block, inner dims); the outer dims but the rows are gone. Their
 * operands' values are links, one for each operand, bound anew for each block. */
#ifndef SN_KERNELS_SCHEDULE_H
#define SN_KERNELS_SCHEDULE_H

#include "fuse/chain.h"

typedef enum sn_link_kind {
  SN_LINK_VALUE, /* rows of a buffer of the program */
  SN_LINK_LOCAL, /* of the worker's own memory */
  SN_LINK_INDEX  /* numbers counted along the rows, as int32, in the worker's own memory */
} sn_link_kind;

typedef struct sn_link {
  sn_link_kind kind;
  uint32_t value;
  size_t element; /* bytes */
  sn_nest batch;  /* where a matrix of the batch begins, in elements; of an index: its number */
  int64_t row;    /* from a row to the next */
  int64_t first;  /* index: the number at the very beginning */
  size_t at;      /* local, index: place in the worker's own memory */
} sn_link;

typedef struct sn_schedule {
  int64_t block, rest; /* rows of a block, and of the last one if it has fewer, or 0 */
  sn_group *members;   /* for `block` rows, then, if there is a rest, for that */
  sn_link *links;
  uint32_t n_links;
  size_t local_bytes; /* that a block takes in the worker's own memory */
} sn_schedule;

#define SN_COLUMN_UNIT 32 /* columns that are limited together: whole vectors and panels */

typedef struct sn_range {
  int64_t from, to;
} sn_range;

sn_status sn_schedule_chain(sn_arena *arena, const sn_target *target, const sn_group *chain,
                            sn_schedule *out);

static inline int64_t sn_schedule_blocks(const sn_chain *c, const sn_schedule *schedule) {
  return (c->rows + schedule->block - 1) / schedule->block;
}

/* Rows of a member's product when it runs alone; 0: it is none. */
int64_t sn_schedule_rows_alone(const sn_chain *chain, uint32_t member);

/* The columns that count for the block of rows from `row` on, with some more so that vectors and
 * panels are whole. What lies beyond is neither computed nor read: where a mask hides a NaN or an
 * infinity there, it cannot be seen through 0 * NaN. */
sn_range sn_schedule_columns(const sn_chain *c, const sn_schedule *schedule, int64_t row);

#endif
