/* body_maker.h - a region being made: what another one computes, what is made of that, and arguments that get their numbers at
 * the end, when it is known which are needed.
 *
 *   argument   of the region, given by a node outside of it, or by a slice that the forward loop is to stack
 *   close      carries, slices, consts numbered in this order; dead nodes gone */
#ifndef SN_BUILD_BODY_MAKER_H
#define SN_BUILD_BODY_MAKER_H

#include "build/inline.h"

typedef enum sn_argument_kind {
  SN_ARGUMENT_CARRY,
  SN_ARGUMENT_SLICE,
  SN_ARGUMENT_CONST,
  SN_ARGUMENT_KINDS,
  SN_ARGUMENT_NONE = SN_ARGUMENT_KINDS /* what nothing may need in the end */
} sn_argument_kind;

/* Of argument k of a region. */
static inline sn_argument_kind sn_argument_kind_of(const sn_control *c, size_t k) {
  if (k < c->n_carries) return SN_ARGUMENT_CARRY;
  return k < c->n_carries + c->n_stacks ? SN_ARGUMENT_SLICE : SN_ARGUMENT_CONST;
}

/* Its type, when the input that gives it has type `given`. */
static inline sn_type sn_argument_type(const sn_control *c, size_t k, const sn_type *given) {
  return sn_argument_kind_of(c, k) == SN_ARGUMENT_SLICE ? sn_type_slice(given) : *given;
}

typedef enum sn_given {
  SN_GIVEN_NODE,  /* by node `from` outside */
  SN_GIVEN_CARRY, /* by carry `from` of the forward loop, in the same round */
  SN_GIVEN_MADE   /* by what node `from` of this maker would compute, in the same round */
} sn_given;

typedef struct sn_argument {
  sn_argument_kind kind;
  sn_given given;
  uint32_t from;
} sn_argument;

typedef struct sn_body_maker {
  sn_build b;     /* of the region's nodes */
  sn_graph graph; /* input nodes are numbered as `arguments` */
  sn_argument *arguments;
  size_t n_arguments, cap_arguments;
  sn_id *outputs;
  size_t n_outputs, cap_outputs;
} sn_body_maker;

/* A region for a node that `outside` makes. */
void sn_body_begin(sn_body_maker *m, const sn_build *outside, sn_arena *arena);

/* A further argument: the node that stands for it. */
sn_id sn_body_argument(sn_body_maker *m, sn_argument_kind kind, sn_given given, uint32_t from,
                       const sn_type *type);

void sn_body_output(sn_body_maker *m, sn_id id);

/* The region in *out, in the maker's arena. saved (or NULL): nodes that are not computed but become slices, given as
 * SN_GIVEN_MADE. prune: slices and consts that nothing needs go. arguments, *n of them: in the order of their
 * numbers. */
sn_status sn_body_close(sn_body_maker *m, const uint8_t *saved, bool prune, sn_graph *out,
                        sn_argument **arguments, size_t *n);

#endif
