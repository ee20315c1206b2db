/* rewrite.h - how a pass walks: it visits every node of the old graph in order, with its inputs
 * mapped to the new graph.
 *
 *   old  %0 %1 %2 ...        map[%i] = node of the new graph that stands for it
 *   new  %0 %1 ...           one visit per node, never back: linear */
#ifndef SN_BUILD_REWRITE_H
#define SN_BUILD_REWRITE_H

#include "build/build.h"

typedef struct sn_rewrite {
  const sn_graph *from;
  sn_build to;
  sn_id *map;
  void *user; /* the rule's own state */
} sn_rewrite;

/* Returns the node of the new graph that replaces old node id, or SN_NONE to copy it. inputs are
 * the replacements of its inputs. */
typedef sn_id sn_rewrite_fn(sn_rewrite *r, sn_id id, const sn_id *inputs);

/* Builds *to, in arena, from *from. share: hash-cons the new graph. keep: visit only the nodes marked
 * in it, or all if NULL. rule: NULL for a plain copy. user: the rule's own state, for r->user. */
sn_status sn_rewrite_graph(const sn_graph *from, sn_graph *to, sn_arena *arena, bool share,
                           const uint8_t *keep, sn_rewrite_fn *rule, void *user);

/* Copies a node of control flow together with its regions. For rules that number the new graph's regions themselves. */
sn_id sn_rewrite_control(sn_rewrite *r, sn_id id, const sn_id *inputs);

#endif
