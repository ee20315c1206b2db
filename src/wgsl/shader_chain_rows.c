/* shader_chain_rows.c - row groups of a chain. In a tile a thread computes the points of its own rows and columns, and adds
 * them to totals of its own; behind the last tile the threads of a row join these.
 *
 *   t<member>_<total>_<row>   a total, or the thread's part of it
 *
 * A softmax's max and sum are made in one pass: the sum of e^(x - max so far) is scaled down when the max grows. (The method is
 * that of Milakov and Gimelshein, Online normalizer calculation for softmax, 2018.) The max may be the thread's own until all
 * tiles are done. If the softmax is streamed (chain_passes.h), the max is the row's after each tile, and the results that
 * products made of it so far are scaled down, too. (Rabe and Staats, Self-attention does not need O(n^2) memory, 2021.)
 *
 *   x<member>_<row><column>   scores, then e^(x - max)
 *   worst<member>_<row>       the largest of the bits of |x|: above those of infinity if a score is NaN
 *   top<member>_<row>         the max of a row whose softmax is streamed */
#include "base/format.h"
#include "wgsl/shader_chain.h"

static void name_total(char *name, uint32_t m, uint32_t total, int r) {
  sn_format(name, SN_SHADER_NAME, "t%u_%u_%d", m, total, r);
}

void sn_chain_declare_totals(const sn_chain_writer *w) {
  for (uint32_t m = 0; m < w->chain->n_members; m++) {
    const sn_group *g = sn_chain_member(w, m);
    for (uint32_t k = 0; g->kind == SN_GROUP_ROW && k < g->row.n_totals; k++)
      for (int r = 0; r < SN_CHAIN_MICRO; r++) {
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
  if (is_followed(w, m, p)) {
    sn_shader_line(w->s, "x%u_%d%d = select(x%u_%d%d, %s, in%d);", m, r, c, m, r, c,
                   sn_chain_insn_name(w, &phase->body, phase->reductions[0].insn), c);
    return;
  }
  sn_shader_line(w->s, "if (in%d) {", c);
  for (uint32_t k = 0; k < phase->n_reductions; k++) {
    char into[SN_SHADER_NAME];
    name_total(into, m, phase->first_total + k, r);
    sn_shader_combine(w->s, &phase->reductions[k], into,
                      sn_chain_insn_name(w, &phase->body, phase->reductions[k].insn));
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

static sn_status add_points(const sn_chain_writer *w, uint32_t m, int r, int c) {
  const sn_row *row = &sn_chain_member(w, m)->row;
  sn_chain_open_point(w, r, c);
  for (uint32_t k = 0; k < row->n_kept; k++)
    sn_shader_line(w->s, "var kept%u: %s;", k, sn_scalar_text_type(row->kept[k]));
  for (uint32_t p = 0; p < row->n_phases; p++) {
    if (!w->passes.members[m].phases[p].wanted) continue;
    sn_shader_line(w->s, "{");
    open_totals(w, m, r);
    sn_chain_open_values(w, &row->phases[p].body, r, c);
    SN_TRY(add_phase(w, m, p, r, c));
    sn_shader_line(w->s, "}");
  }
  sn_shader_line(w->s, "}");
  return w->s->status;
}

/* ---- a softmax's max and sum ---------------------------------------------------------------------- */

/* e^x; of_number: if x is NaN, the result may be any number. */
static const char *exp_of(const sn_chain_writer *w, const char *x, bool of_number) {
  sn_scalar_text *scalars = &w->s->scalars;
  sn_text e = sn_text_in(w->s->arena);
  const sn_status status =
      of_number ? sn_scalar_text_add_number_exp(scalars, &e, x)
                : sn_scalar_text_add_op(scalars, &e, SN_OP_exp, SN_F32, SN_F32, &x, 1);
  if (status) w->s->status = status;
  return sn_shader_text(w->s, &e);
}

/* Declares x<member>_<row><column> as -infinity, which stays where there is no column. */
static void declare_scores(const sn_chain_writer *w, uint32_t m) {
  sn_text lowest = sn_text_in(w->s->arena);
  sn_scalar_text_add_identity(&w->s->scalars, &lowest, SN_OP_max, SN_F32);
  for (int r = 0; r < SN_CHAIN_MICRO; r++)
    for (int c = 0; c < 4 * w->fours; c++)
      sn_shader_line(w->s, "var x%u_%d%d = %s;", m, r, c, sn_shader_text(w->s, &lowest));
}

/* high<row> = the max of the thread's scores of a row, too small if one is NaN; worst = the max of the bits of their |x|. */
static void find_max(const sn_chain_writer *w, uint32_t m, int r) {
  sn_text max = sn_text_in(w->s->arena);
  for (int c = 1; c < 4 * w->fours; c++) sn_text_add(&max, "max(");
  sn_text_add(&max, "x%u_%d0", m, r);
  for (int c = 1; c < 4 * w->fours; c++) sn_text_add(&max, ", x%u_%d%d)", m, r, c);
  sn_shader_line(w->s, "let high%d = %s;", r, sn_shader_text(w->s, &max));
  for (int c = 0; c < 4 * w->fours; c++)
    sn_shader_line(w->s, "worst%u_%d = max(worst%u_%d, bitcast<u32>(x%u_%d%d) & 0x7fffffffu);", m,
                   r, m, r, m, r, c);
}

/* x = e^(x - by), sum = sum * less + all x, where by = max and less = e^(the max before - by). If all scores so far are
 * -infinity, by is 0 instead, and all x are 0. */
static void add_to_sum(const sn_chain_writer *w, uint32_t m, const char *max, const char *sum,
                       int r) {
  char scaled[64];
  sn_format(scaled, sizeof scaled, "%s * less", sum);
  sn_shader_line(w->s, "let by = select(%s, 0.0, bitcast<u32>(%s) == 0xff800000u);", max, max);
  sn_shader_line(w->s, "let less = %s;", exp_of(w, "before - by", true));
  for (int c = 0; c < 4 * w->fours; c++) {
    char x[SN_SHADER_NAME], less[64];
    sn_format(x, sizeof x, "x%u_%d%d", m, r, c);
    sn_format(less, sizeof less, "%s - by", x);
    sn_shader_line(w->s, "%s = %s;", x, exp_of(w, less, true));
  }
  for (int f = 0; f < w->fours; f++)
    sn_shader_line(w->s, "%s = %s + ((x%u_%d%d + x%u_%d%d) + (x%u_%d%d + x%u_%d%d));", sum,
                   f ? sum : scaled, m, r, 4 * f, m, r, 4 * f + 1, m, r, 4 * f + 2, m, r,
                   4 * f + 3);
}

/* Updates max and sum of the thread's own scores of a row. */
static void follow_own(const sn_chain_writer *w, uint32_t m, uint32_t p, int r) {
  const sn_phase *phase = &sn_chain_member(w, m)->row.phases[p];
  char max[SN_SHADER_NAME], sum[SN_SHADER_NAME];
  name_total(max, m, phase->first_total, r);
  name_total(sum, m, phase->first_total + 1, r);
  sn_shader_line(w->s, "{");
  sn_shader_line(w->s, "let before = %s;", max);
  sn_shader_line(w->s, "%s = max(%s, high%d);", max, max, r);
  add_to_sum(w, m, max, sum, r);
  sn_shader_line(w->s, "}");
}

/* Scales down what products have made of the stream so far. */
static void lessen_results(const sn_chain_writer *w, uint32_t m, int r) {
  for (uint32_t i = 0; i < w->chain->n_members; i++) {
    if (!w->passes.members[i].consumes_scores ||
        sn_chain_member(w, i)->contraction.factors[0].value != w->passes.members[m].streams)
      continue;
    for (int c = 0; c < sn_chain_micro_results(sn_chain_member(w, i)) / 4; c++) {
      sn_shader_line(w->s, "acc%u_%d%d *= less;", i, r, c);
      if (sn_chain_has_blocks(w)) sn_shader_line(w->s, "sum%u_%d%d *= less;", i, r, c);
    }
  }
}

/* Updates the row's max and the thread's sum, and hands on e^(x - max) as the streamed value. */
static void follow_row(const sn_chain_writer *w, uint32_t m, uint32_t p, int r) {
  const sn_phase *phase = &sn_chain_member(w, m)->row.phases[p];
  char max[SN_SHADER_NAME], sum[SN_SHADER_NAME], top[SN_SHADER_NAME];
  name_total(max, m, phase->first_total, r);
  name_total(sum, m, phase->first_total + 1, r);
  sn_format(top, sizeof top, "top%u_%d", m, r);
  sn_shader_line(w->s, "{");
  sn_shader_line(w->s, "%s = max(%s, high%d);", max, max, r);
  sn_shader_line(w->s, "let before = %s;", top);
  for (int i = 0; i < SN_SHADER_SIDE / 4; i++)
    sn_shader_line(w->s, "let m%d = shared_rows[(y * 4 + %d) * 4 + %d];", i, r, i);
  sn_shader_line(w->s, "let m = max(max(m0, m1), max(m2, m3));");
  sn_shader_line(w->s, "%s = max(%s, max(max(m.x, m.y), max(m.z, m.w)));", top, top);
  add_to_sum(w, m, top, sum, r);
  lessen_results(w, m, r);
  for (int c = 0; c < 4 * w->fours; c++) {
    char name[SN_SHADER_NAME];
    sn_chain_value_name(w, name, w->passes.members[m].streams, r, c);
    sn_shader_line(w->s, "%s = x%u_%d%d;", name, m, r, c);
  }
  sn_shader_line(w->s, "}");
}

static bool is_stream(const sn_chain_writer *w, uint32_t m, uint32_t p) {
  return w->passes.members[m].streams != SN_NONE && w->passes.members[m].stream_max == p;
}

/* Whether shared_rows may still be read for a stream of an earlier member. */
static bool has_stream_before(const sn_chain_writer *w, uint32_t m) {
  for (uint32_t i = 0; i < m; i++)
    if (sn_chain_member(w, i)->kind == SN_GROUP_ROW && w->passes.members[i].streams != SN_NONE)
      return true;
  return false;
}

static void follow(const sn_chain_writer *w, uint32_t m, uint32_t p) {
  const bool streams = is_stream(w, m, p);
  sn_shader_line(w->s, "{");
  for (int r = 0; r < SN_CHAIN_MICRO; r++) find_max(w, m, r);
  if (streams && has_stream_before(w, m)) sn_shader_line(w->s, "workgroupBarrier();");
  for (int r = 0; streams && r < SN_CHAIN_MICRO; r++)
    sn_shader_line(w->s, "shared_rows[(y * 4 + %d) * 4 + x / 4][x %% 4] = high%d;", r, r);
  if (streams)
    sn_shader_line(
        w->s, "workgroupBarrier();"); /* no second one: the products that follow have barriers */
  for (int r = 0; r < SN_CHAIN_MICRO; r++) (streams ? follow_row : follow_own)(w, m, p, r);
  sn_shader_line(w->s, "}");
}

sn_status sn_chain_rows(const sn_chain_writer *w, uint32_t m) {
  const sn_row *row = &sn_chain_member(w, m)->row;
  uint32_t max = SN_NONE;
  for (uint32_t p = 0; p < row->n_phases; p++)
    if (is_followed(w, m, p) && makes_totals(w, m, p)) max = p;
  if (max != SN_NONE) declare_scores(w, m);
  for (int r = 0; r < SN_CHAIN_MICRO; r++)
    for (int c = 0; c < 4 * w->fours; c++) SN_TRY(add_points(w, m, r, c));
  if (max != SN_NONE) follow(w, m, max);
  return w->s->status;
}

/* ---- once a row ------------------------------------------------------------------------------------ */

sn_status sn_chain_per_row(const sn_chain_writer *w) {
  for (uint32_t m = 0; m < w->chain->n_members; m++) {
    const sn_group *g = sn_chain_member(w, m);
    const sn_member_pass *pass = &w->passes.members[m];
    if (pass->pass != w->pass || !g->n_stores || (g->kind != SN_GROUP_ROW && !pass->per_row))
      continue;
    for (int r = 0; r < SN_CHAIN_MICRO; r++) {
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

/* Calls fn for each total that this pass makes. A sum that follows a max comes right behind it. */
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
  for (int r = 0; r < SN_CHAIN_MICRO; r++) {
    char name[SN_SHADER_NAME];
    sn_text e = sn_text_in(w->s->arena);
    name_total(name, m, phase->first_total + k, r);
    sn_scalar_text_add_identity(&w->s->scalars, &e, phase->reductions[k].op, SN_F32);
    sn_shader_line(w->s, "%s = %s;", name, sn_shader_text(w->s, &e));
    if (is_stream(w, m, p)) sn_shader_line(w->s, "var top%u_%d = %s;", m, r, name);
    if (is_followed(w, m, p)) sn_shader_line(w->s, "var worst%u_%d = 0u;", m, r);
  }
  return SN_OK;
}

bool sn_chain_stream_sum(const sn_chain_writer *w, uint32_t value, int r, char *name) {
  const uint32_t m = sn_chain_streamer(&w->passes, value);
  if (m == SN_NONE) return false;
  const uint32_t max = w->passes.members[m].stream_max;
  name_total(name, m, sn_chain_member(w, m)->row.phases[max].first_total + 1, r);
  return true;
}

/* Makes the thread's max NaN if one of its scores was NaN. */
static void note_nan(const sn_chain_writer *w, uint32_t m, uint32_t total, int r) {
  char max[SN_SHADER_NAME];
  name_total(max, m, total, r);
  sn_shader_line(w->s, "%s = select(%s, bitcast<f32>(worst%u_%d), worst%u_%d > 0x7f800000u);", max,
                 max, m, r, m, r);
}

/* Scales the thread's sum, which is of e^(x - thread's max), to the row's max; the thread's max is in shared_rows. In a stream
 * the sum is to the row's max already. Either way it becomes NaN if the max is not finite. */
static void lower_sum(const sn_chain_writer *w, uint32_t m, uint32_t p, uint32_t total, int r) {
  char top[SN_SHADER_NAME], sum[SN_SHADER_NAME], less[128];
  name_total(top, m, total - 1, r);
  name_total(sum, m, total, r);
  if (is_stream(w, m, p - 1)) {
    sn_shader_line(w->s,
                   "if ((bitcast<u32>(%s) & 0x7fffffffu) >= 0x7f800000u) { "
                   "%s = bitcast<f32>(bitcast<u32>(%s) | 0x7fc00000u); }",
                   top, sum, top);
    return;
  }
  sn_format(less, sizeof less, "shared_rows[(y * 4 + %d) * 4 + x / 4][x %% 4] - %s", r, top);
  sn_shader_line(w->s, "%s *= %s;", sum, exp_of(w, less, false));
}

/* Joins the threads' totals of a row into one, which all of them then know. */
static sn_status join_total(const sn_chain_writer *w, uint32_t m, uint32_t p, uint32_t k) {
  sn_shader *s = w->s;
  const sn_phase *phase = &sn_chain_member(w, m)->row.phases[p];
  const uint32_t total = phase->first_total + k;
  char name[SN_SHADER_NAME];
  const char *const part[] = {"four.x", "four.y", "four.z", "four.w"};
  for (int r = 0; r < SN_CHAIN_MICRO; r++)
    if (w->passes.members[m].phases[p].follows_max)
      lower_sum(w, m, p, total, r);
    else if (is_followed(w, m, p))
      note_nan(w, m, total, r);
  sn_shader_line(s, "workgroupBarrier();");
  for (int r = 0; r < SN_CHAIN_MICRO; r++) {
    name_total(name, m, total, r);
    sn_shader_line(s, "shared_rows[(y * 4 + %d) * 4 + x / 4][x %% 4] = %s;", r, name);
  }
  sn_shader_line(s, "workgroupBarrier();");
  for (int r = 0; r < SN_CHAIN_MICRO; r++) {
    name_total(name, m, total, r);
    sn_shader_line(s, "for (var i = 0; i < 4; i++) {");
    sn_shader_line(s, "let four = shared_rows[(y * 4 + %d) * 4 + i];", r);
    sn_shader_line(s, "if (i == 0) {");
    sn_shader_line(s, "%s = four.x;", name);
    sn_shader_line(s, "} else {");
    sn_shader_combine(s, &phase->reductions[k], name, part[0]);
    sn_shader_line(s, "}");
    for (int j = 1; j < 4; j++) sn_shader_combine(s, &phase->reductions[k], name, part[j]);
    sn_shader_line(s, "}");
  }
  return s->status;
}

sn_status sn_chain_begin_totals(const sn_chain_writer *w) { return each_total(w, begin_total); }

sn_status sn_chain_join_totals(const sn_chain_writer *w) { return each_total(w, join_total); }
