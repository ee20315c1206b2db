#include "passes/passes.h"

#include "build/rewrite.h"

const sn_pass_info sn_pass_table[SN_PASS_COUNT] = {
#define PASS(name, on, readable, of_control, doc) {#name, sn_pass_##name, on, readable, of_control},
#include "passes/passes.def"
};

/* A plain copy with hash-consing on: equal nodes become one while the new graph is built. */
sn_status sn_pass_cse(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  (void)context;
  return sn_rewrite_graph(from, to, to->arena, true, NULL, NULL, NULL);
}

sn_status sn_pass_dce(const sn_pass_context *context, const sn_graph *from, sn_graph *to) {
  uint8_t *live;
  SN_TRY(sn_arena_alloc(from->arena, from->n_nodes, 1, (void **)&live));
  sn_graph_live(from, live);
  return sn_rewrite_graph(from, to, to->arena, context->share, live, NULL, NULL);
}
