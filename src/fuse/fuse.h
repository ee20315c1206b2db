/* fuse.h - graph -> groups, one kernel each. Eight steps:
 *   prepare    makes copies explicit where a view cannot be read in place
 *   padding    which pads are done by the packing of the products that read them
 *   lookup     which gathers are loads of the kernels that read them
 *   partition  which nodes share a kernel
 *   lower      nodes -> loop nest with bodies
 *   verify     whether the groups write every buffer whole
 *   chain      groups whose intermediates stay with a block of rows become one, and small maps a
 *              part of the product that reads them (prologue)
 *   merge      contiguous dimensions become one */
#ifndef SN_FUSE_FUSE_H
#define SN_FUSE_FUSE_H

#include "fuse/group.h"
#include "fuse/row.h"
#include "fuse/view.h"

/* In the graph that it makes, every reshape is free, matmul and calls read memory, outputs are
 * computed nodes or arguments, and no markers are left. It lives in arena, that of the program. */
sn_status sn_prepare(const sn_graph *from, const sn_target *target, sn_arena *arena, sn_graph *to);

/* The same for a region: each output has a buffer of its own, as the next round overwrites the arguments' buffers. */
sn_status sn_prepare_region(const sn_graph *from, const sn_target *target, sn_arena *arena,
                            sn_graph *to);

/* Whether a node has a kernel of its own that runs along one axis (kernels/kernel_call.c): the ops
 * made for that, and a concat of so many inputs that one copying kernel for each would be too many. */
bool sn_node_is_call(const sn_target *target, const sn_node *node);

/* Sets of nodes: set[i] for node i, SN_NONE for nodes that make no kernel of their own (leaves,
 * views, and elementwise nodes computed inside the reduction owner[i]). Sets are numbered in an
 * order in which they can run. */
typedef struct sn_partition {
  const sn_target *target;
  sn_fuse_options how; /* without fusion: a set for every node */
  uint32_t *set;
  sn_id *owner;  /* SN_NONE, or the reduction that computes this node on the fly */
  sn_id *anchor; /* per set: its reduction, contraction, pad, concat or call; or SN_NONE */
  sn_id *row;    /* per set: a reduction whose row domain (sn_row_of) is the set's, or SN_NONE */
  size_t n_sets;
  sn_cut_record *cuts;
  size_t n_cuts;
} sn_partition;

/* views: one per node. All that the steps hand on is in scratch, except for the groups. */
sn_status sn_partition_graph(const sn_graph *graph, const sn_target *target, const sn_view *views,
                             sn_fuse_options how, sn_arena *scratch, sn_partition *out);

sn_status sn_lower_groups(const sn_graph *graph, const sn_view *views,
                          const sn_partition *partition, sn_arena *scratch, sn_groups *out);

/* verify_groups.c: every buffer is written whole before it is read, and nothing outside of one is
 * touched. For groups as lowered, and for those with groups that run again. Linear in operands. */
sn_status sn_groups_verify(const sn_groups *groups, sn_arena *arena);

/* All steps after prepare: the prepared graph cut into groups that keep the target's limits. */
sn_status sn_fuse_graph(const sn_graph *graph, const sn_target *target, sn_fuse_options how,
                        sn_groups *out);

/* Merges dimensions that are contiguous in all operands, and drops those of size 1. */
void sn_merge_dims(sn_group *group);

/* group_copy.c: *out = *group, with operands of its own. (Recurses into a chain's members, which are never chains.) */
sn_status sn_group_copy(sn_arena *arena, const sn_group *group, sn_group *out);

/* padding.c. sn_factor_of sets offset and nests of the factor that is input x, on side 0 or 1, of a
 * product of the given rank. If x is a view in the frame of a pad, they describe the pad's result;
 * sn_factor_leave_frame then makes them describe what the pad reads, or returns false if it cannot. */
void sn_factor_of(const sn_graph *graph, const sn_view *views, sn_id x, int rank, int side,
                  sn_operand *factor);
bool sn_factor_leave_frame(const sn_graph *graph, const sn_view *views, sn_id frame,
                           sn_operand *factor);

/* buffers.c: buffers, each once, in order of first use. One set serves many groups. */
typedef struct sn_value_set {
  uint32_t *ids;
  size_t n;
  uint32_t *seen, stamp; /* per value: the stamp of the last collection that met it */
} sn_value_set;

sn_status sn_value_set_init(sn_value_set *set, sn_arena *arena, const sn_groups *groups);
void sn_group_reads(const sn_group *group, sn_value_set *set);
void sn_group_writes(const sn_group *group, sn_value_set *set);
/* First what n groups write (the result says how many), then what they only read. */
size_t sn_group_buffers(const sn_group *groups, size_t n, sn_value_set *set);

/* explain.c: what becomes of an edge of the graph. */
typedef struct sn_edge_note {
  const char *reason; /* "fused", or why not */
  bool cut;           /* one kernel reads from memory what another computes */
} sn_edge_note;

/* Notes on all edges, as in graph->edges. Linear. */
sn_status sn_explain_edges(const sn_groups *groups, sn_arena *arena, const sn_edge_note **out);

/* print_groups.c: one group, and all, as stable text. */
struct sn_text;
void sn_group_print(struct sn_text *text, size_t number, const sn_group *group);
const char *sn_cut_reason(sn_cut why);
sn_status sn_groups_text(const sn_groups *groups, sn_arena *arena, const char **out);

#endif
