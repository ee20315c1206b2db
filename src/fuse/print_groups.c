/* print_groups.c - groups as stable text: of each kernel its space, bodies and stores; then why edges
 * were cut. */
#include "base/text.h"
#include "fuse/chain.h"
#include "fuse/fuse.h"

const char *sn_cut_reason(sn_cut why) {
  static const char *const reasons[] = {
      [SN_CUT_VIEW] = "read through a view",
      [SN_CUT_TWO_TOTALS] = "its inputs come from two reductions or contractions",
      [SN_CUT_LIMIT] = "the group would get too large",
      [SN_CUT_KIND] = "made by pad, concat or a kernel of its own"};
  return reasons[why];
}

const char *sn_group_kind_name(const sn_group *group) {
  static const char *const names[SN_GROUP_KIND_COUNT] = {
      [SN_GROUP_MAP] = "map",        [SN_GROUP_REDUCE] = "reduce",
      [SN_GROUP_ROW] = "row",        [SN_GROUP_CONTRACTION] = "contraction",
      [SN_GROUP_CALL] = "call",      [SN_GROUP_CHAIN] = "chain",
      [SN_GROUP_CONTROL] = "control"};
  if (group->kind == SN_GROUP_MAP && sn_group_points(group) == 1) return "scalar";
  return names[group->kind];
}

/* Prints an evenly spaced axis as its stride, any other as (dim x stride, dim x stride ...). */
static void print_axis(sn_text *t, const sn_nest *axis) {
  if (axis->rank == 1) {
    sn_text_add(t, ", %lld", (long long)axis->strides[0]);
    return;
  }
  for (int i = 0; i < axis->rank; i++)
    sn_text_add(t, i ? ", %lld x %lld" : ", (%lld x %lld", (long long)axis->dims[i],
                (long long)axis->strides[i]);
  sn_text_add(t, ")");
}

static void print_operand(sn_text *t, const sn_operand *o, int rank) {
  if (o->value == SN_NONE)
    sn_text_add(t, "index");
  else
    sn_text_add(t, "b%u", o->value);
  sn_text_add(t, "[%lld", (long long)o->offset);
  for (int i = 0; i < rank; i++) sn_text_add(t, ", %lld", (long long)o->strides[i]);
  sn_text_add(t, "]");
}

/* b0[0, 0, 1] + 9 x b1[0, 1, 0](6): rows of b0 that are 9 apart; b1 tells which of the 6 */
static void print_load(sn_text *t, const sn_operand *o, int rank) {
  print_operand(t, o, rank);
  if (!sn_is_indexed(o)) return;
  sn_text_add(t, " + %lld x ", (long long)o->indexing->stride);
  print_operand(t, &o->indexing->index, rank);
  sn_text_add(t, "(%lld)", (long long)o->indexing->length);
}

/* Prints the axes of the batch, of the rows, then of the columns. */
static void print_factor(sn_text *t, const sn_group *g, const sn_operand *f, sn_product_axis row,
                         sn_product_axis column) {
  sn_text_add(t, " b%u[%lld", f->value, (long long)f->offset);
  if (g->space_rank > 2) print_axis(t, &f->nests->of[SN_AXIS_BATCH]);
  print_axis(t, &f->nests->of[row]);
  print_axis(t, &f->nests->of[column]);
  sn_text_add(t, f->nests->bounds.guards ? "] padded" : "]");
}

static void print_body(sn_text *t, const sn_body *body, int rank) {
  for (uint32_t i = 0; i < body->n_insns; i++) {
    const sn_insn *insn = &body->insns[i];
    sn_text_add(t, "    v%u = ", i);
    if (insn->kind == SN_INSN_CONST) sn_text_add(t, "%.9g", insn->value);
    if (insn->kind == SN_INSN_TOTAL) sn_text_add(t, "total%u", insn->args[0]);
    if (insn->kind == SN_INSN_KEPT) sn_text_add(t, "kept%u", insn->args[0]);
    if (insn->kind == SN_INSN_LOAD) print_load(t, &body->operands[insn->args[0]], rank);
    if (insn->kind == SN_INSN_OP) {
      sn_text_add(t, "%s", sn_op_describe(insn->op)->name);
      for (uint32_t k = 0; k < insn->n_args; k++) sn_text_add(t, " v%u", insn->args[k]);
    }
    sn_text_add(t, " : %s\n", sn_dtype_name(insn->dtype));
  }
}

static void print_dims(sn_text *t, const char *what, const int64_t *dims, int rank) {
  sn_text_add(t, " %s(", what);
  for (int i = 0; i < rank; i++) sn_text_add(t, i ? ", %lld" : "%lld", (long long)dims[i]);
  sn_text_add(t, ")");
}

static void print_stores(sn_text *t, const sn_store *stores, uint32_t n, int rank) {
  for (uint32_t k = 0; k < n; k++) {
    sn_text_add(t, "    ");
    print_operand(t, &stores[k].target, rank);
    sn_text_add(t, " = v%u\n", stores[k].insn);
  }
}

static void print_phase(sn_text *t, const sn_group *g, uint32_t p) {
  const sn_phase *phase = &g->row.phases[p];
  const int rank = g->space_rank + g->reduced_rank;
  sn_text_add(t, "  phase %u\n", p);
  print_body(t, &phase->body, rank);
  for (uint32_t k = 0; k < phase->n_keeps; k++)
    sn_text_add(t, "    kept%u = v%u\n", phase->keeps[k].slot, phase->keeps[k].insn);
  print_stores(t, phase->stores, phase->n_stores, rank);
  for (uint32_t k = 0; k < phase->n_reductions; k++)
    sn_text_add(t, "    total%u = %s v%u\n", phase->first_total + k,
                sn_op_describe(phase->reductions[k].op)->name, phase->reductions[k].insn);
}

static void print_call(sn_text *t, const sn_group *g) {
  const sn_call *call = &g->call;
  sn_text_add(t, "\n    ");
  print_operand(t, &g->stores[0].target, g->space_rank + 1);
  sn_text_add(t, "(%lld) = %s", (long long)call->length, sn_op_describe(call->op)->name);
  for (uint32_t k = 0; k < call->n_operands; k++) {
    sn_text_add(t, " ");
    print_operand(t, &call->operands[k], g->space_rank + 1);
    sn_text_add(t, "(%lld)", (long long)call->lengths[k]);
  }
  sn_text_add(t, "\n");
}

static void print_control(sn_text *t, const sn_group *g) {
  sn_text_add(t, "\n   ");
  for (uint32_t i = 0; i < g->n_stores; i++) sn_text_add(t, " b%u", g->stores[i].target.value);
  sn_text_add(t, " = %s", g->name);
  for (uint32_t i = 0; i < g->control.n_operands; i++)
    sn_text_add(t, " b%u", g->control.operands[i].value);
  sn_text_add(t, "\n");
}

static void print_chain(sn_text *t, size_t i, const sn_chain *c) {
  if (c->side) sn_text_add(t, c->side > 0 ? " column <= row" : " row <= column");
  sn_text_add(t, "\n");
  for (uint32_t m = 0; m < c->n_members; m++) sn_group_print(t, i, &c->members[m]);
}

static void print_phases(sn_text *t, const sn_group *g) {
  print_dims(t, "reduced", g->reduced, g->reduced_rank);
  if (g->row.ends) {
    sn_text_add(t, " up to ");
    print_operand(t, g->row.ends, g->space_rank);
  }
  sn_text_add(t, "\n");
  for (uint32_t p = 0; p < g->row.n_phases; p++) print_phase(t, g, p);
  if (g->post.n_insns) sn_text_add(t, "  then\n");
}

static void print_product(sn_text *t, const sn_group *g) {
  const sn_contraction *c = &g->contraction;
  sn_text_add(t, " k(%lld)\n  total0 = matmul", (long long)c->k);
  print_factor(t, g, &c->factors[0], SN_AXIS_ACROSS, SN_AXIS_ALONG);
  print_factor(t, g, &c->factors[1], SN_AXIS_ALONG, SN_AXIS_ACROSS);
  sn_text_add(t, "\n");
}

void sn_group_print(sn_text *t, size_t i, const sn_group *g) {
  if (sn_group_prologue(g)) sn_group_print(t, i, sn_group_prologue(g));
  sn_text_add(t, "k%zu %s %s", i, sn_group_kind_name(g), g->name);
  print_dims(t, "space", g->space, g->space_rank);
  switch (g->kind) {
  case SN_GROUP_REDUCE:
  case SN_GROUP_ROW: print_phases(t, g); break;
  case SN_GROUP_CONTRACTION: print_product(t, g); break;
  case SN_GROUP_CHAIN: print_chain(t, i, g->chain); return;
  case SN_GROUP_CALL: print_call(t, g); return;
  case SN_GROUP_CONTROL: print_control(t, g); return;
  case SN_GROUP_MAP:
  case SN_GROUP_KIND_COUNT: sn_text_add(t, "\n"); break;
  }
  print_body(t, &g->post, g->space_rank);
  print_stores(t, g->stores, g->n_stores, g->space_rank);
}

sn_status sn_groups_text(const sn_groups *groups, sn_arena *arena, const char **out) {
  sn_text t = sn_text_in(arena);
  for (size_t i = 0; i < groups->n_groups; i++) sn_group_print(&t, i, &groups->groups[i]);
  for (size_t i = 0; i < groups->n_cuts; i++)
    sn_text_add(&t, "cut %%%u -> %%%u: %s\n", groups->cuts[i].from, groups->cuts[i].to,
                sn_cut_reason(groups->cuts[i].why));
  sn_text_add(&t, "return");
  for (size_t i = 0; i < groups->n_outputs; i++) sn_text_add(&t, " b%u", groups->outputs[i]);
  sn_text_add(&t, "\n");
  *out = t.data;
  return t.status;
}
