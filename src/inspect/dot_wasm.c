/* dot_wasm.c - no drawings: JavaScript makes them itself (js/src/inspect.ts). */
#include "inspect/dot.h"

sn_status sn_dot_graph(sn_text *json, const sn_graph *graph, const sn_groups *groups) {
  (void)json, (void)graph, (void)groups;
  return SN_OK;
}

sn_status sn_dot_kernels(sn_text *json, const sn_groups *groups) {
  (void)json, (void)groups;
  return SN_OK;
}
