#include "inspect/watched.h"

static void add_value(sn_text *t, const sn_program_code *p, const sn_range_seen *seen) {
  const sn_value *value = &p->groups.values[seen->value];
  const sn_node *node = sn_graph_node(&p->graph, value->node);
  char shape[SN_SHAPE_TEXT];
  sn_text_add(t, "{\"node\":%u,\"op\":\"%s\",\"type\":\"%s%s\",\"call\":%u,\"derivative\":%s,",
              value->node, sn_op_describe(node->op)->name, sn_dtype_name(value->type.dtype),
              sn_shape_text(&value->type, shape), node->origin.call,
              node->origin.derivative ? "true" : "false");
  if (seen->least <= seen->most)
    sn_text_add(t, "\"least\":%.17g,\"most\":%.17g,", seen->least, seen->most);
  else
    sn_text_add(t, "\"least\":null,\"most\":null,");
  sn_text_add(t, "\"nans\":%llu,\"infinities\":%llu}", (unsigned long long)seen->nans,
              (unsigned long long)seen->infinities);
}

void sn_watched_json(sn_text *t, const sn_watch *w) {
  sn_text_add(t, "{\"kernel\":%zu,\"written\":", w->kernel);
  add_value(t, w->program, &w->written);
  sn_text_add(t, ",\"reads\":[");
  for (size_t i = 0; i < w->n_reads; i++) {
    sn_text_add(t, i ? "," : "");
    add_value(t, w->program, &w->reads[i]);
  }
  sn_text_add(t, "]}");
}
