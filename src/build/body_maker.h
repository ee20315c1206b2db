/* body_maker.h - makes a region, such as the body of a derivative's loop. Its arguments get their numbers only at the end,
 * when it is known which are needed.
 *
 *   argument   its value is given by a node outside, or by a slice of a stack that the forward loop has to make
 *   close      numbers carries, slices and consts, in this order, and drops dead nodes */
#ifndef SN_BUILD_BODY_MAKER_H
#define SN_BUILD_BODY_MAKER_H

#include "build/inline.h"

typedef enum sn_argument_kind {
  SN_ARGUMENT_CARRY,
  SN_ARGUMENT_SLICE,
  SN_ARGUMENT_CONST,
  SN_ARGUMENT_KINDS,
  SN_ARGUMENT_NONE = SN_ARGUMENT_KINDS /* an argument that must turn out not to be needed */
} sn_argument_kind;

/* The kind of argument k of a loop's region. */
static inline sn_argument_kind sn_argument_kind_of(const sn_control *c, size_t k) {
  if (k < c->n_carries) return SN_ARGUMENT_CARRY;
  return k < c->n_carries + c->n_stacks ? SN_ARGUMENT_SLICE : SN_ARGUMENT_CONST;
}

/* The type of argument k if the loop's input for it has type `given`. */
static inline sn_type sn_argument_type(const sn_control *c, size_t k, const sn_type *given) {
  return sn_argument_kind_of(c, k) == SN_ARGUMENT_SLICE ? sn_type_slice(given) : *given;
}

/* What gives an argument its value. */
typedef enum sn_given {
  SN_GIVEN_NODE,  /* node `from` outside of the region */
  SN_GIVEN_CARRY, /* carry `from` of the forward loop, in the same round */
  SN_GIVEN_MADE   /* what node `from` of this maker would compute, in the same round */
} sn_given;

typedef struct sn_argument {
  sn_argument_kind kind;
  sn_given given;
  uint32_t from;
} sn_argument;

typedef struct sn_body_maker {
  sn_build b;     /* adds nodes to `graph` */
  sn_graph graph; /* the region; an input node's number is its index in `arguments` */
  sn_argument *arguments;
  size_t n_arguments, cap_arguments;
  sn_id *outputs;
  size_t n_outputs, cap_outputs;
} sn_body_maker;

/* Begins a region for a node that `outside` will make. */
void sn_body_begin(sn_body_maker *m, const sn_build *outside, sn_arena *arena);

/* Adds an argument and returns its input node. */
sn_id sn_body_argument(sn_body_maker *m, sn_argument_kind kind, sn_given given, uint32_t from,
                       const sn_type *type);

void sn_body_output(sn_body_maker *m, sn_id id);

/* Makes the region *out, in the maker's arena. saved: NULL, or marks of nodes that are not computed but become slices,
 * given as SN_GIVEN_MADE. prune: drop slices and consts that nothing needs. Sets *arguments to the *n arguments in the
 * order of their numbers. */
sn_status sn_body_close(sn_body_maker *m, const uint8_t *saved, bool prune, sn_graph *out,
                        sn_argument **arguments, size_t *n);

#endif
