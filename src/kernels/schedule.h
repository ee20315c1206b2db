/* schedule.h - how the CPU runs a chain: in blocks of rows. For a block the members become groups of
 * their own, over (rows of the block, inner dims), without the other outer dims. The values of their
 * operands are links, one per operand, whose addresses are bound anew for each block. */
#ifndef SN_KERNELS_SCHEDULE_H
#define SN_KERNELS_SCHEDULE_H

#include "fuse/chain.h"

typedef enum sn_link_kind {
  SN_LINK_VALUE, /* rows of a buffer of the program */
  SN_LINK_LOCAL, /* a local value of the chain, in the worker's own memory */
  SN_LINK_INDEX  /* an iota along the rows, listed as int32 in the worker's own memory */
} sn_link_kind;

typedef struct sn_link {
  sn_link_kind kind;
  uint32_t value;
  size_t element; /* its size in bytes */
  sn_nest batch;  /* where each matrix of the batch begins, in elements; of an index: its number */
  int64_t row;    /* stride from a row to the next, in elements; of an index: in its numbers */
  int64_t first;  /* of an index: the number at the very beginning */
  size_t at;      /* of a local or an index: offset in the worker's own memory */
} sn_link;

typedef struct sn_schedule {
  int64_t block, rest; /* rows of a block; of the last block if it has fewer, or 0 */
  sn_group *members;   /* cut to `block` rows; then, if there is a rest, cut to that */
  sn_link *links;
  uint32_t n_links;
  size_t local_bytes; /* of a block in the worker's own memory */
} sn_schedule;

#define SN_COLUMN_UNIT 32 /* limits are multiples of so many columns: whole vectors and panels */

typedef struct sn_range {
  int64_t from, to;
} sn_range;

sn_status sn_schedule_chain(sn_arena *arena, const sn_target *target, const sn_group *chain,
                            sn_schedule *out);

static inline int64_t sn_schedule_blocks(const sn_chain *c, const sn_schedule *schedule) {
  return (c->rows + schedule->block - 1) / schedule->block;
}

/* How many rows a member's product has when it runs alone; 0: the member is no product. */
int64_t sn_schedule_rows_alone(const sn_chain *chain, uint32_t member);

/* The columns that count for the block of rows from `row` on, rounded out to whole vectors and panels.
 * Other columns are neither computed nor read: a NaN or an infinity that the mask hides there does
 * not become visible as 0 * NaN. */
sn_range sn_schedule_columns(const sn_chain *c, const sn_schedule *schedule, int64_t row);

#endif
