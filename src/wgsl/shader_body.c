/* shader_body.c - writes bodies of groups, with a line for each instruction. */
#include "base/format.h"
#include "wgsl/shader.h"

void sn_shader_add_name(sn_shader *s, sn_text *out, const sn_body *body, uint32_t i, char prefix) {
  const sn_insn *insn = &body->insns[i];
  if (insn->kind == SN_INSN_CONST)
    sn_scalar_text_add_value(&s->scalars, out, insn->dtype, insn->value);
  else if (insn->kind == SN_INSN_TOTAL)
    sn_text_add(out, "total%u", insn->args[0]);
  else
    sn_text_add(out, "%c%u", prefix, i);
}

static sn_status add_op(sn_shader *s, sn_text *out, const sn_body *body, const sn_insn *insn,
                        char prefix) {
  const char *args[SN_MAX_ARITY];
  for (uint32_t k = 0; k < insn->n_args; k++) {
    sn_text name = sn_text_in(s->arena);
    sn_shader_add_name(s, &name, body, insn->args[k], prefix);
    args[k] = sn_shader_text(s, &name);
  }
  return sn_scalar_text_add_op(&s->scalars, out, insn->op, insn->dtype, insn->in_dtype, args,
                               insn->n_args);
}

static sn_status mark(sn_shader *s, const sn_body *body, const uint8_t *wanted, uint8_t **out) {
  SN_TRY(sn_arena_alloc(s->arena, body->n_insns, 1, (void **)out));
  for (uint32_t i = body->n_insns; i-- > 0;) {
    const sn_insn *insn = &body->insns[i];
    (*out)[i] |= wanted[i];
    for (uint32_t k = 0; (*out)[i] && insn->kind == SN_INSN_OP && k < insn->n_args; k++)
      (*out)[insn->args[k]] = 1;
  }
  return SN_OK;
}

sn_status sn_shader_body(sn_shader *s, const sn_body *body, const uint8_t *wanted, int rank,
                         char prefix) {
  uint8_t *needed;
  SN_TRY(mark(s, body, wanted, &needed));
  for (uint32_t i = 0; i < body->n_insns; i++) {
    const sn_insn *insn = &body->insns[i];
    sn_text e = sn_text_in(s->arena);
    if (!needed[i] || insn->kind == SN_INSN_CONST || insn->kind == SN_INSN_TOTAL) continue;
    if (insn->kind == SN_INSN_OP) SN_TRY(add_op(s, &e, body, insn, prefix));
    if (insn->kind == SN_INSN_KEPT)
      sn_text_add(&e, s->inside ? "kept%u" : "kept%u[r]", insn->args[0]);
    if (insn->kind == SN_INSN_LOAD && s->fours && s->fours[insn->args[0]])
      sn_text_add(&e, "four%u[s]", insn->args[0]);
    else if (insn->kind == SN_INSN_LOAD)
      sn_shader_add_load(s, &e, &body->operands[insn->args[0]], rank, insn->dtype);
    sn_shader_line(s, "let %c%u = %s;", prefix, i, sn_shader_text(s, &e));
  }
  return s->status;
}

sn_status sn_shader_stores(sn_shader *s, const sn_body *body, const sn_store *stores, uint32_t n,
                           int rank, char prefix) {
  for (uint32_t k = 0; k < n; k++) {
    sn_text name = sn_text_in(s->arena), place = name;
    sn_shader_add_name(s, &name, body, stores[k].insn, prefix);
    sn_shader_add_place(s, &place, &stores[k].target, rank);
    sn_shader_store(s, stores[k].target.value, stores[k].target.dtype, sn_shader_text(s, &place),
                    sn_shader_text(s, &name));
  }
  return s->status;
}

sn_status sn_shader_post(sn_shader *s) {
  const sn_group *g = s->group;
  uint8_t *wanted;
  SN_TRY(sn_arena_alloc(s->arena, g->post.n_insns, 1, (void **)&wanted));
  for (uint32_t k = 0; k < g->n_stores; k++) wanted[g->stores[k].insn] = 1;
  SN_TRY(sn_shader_body(s, &g->post, wanted, g->space_rank, 'v'));
  return sn_shader_stores(s, &g->post, g->stores, g->n_stores, g->space_rank, 'v');
}
