/* shader_chain_rows.c - row groups of a chain. In a tile a thread takes the points of its own rows and columns, and adds them to
 * totals of its own; behind the last tile the threads of a row put these together.
 *
 *   t<member>_<total>_<row>   what is known of a total
 *
 * A softmax's max and sum are made in one pass: the sum of e^(x - max so far) is made less where the max grows. (The method is
 * that of Milakov and Gimelshein, Online normalizer calculation for softmax, 2018.) */
#include "base/format.h"
#include "wgsl/shader_chain.h"

/* t<member>_<total>_<row> */
static void name_total(char *name, uint32_t m, uint32_t total, int r) {
  sn_format(name, SN_SHADER_NAME, "t%u_%u_%d", m, total, r);
}

void sn_chain_declare_totals(const sn_chain_writer *w) {
  for (uint32_t m = 0; m < w->chain->n_members; m++) {
    const sn_group *g = sn_chain_member(w, m);
    for (uint32_t k = 0; g->kind == SN_GROUP_ROW && k < g->row.n_totals; k++)
      for (int r = 0; r < w->micro; r++) {
        char name[SN_SHADER_NAME];
        name_total(name, m, k, r);
        sn_shader_line(w->s, "var %s = 0.0;", name);
      }
  }
}

static void open_totals(const sn_chain_writer *w, uint32_t m, int r) {
  const sn_row *row = &sn_chain_member(w, m)->row;
  for (uint32_t k = 0; k < row->n_totals; k++) {
    char name[SN_SHADER_NAME];
    name_total(name, m, k, r);
    sn_shader_line(w->s, "let total%u = %s;", k, name);
  }
}

/* fn follow(state, x): the max so far, and the sum of e^(x - max), with x. What is -infinity adds nothing; the sum of nothing
 * else becomes NaN in lower_sums, as that of infinity does. */
sn_status sn_chain_follow(const sn_chain_writer *w) {
  sn_text *out = &w->s->spoken.functions;
  sn_text e = sn_text_in(w->s->arena);
  const char *args[] = {"-abs(x - state.x)"};
  SN_TRY(sn_spoken_add_op(&w->s->spoken, &e, SN_OP_exp, SN_F32, SN_F32, args, 1));
  sn_text_add(out,
              "fn follow(state: vec2<f32>, x: f32) -> vec2<f32> {\n"
              "  if (bitcast<u32>(x) == 0xff800000u) { return state; }\n"
              "  let e = %s;\n"
              "  if (x > state.x) { return vec2<f32>(x, fma(state.y, e, 1.0)); }\n"
              "  return vec2<f32>(maximum(state.x, x), state.y + e);\n}\n\n",
              sn_shader_text(w->s, &e));
  return out->status;
}

static bool is_followed(const sn_chain_writer *w, uint32_t m, uint32_t p) {
  return p + 1 < sn_chain_member(w, m)->row.n_phases &&
         w->passes.members[m].phases[p + 1].follows_max;
}

static bool makes_totals(const sn_chain_writer *w, uint32_t m, uint32_t p) {
  const sn_phase_pass *pass = &w->passes.members[m].phases[p];
  return pass->totals == w->pass && !pass->follows_max;
}

static void accumulate(const sn_chain_writer *w, uint32_t m, uint32_t p, int r, int c) {
  const sn_phase *phase = &sn_chain_member(w, m)->row.phases[p];
  if (!makes_totals(w, m, p) || !phase->n_reductions) return;
  sn_shader_line(w->s, "if (in%d) {", c);
  for (uint32_t k = 0; k < phase->n_reductions; k++) {
    char into[SN_SHADER_NAME], sum[SN_SHADER_NAME];
    const char *x = sn_chain_insn_name(w, &phase->body, phase->reductions[k].insn);
    name_total(into, m, phase->first_total + k, r);
    name_total(sum, m, phase->first_total + k + 1, r);
    if (is_followed(w, m, p)) {
      sn_shader_line(w->s, "let state = follow(vec2<f32>(%s, %s), %s);", into, sum, x);
      sn_shader_line(w->s, "%s = state.x; %s = state.y;", into, sum);
    } else {
      sn_shader_combine(w->s, &phase->reductions[k], into, x);
    }
  }
  sn_shader_line(w->s, "}");
}

static sn_status add_phase(const sn_chain_writer *w, uint32_t m, uint32_t p, int r, int c) {
  const sn_group *g = sn_chain_member(w, m);
  const sn_phase *phase = &g->row.phases[p];
  const sn_phase_pass *pass = &w->passes.members[m].phases[p];
  char test[64];
  uint8_t *also;
  SN_TRY(sn_arena_alloc(w->s->arena, phase->body.n_insns, 1, (void **)&also));
  for (uint32_t k = 0; k < phase->n_keeps; k++) also[phase->keeps[k].insn] = 1;
  for (uint32_t k = 0; k < phase->n_reductions && makes_totals(w, m, p); k++)
    also[phase->reductions[k].insn] = 1;
  sn_chain_test_point(test, r, c);
  sn_shader_line(w->s, "{");
  SN_TRY(sn_chain_body(w, &phase->body, phase->stores, phase->n_stores, also, w->passes.outer + 1));
  for (uint32_t k = 0; k < phase->n_keeps; k++)
    sn_shader_line(w->s, "kept%u = %s;", phase->keeps[k].slot,
                   sn_chain_insn_name(w, &phase->body, phase->keeps[k].insn));
  sn_chain_store(w, &phase->body, phase->stores, phase->n_stores, w->passes.outer + 1, r, c,
                 pass->points, test);
  accumulate(w, m, p, r, c);
  sn_shader_line(w->s, "}");
  return w->s->status;
}

sn_status sn_chain_rows(const sn_chain_writer *w, uint32_t m) {
  const sn_row *row = &sn_chain_member(w, m)->row;
  for (int r = 0; r < w->micro; r++)
    for (int c = 0; c < SN_CHAIN_MICRO_COLUMNS; c++) {
      sn_chain_open_point(w, r, c);
      for (uint32_t k = 0; k < row->n_kept; k++)
        sn_shader_line(w->s, "var kept%u: %s;", k, sn_spoken_type(row->kept[k]));
      for (uint32_t p = 0; p < row->n_phases; p++) {
        if (!w->passes.members[m].phases[p].wanted) continue;
        sn_shader_line(w->s, "{");
        open_totals(w, m, r);
        sn_chain_open_values(w, &row->phases[p].body, r, c);
        SN_TRY(add_phase(w, m, p, r, c));
        sn_shader_line(w->s, "}");
      }
      sn_shader_line(w->s, "}");
    }
  return w->s->status;
}

sn_status sn_chain_per_row(const sn_chain_writer *w) {
  for (uint32_t m = 0; m < w->chain->n_members; m++) {
    const sn_group *g = sn_chain_member(w, m);
    const sn_member_pass *pass = &w->passes.members[m];
    if (pass->pass != w->pass || !g->n_stores || (g->kind != SN_GROUP_ROW && !pass->per_row))
      continue;
    for (int r = 0; r < w->micro; r++) {
      char test[64];
      sn_format(test, sizeof test, "is%d && x == 0", r);
      sn_chain_open_row(w, r);
      if (g->kind == SN_GROUP_ROW) open_totals(w, m, r);
      sn_chain_open_values(w, &g->post, r, -1);
      SN_TRY(sn_chain_body(w, &g->post, g->stores, g->n_stores, NULL, w->passes.outer));
      sn_chain_store(w, &g->post, g->stores, g->n_stores, w->passes.outer, r, -1, w->pass, test);
      sn_shader_line(w->s, "}");
    }
  }
  return w->s->status;
}

/* ---- totals of rows -------------------------------------------------------------------------------- */

typedef sn_status total_fn(const sn_chain_writer *w, uint32_t m, uint32_t p, uint32_t k);

/* Totals that this pass makes; those that follow a max come right behind it. */
static sn_status each_total(const sn_chain_writer *w, total_fn *fn) {
  for (uint32_t m = 0; m < w->chain->n_members; m++) {
    const sn_group *g = sn_chain_member(w, m);
    for (uint32_t p = 0; g->kind == SN_GROUP_ROW && p < g->row.n_phases; p++) {
      if (w->passes.members[m].phases[p].totals != w->pass) continue;
      for (uint32_t k = 0; k < g->row.phases[p].n_reductions; k++) SN_TRY(fn(w, m, p, k));
    }
  }
  return w->s->status;
}

static sn_status begin_total(const sn_chain_writer *w, uint32_t m, uint32_t p, uint32_t k) {
  const sn_phase *phase = &sn_chain_member(w, m)->row.phases[p];
  for (int r = 0; r < w->micro; r++) {
    char name[SN_SHADER_NAME];
    sn_text e = sn_text_in(w->s->arena);
    name_total(name, m, phase->first_total + k, r);
    sn_spoken_add_identity(&w->s->spoken, &e, phase->reductions[k].op, SN_F32);
    sn_shader_line(w->s, "%s = %s;", name, sn_shader_text(w->s, &e));
  }
  return SN_OK;
}

/* sum = sum e^(max of the thread - max of the row): the thread's max is in tile_a. */
static sn_status lower_sums(const sn_chain_writer *w, uint32_t m, uint32_t total) {
  for (int r = 0; r < w->micro; r++) {
    char top[SN_SHADER_NAME], sum[SN_SHADER_NAME], less[128];
    const char *args[] = {less};
    sn_text e = sn_text_in(w->s->arena);
    name_total(top, m, total - 1, r);
    name_total(sum, m, total, r);
    sn_format(less, sizeof less, "tile_a[(y + %d) * %d + x] - %s", r * SN_SHADER_SIDE,
              SN_SHADER_SIDE, top);
    SN_TRY(sn_spoken_add_op(&w->s->spoken, &e, SN_OP_exp, SN_F32, SN_F32, args, 1));
    sn_shader_line(w->s, "%s *= %s;", sum, sn_shader_text(w->s, &e));
  }
  return SN_OK;
}

/* The threads' totals of a row as one, which all of them know. */
static sn_status join_total(const sn_chain_writer *w, uint32_t m, uint32_t p, uint32_t k) {
  sn_shader *s = w->s;
  const sn_phase *phase = &sn_chain_member(w, m)->row.phases[p];
  const uint32_t total = phase->first_total + k;
  char name[SN_SHADER_NAME], other[64];
  if (w->passes.members[m].phases[p].follows_max) SN_TRY(lower_sums(w, m, total));
  for (int r = 0; r < w->micro; r++) {
    name_total(name, m, total, r);
    sn_shader_line(s, "tile_a[(y + %d) * %d + x] = %s;", r * SN_SHADER_SIDE, SN_SHADER_SIDE, name);
  }
  sn_shader_line(s, "workgroupBarrier();");
  for (int r = 0; r < w->micro; r++) {
    name_total(name, m, total, r);
    sn_shader_line(s, "%s = tile_a[(y + %d) * %d];", name, r * SN_SHADER_SIDE, SN_SHADER_SIDE);
    sn_shader_line(s, "for (var i = 1; i < %d; i++) {", SN_SHADER_SIDE);
    sn_format(other, sizeof other, "tile_a[(y + %d) * %d + i]", r * SN_SHADER_SIDE, SN_SHADER_SIDE);
    sn_shader_combine(w->s, &phase->reductions[k], name, other);
    sn_shader_line(s, "}");
  }
  sn_shader_line(s, "workgroupBarrier();");
  return s->status;
}

sn_status sn_chain_begin_totals(const sn_chain_writer *w) { return each_total(w, begin_total); }

sn_status sn_chain_join_totals(const sn_chain_writer *w) { return each_total(w, join_total); }
