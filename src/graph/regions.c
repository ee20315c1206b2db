#include "graph/regions.h"

#include <string.h>

#include "graph/attributes.h"

sn_type sn_control_type(void) { return (sn_type){.dtype = SN_F32, .rank = 1}; }

/* ---- reading --------------------------------------------------------------------------------- */

sn_control sn_control_of(sn_op op, const int64_t *attrs, size_t n_inputs,
                         const sn_graph *const *regions) {
  sn_control c = {.op = op};
  for (const sn_attr *attr = sn_op_describe(op)->attrs; attr->kind; attr++)
    if (attr->kind == SN_ATTR_REGION) {
      c.regions[c.n_regions] = regions[c.n_regions];
      c.n_regions++;
    }
  c.n_results = c.regions[0]->n_outputs;
  switch ((int)op) {
  case SN_OP_scan:
    c.n_carries = (size_t)attrs[1];
    c.n_stacks = (size_t)attrs[2];
    c.n_consts = n_inputs - c.n_carries - c.n_stacks;
    c.length = attrs[3];
    c.reverse = attrs[4];
    break;
  case SN_OP_while_loop:
    c.n_carries = (size_t)attrs[2];
    c.n_consts = n_inputs - c.n_carries;
    break;
  case SN_OP_cond: c.n_consts = n_inputs - 1; break;
  default:
    c.n_consts = n_inputs;
    if (op == SN_OP_checkpoint) c.n_kept = (size_t)attrs[1];
    if (op != SN_OP_custom) break;
    c.n_arguments = (size_t)attrs[2];
    c.reverse = attrs[3];
  }
  return c;
}

sn_control sn_graph_control(const sn_graph *g, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  const int64_t *attrs = sn_graph_attrs(g, id);
  const sn_graph *regions[SN_MAX_REGIONS] = {NULL};
  int n = 0;
  for (const sn_attr *attr = sn_op_describe(node->op)->attrs; attr->kind; attr++)
    if (attr->kind == SN_ATTR_REGION) {
      regions[n] = g->regions[attrs[n]]; /* they come first */
      n++;
    }
  return sn_control_of(node->op, attrs, node->n_inputs, regions);
}

sn_type sn_control_result(const sn_control *c, size_t k) {
  const sn_graph *body = c->regions[0];
  const sn_type *type = &body->nodes[body->outputs[k]].type;
  return c->op == SN_OP_scan && k >= c->n_carries ? sn_type_stacked(type, c->length) : *type;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* The arguments of a region must have the types of the node's inputs from `first` on; for a stack, its slice's type. */
static sn_status verify_arguments(sn_env *env, const sn_control *c, const sn_graph *region,
                                  const sn_type *const *inputs, size_t n_inputs) {
  const size_t first = sn_control_first(c->op), consts = c->n_carries + c->n_stacks;
  SN_CHECK(env, region->n_arguments == n_inputs - first);
  for (sn_id id = 0; id < region->n_nodes; id++) {
    const sn_node *node = sn_graph_node(region, id);
    if (node->op != SN_OP_input) continue;
    const size_t k = (size_t)sn_graph_attrs(region, id)[0];
    SN_CHECK(env, k < region->n_arguments);
    const sn_type *given = inputs[first + k];
    sn_type type = node->type;
    if (k >= c->n_carries && k < consts) {
      SN_CHECK(env, type.rank < SN_MAX_RANK);
      type = sn_type_stacked(&type, c->length);
    }
    SN_CHECK(env, sn_type_equal(given, &type));
  }
  return SN_OK;
}

static const sn_type *output_type(const sn_graph *region, size_t k) {
  return &region->nodes[region->outputs[k]].type;
}

static sn_status verify_results(sn_env *env, const sn_control *c, const sn_type *const *inputs) {
  const sn_graph *body = c->regions[0], *other = c->regions[1];
  SN_CHECK(env, c->n_carries <= body->n_outputs);
  for (size_t k = 0; k < c->n_carries; k++)
    SN_CHECK(env, sn_type_equal(output_type(body, k), inputs[k]));
  if (c->op == SN_OP_scan) {
    for (size_t k = c->n_carries; k < c->n_results; k++)
      SN_CHECK(env, output_type(body, k)->rank < SN_MAX_RANK);
    return SN_OK;
  }
  if (c->op == SN_OP_while_loop) {
    const sn_type test = sn_type_scalar(SN_BOOL);
    SN_CHECK(env, c->n_results == c->n_carries && other->n_outputs == 1);
    SN_CHECK(env, sn_type_equal(output_type(other, 0), &test));
    return SN_OK;
  }
  if (sn_op_is_function(c->op)) return SN_OK;
  SN_CHECK(env, other->n_outputs == body->n_outputs);
  for (size_t k = 0; k < c->n_results; k++)
    SN_CHECK(env, sn_type_equal(output_type(body, k), output_type(other, k)));
  return SN_OK;
}

/* The type of the next float, from index *at on, among a custom function's arguments or results; NULL if there is none.
 * Moves *at behind it. */
static const sn_type *next_float(const sn_control *c, const sn_type *const *inputs, bool results,
                                 size_t *at) {
  const size_t n = results ? c->n_results : c->n_arguments;
  while (*at < n) {
    const sn_type *type = results ? output_type(c->regions[0], *at) : inputs[*at];
    ++*at;
    if (sn_dtype_is_float(type->dtype)) return type;
  }
  return NULL;
}

/* Checks the rule of a custom function: its arguments are those listed in regions.h, and its outputs the derivatives of
 * the other side. */
static sn_status verify_rule(sn_env *env, const sn_control *c, const sn_type *const *inputs,
                             size_t n_inputs) {
  const sn_graph *rule = c->regions[1];
  const sn_type **types, *type;
  size_t n = 0, at = 0, n_outputs = 0;
  SN_CHECK(env, c->n_arguments <= n_inputs);
  SN_TRY(sn_arena_alloc(rule->arena, n_inputs + c->n_arguments + c->n_results, sizeof *types,
                        (void **)&types));
  for (; n < c->n_arguments; n++) types[n] = inputs[n];
  while ((type = next_float(c, inputs, c->reverse, &at))) types[n++] = type;
  for (size_t k = c->n_arguments; k < n_inputs; k++) types[n++] = inputs[k];
  SN_CHECK(env, rule->n_arguments == n);
  for (sn_id id = 0; id < rule->n_nodes; id++) {
    if (rule->nodes[id].op != SN_OP_input) continue;
    const size_t k = (size_t)sn_graph_attrs(rule, id)[0];
    SN_CHECK(env, k < n && sn_type_equal(types[k], &rule->nodes[id].type));
  }
  for (at = 0; (type = next_float(c, inputs, !c->reverse, &at)); n_outputs++)
    SN_CHECK(env, n_outputs < rule->n_outputs && sn_type_equal(output_type(rule, n_outputs), type));
  SN_CHECK(env, n_outputs == rule->n_outputs);
  return SN_OK;
}

sn_status sn_control_verify(sn_env *env, const sn_control *c, const sn_type *const *inputs,
                            size_t n_inputs) {
  const sn_type test = sn_type_scalar(SN_BOOL);
  SN_CHECK(env, c->n_carries <= n_inputs && c->n_stacks <= n_inputs - c->n_carries);
  if (c->op == SN_OP_cond) SN_CHECK(env, n_inputs && sn_type_equal(inputs[0], &test));
  SN_CHECK(env, c->n_kept <= c->n_results);
  const uint32_t n = c->op == SN_OP_custom ? 1 : c->n_regions;
  for (uint32_t r = 0; r < n; r++)
    SN_TRY(verify_arguments(env, c, c->regions[r], inputs, n_inputs));
  if (c->op == SN_OP_custom) SN_TRY(verify_rule(env, c, inputs, n_inputs));
  return verify_results(env, c, inputs);
}

void sn_region_flow(const sn_graph *region, const uint8_t *arguments, bool floats, uint8_t *marks) {
  for (sn_id id = 0; id < region->n_nodes; id++) {
    const sn_node *node = sn_graph_node(region, id);
    const size_t n = floats ? sn_op_reads(node->op, node->n_inputs) : node->n_inputs;
    bool any = node->op == SN_OP_input && arguments[sn_graph_attrs(region, id)[0]];
    for (size_t k = 0; k < n && !any; k++) any = marks[sn_graph_inputs(region, id)[k]];
    marks[id] = any && (!floats || sn_dtype_is_float(node->type.dtype));
  }
}

int sn_graph_nesting(const sn_graph *g) {
  int deepest = 0;
  for (size_t i = 0; i < g->n_regions; i++) {
    const int depth = sn_graph_nesting(g->regions[i]) + 1;
    if (depth > deepest) deepest = depth;
  }
  return deepest;
}

/* ---- equal graphs ---------------------------------------------------------------------------- */

uint32_t sn_graph_hash(const sn_graph *g) {
  uint32_t hash = (uint32_t)g->n_nodes;
  for (size_t i = 0; i < g->n_nodes; i++) hash = (hash ^ g->nodes[i].hash) * 0x9e3779b1u;
  for (size_t i = 0; i < g->n_outputs; i++) hash = (hash ^ g->outputs[i]) * 0x9e3779b1u;
  for (size_t i = 0; i < g->n_regions; i++)
    hash = (hash ^ sn_graph_hash(g->regions[i])) * 0x9e3779b1u;
  return hash;
}

static bool same_nodes(const sn_graph *a, const sn_graph *b) {
  for (size_t i = 0; i < a->n_nodes; i++) {
    const sn_node *x = &a->nodes[i], *y = &b->nodes[i];
    if (x->hash != y->hash || x->op != y->op || x->n_inputs != y->n_inputs ||
        x->n_attrs != y->n_attrs || !sn_type_equal(&x->type, &y->type))
      return false;
  }
  return sn_same_bytes(a->edges, b->edges, a->n_edges * sizeof *a->edges) &&
         sn_same_bytes(a->attrs, b->attrs, a->n_attrs * sizeof *a->attrs);
}

bool sn_graph_equal(const sn_graph *a, const sn_graph *b) {
  if (a->n_nodes != b->n_nodes || a->n_edges != b->n_edges || a->n_attrs != b->n_attrs ||
      a->n_outputs != b->n_outputs || a->n_arguments != b->n_arguments ||
      a->n_regions != b->n_regions)
    return false;
  bool same =
      same_nodes(a, b) && sn_same_bytes(a->outputs, b->outputs, a->n_outputs * sizeof *a->outputs);
  for (size_t i = 0; same && i < a->n_regions; i++)
    same = sn_graph_equal(a->regions[i], b->regions[i]);
  return same;
}

static sn_status copy_block(sn_arena *arena, const void *from, size_t count, size_t size,
                            void **out) {
  SN_TRY(sn_arena_alloc(arena, count, size, out));
  if (count) memcpy(*out, from, count * size);
  return SN_OK;
}

sn_status sn_graph_copy(const sn_graph *g, sn_arena *arena, sn_graph *to) {
  *to = (sn_graph){.arena = arena,
                   .env = g->env,
                   .n_nodes = g->n_nodes,
                   .n_edges = g->n_edges,
                   .n_attrs = g->n_attrs,
                   .n_outputs = g->n_outputs,
                   .n_arguments = g->n_arguments};
  SN_TRY(copy_block(arena, g->nodes, g->n_nodes, sizeof *g->nodes, (void **)&to->nodes));
  SN_TRY(copy_block(arena, g->edges, g->n_edges, sizeof *g->edges, (void **)&to->edges));
  SN_TRY(copy_block(arena, g->attrs, g->n_attrs, sizeof *g->attrs, (void **)&to->attrs));
  SN_TRY(copy_block(arena, g->outputs, g->n_outputs, sizeof *g->outputs, (void **)&to->outputs));
  return sn_graph_keep_regions(to, g);
}

sn_status sn_graph_keep_regions(sn_graph *g, const sn_graph *like) {
  const size_t n = g->n_regions = g->cap_regions = like->n_regions;
  SN_TRY(sn_arena_alloc(g->arena, n, sizeof *g->regions, (void **)&g->regions));
  for (size_t i = 0; i < n; i++) {
    SN_TRY(sn_arena_alloc(g->arena, 1, sizeof *g->regions[i], (void **)&g->regions[i]));
    SN_TRY(sn_graph_copy(like->regions[i], g->arena, g->regions[i]));
  }
  return SN_OK;
}

sn_status sn_graph_add_region(sn_graph *g, const sn_graph *body, int64_t *number) {
  for (size_t i = 0; i < g->n_regions; i++) {
    if (!sn_graph_equal(g->regions[i], body)) continue;
    *number = (int64_t)i;
    return SN_OK;
  }
  SN_FAIL_IF(g->env, sn_graph_nesting(body) >= SN_MAX_NESTING, SN_ERR_UNSUPPORTED, NULL,
             "loops and conditions are nested more than %d deep", SN_MAX_NESTING);
  SN_TRY(sn_arena_grow(g->arena, (void **)&g->regions, &g->cap_regions, g->n_regions,
                       sizeof *g->regions));
  sn_graph *copy;
  SN_TRY(sn_arena_alloc(g->arena, 1, sizeof *copy, (void **)&copy));
  SN_TRY(sn_graph_copy(body, g->arena, copy));
  *number = (int64_t)g->n_regions;
  g->regions[g->n_regions++] = copy;
  return SN_OK;
}
