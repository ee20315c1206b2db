/* chain_fit.h - whether a group may be a member of the chain that is being looked for (chain.c). All members walk over the same
 * outer dims, and read in step, at the same outer index, what others of them wrote.
 *
 * A target whose tasks hold no whole rows goes through tiles of their columns (limits.tile_rows). There what members hand on is
 * scores, which the chain's first product has a column of for each of its own, or one number a row; a product makes scores of
 * what lies in memory, or it uses scores up, and then no member reads its result. */
#ifndef SN_FUSE_CHAIN_FIT_H
#define SN_FUSE_CHAIN_FIT_H

#include "fuse/group.h"

/* What a value is to the chain: of a contraction BESIDE it, nobody has read; LATE comes after it. */
typedef enum sn_chain_state {
  SN_CHAIN_OUTSIDE,
  SN_CHAIN_INSIDE,
  SN_CHAIN_LATE,
  SN_CHAIN_BESIDE,
  SN_CHAIN_STATES
} sn_chain_state;

typedef struct sn_chain_fit {
  const sn_groups *groups;
  const uint32_t *n_writes; /* per value: operands of all groups */
  const uint8_t *state;     /* per value: sn_chain_state */
  int outer;
  int64_t dims[SN_MAX_RANK];
  int64_t columns; /* of scores, in tiles */
  int64_t results; /* columns of the products that use scores up, in tiles */
} sn_chain_fit;

#define SN_TILED_TERMS 512   /* of a product that makes scores, at most */
#define SN_TILED_COLUMNS 128 /* of one that uses them up */
#define SN_TILED_RESULTS 256 /* of all of those */

bool sn_chain_fits(const sn_chain_fit *f, const sn_group *g);

/* Whether a group that fits uses scores up, in tiles. */
bool sn_chain_uses_up(const sn_chain_fit *f, const sn_group *g);

/* Points of the outer dims, and elements of a value at each of them. */
int64_t sn_chain_outer_points(const sn_chain_fit *f);
int64_t sn_chain_row_elements(const sn_chain_fit *f, uint32_t value);

#endif
