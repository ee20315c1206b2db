/* in_place.c - whether a value may lie where one that its group reads for the last time lies. */
#include "fuse/in_place.h"

static bool same_access(const sn_operand *a, const sn_operand *b, int rank) {
  bool same = a->offset == b->offset && a->dtype == b->dtype;
  for (int i = 0; i < rank; i++) same = same && a->strides[i] == b->strides[i];
  return same;
}

static bool body_in_step(const sn_body *body, const sn_operand *target, uint32_t from, int rank) {
  for (uint32_t k = 0; k < body->n_operands; k++)
    if (body->operands[k].value == from && !same_access(&body->operands[k], target, rank))
      return false;
  return true;
}

static bool body_reads(const sn_body *body, uint32_t from) {
  for (uint32_t k = 0; k < body->n_operands; k++)
    if (body->operands[k].value == from) return true;
  return false;
}

/* Whether a reduction takes the elements of `from` as they lie in memory: it does so after the
 * phase's stores. */
static bool reduces_memory(const sn_phase *phase, uint32_t from) {
  for (uint32_t k = 0; k < phase->n_reductions; k++) {
    const sn_insn *insn = &phase->body.insns[phase->reductions[k].insn];
    if (insn->kind == SN_INSN_LOAD && phase->body.operands[insn->args[0]].value == from)
      return true;
  }
  return false;
}

/* Whether nothing reads value `from` after a write, in a phase or (phase == n_phases) in post, has
 * taken its place: the same phase and, row by row, earlier ones may read it where it is written. */
static bool reads_in_step(const sn_group *g, uint32_t phase, const sn_operand *target,
                          uint32_t from) {
  const bool in_post = phase == g->n_phases;
  if (g->chain) return false; /* a block's rows read all of what is beside them */
  if (g->kind == SN_GROUP_CONTRACTION && (g->a.value == from || g->b.value == from)) return false;
  if (g->call) return false;
  for (uint32_t p = 0; p < g->n_phases; p++) {
    const sn_body *body = &g->phases[p].body;
    const bool before = !in_post && p <= phase;
    if (before ? !body_in_step(body, target, from, g->space_rank + g->reduced_rank)
               : body_reads(body, from))
      return false;
  }
  if (!in_post && reduces_memory(&g->phases[phase], from)) return false;
  return in_post ? body_in_step(&g->post, target, from, g->space_rank)
                 : !body_reads(&g->post, from);
}

/* Of all stores of v, at least one: a stack of scalars is written element by element. */
bool sn_takes_over_in_step(const sn_group *g, uint32_t v, uint32_t from) {
  bool any = false, all = true;
  for (uint32_t p = 0; p <= g->n_phases; p++) {
    const bool in_post = p == g->n_phases;
    const sn_store *stores = in_post ? g->stores : g->phases[p].stores;
    const uint32_t n = in_post ? g->n_stores : g->phases[p].n_stores;
    for (uint32_t k = 0; k < n; k++) {
      if (stores[k].target.value != v) continue;
      any = true;
      all = all && reads_in_step(g, p, &stores[k].target, from);
    }
  }
  return any && all;
}
