/* lowering.h - shared by the files that lower sets of nodes to groups: their state, and how a body
 * is built node by node. */
#ifndef SN_FUSE_LOWERING_H
#define SN_FUSE_LOWERING_H

#include "fuse/fuse.h"

typedef struct sn_lowering {
  const sn_graph *g;
  const sn_partition *p;
  sn_arena *arena;   /* of the groups */
  sn_arena *scratch; /* of everything that ends with lowering */
  const sn_view *views;
  uint32_t *value_of; /* per node: its buffer, or SN_NONE */
  uint32_t *insn_of;  /* per node: its instruction in the body being built */
  sn_id *members;     /* nodes of all sets, by set, ascending */
  size_t *first_member;
  uint8_t *live;
  uint8_t *recomputed; /* per node: whether readers in other kernels compute it themselves */
  bool *excess;   /* NULL, or per node: whether it is a cast to 16 bits that is not done (excess.c) */
  sn_groups *out;
  /* lists in which bodies and stores are built, reused for each of them */
  sn_insn *insns;
  sn_operand *operands;
  sn_store *stores;
  sn_id *touched;
  size_t cap_insns, cap_operands, cap_stores, cap_touched;
} sn_lowering;

typedef struct sn_body_builder {
  sn_lowering *l;
  uint32_t n_insns, n_operands; /* so far, in the lists above */
  int rank;
  int perm[SN_MAX_RANK]; /* dim of the loop nest -> dim of the nodes; SN_MAX_RANK: none, stride 0 */
  const sn_type *space;  /* NULL, or the loop nest, in place of perm if nodes have several shapes */
  size_t n_touched;      /* nodes that have an instruction in this body */
} sn_body_builder;

/* excess.c: finds the casts to 16 bits that need not be done. */
sn_status sn_lower_excess(sn_lowering *l);

/* Whether the node's value is its input unchanged: a cast to 16 bits that is not done, or the cast back from it. */
bool sn_lower_keeps_value(const sn_lowering *l, sn_id id);

/* Nodes of a set, ascending. */
const sn_id *sn_lower_members(const sn_lowering *l, size_t set, size_t *n);

/* Where node id's elements lie, seen from a nest of `rank` dims. */
sn_operand sn_lower_operand(const sn_lowering *l, sn_id id, int rank, const int *perm);

/* lookup.c: makes a load from the result of gather id an indexed load from what the gather reads. */
sn_status sn_lower_lookup(const sn_lowering *l, sn_id id, sn_operand *load);

/* Adds the instruction to the body, as the value of node id. */
sn_status sn_lower_insn(sn_body_builder *b, sn_id id, const sn_insn *insn);

/* Adds a value that the body does not compute: a constant or a load; or one that it computes again. */
sn_status sn_lower_source(sn_body_builder *b, sn_id id);

/* Adds the node's op. Inputs of the same kernel have an instruction; the others become sources. */
sn_status sn_lower_compute(sn_body_builder *b, sn_id id);

/* Puts the body into *out and forgets the nodes' instructions, so that the next one can begin. */
sn_status sn_lower_end_body(sn_body_builder *b, sn_body *out);

/* Why a node is in memory: other kernels read it, it is an output, other kernels read casts of it. */
enum { SN_STORED_VALUE = 1, SN_STORED_OUTPUT, SN_STORED_CAST };

/* Decides which of the stored nodes their readers make again instead: clears stored, sets again. */
sn_status sn_lower_recompute(const sn_lowering *l, uint8_t *stored, uint8_t *recomputed);

/* The set's row domain as a reduce or row group. */
sn_status sn_lower_row(sn_lowering *l, size_t set, sn_group *group);

/* Lowers to a call: an op along one axis, one between processes, one of quantised blocks. And a call's flops. */
sn_status sn_lower_call(sn_lowering *l, size_t set, sn_group *group);
sn_status sn_lower_collective(sn_lowering *l, size_t set, sn_group *group);
sn_status sn_lower_blocks(sn_lowering *l, size_t set, sn_group *group);
double sn_call_flops(const sn_group *group);

/* lower_parts.c: a group for each part of the node's buffer. */
sn_status sn_lower_pad(sn_lowering *l, sn_id id);
sn_status sn_lower_concat(sn_lowering *l, sn_id id);

/* sn_lower_padded: a node that only a pad reads is written into the pad's buffer, if its kernel can do
 * so. reader: per node its only reader, or SN_NONE. sn_lower_inside: sets where it lies in there. */
void sn_lower_padded(sn_lowering *l, const sn_id *reader);
void sn_lower_inside(const sn_lowering *l, sn_id pad, sn_operand *target);

/* Appends a group, for now a map; and sets the space of one. */
sn_status sn_lower_new_group(sn_lowering *l, sn_group **out);
void sn_lower_space(sn_group *group, const sn_type *type);

/* Control flow as a group. */
sn_status sn_lower_control(sn_lowering *l, size_t set, sn_group *group);

/* Distinct bytes an operand touches over an index space. */
double sn_operand_bytes(const sn_operand *operand, const int64_t *dims, int rank);

#endif
