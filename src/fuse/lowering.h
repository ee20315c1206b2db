/* lowering.h - what the files of lowering share: the state of sets becoming groups, and building
 * a body node by node. */
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
  uint8_t *again; /* per node: whether readers in other kernels compute it themselves */
  bool *excess;   /* per node: whether it is a cast to 16 bits that is not done, excess.c; or NULL */
  sn_groups *out;
  /* lists that bodies and stores are built in, one after the other */
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
  const sn_type *space;  /* NULL, or instead: the loop nest, where nodes have shapes of their own */
  size_t n_touched;      /* nodes that have an instruction in this body */
} sn_body_builder;

/* excess.c: finds the casts that need not be done. */
sn_status sn_lower_excess(sn_lowering *l);

/* Whether what the node makes is its input as it is: a cast to 16 bits that is not done, or the cast back. */
bool sn_lower_keeps_value(const sn_lowering *l, sn_id id);

/* Nodes of a set, ascending. */
const sn_id *sn_lower_members(const sn_lowering *l, size_t set, size_t *n);

/* Where node id's elements lie, seen from a nest of `rank` dims. */
sn_operand sn_lower_operand(const sn_lowering *l, sn_id id, int rank, const int *perm);

/* lookup.c: a load of what gather id makes becomes one of what that looks up. */
sn_status sn_lower_lookup(const sn_lowering *l, sn_id id, sn_operand *load);

/* Gives node id the instruction. */
sn_status sn_lower_insn(sn_body_builder *b, sn_id id, const sn_insn *insn);

/* A value that the body does not compute: a constant, or a load. */
sn_status sn_lower_source(sn_body_builder *b, sn_id id);

/* The node's op. Inputs of the same kernel have an instruction; the others become sources. */
sn_status sn_lower_compute(sn_body_builder *b, sn_id id);

/* Puts the body into *out and forgets the nodes' instructions, so that the next one can begin. */
sn_status sn_lower_end_body(sn_body_builder *b, sn_body *out);

/* Why a node is in memory: others read it, it is a result, others read casts of it. */
enum { SN_STORED_VALUE = 1, SN_STORED_OUTPUT, SN_STORED_CAST };

/* Decides which of the stored nodes are made again by their readers. */
sn_status sn_lower_recompute(const sn_lowering *l, uint8_t *stored, uint8_t *again);

/* The set's row domain as a reduce or row group. */
sn_status sn_lower_row(sn_lowering *l, size_t set, sn_group *group);

/* An op along one axis as a call; one of quantised blocks; and their flops. */
sn_status sn_lower_call(sn_lowering *l, size_t set, sn_group *group);
sn_status sn_lower_collective(sn_lowering *l, size_t set, sn_group *group);
sn_status sn_lower_blocks(sn_lowering *l, size_t set, sn_group *group);
double sn_call_flops(const sn_group *group);

/* lower_parts.c: a group for each part of the node's buffer. */
sn_status sn_lower_pad(sn_lowering *l, sn_id id);
sn_status sn_lower_concat(sn_lowering *l, sn_id id);

/* What a pad alone reads (reader: per node the only one, or SN_NONE) gets the buffer of the pad, and
 * where it lies there. */
void sn_lower_padded(sn_lowering *l, const sn_id *reader);
void sn_lower_inside(const sn_lowering *l, sn_id pad, sn_operand *target);

/* One more group, a map so far; and its space. */
sn_status sn_lower_new_group(sn_lowering *l, sn_group **out);
void sn_lower_space(sn_group *group, const sn_type *type);

/* Control flow as a group. */
sn_status sn_lower_control(sn_lowering *l, size_t set, sn_group *group);

/* Distinct bytes an operand touches over an index space. */
double sn_operand_bytes(const sn_operand *operand, const int64_t *dims, int rank);

#endif
