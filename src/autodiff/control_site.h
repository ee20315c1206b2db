/* control_site.h - a node of control flow whose derivative is being made: its inputs and regions, and functions that make
 * regions from its regions. */
#ifndef SN_AUTODIFF_CONTROL_SITE_H
#define SN_AUTODIFF_CONTROL_SITE_H

#include "build/body_maker.h"

typedef struct sn_site {
  sn_build *b;
  sn_control c;
  const sn_id *x; /* its inputs, n of them */
  size_t n;
  sn_origin origin;
  int64_t attrs[SN_MAX_ATTRS]; /* the node's; callers change them for the derived node */
  size_t n_attrs;
  sn_body_maker m; /* the region being made */
  sn_id *args;     /* per argument of the old region: its node in m */
  sn_id *map;      /* per node of the old region: its node in m */
} sn_site;

sn_status sn_site_begin(sn_site *s, sn_build *b, sn_id id);

/* Number of arguments of the node's regions. */
static inline size_t sn_site_arguments(const sn_site *s) {
  return s->n - sn_control_first(s->c.op);
}

/* The type of argument k inside of a region: of a stack, that of a slice. */
sn_type sn_site_argument_type(const sn_site *s, size_t k);

/* Adds an argument to m for argument k of the old region, given by the same node. */
sn_id sn_site_same_argument(sn_site *s, size_t k);

/* Copies what the region computes from s->args to m, and sets s->map. */
void sn_site_inline(sn_site *s, const sn_graph *region);

/* Makes the region's vjp as a region. Its arguments are the operands, kept values (the last n_kept results, given as
 * SN_GIVEN_MADE), then the cotangents dy that are not SN_NONE. wanted: per input of the node. */
sn_status sn_site_vjp(sn_site *s, const sn_graph *region, const sn_id *dy, const bool *wanted,
                      sn_graph *out, sn_argument **arguments, size_t *n);

/* Sets region number `which` in s->attrs; and makes a node of the same op with these attributes. */
sn_status sn_site_put_region(sn_site *s, int which, const sn_graph *region);
sn_id sn_site_make_node(sn_site *s, const sn_id *inputs, size_t n);

/* The type with its wide dtype, which derivatives have. */
sn_type sn_wide_type(const sn_type *type);

static inline const sn_type *sn_output_type(const sn_graph *region, size_t k) {
  return &region->nodes[region->outputs[k]].type;
}

/* function_rules.c: derivatives of checkpoints and custom functions, like sn_control_vjp and sn_control_jvp (rules.h). */
sn_status sn_checkpoint_vjp(sn_site *s, sn_id id, const sn_id *dy, const bool *wanted, sn_id *dx);
sn_status sn_custom_vjp(sn_site *s, const sn_id *dy, const bool *wanted, sn_id *dx);
sn_status sn_custom_jvp(sn_site *s, const sn_id *dx, sn_id *dy);

#endif
