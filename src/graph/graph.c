#include "graph/graph.h"

#include <string.h>

void sn_graph_init(sn_graph *graph, sn_arena *arena, bool share) {
  *graph = (sn_graph){.arena = arena, .env = arena->env, .share = share};
}

static uint32_t mix(uint32_t hash, uint64_t value) {
  const uint64_t m = ((uint64_t)hash ^ value) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(m >> 32) ^ (uint32_t)m;
}

uint32_t sn_node_hash(sn_op op, const sn_type *type, const sn_id *inputs, size_t n_inputs,
                      const int64_t *attrs, size_t n_attrs) {
  uint32_t hash = mix((uint32_t)op + 1, (uint64_t)type->dtype << 8 | (uint64_t)type->rank);
  for (int i = 0; i < type->rank; i++) hash = mix(hash, (uint64_t)type->dims[i]);
  for (size_t i = 0; i < n_inputs; i++) hash = mix(hash, inputs[i]);
  for (size_t i = 0; i < n_attrs; i++) hash = mix(hash, (uint64_t)attrs[i]);
  return hash;
}

static bool same_node(const sn_graph *g, sn_id id, const sn_node *node, const sn_id *inputs,
                      const int64_t *attrs) {
  const sn_node *old = sn_graph_node(g, id);
  return old->hash == node->hash && old->op == node->op && old->n_inputs == node->n_inputs &&
         old->n_attrs == node->n_attrs && sn_type_equal(&old->type, &node->type) &&
         sn_same_bytes(sn_graph_inputs(g, id), inputs, node->n_inputs * sizeof *inputs) &&
         sn_same_bytes(sn_graph_attrs(g, id), attrs, node->n_attrs * sizeof *attrs);
}

/* The slot of an equal node, or the free slot where it belongs. */
static sn_id_slot *find_slot(const sn_graph *g, const sn_node *node, const sn_id *inputs,
                             const int64_t *attrs) {
  sn_id_slot *slot = sn_id_slot_at(&g->table, node->hash);
  while (slot->number &&
         !(slot->hash == node->hash && same_node(g, slot->number - 1, node, inputs, attrs)))
    slot = sn_id_slot_behind(&g->table, slot);
  return slot;
}

sn_status sn_graph_reserve(sn_graph *g, const sn_graph *like) {
  SN_TRY(sn_arena_reserve(g->arena, (void **)&g->nodes, &g->cap_nodes, g->n_nodes, like->n_nodes,
                          sizeof *g->nodes));
  SN_TRY(sn_arena_reserve(g->arena, (void **)&g->edges, &g->cap_edges, g->n_edges, like->n_edges,
                          sizeof *g->edges));
  return sn_arena_reserve(g->arena, (void **)&g->attrs, &g->cap_attrs, g->n_attrs, like->n_attrs,
                          sizeof *g->attrs);
}

static sn_status append(sn_graph *g, void **items, size_t *capacity, size_t *used,
                        const void *values, size_t count, size_t item_bytes) {
  while (*capacity < *used + count)
    SN_TRY(sn_arena_grow(g->arena, items, capacity, *capacity, item_bytes));
  if (count) memcpy((char *)*items + *used * item_bytes, values, count * item_bytes);
  *used += count;
  return SN_OK;
}

sn_status sn_graph_append(sn_graph *g, sn_op op, const sn_id *inputs, size_t n_inputs,
                          const int64_t *attrs, size_t n_attrs, const sn_type *type, sn_id *out) {
  sn_id swapped[2];
  if (sn_op_describe(op)->commutative && inputs[0] > inputs[1]) {
    swapped[0] = inputs[1];
    swapped[1] = inputs[0];
    inputs = swapped;
  }
  for (size_t i = 0; i < n_inputs; i++) SN_CHECK(g->env, inputs[i] < g->n_nodes);
  sn_node node = {.op = op,
                  .n_inputs = (uint32_t)n_inputs,
                  .n_attrs = (uint32_t)n_attrs,
                  .origin = g->origin,
                  .type = *type};
  for (int i = type->rank; i < SN_MAX_RANK; i++) node.type.dims[i] = 0;
  node.hash = sn_node_hash(op, &node.type, inputs, n_inputs, attrs, n_attrs);

  SN_TRY(sn_id_table_reserve(g->arena, &g->table));
  sn_id_slot *slot = find_slot(g, &node, inputs, attrs);
  if (g->share && slot->number) {
    *out = slot->number - 1;
    return SN_OK;
  }
  SN_FAIL_IF(g->env, g->n_nodes >= SN_NONE - 1, SN_ERR_MEMORY, "graph", "too many nodes");
  node.first_input = (uint32_t)g->n_edges;
  node.first_attr = (uint32_t)g->n_attrs;
  SN_TRY(
      append(g, (void **)&g->edges, &g->cap_edges, &g->n_edges, inputs, n_inputs, sizeof *inputs));
  SN_TRY(append(g, (void **)&g->attrs, &g->cap_attrs, &g->n_attrs, attrs, n_attrs, sizeof *attrs));
  SN_TRY(append(g, (void **)&g->nodes, &g->cap_nodes, &g->n_nodes, &node, 1, sizeof node));
  const sn_id id = (sn_id)(g->n_nodes - 1);
  if (!slot->number) sn_id_slot_take(&g->table, slot, node.hash, id);
  *out = id;
  return SN_OK;
}

sn_status sn_graph_infer(const sn_graph *g, sn_op op, const sn_id *inputs, size_t n_inputs,
                         const int64_t *attrs, size_t n_attrs, sn_type *type) {
  const sn_type *few[SN_MAX_ARITY], **in = few;
  if (n_inputs > SN_MAX_ARITY) /* a concat or control flow */
    SN_TRY(sn_arena_alloc(g->arena, n_inputs, sizeof *in, (void **)&in));
  for (size_t i = 0; i < n_inputs; i++) {
    SN_CHECK(g->env, inputs[i] < g->n_nodes);
    in[i] = &g->nodes[inputs[i]].type;
  }
  return sn_infer(g->env, op, in, n_inputs, attrs, n_attrs, type);
}

sn_status sn_graph_add(sn_graph *g, sn_op op, const sn_id *inputs, size_t n_inputs,
                       const int64_t *attrs, size_t n_attrs, const sn_type *proposed, sn_id *out) {
  sn_type type = proposed ? *proposed : sn_type_scalar(SN_F32);
  SN_TRY(sn_graph_infer(g, op, inputs, n_inputs, attrs, n_attrs, &type));
  return sn_graph_append(g, op, inputs, n_inputs, attrs, n_attrs, &type, out);
}

void sn_graph_live(const sn_graph *g, uint8_t *marks) {
  memset(marks, 0, g->n_nodes);
  for (size_t i = 0; i < g->n_outputs; i++) marks[g->outputs[i]] = 1;
  for (size_t id = g->n_nodes; id-- > 0;) {
    if (!marks[id]) continue;
    const sn_id *inputs = sn_graph_inputs(g, (sn_id)id);
    for (uint32_t i = 0; i < g->nodes[id].n_inputs; i++) marks[inputs[i]] = 1;
  }
}
