#include "autodiff/control_site.h"

#include <string.h>

#include "autodiff/vjp.h"

sn_type sn_wide_type(const sn_type *type) {
  sn_type t = *type;
  t.dtype = sn_dtype_wide(t.dtype);
  return t;
}

sn_status sn_site_begin(sn_site *s, sn_build *b, sn_id id) {
  const sn_build_node node = sn_build_node_of(b, id);
  sn_id *x;
  *s = (sn_site){.b = b,
                 .c = b->maker->control(b, id),
                 .n = node.n_inputs,
                 .n_attrs = node.n_attrs,
                 .origin = node.origin};
  memcpy(s->attrs, node.attrs, node.n_attrs * sizeof *s->attrs);
  SN_TRY(sn_arena_alloc(b->arena, s->n, sizeof *x, (void **)&x));
  for (size_t k = 0; k < s->n; k++) x[k] = sn_build_input(b, id, k);
  s->x = x;
  return sn_arena_alloc(b->arena, s->n, sizeof *s->args, (void **)&s->args);
}

sn_type sn_site_argument_type(const sn_site *s, size_t k) {
  return sn_argument_type(&s->c, k, sn_build_type(s->b, s->x[k + sn_control_first(s->c.op)]));
}

sn_id sn_site_same_argument(sn_site *s, size_t k) {
  const sn_type type = sn_site_argument_type(s, k);
  return sn_body_argument(&s->m, sn_argument_kind_of(&s->c, k), SN_GIVEN_NODE,
                          s->x[k + sn_control_first(s->c.op)], &type);
}

void sn_site_inline(sn_site *s, const sn_graph *region) {
  sn_build *b = &s->m.b;
  if (!b->status)
    b->status = sn_arena_alloc(b->arena, region->n_nodes, sizeof *s->map, (void **)&s->map);
  if (!b->status) b->status = sn_build_inline(b, region, s->args, s->map);
}

sn_status sn_site_put_region(sn_site *s, int which, const sn_graph *region) {
  return s->b->maker->region(s->b, region, &s->attrs[which]);
}

sn_id sn_site_make_node(sn_site *s, const sn_id *inputs, size_t n) {
  const sn_type type = sn_control_type();
  return sn_build_op(s->b, s->c.op, inputs, n, s->attrs, s->n_attrs, &type);
}

/* ---- vjp of a region ------------------------------------------------------------------------- */

/* Marks the kept values in the maker: these become arguments and are not computed. */
static sn_status find_kept(const sn_site *s, const sn_graph *region, uint8_t **kept) {
  const sn_graph *g = &s->m.graph;
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, 1, (void **)kept));
  for (size_t k = s->c.n_results - s->c.n_kept; k < s->c.n_results; k++) {
    const sn_id id = s->map[region->outputs[k]];
    (*kept)[id] = g->nodes[id].op != SN_OP_input;
  }
  return SN_OK;
}

sn_status sn_site_vjp(sn_site *s, const sn_graph *region, const sn_id *dy, const bool *wanted,
                      sn_graph *out, sn_argument **arguments, size_t *n) {
  sn_arena *arena = s->b->arena;
  const size_t n_args = sn_site_arguments(s);
  sn_id *y, *inside, *wrt, *dwrt;
  size_t n_y = 0, n_wrt = 0;
  uint8_t *kept;
  SN_TRY(sn_arena_alloc(arena, s->c.n_results, sizeof *y, (void **)&y));
  SN_TRY(sn_arena_alloc(arena, s->c.n_results, sizeof *y, (void **)&inside));
  SN_TRY(sn_arena_alloc(arena, s->n, sizeof *wrt, (void **)&wrt));
  SN_TRY(sn_arena_alloc(arena, s->n, sizeof *wrt, (void **)&dwrt));
  sn_body_begin(&s->m, s->b, arena);
  for (size_t k = 0; k < n_args; k++) s->args[k] = sn_site_same_argument(s, k);
  s->m.b.origin.recomputed = true;
  sn_site_inline(s, region);
  s->m.b.origin.recomputed = false;
  SN_TRY(s->m.b.status);
  for (size_t k = 0; k < s->c.n_results; k++) {
    if (dy[k] == SN_NONE) continue;
    const sn_type type = sn_wide_type(sn_output_type(region, k));
    y[n_y] = s->map[region->outputs[k]];
    inside[n_y++] = sn_body_argument(&s->m, SN_ARGUMENT_CONST, SN_GIVEN_NODE, dy[k], &type);
  }
  for (size_t k = 0; k < n_args; k++)
    if (wanted[k + sn_control_first(s->c.op)]) wrt[n_wrt++] = s->args[k];
  SN_TRY(s->m.b.status);
  SN_TRY(sn_vjp_nodes(&s->m.b, y, inside, n_y, wrt, n_wrt, dwrt));
  for (size_t i = 0; i < n_wrt; i++) sn_body_output(&s->m, dwrt[i]);
  SN_TRY(s->m.b.status);
  SN_TRY(find_kept(s, region, &kept));
  return sn_body_close(&s->m, kept, false, out, arguments, n);
}
