#include "fuse/group_visit.h"

#include <string.h>

typedef struct visitor {
  sn_touch_fn *fn;
  void *user;
  sn_touch touch;
} visitor;

static sn_status meet(visitor *v, sn_role role, sn_operand *operand) {
  v->touch.role = role;
  v->touch.operand = operand;
  return v->fn(v->user, &v->touch);
}

static sn_status visit_body(visitor *v, const sn_body *body, sn_store *stores, uint32_t n) {
  v->touch.body = body;
  for (uint32_t i = 0; i < body->n_operands; i++) {
    sn_operand *load = &body->operands[i];
    if (sn_is_indexed(load)) SN_TRY(meet(v, SN_ROLE_INDEX, &load->indexing->index));
    SN_TRY(meet(v, SN_ROLE_LOAD, load));
  }
  for (uint32_t i = 0; i < n; i++) SN_TRY(meet(v, SN_ROLE_STORE, &stores[i].target));
  v->touch.body = NULL;
  return SN_OK;
}

static sn_status visit_phases(visitor *v, const sn_group *g) {
  if (g->row.ends) SN_TRY(meet(v, SN_ROLE_INDEX, g->row.ends));
  for (int i = 0; i < g->reduced_rank; i++) v->touch.dims[v->touch.rank++] = g->reduced[i];
  for (v->touch.phase = 0; v->touch.phase < g->row.n_phases; v->touch.phase++) {
    const sn_phase *phase = &g->row.phases[v->touch.phase];
    SN_TRY(visit_body(v, &phase->body, phase->stores, phase->n_stores));
  }
  v->touch.rank = g->space_rank;
  return SN_OK;
}

static sn_status visit_factors(visitor *v, const sn_contraction *c) {
  for (int f = 0; f < 2; f++) {
    v->touch.rank = SN_PRODUCT_AXES;
    for (int i = 0; i < SN_PRODUCT_AXES; i++)
      v->touch.dims[i] = sn_nest_size(&c->factors[f].nests->of[i]);
    SN_TRY(meet(v, SN_ROLE_FACTOR, &c->factors[f]));
  }
  return SN_OK;
}

static sn_status visit_call(visitor *v, const sn_group *g) {
  const sn_call *call = &g->call;
  v->touch.rank = g->space_rank + 1;
  for (uint32_t i = 0; i < call->n_operands; i++) {
    v->touch.dims[g->space_rank] = call->lengths[i];
    SN_TRY(meet(v, SN_ROLE_INPUT, &call->operands[i]));
  }
  v->touch.dims[g->space_rank] = call->length;
  return meet(v, SN_ROLE_RESULT, &g->stores[0].target);
}

/* Operands have rank 0: each is a run of elements whose length the group does not know. */
static sn_status visit_control(visitor *v, const sn_group *g) {
  v->touch.rank = 0;
  for (uint32_t i = 0; i < g->control.n_operands; i++)
    SN_TRY(meet(v, SN_ROLE_INPUT, &g->control.operands[i]));
  for (uint32_t i = 0; i < g->n_stores; i++) SN_TRY(meet(v, SN_ROLE_RESULT, &g->stores[i].target));
  return g->control.room ? meet(v, SN_ROLE_RESULT, g->control.room) : SN_OK;
}

static void begin_space(visitor *v, const sn_group *g) {
  v->touch.rank = g->space_rank;
  memcpy(v->touch.dims, g->space, sizeof v->touch.dims);
}

sn_status sn_group_visit(const sn_group *g, sn_touch_fn *fn, void *user) {
  visitor v = {fn, user, {.group = g}};
  const sn_group *prologue = sn_group_prologue(g); /* which has none itself */
  if (prologue) SN_TRY(sn_group_visit(prologue, fn, user));
  begin_space(&v, g);
  switch (g->kind) {
  case SN_GROUP_MAP: break;
  case SN_GROUP_REDUCE:
  case SN_GROUP_ROW: SN_TRY(visit_phases(&v, g)); break;
  case SN_GROUP_CONTRACTION: SN_TRY(visit_factors(&v, &g->contraction)); break;
  case SN_GROUP_CALL: return visit_call(&v, g);
  case SN_GROUP_CHAIN: v.touch.rank = 0; return visit_body(&v, &g->post, g->stores, g->n_stores);
  case SN_GROUP_CONTROL: return visit_control(&v, g);
  case SN_GROUP_KIND_COUNT: return SN_OK;
  }
  begin_space(&v, g);
  return visit_body(&v, &g->post, g->stores, g->n_stores);
}
