#include "csource/write_control.h"

#include "csource/spell.h"

typedef struct writer {
  sn_text *t;
  const sn_c_control *control;
  const sn_group *g;
  sn_control c;
  uint32_t *store; /* per result the index of the group's store, or SN_NONE */
} writer;

static const sn_type *output_type(const writer *w, size_t k) {
  const sn_graph *body = w->c.regions[0];
  return &body->nodes[body->outputs[k]].type;
}

static long long length_of(const sn_type *type) {
  const int64_t n = sn_type_size(type);
  return (long long)(n ? n : 1);
}

static void add_buffer(const writer *w, uint32_t value) {
  w->control->add_buffer(w->control->user, value);
}

static void add_input(const writer *w, size_t k) {
  const sn_operand *x = &w->g->control.operands[k];
  add_buffer(w, x->value);
  if (x->offset) sn_text_add(w->t, " + %lld", (long long)x->offset);
}

static void add_result(const writer *w, size_t k) {
  add_buffer(w, w->g->stores[w->store[k]].target.value);
}

/* Declares buffers for carries and for results that nobody uses, and pointers to the current carries. */
static void declare(const writer *w) {
  for (size_t k = 0; k < w->c.n_results; k++) {
    const sn_type *type = output_type(w, k);
    const char *name = sn_c_type(type->dtype);
    if (k >= w->c.n_carries) {
      if (w->store[k] == SN_NONE)
        sn_text_add(w->t, "    static %s spare%zu[%lld];\n", name, k, length_of(type));
      continue;
    }
    sn_text_add(w->t, "    static %s pair%zu[2][%lld];\n", name, k, length_of(type));
    sn_text_add(w->t, "    const %s *carry%zu = ", name, k);
    add_input(w, k);
    sn_text_add(w->t, ";\n");
  }
}

static void open_call(const writer *w, const char *indent, int region) {
  sn_text_add(w->t, "%sregion_%u(", indent, w->control->regions[region]);
}

static void add_carries(const writer *w, const char **comma) {
  for (size_t k = 0; k < w->c.n_carries; k++, *comma = ", ")
    sn_text_add(w->t, "%scarry%zu", *comma, k);
}

static void add_consts(const writer *w, const char **comma) {
  const size_t first = w->c.n_carries + w->c.n_stacks;
  for (size_t k = first; k < first + w->c.n_consts; k++, *comma = ", ") {
    sn_text_add(w->t, "%s", *comma);
    add_input(w, k + sn_control_first(w->c.op));
  }
}

static void add_slices(const writer *w, const char **comma) {
  for (size_t k = w->c.n_carries; k < w->c.n_carries + w->c.n_stacks; k++, *comma = ", ") {
    const sn_graph *graph = &w->control->program->graph;
    const sn_id stack = sn_graph_inputs(graph, w->g->control.node)[k];
    const sn_type slice = sn_type_slice(&graph->nodes[stack].type);
    sn_text_add(w->t, "%s", *comma);
    add_input(w, k);
    sn_text_add(w->t, " + at * %lld", (long long)sn_type_size(&slice));
  }
}

/* Adds the places for the body's results: the other buffers of carries, slices of stacks, or (cond) whole results. */
static void add_outputs(const writer *w, const char **comma) {
  for (size_t k = 0; k < w->c.n_results; k++, *comma = ", ") {
    sn_text_add(w->t, "%s", *comma);
    if (k < w->c.n_carries)
      sn_text_add(w->t, "pair%zu[round & 1]", k);
    else if (w->store[k] == SN_NONE)
      sn_text_add(w->t, "spare%zu", k);
    else
      add_result(w, k);
    if (k >= w->c.n_carries && w->c.op == SN_OP_scan && w->store[k] != SN_NONE)
      sn_text_add(w->t, " + at * %lld", (long long)sn_type_size(output_type(w, k)));
  }
}

static void add_body(const writer *w) {
  const char *comma = "";
  open_call(w, "      ", 0);
  add_carries(w, &comma);
  add_slices(w, &comma);
  add_consts(w, &comma);
  add_outputs(w, &comma);
  sn_text_add(w->t, ");\n");
  for (size_t k = 0; k < w->c.n_carries; k++)
    sn_text_add(w->t, "      carry%zu = pair%zu[round & 1];\n", k, k);
}

static void add_loop(const writer *w) {
  const long long n = (long long)w->c.length;
  if (w->c.op == SN_OP_scan) {
    sn_text_add(w->t, "    for (int64_t round = 0; round < %lld; round++) {\n", n);
    if (w->c.reverse)
      sn_text_add(w->t, "      const int64_t at = %lld - round;\n", n - 1);
    else
      sn_text_add(w->t, "      const int64_t at = round;\n");
    sn_text_add(w->t, "      (void)at;\n");
  } else {
    const char *comma = "";
    sn_text_add(w->t, "    for (int64_t round = 0;; round++) {\n      %s again;\n",
                sn_c_type(SN_BOOL));
    open_call(w, "      ", 1);
    add_carries(w, &comma);
    add_consts(w, &comma);
    sn_text_add(w->t, "%s&again);\n      if (!again) break;\n", comma);
  }
  add_body(w);
  sn_text_add(w->t, "    }\n");
  for (size_t k = 0; k < w->c.n_carries; k++) {
    if (w->store[k] == SN_NONE) continue;
    sn_text_add(w->t, "    memcpy(");
    add_result(w, k);
    sn_text_add(w->t, ", carry%zu, %zu);\n", k, sn_type_bytes(output_type(w, k)));
  }
}

static void add_branch(const writer *w, int region) {
  const char *comma = "";
  open_call(w, "      ", region);
  add_consts(w, &comma);
  add_outputs(w, &comma);
  sn_text_add(w->t, ");\n");
}

static void add_choice(const writer *w) {
  sn_text_add(w->t, "    if (*(");
  add_input(w, 0);
  sn_text_add(w->t, "))\n");
  add_branch(w, 0);
  sn_text_add(w->t, "    else\n");
  add_branch(w, 1);
}

sn_status sn_c_add_control(sn_text *t, const sn_c_control *control) {
  writer w = {.t = t, .control = control};
  w.g = &control->program->groups.groups[control->step->group];
  w.c = sn_graph_control(&control->program->graph, w.g->control.node);
  SN_TRY(sn_arena_alloc(t->arena, w.c.n_results, sizeof *w.store, (void **)&w.store));
  for (size_t k = 0; k < w.c.n_results; k++) w.store[k] = SN_NONE;
  for (uint32_t i = 0; i < w.g->n_stores; i++) w.store[w.g->control.results[i]] = i;
  sn_text_add(t, "  { /* %s */\n", w.g->name);
  declare(&w);
  if (w.c.op == SN_OP_cond)
    add_choice(&w);
  else
    add_loop(&w);
  sn_text_add(t, "  }\n");
  return t->status;
}
