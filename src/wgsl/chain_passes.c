#include "wgsl/chain_passes.h"

typedef struct planner {
  const sn_groups *groups;
  sn_chain_passes *to;
} planner;

static int later(int a, int b) { return a > b ? a : b; }

/* ---- the first pass in which points can be computed -------------------------------------------- */

/* The phase that makes a total. */
static uint32_t phase_of_total(const sn_row *row, uint32_t total) {
  uint32_t p = 0;
  while (total >= row->phases[p].first_total + row->phases[p].n_reductions) p++;
  return p;
}

static uint32_t phase_that_keeps(const sn_row *row, uint32_t slot) {
  for (uint32_t p = 0;; p++)
    for (uint32_t k = 0; k < row->phases[p].n_keeps; k++)
      if (row->phases[p].keeps[k].slot == slot) return p;
}

/* The first pass in which a body can be computed. m: if g is a row group, its phases, whose totals and kept values it reads. */
static int pass_of_body(const planner *p, const sn_group *g, const sn_member_pass *m,
                        const sn_body *body) {
  int pass = 0;
  for (uint32_t i = 0; i < body->n_insns; i++) {
    const sn_insn *insn = &body->insns[i];
    const uint32_t v =
        insn->kind == SN_INSN_LOAD ? body->operands[insn->args[0]].value : (uint32_t)SN_NONE;
    if (v != SN_NONE && p->to->is_inside[v]) pass = later(pass, p->to->known[v]);
    if (g->kind != SN_GROUP_ROW) continue;
    if (insn->kind == SN_INSN_TOTAL)
      pass = later(pass, m->phases[phase_of_total(&g->row, insn->args[0])].totals + 1);
    if (insn->kind == SN_INSN_KEPT)
      pass = later(pass, m->phases[phase_that_keeps(&g->row, insn->args[0])].points);
  }
  return pass;
}

/* Whether two instructions load the same value of the chain. */
static bool loads_same(const planner *p, const sn_body *a, uint32_t i, const sn_body *b,
                       uint32_t k) {
  const sn_insn *x = &a->insns[i], *y = &b->insns[k];
  if (x->kind != SN_INSN_LOAD || y->kind != SN_INSN_LOAD) return false;
  const uint32_t v = a->operands[x->args[0]].value;
  return v != SN_NONE && v == b->operands[y->args[0]].value && p->to->is_inside[v];
}

static bool follows_max(const planner *plan, const sn_row *row, uint32_t p) {
  if (!p) return false;
  const sn_phase *max = &row->phases[p - 1], *sum = &row->phases[p];
  if (max->n_reductions != 1 || sum->n_reductions != 1) return false;
  const sn_reduction *top = &max->reductions[0], *total = &sum->reductions[0];
  const sn_insn *e = &sum->body.insns[total->insn];
  if (top->op != SN_OP_max || total->op != SN_OP_sum || e->kind != SN_INSN_OP || e->op != SN_OP_exp)
    return false;
  const sn_insn *less = &sum->body.insns[e->args[0]];
  if (less->kind != SN_INSN_OP || less->op != SN_OP_sub) return false;
  const sn_insn *by = &sum->body.insns[less->args[1]];
  return by->kind == SN_INSN_TOTAL && by->args[0] == max->first_total &&
         loads_same(plan, &max->body, top->insn, &sum->body, less->args[0]);
}

/* ---- softmax in a stream ----------------------------------------------------------------------- */

/* Whether insn i of phase p is the e^(x - max) that phase `sum` adds up: kept by that phase, or computed again. */
static bool is_exp_again(const planner *plan, const sn_row *row, uint32_t sum, uint32_t p,
                         uint32_t i) {
  const sn_body *body = &row->phases[p].body, *before = &row->phases[sum].body;
  const sn_insn *e = &body->insns[i];
  const uint32_t added = row->phases[sum].reductions[0].insn;
  if (e->kind == SN_INSN_KEPT) {
    for (uint32_t k = 0; k < row->phases[sum].n_keeps; k++)
      if (row->phases[sum].keeps[k].slot == e->args[0])
        return row->phases[sum].keeps[k].insn == added;
    return false;
  }
  if (e->kind != SN_INSN_OP || e->op != SN_OP_exp) return false;
  const sn_insn *less = &body->insns[e->args[0]];
  if (less->kind != SN_INSN_OP || less->op != SN_OP_sub) return false;
  const sn_insn *by = &body->insns[less->args[1]];
  const uint32_t x = before->insns[before->insns[added].args[0]].args[0];
  return by->kind == SN_INSN_TOTAL && by->args[0] == row->phases[sum - 1].first_total &&
         loads_same(plan, body, less->args[0], before, x);
}

/* Whether phase p stores e^(x - max) / sum and does nothing else. */
static bool divides_by_sum(const planner *plan, const sn_row *row, uint32_t sum, uint32_t p) {
  const sn_phase *phase = &row->phases[p];
  if (phase->n_stores != 1 || phase->n_reductions || phase->n_keeps) return false;
  const sn_insn *q = &phase->body.insns[phase->stores[0].insn];
  if (q->kind != SN_INSN_OP || q->op != SN_OP_div || q->dtype != SN_F32) return false;
  const sn_insn *by = &phase->body.insns[q->args[1]];
  return by->kind == SN_INSN_TOTAL && by->args[0] == row->phases[sum].first_total &&
         is_exp_again(plan, row, sum, p, q->args[0]);
}

static bool loads_value(const sn_body *body, uint32_t value) {
  for (uint32_t i = 0; i < body->n_operands; i++)
    if (body->operands[i].value == value) return true;
  return false;
}

/* Whether a value is read only by products of scores, as their scores. */
static bool is_used_up(const planner *plan, uint32_t value) {
  const sn_chain *c = plan->to->chain;
  bool is = false;
  for (uint32_t m = 0; m < c->n_members; m++) {
    const sn_group *g = &c->members[m];
    if (loads_value(&g->post, value)) return false;
    for (uint32_t p = 0; g->kind == SN_GROUP_ROW && p < g->row.n_phases; p++)
      if (loads_value(&g->row.phases[p].body, value)) return false;
    if (g->kind != SN_GROUP_CONTRACTION) continue;
    if (g->contraction.factors[1].value == value) return false;
    is = is || g->contraction.factors[0].value == value;
  }
  return is && plan->to->is_local[value];
}

/* Whether phase p stores a softmax that can be streamed: its max and sum are made in the pass under way. Notes it in m. */
static bool streams(const planner *plan, const sn_row *row, sn_member_pass *m, uint32_t p) {
  for (uint32_t sum = 1; sum < p; sum++) {
    if (!m->phases[sum].follows_max || !divides_by_sum(plan, row, sum, p)) continue;
    const uint32_t value = row->phases[p].stores[0].target.value;
    if (m->streams != SN_NONE || !is_used_up(plan, value)) return false;
    m->streams = value;
    m->stream_max = sum - 1;
    return true;
  }
  return false;
}

uint32_t sn_chain_streamer(const sn_chain_passes *passes, uint32_t value) {
  for (uint32_t m = 0; m < passes->chain->n_members; m++)
    if (passes->members[m].streams == value) return m;
  return SN_NONE;
}

/* ---- members ----------------------------------------------------------------------------------- */

static void note_stores(const planner *p, const sn_store *stores, uint32_t n, int pass) {
  const sn_chain *c = p->to->chain;
  for (uint32_t k = 0; k < n; k++) {
    const uint32_t v = stores[k].target.value;
    p->to->known[v] = pass;
    p->to->is_inside[v] = true;
    p->to->is_scores[v] = sn_type_size(&p->groups->values[v].type) != c->batch * c->rows;
  }
}

static sn_status plan_row(const planner *p, sn_arena *arena, const sn_group *g, sn_member_pass *m) {
  const sn_row *row = &g->row;
  SN_TRY(sn_arena_alloc(arena, row->n_phases, sizeof *m->phases, (void **)&m->phases));
  for (uint32_t i = 0; i < row->n_phases; i++) {
    sn_phase_pass *phase = &m->phases[i];
    phase->points = pass_of_body(p, g, m, &row->phases[i].body);
    phase->follows_max = follows_max(p, row, i);
    if (streams(p, row, m, i)) phase->points = m->phases[m->stream_max].totals;
    phase->totals = phase->follows_max ? m->phases[i - 1].totals : phase->points;
    note_stores(p, row->phases[i].stores, row->phases[i].n_stores, phase->points);
    p->to->n = later(p->to->n, phase->totals + 1);
  }
  m->pass = pass_of_body(p, g, m, &g->post);
  note_stores(p, g->stores, g->n_stores, m->pass);
  return SN_OK;
}

static sn_status plan_member(const planner *p, sn_arena *arena, const sn_group *g,
                             sn_member_pass *m) {
  m->streams = SN_NONE;
  if (g->kind == SN_GROUP_ROW) return plan_row(p, arena, g, m);
  m->pass = pass_of_body(p, g, m, &g->post);
  if (g->kind == SN_GROUP_CONTRACTION) {
    const uint32_t a = g->contraction.factors[0].value;
    m->consumes_scores = p->to->is_inside[a];
    if (m->consumes_scores) m->pass = later(m->pass, p->to->known[a]);
  }
  m->per_row = g->kind == SN_GROUP_MAP && g->space_rank == p->to->outer;
  if (m->consumes_scores)
    p->to->n = later(p->to->n, m->pass + 1);
  else
    note_stores(p, g->stores, g->n_stores, m->pass);
  return SN_OK;
}

static bool stores_outside(const sn_chain_passes *to, const sn_store *stores, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (!to->is_local[stores[k].target.value]) return true;
  return false;
}

/* Scores that are stored to memory are written in the first pass that can compute them, so that pass has to exist. */
static void count_stores(sn_chain_passes *to) {
  for (uint32_t m = 0; m < to->chain->n_members; m++) {
    const sn_group *g = &to->chain->members[m];
    const sn_member_pass *member = &to->members[m];
    for (uint32_t i = 0; g->kind == SN_GROUP_ROW && i < g->row.n_phases; i++)
      if (stores_outside(to, g->row.phases[i].stores, g->row.phases[i].n_stores))
        to->n = later(to->n, member->phases[i].points + 1);
    if (g->kind != SN_GROUP_ROW && !member->per_row && !member->consumes_scores &&
        stores_outside(to, g->stores, g->n_stores))
      to->n = later(to->n, member->pass + 1);
  }
}

sn_status sn_chain_passes_of(sn_arena *arena, const sn_groups *groups, const sn_group *chain,
                             sn_chain_passes *out) {
  const sn_chain *c = chain->chain;
  const planner p = {groups, out};
  *out = (sn_chain_passes){.chain = c, .outer = chain->space_rank, .n = 1};
  SN_TRY(sn_arena_alloc(arena, c->n_members, sizeof *out->members, (void **)&out->members));
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof *out->is_local, (void **)&out->is_local));
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof *out->is_inside, (void **)&out->is_inside));
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof *out->is_scores, (void **)&out->is_scores));
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof *out->known, (void **)&out->known));
  for (uint32_t i = 0; i < c->n_locals; i++) out->is_local[c->locals[i].value] = true;
  for (uint32_t m = 0; m < c->n_members; m++)
    SN_TRY(plan_member(&p, arena, &c->members[m], &out->members[m]));
  count_stores(out);
  return SN_OK;
}

/* ---- what is wanted ---------------------------------------------------------------------------- */

typedef struct wants {
  const sn_chain_passes *to;
  bool *value; /* per value whether later members or phases read it in this pass */
  bool slots[SN_MAX_KEPT];
  int pass;
} wants;

static bool is_wanted(const wants *w, const sn_store *stores, uint32_t n, int points) {
  for (uint32_t k = 0; k < n; k++) {
    const uint32_t v = stores[k].target.value;
    if (w->value[v] || (!w->to->is_local[v] && points == w->pass)) return true;
  }
  return false;
}

static void want_loads(wants *w, const sn_body *body) {
  for (uint32_t i = 0; i < body->n_insns; i++) {
    const sn_insn *insn = &body->insns[i];
    if (insn->kind == SN_INSN_KEPT) w->slots[insn->args[0]] = true;
    if (insn->kind != SN_INSN_LOAD) continue;
    const uint32_t v = body->operands[insn->args[0]].value;
    if (v != SN_NONE) w->value[v] = true;
  }
}

static void want_rows(wants *w, const sn_group *g, sn_member_pass *m) {
  memset(w->slots, 0, sizeof w->slots);
  m->wanted = false;
  for (uint32_t i = g->row.n_phases; i-- > 0;) {
    const sn_phase *phase = &g->row.phases[i];
    sn_phase_pass *pass = &m->phases[i];
    if (phase->n_stores && phase->stores[0].target.value == m->streams) {
      pass->wanted = false; /* streamed: the phases of its max and sum make it */
      continue;
    }
    pass->wanted = is_wanted(w, phase->stores, phase->n_stores, pass->points) ||
                   (phase->n_reductions && pass->totals == w->pass && !pass->follows_max);
    for (uint32_t k = 0; k < phase->n_keeps; k++)
      pass->wanted = pass->wanted || w->slots[phase->keeps[k].slot];
    if (pass->wanted) want_loads(w, &phase->body);
    m->wanted = m->wanted || pass->wanted;
  }
}

sn_status sn_chain_passes_want(sn_arena *arena, const sn_groups *groups, sn_chain_passes *passes,
                               int pass) {
  wants w = {.to = passes, .pass = pass};
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof *w.value, (void **)&w.value));
  for (uint32_t i = passes->chain->n_members; i-- > 0;) {
    const sn_group *g = &passes->chain->members[i];
    sn_member_pass *m = &passes->members[i];
    if (g->kind == SN_GROUP_ROW) {
      want_rows(&w, g, m);
    } else if (m->consumes_scores) {
      m->wanted = m->pass == pass;
      if (m->wanted) w.value[g->contraction.factors[0].value] = true;
    } else {
      m->wanted = !m->per_row && is_wanted(&w, g->stores, g->n_stores, m->pass);
      if (m->wanted) want_loads(&w, &g->post);
    }
  }
  return SN_OK;
}
