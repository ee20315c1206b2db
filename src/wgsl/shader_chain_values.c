/* shader_chain_values.c - values that members of a chain pass to each other are in a thread's registers: scores in
 * s<value>_<row><column> for each of its rows and columns, values with one element per row in s<value>_<row>. A body reads
 * them as s<value>. */
#include "base/format.h"
#include "wgsl/shader_chain.h"

void sn_chain_value_name(const sn_chain_writer *w, char *name, uint32_t v, int r, int c) {
  if (w->passes.is_scores[v])
    sn_format(name, SN_SHADER_NAME, "s%u_%d%d", v, r, c);
  else
    sn_format(name, SN_SHADER_NAME, "s%u_%d", v, r);
}

static sn_dtype dtype_of(const sn_chain_writer *w, uint32_t v) {
  return w->s->frame->program->groups.values[v].type.dtype;
}

void sn_chain_declare_values(const sn_chain_writer *w, bool scores) {
  char name[SN_SHADER_NAME];
  const size_t n = w->s->frame->program->groups.n_values;
  for (uint32_t v = 0; v < n; v++) {
    if (!w->passes.is_inside[v] || w->passes.is_scores[v] != scores) continue;
    for (int r = 0; r < SN_CHAIN_MICRO; r++)
      for (int c = 0; c < (scores ? 4 * w->fours : 1); c++) {
        sn_chain_value_name(w, name, v, r, c);
        sn_shader_line(w->s, "var %s: %s;", name, sn_scalar_text_type(dtype_of(w, v)));
      }
  }
}

void sn_chain_open_values(const sn_chain_writer *w, const sn_body *body, int r, int c) {
  char name[SN_SHADER_NAME];
  for (uint32_t i = 0; i < body->n_operands; i++) {
    const uint32_t v = body->operands[i].value;
    bool is_first = v != SN_NONE && w->passes.is_inside[v];
    for (uint32_t k = 0; k < i; k++) is_first = is_first && body->operands[k].value != v;
    if (!is_first || (c < 0 && w->passes.is_scores[v])) continue;
    sn_chain_value_name(w, name, v, r, c);
    sn_shader_line(w->s, "let s%u = %s;", v, name);
  }
}

const char *sn_chain_insn_name(const sn_chain_writer *w, const sn_body *body, uint32_t insn) {
  sn_text name = sn_text_in(w->s->arena);
  sn_shader_add_name(w->s, &name, body, insn, 'v');
  return sn_shader_text(w->s, &name);
}

void sn_chain_store(const sn_chain_writer *w, const sn_body *body, const sn_store *stores,
                    uint32_t n, int rank, int r, int c, int points, const char *if_inside) {
  sn_shader *s = w->s;
  for (uint32_t k = 0; k < n; k++) {
    char name[SN_SHADER_NAME];
    const sn_operand *to = &stores[k].target;
    const char *value = sn_chain_insn_name(w, body, stores[k].insn);
    if (w->passes.is_inside[to->value]) {
      sn_chain_value_name(w, name, to->value, r, c);
      sn_shader_line(s, "%s = %s;", name, value);
    }
    if (w->passes.is_local[to->value] || points != w->pass) continue;
    sn_text place = sn_text_in(s->arena);
    sn_shader_add_place(s, &place, to, rank);
    sn_shader_line(s, "if (%s) {", if_inside);
    sn_shader_store(s, to->value, to->dtype, sn_shader_text(s, &place), value);
    sn_shader_line(s, "}");
  }
}

sn_status sn_chain_body(const sn_chain_writer *w, const sn_body *body, const sn_store *stores,
                        uint32_t n, const uint8_t *also, int rank) {
  uint8_t *wanted;
  SN_TRY(sn_arena_alloc(w->s->arena, body->n_insns, 1, (void **)&wanted));
  if (also) memcpy(wanted, also, body->n_insns);
  for (uint32_t k = 0; k < n; k++) wanted[stores[k].insn] = 1;
  return sn_shader_body(w->s, body, wanted, rank, 'v');
}

void sn_chain_open_row(const sn_chain_writer *w, int r) {
  sn_shader_line(w->s, "{");
  sn_shader_line(w->s, "let row = row%d;", r);
}

void sn_chain_open_point(const sn_chain_writer *w, int r, int c) {
  sn_chain_open_row(w, r);
  sn_shader_line(w->s, "let column = column%d;", c);
}

void sn_chain_test_point(char test[64], int r, int c) { sn_format(test, 64, "is%d && in%d", r, c); }
