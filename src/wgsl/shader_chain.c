/* shader_chain.c - chains, attention among them. A workgroup has a block of rows, and goes through tiles of their columns, once
 * for each pass (chain_passes.h). Scores are in registers; they go to memory only if something outside of the chain reads
 * them.
 *
 *   per row: maps over rows, and posts of row groups whose totals are known
 *   for first_column in tiles of columns
 *     products of values in memory: blocks of both factors in workgroup memory, totals in registers
 *     maps, rows:                   a thread has the same rows and columns of all scores, in registers
 *     products of scores:           scores through workgroup memory, block by block of their columns
 *   join the threads' totals; results
 *
 * A thread has four rows and four columns (eight in wide tiles) of all scores, and the same rows of results. Columns that a
 * causal mask hides (causal.c) are in no tile, except in the one at the mask's edge.
 *
 * Invariant: the order of every sum follows from the columns alone, not from the rows of a block, so variants may be chosen by
 * the clock. */
#include "wgsl/shader_chain.h"
#include "base/format.h"
#include "fuse/chain_fit.h"

enum {
  LEAST_ROWS = 32,
  WIDE = 128,         /* columns of a wide tile, and the least that a chain with wide tiles has */
  BLOCK_TERMS = 1024, /* terms of a block in a result's sum: whole tiles */
  FEW_TERMS = 4096    /* most terms of a result that are added up without blocks */
};

int sn_chain_micro_results(const sn_group *g) {
  return 4 * (int)((g->space[g->space_rank - 1] + SN_CHAIN_STRIP - 1) / SN_CHAIN_STRIP);
}

static int threads_of(const sn_chain_writer *w) {
  return w->rows / SN_CHAIN_MICRO * SN_SHADER_SIDE;
}

/* ---- products ------------------------------------------------------------------------------------- */

static void letters_of(uint32_t m, char letters[2]) {
  letters[0] = (char)('a' + 2 * m);
  letters[1] = (char)('b' + 2 * m);
}

static sn_shader_block *block_of(const sn_chain_writer *w, uint32_t m, int side) {
  return &w->blocks[2 * m + (uint32_t)side];
}

static void declare_totals(const sn_chain_writer *w, const char *name, uint32_t m, int columns) {
  for (int r = 0; r < SN_CHAIN_MICRO; r++)
    for (int c = 0; c < columns / 4; c++)
      sn_shader_line(w->s, "var %s%u_%d%d = vec4<f32>();", name, m, r, c);
}

/* acc += tile_a tile_b for one term of a block; k is an expression. */
static void multiply_term(const sn_chain_writer *w, uint32_t m, int columns, const char *k) {
  const int fours = columns / 4;
  sn_shader_line(w->s, "let a = tile_a[%s * %d + y];", k, sn_shader_block_stride(w->rows));
  for (int c = 0; c < fours; c++)
    sn_shader_line(w->s, "let b%d = tile_b[%s * %d + %d + x];", c, k,
                   sn_shader_block_stride(columns * SN_SHADER_SIDE), c * SN_SHADER_SIDE);
  for (int r = 0; r < SN_CHAIN_MICRO; r++)
    for (int c = 0; c < fours; c++)
      sn_shader_line(w->s, "acc%u_%d%d = fma(vec4<f32>(a.%c), b%d, acc%u_%d%d);", m, r, c,
                     "xyzw"[r], c, m, r, c);
}

/* acc += tile_a tile_b for a whole block. It is unrolled, so that positions in the tiles are constants; with several passes the
 * text would be too long for that. */
static void multiply(const sn_chain_writer *w, uint32_t m, int columns) {
  char term[SN_SHADER_NAME];
  if (w->passes.n > 1) {
    sn_shader_line(w->s, "for (var k = 0; k < %d; k++) {", SN_SHADER_BLOCK_K);
    multiply_term(w, m, columns, "k");
    sn_shader_line(w->s, "}");
    return;
  }
  for (int k = 0; k < SN_SHADER_BLOCK_K; k++) {
    sn_format(term, sizeof term, "%d", k);
    sn_shader_line(w->s, "{");
    multiply_term(w, m, columns, term);
    sn_shader_line(w->s, "}");
  }
}

/* The totals in the tile of a product whose factors are in memory. */
static void add_totals(const sn_chain_writer *w, uint32_t m) {
  sn_shader *s = w->s;
  const long long k = (long long)sn_chain_member(w, m)->contraction.k;
  declare_totals(w, "acc", m, 4 * w->fours);
  sn_shader_line(s, "{");
  for (int i = 0; i < 2; i++) sn_shader_block_places(s, block_of(w, m, i));
  for (int i = 0; i < 2; i++) sn_shader_block_bring(s, block_of(w, m, i), true, "0");
  sn_shader_line(s, "for (var k0 = 0; k0 < %lld; k0 += %d) {", k, SN_SHADER_BLOCK_K);
  for (int i = 0; i < 2; i++) sn_shader_block_put(s, block_of(w, m, i));
  sn_shader_line(s, "workgroupBarrier();");
  if (k > SN_SHADER_BLOCK_K) {
    sn_shader_line(s, "let following = min(k0 + %d, %lld);", SN_SHADER_BLOCK_K,
                   (k - 1) / SN_SHADER_BLOCK_K * SN_SHADER_BLOCK_K);
    for (int i = 0; i < 2; i++) sn_shader_block_bring(s, block_of(w, m, i), false, "following");
  }
  multiply(w, m, 4 * w->fours);
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "}");
  sn_shader_line(s, "}");
}

/* The points in the tile of a product or a map. */
static sn_status add_points(const sn_chain_writer *w, uint32_t m) {
  const sn_group *g = sn_chain_member(w, m);
  if (g->kind == SN_GROUP_CONTRACTION) add_totals(w, m);
  for (int r = 0; r < SN_CHAIN_MICRO; r++)
    for (int c = 0; c < 4 * w->fours; c++) {
      char test[64];
      sn_chain_test_point(test, r, c);
      sn_chain_open_point(w, r, c);
      if (g->kind == SN_GROUP_CONTRACTION)
        sn_shader_line(w->s, "let total0 = acc%u_%d%d.%c;", m, r, c / 4, "xyzw"[c % 4]);
      sn_chain_open_values(w, &g->post, r, c);
      SN_TRY(sn_chain_body(w, &g->post, g->stores, g->n_stores, NULL, g->space_rank));
      sn_chain_store(w, &g->post, g->stores, g->n_stores, g->space_rank, r, c,
                     w->passes.members[m].pass, test);
      sn_shader_line(w->s, "}");
    }
  return w->s->status;
}

/* ---- products of scores ------------------------------------------------------------------------------ */

/* Stores a block of scores, which begins with column k0 of the tile, to tile_a: the threads that have these columns do. */
static sn_status hand_over_scores(const sn_chain_writer *w, const sn_operand *a) {
  sn_shader *s = w->s;
  char name[SN_SHADER_NAME];
  const char *args[] = {name};
  const int threads = SN_SHADER_BLOCK_K / 4; /* threads of a row that have a block's columns */
  for (int c = 0; c < 4 * w->fours; c++) {
    sn_text four = sn_text_in(s->arena);
    for (int r = 0; r < SN_CHAIN_MICRO; r++) {
      sn_chain_value_name(w, name, a->value, r, c);
      if (r) sn_text_add(&four, ", ");
      SN_TRY(sn_scalar_text_add_op(&s->scalars, &four, SN_OP_astype, SN_F32, a->dtype, args, 1));
    }
    if (c % 4 == 0)
      sn_shader_line(s, "if (x / %d * %d + %d == k0) {", threads, SN_SHADER_BLOCK_K,
                     sn_chain_column(c));
    sn_shader_line(
        s, "tile_a[(x %% %d * 4 + %d) * %d + y] = select(vec4<f32>(), vec4<f32>(%s), in%d);",
        threads, c % 4, sn_shader_block_stride(w->rows), sn_shader_text(s, &four), c);
    if (c % 4 == 3) sn_shader_line(s, "}");
  }
  return s->status;
}

/* Long sums of results are sums of blocks' sums, for precision. */
bool sn_chain_has_blocks(const sn_chain_writer *w) { return w->chain->columns > FEW_TERMS; }

static void end_block(const sn_chain_writer *w, uint32_t m, int columns) {
  for (int r = 0; r < SN_CHAIN_MICRO; r++)
    for (int c = 0; c < columns / 4; c++)
      sn_shader_line(w->s, "sum%u_%d%d += acc%u_%d%d; acc%u_%d%d = vec4<f32>();", m, r, c, m, r, c,
                     m, r, c);
}

/* Adds the tile's scores times a factor in memory to the results of a product of scores. */
static sn_status use_up(const sn_chain_writer *w, uint32_t m) {
  sn_shader *s = w->s;
  const sn_group *g = sn_chain_member(w, m);
  const int columns = sn_chain_micro_results(g);
  const sn_shader_block *b = block_of(w, m, 1);
  sn_shader_line(s, "{");
  sn_shader_block_places(s, b);
  sn_shader_block_bring(s, b, true, "first_column");
  sn_shader_line(s, "for (var k0 = 0; k0 < %d; k0 += %d) {", sn_chain_columns(w),
                 SN_SHADER_BLOCK_K);
  SN_TRY(hand_over_scores(w, &g->contraction.factors[0]));
  sn_shader_block_put(s, b);
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "let following = first_column + min(k0 + %d, %d);", SN_SHADER_BLOCK_K,
                 sn_chain_columns(w) - SN_SHADER_BLOCK_K);
  sn_shader_block_bring(s, b, false, "following");
  multiply(w, m, columns);
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "}");
  sn_shader_line(s, "}");
  if (sn_chain_has_blocks(w)) {
    sn_shader_line(s, "if ((first_column + %d) %% %d == 0) {", sn_chain_columns(w), BLOCK_TERMS);
    end_block(w, m, columns);
    sn_shader_line(s, "}");
  }
  return s->status;
}

/* Finishes the results of a row in a loop, so that the text of post, which may be long, stands there once. */
static sn_status finish_row(const sn_chain_writer *w, uint32_t m, int r) {
  sn_shader *s = w->s;
  const sn_group *g = sn_chain_member(w, m);
  const int rank = g->space_rank, columns = sn_chain_micro_results(g);
  const char *total = sn_chain_has_blocks(w) ? "sum" : "acc";
  char by[SN_SHADER_NAME];
  const bool divides = sn_chain_stream_sum(w, g->contraction.factors[0].value, r, by);
  sn_text all = sn_text_in(s->arena);
  for (int c = 0; c < columns / 4; c++) {
    sn_text_add(&all, c ? ", %s%u_%d%d" : "%s%u_%d%d", total, m, r, c);
    if (divides) sn_text_add(&all, " / %s", by);
  }
  sn_shader_line(s, "{");
  sn_shader_line(s, "let row = row%d;", r);
  sn_shader_line(s, "var totals = array<vec4<f32>, %d>(%s);", columns / 4, sn_shader_text(s, &all));
  sn_shader_line(s, "for (var i = 0; i < %d; i++) {", columns);
  sn_shader_line(s, "let column = x * 4 + i / 4 * %d + i %% 4;", SN_CHAIN_STRIP);
  sn_shader_line(s, "if (is%d && column < %lld) {", r, (long long)g->space[rank - 1]);
  sn_shader_line(s, "let total0 = totals[i / 4][i %% 4];");
  sn_chain_open_values(w, &g->post, r, -1);
  SN_TRY(sn_chain_body(w, &g->post, g->stores, g->n_stores, NULL, rank));
  SN_TRY(sn_shader_stores(s, &g->post, g->stores, g->n_stores, rank, 'v'));
  sn_shader_line(s, "}");
  sn_shader_line(s, "}");
  sn_shader_line(s, "}");
  return s->status;
}

static sn_status finish_result(const sn_chain_writer *w, uint32_t m) {
  if (sn_chain_has_blocks(w)) end_block(w, m, sn_chain_micro_results(sn_chain_member(w, m)));
  for (int r = 0; r < SN_CHAIN_MICRO; r++) SN_TRY(finish_row(w, m, r));
  return w->s->status;
}

/* ---- passes ------------------------------------------------------------------------------------------ */

static void open_tiles(const sn_chain_writer *w) {
  sn_shader *s = w->s;
  const sn_chain *chain = w->chain;
  const long long columns = chain->columns;
  sn_text from = sn_text_in(s->arena), to = from;
  sn_text_add(&from, chain->side < 0 ? "first_row / %d * %d" : "0", sn_chain_columns(w),
              sn_chain_columns(w));
  sn_text_add(&to, chain->side > 0 ? "min(%lld, first_row + %d)" : "%lld", columns, w->rows);
  sn_shader_line(s, "for (var first_column = %s; first_column < %s; first_column += %d) {",
                 sn_shader_text(s, &from), sn_shader_text(s, &to), sn_chain_columns(w));
  for (int c = 0; c < 4 * w->fours; c++) {
    sn_shader_line(s, "let in%d = first_column + x * 4 + %d < %lld;", c, sn_chain_column(c),
                   columns);
    sn_shader_line(s, "let column%d = min(first_column + x * 4 + %d, %lld);", c, sn_chain_column(c),
                   columns - 1);
  }
  sn_chain_declare_values(w, true);
}

static sn_status add_members(const sn_chain_writer *w) {
  for (uint32_t m = 0; m < w->chain->n_members; m++) {
    if (!w->passes.members[m].wanted) continue;
    if (w->passes.members[m].consumes_scores)
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
    if (!w->passes.members[m].consumes_scores || !w->passes.members[m].wanted) continue;
    declare_totals(w, "acc", m, sn_chain_micro_results(sn_chain_member(w, m)));
    if (sn_chain_has_blocks(w))
      declare_totals(w, "sum", m, sn_chain_micro_results(sn_chain_member(w, m)));
  }
  open_tiles(w);
  SN_TRY(add_members(w));
  sn_shader_line(s, "}");
  SN_TRY(sn_chain_join_totals(w));
  for (uint32_t m = 0; m < w->chain->n_members; m++)
    if (w->passes.members[m].consumes_scores && w->passes.members[m].wanted)
      SN_TRY(finish_result(w, m));
  sn_shader_line(s, "}");
  return s->status;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* Whether a thread may have two fours of score columns. Wide tiles load rows less often, but with several products of values
 * in memory registers do not suffice. */
static bool may_be_wide(const sn_chain *c) {
  int made = 0;
  for (uint32_t m = 0; m < c->n_members; m++)
    made += c->members[m].kind == SN_GROUP_CONTRACTION && c->members[m].contraction.k != c->columns;
  return made <= 1 && c->columns >= WIDE;
}

/* Most columns that a block of a right factor has. */
static int64_t widest(const sn_chain *c) {
  int64_t most = may_be_wide(c) ? 2 * SN_CHAIN_STRIP : SN_CHAIN_STRIP;
  for (uint32_t m = 0; m < c->n_members; m++)
    if (c->members[m].kind == SN_GROUP_CONTRACTION && c->members[m].contraction.k == c->columns) {
      const int64_t n = (int64_t)sn_chain_micro_results(&c->members[m]) * SN_SHADER_SIDE;
      if (n <= SN_TILED_COLUMNS && n > most) most = n;
    }
  return most;
}

static int64_t bytes_of(const sn_chain *c, int64_t rows) {
  return (sn_shader_block_fours((int)rows) + sn_shader_block_fours((int)widest(c))) * 16 +
         rows * SN_SHADER_SIDE * 4;
}

static bool has_room(const sn_shader *s, int64_t rows) {
  return bytes_of(s->group->chain, rows) <= sn_shader_shared_bytes(s);
}

int sn_shader_chain_variants(const sn_shader *s) {
  const int most = (int)s->frame->program->groups.target->limits.tile_rows;
  return most > LEAST_ROWS && s->group->chain->rows > LEAST_ROWS && has_room(s, most) ? 2 : 1;
}

static void declare(const sn_chain_writer *w) {
  sn_shader *s = w->s;
  const sn_chain *c = w->chain;
  sn_text_add(&s->declared,
              "var<workgroup> tile_a: array<vec4<f32>, %d>;\n"
              "var<workgroup> tile_b: array<vec4<f32>, %lld>;\n"
              "var<workgroup> shared_rows: array<vec4<f32>, %d>;\n",
              sn_shader_block_fours(w->rows), (long long)sn_shader_block_fours((int)widest(c)),
              w->rows * SN_SHADER_SIDE / 4);
  sn_shader_line(s, "let lane = i32(local);");
  sn_shader_line(s, "let x = lane %% %d; let y = lane / %d;", SN_SHADER_SIDE, SN_SHADER_SIDE);
  sn_shader_line(s, "let batch = i32(group.z);");
  sn_shader_line(s, "let first_row = i32(group.x) * %d;", w->rows);
  for (int r = 0; r < SN_CHAIN_MICRO; r++) {
    sn_shader_line(s, "let is%d = first_row + y * 4 + %d < %lld;", r, r, (long long)c->rows);
    sn_shader_line(s, "let row%d = min(first_row + y * 4 + %d, %lld);", r, r,
                   (long long)c->rows - 1);
  }
  sn_shader_split(s, "batch", s->group->space, w->passes.outer - 1, 'i');
  sn_format(s->index[w->passes.outer - 1], SN_SHADER_NAME, "row");
  sn_format(s->index[w->passes.outer], SN_SHADER_NAME, "column");
  sn_chain_declare_values(w, false);
  sn_chain_declare_totals(w);
}

/* Decides how factors in memory are read. This must come before any load is written, as bindings may change to fours. */
static sn_status plan_blocks(sn_chain_writer *w) {
  const uint32_t n = 2 * w->chain->n_members;
  SN_TRY(sn_arena_alloc(w->s->arena, n, sizeof *w->blocks, (void **)&w->blocks));
  for (uint32_t i = 0; i < n; i++) {
    const sn_group *g = sn_chain_member(w, i / 2);
    const bool consumes_scores = w->passes.members[i / 2].consumes_scores;
    if (g->kind != SN_GROUP_CONTRACTION || (consumes_scores && i % 2 == 0)) continue;
    char letters[2];
    letters_of(i / 2, letters);
    w->blocks[i] =
        (sn_shader_block){.product = g,
                          .reading = sn_shader_factor_reading(w->s, g, (int)(i % 2)),
                          .letter = letters[i % 2],
                          .tile = i % 2 ? "tile_b" : "tile_a",
                          .first = consumes_scores ? "0"
                                   : i % 2         ? "first_column"
                                                   : "first_row",
                          .width = consumes_scores ? sn_chain_micro_results(g) * SN_SHADER_SIDE
                                   : i % 2         ? sn_chain_columns(w)
                                                   : w->rows,
                          .threads = threads_of(w),
                          .overruns = consumes_scores};
  }
  return SN_OK;
}

static sn_status add_functions(const sn_chain_writer *w) {
  for (uint32_t i = 0; i < 2 * w->chain->n_members; i++) {
    sn_shader_block *b = &w->blocks[i];
    if (!b->product) continue;
    SN_TRY(sn_shader_factor(w->s, b->product, (int)(i % 2), b->letter));
    if (b->reading)
      SN_TRY(sn_shader_factor_fours(w->s, &b->product->contraction.factors[i % 2], b->letter));
    SN_TRY(sn_shader_block_begin(w->s, b, (int)(i % 2)));
  }
  return SN_OK;
}

sn_status sn_shader_chain(sn_shader *s, int variant) {
  const sn_chain *c = s->group->chain;
  sn_chain_writer w = {.s = s, .chain = c};
  w.rows = variant == 0 && sn_shader_chain_variants(s) > 1
               ? (int)s->frame->program->groups.target->limits.tile_rows
               : LEAST_ROWS;
  SN_FAIL_IF(s->arena->env, c->batch > SN_SHADER_MOST_MATRICES, SN_ERR_UNSUPPORTED, NULL,
             "%s: the device takes up to %d matrices at once", s->group->name,
             SN_SHADER_MOST_MATRICES);
  SN_TRY(sn_chain_passes_of(s->arena, &s->frame->program->groups, s->group, &w.passes));
  w.fours = may_be_wide(c) && w.passes.n == 1
                ? 2
                : 1; /* with several passes the text would be too long */
  s->inside = w.passes.is_inside;
  sn_shader_stores_small(s, s->group->stores, s->group->n_stores);
  s->threads[0] = (uint32_t)threads_of(&w);
  s->groups[0] = (uint32_t)((c->rows + w.rows - 1) / w.rows);
  s->groups[2] = (uint32_t)c->batch;
  SN_TRY(plan_blocks(&w));
  declare(&w);
  SN_TRY(add_functions(&w));
  for (w.pass = 0; w.pass <= w.passes.n; w.pass++) SN_TRY(add_pass(&w));
  return s->status;
}
