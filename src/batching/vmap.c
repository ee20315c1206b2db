/* vmap.c - the walk: a node that depends on an example is made again with one more axis, by the rule of its op; any other
 * node stays as it is and serves all examples. */
#include "batching/vmap.h"

#include <string.h>

#include "batching/vmap_rules.h"
#include "build/range.h"

typedef struct walk {
  sn_build *b;
  sn_range range; /* the recorded nodes; the walk adds others */
  int64_t size;   /* of the new axis */
  /* Per recorded node, indexed by its number - range.first: */
  sn_id *batch;    /* its node with the new axis, or SN_NONE */
  sn_id **results; /* of control flow: its results with the new axis, or NULL */
} walk;

static sn_id batch_of(const walk *w, sn_id x) {
  return x >= w->range.first && x < w->range.end ? w->batch[x - w->range.first] : SN_NONE;
}

static sn_status check_rank(const walk *w, sn_id id, sn_op op) {
  const sn_type *type = sn_build_type(w->b, id);
  SN_FAIL_IF(w->b->arena->env, type->rank == SN_MAX_RANK, SN_ERR_SHAPE, "vmap",
             "%s of shape %*p has no room for one more axis", sn_op_describe(op)->name, type->rank,
             type->dims);
  return SN_OK;
}

/* Control flow: makes all its results; meet_result hands them to the result nodes. */
static sn_status meet_control(walk *w, sn_id id) {
  const size_t n = sn_build_node_of(w->b, id).n_inputs;
  const size_t n_results = w->b->maker->control(w->b, id).n_results;
  sn_id *batch, *out;
  bool any = false;
  SN_TRY(sn_arena_alloc(w->b->arena, n, sizeof *batch, (void **)&batch));
  SN_TRY(sn_arena_alloc(w->b->arena, n_results, sizeof *out, (void **)&out));
  for (size_t k = 0; k < n; k++) {
    const sn_id x = sn_build_input(w->b, id, k);
    batch[k] = batch_of(w, x);
    any = any || batch[k] != SN_NONE;
    SN_TRY(check_rank(w, x, sn_build_node_of(w->b, id).op));
  }
  if (!any) return SN_OK;
  sn_vmap_control(w->b, id, batch, w->size, out);
  w->results[id - w->range.first] = out;
  return w->b->status;
}

static sn_status meet_result(walk *w, sn_id id) {
  const sn_id from = sn_build_input(w->b, id, 0);
  const sn_id *results =
      from >= w->range.first && from < w->range.end ? w->results[from - w->range.first] : NULL;
  if (results) w->batch[id - w->range.first] = results[*sn_build_node_of(w->b, id).attrs];
  return SN_OK;
}

static sn_status meet(walk *w, sn_id id) {
  const sn_build_node node = sn_build_node_of(w->b, id);
  const size_t n = node.n_inputs;
  bool any = false;
  if (sn_op_is_control(node.op)) return meet_control(w, id);
  /* n is 0 for a tensor that has its value: it has dropped its inputs */
  if (node.op == SN_OP_result && n) return meet_result(w, id);
  for (size_t k = 0; k < n && !any; k++) any = batch_of(w, sn_build_input(w->b, id, k)) != SN_NONE;
  if (!any) return SN_OK;
  sn_id *x, *batch;
  int64_t attrs[SN_MAX_ATTRS]; /* a copy: the rule adds nodes */
  SN_TRY(sn_arena_alloc(w->b->arena, n, sizeof *x, (void **)&x));
  SN_TRY(sn_arena_alloc(w->b->arena, n, sizeof *batch, (void **)&batch));
  SN_TRY(check_rank(w, id, node.op));
  for (size_t k = 0; k < n; k++) {
    x[k] = sn_build_input(w->b, id, k);
    batch[k] = batch_of(w, x[k]);
    SN_TRY(check_rank(w, x[k], node.op));
  }
  if (node.n_attrs) memcpy(attrs, node.attrs, node.n_attrs * sizeof *attrs);
  const sn_vmap_context context = {
      w->b, node.op, *sn_build_type(w->b, id), x, batch, n, attrs, node.n_attrs, w->size};
  w->batch[id - w->range.first] = sn_vmap_rule_of(node.op)(&context);
  return w->b->status;
}

sn_status sn_vmap_nodes(sn_build *b, const sn_id *y, size_t n, const sn_id *examples,
                        const sn_id *batches, size_t n_examples, int64_t size, sn_id *out) {
  SN_TRY(b->status);
  const sn_origin outside = b->origin;
  walk w = {.b = b, .range = sn_range_of(y, n, examples, n_examples), .size = size};
  const size_t n_recorded = w.range.end - w.range.first;
  SN_TRY(sn_arena_alloc(b->arena, n_recorded, sizeof(sn_id), (void **)&w.batch));
  SN_TRY(sn_arena_alloc(b->arena, n_recorded, sizeof(sn_id *), (void **)&w.results));
  for (size_t i = 0; i < n_recorded; i++) w.batch[i] = SN_NONE;
  for (size_t i = 0; i < n_examples; i++) w.batch[examples[i] - w.range.first] = batches[i];
  for (sn_id id = w.range.first; id < w.range.end; id++)
    if (w.batch[id - w.range.first] == SN_NONE) {
      b->origin = sn_build_node_of(b, id).origin;
      SN_TRY(meet(&w, id));
    }
  b->origin = outside;
  for (size_t k = 0; k < n; k++) out[k] = batch_of(&w, y[k]);
  return b->status;
}
