/* chain_fit.h - whether a group may be a member of the chain that is being looked for (chain.c). All members walk over the
 * same outer dims, and read what other members wrote in step: at the same outer index.
 *
 * On a target whose tasks cannot hold whole rows, a chain goes through tiles of columns (limits.tile_rows). There, members
 * hand on only scores, which have as many columns as the chain's first product, or one number per row. A product either
 * makes scores from factors in memory, or consumes scores as its left factor, and then no member may read its result. */
#ifndef SN_FUSE_CHAIN_FIT_H
#define SN_FUSE_CHAIN_FIT_H

#include "fuse/group.h"

/* What a value is to the chain. INSIDE: a member writes it. LATE: only groups that run after the chain may read it.
 * BESIDE: a contraction writes it that joins together with the first member that reads it. OUTSIDE: any other value. */
typedef enum sn_chain_state {
  SN_CHAIN_OUTSIDE,
  SN_CHAIN_INSIDE,
  SN_CHAIN_LATE,
  SN_CHAIN_BESIDE,
  SN_CHAIN_STATES
} sn_chain_state;

typedef struct sn_chain_fit {
  const sn_groups *groups;
  const uint32_t *n_writes; /* per value: how many operands of all groups write it */
  const uint8_t *state;     /* per value: sn_chain_state */
  int outer;                /* number of outer dims */
  int64_t dims[SN_MAX_RANK];
  int64_t columns; /* in tiles: those of the scores */
  int64_t results; /* in tiles: columns of all products that consume scores */
} sn_chain_fit;

#define SN_TILED_TERMS 512   /* most terms (k) of a product that makes scores */
#define SN_TILED_COLUMNS 128 /* most columns of a product that consumes scores */
#define SN_TILED_RESULTS 256 /* most columns of all of these together */

bool sn_chain_fits(const sn_chain_fit *f, const sn_group *g);

/* Whether a group that fits consumes scores, in tiles. */
bool sn_chain_consumes_scores(const sn_chain_fit *f, const sn_group *g);

/* Points of the outer dims, and elements of a value at each of them. */
int64_t sn_chain_outer_points(const sn_chain_fit *f);
int64_t sn_chain_row_elements(const sn_chain_fit *f, uint32_t value);

#endif
