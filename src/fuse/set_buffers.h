/* set_buffers.h - how many buffers the kernels of sets read and write, kept while a partition grows,
 * for targets that limit them.
 *
 *   reads   what members read from memory, each buffer once
 *   writes  members with a reader outside of the set, so far
 *
 * A node that joins may be the last reader of members, which are then no longer written. So a set
 * that keeps the limit now keeps it in the end. Every step takes time linear in the limit at most. */
#ifndef SN_FUSE_SET_BUFFERS_H
#define SN_FUSE_SET_BUFFERS_H

#include "fuse/view.h"

typedef struct sn_buffer_list {
  sn_id *ids;
  uint32_t n;
} sn_buffer_list;

typedef struct sn_set_traffic {
  sn_buffer_list reads;
  uint32_t writes, outputs; /* outputs: members that the graph returns */
} sn_set_traffic;

/* A buffer that a node reads, so many times. */
typedef struct sn_buffer_edge {
  sn_id from;
  uint32_t times;
} sn_buffer_edge;

typedef struct sn_set_buffers {
  const sn_graph *g;
  const sn_view *views;
  const sn_id *owner; /* per node: the reduction that computes it, or SN_NONE */
  sn_arena *arena;
  uint32_t limit;        /* SN_NO_LIMIT: nothing is counted */
  uint32_t *unread;      /* per node: readers that are not in its set, and places in the outputs */
  uint8_t *is_output;    /* per node */
  sn_buffer_list *cones; /* per reduction: the buffers that the nodes computed inside it read */
  sn_set_traffic *sets;  /* per set */
  /* the union that sn_set_buffers_fit was last asked for, and what the joining node reads */
  sn_set_traffic both;
  sn_buffer_edge *edges;
  uint32_t n_edges;
  uint32_t (*root_of)(void *user, sn_id node); /* the set that a node is in; SN_NONE: none */
  void *user;
} sn_set_buffers;

sn_status sn_set_buffers_init(sn_set_buffers *b, const sn_graph *graph, const sn_view *views,
                              const uint8_t *live, uint32_t limit, sn_arena *arena);

/* Lists the nodes whose buffers a kernel reads when it reads x, and returns how many: 0 for a constant
 * or iota, up to 2 for a gather that is looked up. */
#define SN_SOURCES 2
uint32_t sn_set_buffers_sources(const sn_set_buffers *b, sn_id x, sn_id from[SN_SOURCES]);

/* Node id is computed inside the reduction. */
sn_status sn_set_buffers_own(sn_set_buffers *b, sn_id id, sn_id reduction);

/* Set `set`, which others may join, begins with node id. */
sn_status sn_set_buffers_begin(sn_set_buffers *b, uint32_t set, sn_id id);

/* Whether n sets, and node id if it is not SN_NONE, may become one set. Without a node there are two
 * sets, and all readers of the second are in the first. */
bool sn_set_buffers_fit(sn_set_buffers *b, const uint32_t *sets, uint32_t n, sn_id id);

/* Makes the union that was just found to fit the set `root`. root_of knows of that already for the
 * members of the sets, but not for the node. */
sn_status sn_set_buffers_join(sn_set_buffers *b, uint32_t root);

#endif
