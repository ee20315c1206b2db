/* shader_chain.c - chains, attention among them: a workgroup has a block of rows, and goes through tiles of their columns, once
 * for each pass (chain_passes.h). Scores never lie in memory.
 *
 *   per row: what is known of totals
 *   for first_column in tiles of columns
 *     products of outside: blocks of both factors in the workgroup's memory, totals in registers
 *     maps, rows:          a thread has the same rows and columns of all scores, in registers
 *     products of scores:  the scores' tile and a block of the other factor in the workgroup's memory
 *   totals of the threads together; results
 *
 * A thread has every 16th row and column (SN_SHADER_SIDE). Columns that a causal mask hides (causal.c) are in no tile, but for
 * those of the last one.
 *
 * Invariant: the order of every sum follows from the columns alone, not from the rows of a block: so shaders may be chosen by
 * the clock. */
#include "wgsl/shader_chain.h"
#include "base/format.h"
#include "fuse/chain_fit.h"

enum {
  LEAST_ROWS = 32,
  BLOCK_TERMS = 1024, /* of a result: whole SN_CHAIN_COLUMNS */
  FEW_TERMS = 4096    /* that are added up in order */
};

/* Columns of a result that a thread has. */
static int micro_results(const sn_group *g) {
  return (int)(g->space[g->space_rank - 1] + SN_SHADER_SIDE - 1) / SN_SHADER_SIDE;
}

/* ---- products of what lies outside --------------------------------------------------------------- */

static void letters_of(uint32_t m, char letters[2]) {
  letters[0] = (char)('a' + 2 * m);
  letters[1] = (char)('b' + 2 * m);
}

static void declare_totals(const sn_chain_writer *w, const char *name, uint32_t m, int columns) {
  for (int r = 0; r < w->micro; r++)
    for (int c = 0; c < columns; c++) sn_shader_line(w->s, "var %s%u_%d%d = 0.0;", name, m, r, c);
}

static void multiply(const sn_chain_writer *w, uint32_t m, int columns) {
  for (int r = 0; r < w->micro; r++)
    for (int c = 0; c < columns; c++)
      sn_shader_line(w->s, "acc%u_%d%d = fma(a%d, b%d, acc%u_%d%d);", m, r, c, r, c, m, r, c);
}

static void add_totals(const sn_chain_writer *w, uint32_t m) {
  sn_shader *s = w->s;
  const sn_contraction *c = &sn_chain_member(w, m)->contraction;
  char letters[2];
  letters_of(m, letters);
  declare_totals(w, "acc", m, SN_CHAIN_MICRO_COLUMNS);
  sn_shader_line(s, "for (var k0 = 0; k0 < %lld; k0 += %d) {", (long long)c->k, SN_SHADER_BLOCK_K);
  sn_shader_factor_bring(s, &c->factors[0], letters[0], "tile_a", w->rows, "first_row", "k0");
  sn_shader_factor_bring(s, &c->factors[1], letters[1], "tile_b", SN_CHAIN_COLUMNS, "first_column",
                         "k0");
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "for (var k = 0; k < %d; k++) {", SN_SHADER_BLOCK_K);
  for (int r = 0; r < w->micro; r++)
    sn_shader_line(s, "let a%d = tile_a[k * %d + y + %d];", r, w->rows, r * SN_SHADER_SIDE);
  for (int i = 0; i < SN_CHAIN_MICRO_COLUMNS; i++)
    sn_shader_line(s, "let b%d = tile_b[k * %d + x + %d];", i, SN_CHAIN_COLUMNS,
                   i * SN_SHADER_SIDE);
  multiply(w, m, SN_CHAIN_MICRO_COLUMNS);
  sn_shader_line(s, "}");
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "}");
}

/* A product's, or a map's, points of the tile. */
static sn_status add_points(const sn_chain_writer *w, uint32_t m) {
  const sn_group *g = sn_chain_member(w, m);
  if (g->kind == SN_GROUP_CONTRACTION) add_totals(w, m);
  for (int r = 0; r < w->micro; r++)
    for (int c = 0; c < SN_CHAIN_MICRO_COLUMNS; c++) {
      char test[64];
      sn_chain_test_point(test, r, c);
      sn_chain_open_point(w, r, c);
      if (g->kind == SN_GROUP_CONTRACTION)
        sn_shader_line(w->s, "let total0 = acc%u_%d%d;", m, r, c);
      sn_chain_open_values(w, &g->post, r, c);
      SN_TRY(sn_chain_body(w, &g->post, g->stores, g->n_stores, NULL, g->space_rank));
      sn_chain_store(w, &g->post, g->stores, g->n_stores, g->space_rank, r, c,
                     w->passes.members[m].pass, test);
      sn_shader_line(w->s, "}");
    }
  return w->s->status;
}

/* ---- products of scores ------------------------------------------------------------------------------ */

static sn_status hand_over_scores(const sn_chain_writer *w, const sn_operand *a) {
  char name[SN_SHADER_NAME];
  const char *args[] = {name};
  for (int r = 0; r < w->micro; r++)
    for (int c = 0; c < SN_CHAIN_MICRO_COLUMNS; c++) {
      sn_text e = sn_text_in(w->s->arena);
      sn_chain_value_name(w, name, a->value, r, c);
      SN_TRY(sn_spoken_add_op(&w->s->spoken, &e, SN_OP_astype, SN_F32, a->dtype, args, 1));
      sn_shader_line(w->s, "scores[(y + %d) * %d + x + %d] = select(0.0, %s, in%d);",
                     r * SN_SHADER_SIDE, SN_CHAIN_COLUMNS, c * SN_SHADER_SIDE,
                     sn_shader_text(w->s, &e), c);
    }
  return w->s->status;
}

/* Long sums of results are those of blocks. */
static bool has_blocks(const sn_chain_writer *w) { return w->chain->columns > FEW_TERMS; }

static void end_block(const sn_chain_writer *w, uint32_t m, int columns) {
  for (int r = 0; r < w->micro; r++)
    for (int c = 0; c < columns; c++)
      sn_shader_line(w->s, "sum%u_%d%d += acc%u_%d%d; acc%u_%d%d = 0.0;", m, r, c, m, r, c, m, r,
                     c);
}

static sn_status use_up(const sn_chain_writer *w, uint32_t m) {
  sn_shader *s = w->s;
  const sn_group *g = sn_chain_member(w, m);
  const int columns = micro_results(g);
  char letters[2];
  letters_of(m, letters);
  SN_TRY(hand_over_scores(w, &g->contraction.factors[0]));
  sn_shader_line(s, "for (var k0 = 0; k0 < %d; k0 += %d) {", SN_CHAIN_COLUMNS, SN_SHADER_BLOCK_K);
  sn_shader_factor_bring(s, &g->contraction.factors[1], letters[1], "tile_b",
                         columns * SN_SHADER_SIDE, "0", "first_column + k0");
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "for (var k = 0; k < %d; k++) {", SN_SHADER_BLOCK_K);
  for (int r = 0; r < w->micro; r++)
    sn_shader_line(s, "let a%d = scores[(y + %d) * %d + k0 + k];", r, r * SN_SHADER_SIDE,
                   SN_CHAIN_COLUMNS);
  for (int c = 0; c < columns; c++)
    sn_shader_line(s, "let b%d = tile_b[k * %d + x + %d];", c, columns * SN_SHADER_SIDE,
                   c * SN_SHADER_SIDE);
  multiply(w, m, columns);
  sn_shader_line(s, "}");
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "}");
  if (has_blocks(w)) {
    sn_shader_line(s, "if ((first_column + %d) %% %d == 0) {", SN_CHAIN_COLUMNS, BLOCK_TERMS);
    end_block(w, m, columns);
    sn_shader_line(s, "}");
  }
  return s->status;
}

static sn_status finish_result(const sn_chain_writer *w, uint32_t m) {
  const sn_group *g = sn_chain_member(w, m);
  const int rank = g->space_rank;
  if (has_blocks(w)) end_block(w, m, micro_results(g));
  for (int r = 0; r < w->micro; r++)
    for (int c = 0; c < micro_results(g); c++) {
      sn_shader_line(w->s, "if (is%d && x + %d < %lld) {", r, c * SN_SHADER_SIDE,
                     (long long)g->space[rank - 1]);
      sn_shader_line(w->s, "let row = row%d; let column = x + %d;", r, c * SN_SHADER_SIDE);
      sn_shader_line(w->s, "let total0 = %s%u_%d%d;", has_blocks(w) ? "sum" : "acc", m, r, c);
      sn_chain_open_values(w, &g->post, r, -1);
      SN_TRY(sn_chain_body(w, &g->post, g->stores, g->n_stores, NULL, rank));
      SN_TRY(sn_shader_stores(w->s, &g->post, g->stores, g->n_stores, rank, 'v'));
      sn_shader_line(w->s, "}");
    }
  return w->s->status;
}

/* ---- passes ------------------------------------------------------------------------------------------ */

static void open_tiles(const sn_chain_writer *w) {
  sn_shader *s = w->s;
  const sn_chain *c = w->chain;
  const long long columns = c->columns;
  sn_text from = sn_text_in(s->arena), to = from;
  sn_text_add(&from, c->side < 0 ? "first_row / %d * %d" : "0", SN_CHAIN_COLUMNS, SN_CHAIN_COLUMNS);
  sn_text_add(&to, c->side > 0 ? "min(%lld, first_row + %d)" : "%lld", columns, w->rows);
  sn_shader_line(s, "for (var first_column = %s; first_column < %s; first_column += %d) {",
                 sn_shader_text(s, &from), sn_shader_text(s, &to), SN_CHAIN_COLUMNS);
  for (int i = 0; i < SN_CHAIN_MICRO_COLUMNS; i++) {
    sn_shader_line(s, "let in%d = first_column + x + %d < %lld;", i, i * SN_SHADER_SIDE, columns);
    sn_shader_line(s, "let column%d = min(first_column + x + %d, %lld);", i, i * SN_SHADER_SIDE,
                   columns - 1);
  }
  sn_chain_declare_values(w, true);
}

static sn_status add_members(const sn_chain_writer *w) {
  for (uint32_t m = 0; m < w->chain->n_members; m++) {
    if (!w->passes.members[m].wanted) continue;
    if (w->passes.members[m].uses_up)
      SN_TRY(use_up(w, m));
    else
      SN_TRY(sn_chain_member(w, m)->kind == SN_GROUP_ROW ? sn_chain_rows(w, m) : add_points(w, m));
  }
  return w->s->status;
}

static sn_status add_pass(sn_chain_writer *w) {
  sn_shader *s = w->s;
  SN_TRY(sn_chain_per_row(w));
  if (w->pass == w->passes.n) return SN_OK;
  SN_TRY(sn_chain_passes_want(s->arena, &s->frame->program->groups, &w->passes, w->pass));
  sn_shader_line(s, "{");
  SN_TRY(sn_chain_begin_totals(w));
  for (uint32_t m = 0; m < w->chain->n_members; m++) {
    if (!w->passes.members[m].uses_up || !w->passes.members[m].wanted) continue;
    declare_totals(w, "acc", m, micro_results(sn_chain_member(w, m)));
    if (has_blocks(w)) declare_totals(w, "sum", m, micro_results(sn_chain_member(w, m)));
  }
  open_tiles(w);
  SN_TRY(add_members(w));
  sn_shader_line(s, "}");
  SN_TRY(sn_chain_join_totals(w));
  for (uint32_t m = 0; m < w->chain->n_members; m++)
    if (w->passes.members[m].uses_up && w->passes.members[m].wanted) SN_TRY(finish_result(w, m));
  sn_shader_line(s, "}");
  return s->status;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* Columns of a block of the right factor. */
static int64_t widest(const sn_chain *c) {
  int64_t most = SN_CHAIN_COLUMNS;
  for (uint32_t m = 0; m < c->n_members; m++)
    if (c->whole[m].kind == SN_GROUP_CONTRACTION && c->whole[m].contraction.k == c->columns) {
      const int64_t n = (int64_t)micro_results(&c->whole[m]) * SN_SHADER_SIDE;
      if (n <= SN_TILED_COLUMNS && n > most) most = n;
    }
  return most;
}

static int64_t bytes_of(const sn_chain *c, int64_t rows) {
  return (rows * SN_SHADER_BLOCK_K + SN_SHADER_BLOCK_K * widest(c) + rows * SN_CHAIN_COLUMNS) * 4;
}

static bool has_room(const sn_shader *s, int64_t rows) {
  return bytes_of(s->group->chain, rows) <=
         2 * s->frame->program->groups.target->limits.local_bytes;
}

int sn_shader_chain_variants(const sn_shader *s) {
  const int most = (int)s->frame->program->groups.target->limits.tile_rows;
  return most > LEAST_ROWS && s->group->chain->rows > LEAST_ROWS && has_room(s, most) ? 2 : 1;
}

static void declare(const sn_chain_writer *w) {
  sn_shader *s = w->s;
  const sn_chain *c = w->chain;
  sn_text_add(&s->declared,
              "var<workgroup> tile_a: array<f32, %d>;\nvar<workgroup> tile_b: array<f32, %lld>;\n"
              "var<workgroup> scores: array<f32, %d>;\n",
              w->rows * SN_SHADER_BLOCK_K, (long long)(SN_SHADER_BLOCK_K * widest(c)),
              w->rows * SN_CHAIN_COLUMNS);
  sn_shader_line(s, "let lane = i32(local);");
  sn_shader_line(s, "let x = lane %% %d; let y = lane / %d;", SN_SHADER_SIDE, SN_SHADER_SIDE);
  sn_shader_line(s, "let batch = i32(group.z);");
  sn_shader_line(s, "let first_row = i32(group.x) * %d;", w->rows);
  for (int r = 0; r < w->micro; r++) {
    sn_shader_line(s, "let is%d = first_row + y + %d < %lld;", r, r * SN_SHADER_SIDE,
                   (long long)c->rows);
    sn_shader_line(s, "let row%d = min(first_row + y + %d, %lld);", r, r * SN_SHADER_SIDE,
                   (long long)c->rows - 1);
  }
  sn_shader_split(s, "batch", s->group->space, w->passes.outer - 1, 'i');
  sn_format(s->index[w->passes.outer - 1], SN_SHADER_NAME, "row");
  sn_format(s->index[w->passes.outer], SN_SHADER_NAME, "column");
  sn_chain_declare_values(w, false);
  sn_chain_declare_totals(w);
}

static sn_status add_functions(const sn_chain_writer *w) {
  bool follows = false;
  for (uint32_t m = 0; m < w->chain->n_members; m++) {
    const sn_group *g = sn_chain_member(w, m);
    char letters[2];
    letters_of(m, letters);
    for (uint32_t p = 0; g->kind == SN_GROUP_ROW && p < g->row.n_phases; p++)
      follows = follows || w->passes.members[m].phases[p].follows_max;
    if (g->kind != SN_GROUP_CONTRACTION) continue;
    for (int side = w->passes.members[m].uses_up; side < 2; side++) {
      SN_TRY(sn_shader_factor(w->s, g, side, letters[side]));
      sn_shader_factor_loader(w->s, g, letters[side], g->space[g->space_rank - 2 + side]);
    }
  }
  return follows ? sn_chain_follow(w) : SN_OK;
}

sn_status sn_shader_chain(sn_shader *s, int variant) {
  const sn_chain *c = s->group->chain;
  sn_chain_writer w = {.s = s, .chain = c};
  w.rows = variant == 0 && sn_shader_chain_variants(s) > 1
               ? (int)s->frame->program->groups.target->limits.tile_rows
               : LEAST_ROWS;
  w.micro = w.rows / SN_SHADER_SIDE;
  SN_FAIL_IF(s->arena->env, c->batch > SN_SHADER_MOST_MATRICES, SN_ERR_UNSUPPORTED, NULL,
             "%s: the device takes up to %d matrices at once", s->group->name,
             SN_SHADER_MOST_MATRICES);
  SN_TRY(sn_chain_passes_of(s->arena, &s->frame->program->groups, s->group, &w.passes));
  s->inside = w.passes.is_inside;
  for (uint32_t k = 0; k < s->group->n_stores; k++)
    if (sn_dtype_bytes(s->group->stores[k].target.dtype) < 4)
      sn_shader_stores_bytes(s, s->group->stores[k].target.value);
  s->threads[0] = s->threads[1] = SN_SHADER_SIDE;
  s->groups[0] = (uint32_t)((c->rows + w.rows - 1) / w.rows);
  s->groups[2] = (uint32_t)c->batch;
  declare(&w);
  SN_TRY(add_functions(&w));
  for (w.pass = 0; w.pass <= w.passes.n; w.pass++) SN_TRY(add_pass(&w));
  return s->status;
}
