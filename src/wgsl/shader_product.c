/* shader_product.c - contractions. Where a matrix is narrow each of its points has a thread, which reads rows and columns
 * as it needs them. Else a workgroup makes a tile of the result: it brings blocks of both factors into its own memory, and
 * each thread adds up a small tile in registers.
 *
 *   for k0 in blocks of k                       memory of the workgroup
 *     a[k][row], b[k][column] = blocks          each element of a factor is read once per tile
 *     for k: acc[r][c] += a[k][r] * b[k][c]     registers
 *   for r, c: finish(row, column, acc[r][c])    post
 *
 * Invariant: each total is that of blocks of 512 terms, each added up in order, whatever the shape of tiles: so shaders may be
 * chosen by the clock.
 *
 * Factors keep their nests and bounds (im2col without a copy): a place is computed per element that is brought, or per four
 * where those lie one after the other, along k or across it. */
#include "base/format.h"
#include "wgsl/shader.h"

/* Threads are SIDE x SIDE (shader.h); a thread has `micro` rows and columns. */
enum { BLOCK_TERMS = 512 /* whole SN_SHADER_BLOCK_K */, UNROLLED = 4, NAME = 96 };

/* How a thread reads a factor. */
typedef enum reading { BY_ELEMENT, FOURS_ALONG, FOURS_ACROSS } reading;

typedef struct tile {
  int micro;          /* rows and columns of a thread */
  int64_t width;      /* rows and columns of a workgroup; 0: its threads do not work together */
  reading factors[2]; /* fours only where micro is 4 */
} tile;

static int64_t smaller_side(const sn_group *g) {
  const int64_t m = g->space[g->space_rank - 2], n = g->space[g->space_rank - 1];
  return m < n ? m : n;
}

/* From so many rows and columns on, tiles of 32, of 64 and of 128. */
enum { SMALL = 32, MIDDLE = 64, LARGE = 256 };

static bool has_tiles(const sn_shader *s) {
  return s->frame->program->groups.target->limits.local_bytes > 0 &&
         smaller_side(s->group) >= SMALL;
}

/* 0: a fair choice; 1: without tiles; 2: small ones; 3: large ones. */
int sn_shader_product_variants(const sn_shader *s) {
  const int64_t least = smaller_side(s->group);
  return !has_tiles(s) ? 1 : least >= LARGE ? 4 : least >= MIDDLE ? 3 : 2;
}

/* Of few points: smaller tiles have more workgroups. Large ones read the workgroup's memory less often for each multiply-add.
 * Without tiles caches do what memory does with them. */
static tile choose(const sn_shader *s, int variant) {
  const int64_t least = smaller_side(s->group);
  const int micro = variant == 3 ? 8 : least >= MIDDLE && variant == 0 ? 4 : 2;
  if (has_tiles(s) && variant != 1) return (tile){.micro = micro, .width = micro * SN_SHADER_SIDE};
  return (tile){.micro = least >= 16 ? 4 : least >= 4 ? 2 : 1};
}

/* ---- four elements at a time ------------------------------------------------------------------- */

/* Whether elements lie in fours along an axis: one after the other in its innermost dimension, and all other steps are over
 * whole fours. Then a four is inside of the bounds, or outside. */
static bool is_in_fours(const sn_operand *f, int axis) {
  bool is = f->offset % 4 == 0;
  for (int a = 0; a < SN_PRODUCT_AXES; a++) {
    const sn_nest *nest = &f->nests->of[a];
    for (int i = 0; i < nest->rank; i++) {
      if (a == axis && i == nest->rank - 1)
        is = is && nest->strides[i] == 1 && nest->dims[i] % 4 == 0 && nest->marks[i] == 0;
      else
        is = is && (nest->dims[i] == 1 || nest->strides[i] % 4 == 0);
    }
  }
  return is;
}

static bool is_stored(const sn_shader *s, uint32_t binding) {
  for (uint32_t k = 0; k < s->group->n_stores; k++)
    if (sn_shader_binding_of(s, s->group->stores[k].target.value) == binding) return true;
  return false;
}

static reading reading_of(const sn_shader *s, const sn_operand *f) {
  const sn_contraction *c = &s->group->contraction;
  const uint32_t b = sn_shader_binding_of(s, f->value);
  if (c->total_dtype != SN_F32 || f->dtype != SN_F32 || c->k % 4 || b == SN_NONE) return BY_ELEMENT;
  if (s->elements[b] != SN_ELEMENT_F32 || s->bindings[b].bytes % 16 || is_stored(s, b) ||
      !sn_shader_is_whole(s, f->value))
    return BY_ELEMENT;
  if (is_in_fours(f, SN_AXIS_ALONG)) return FOURS_ALONG;
  return is_in_fours(f, SN_AXIS_ACROSS) ? FOURS_ACROSS : BY_ELEMENT;
}

/* Decides for both factors, and has their bindings hold fours. */
static void choose_readings(sn_shader *s, tile *t) {
  const sn_operand *f = s->group->contraction.factors;
  uint32_t b[2];
  if (t->width || t->micro != 4) return;
  for (int i = 0; i < 2; i++) {
    t->factors[i] = reading_of(s, &f[i]);
    b[i] = sn_shader_binding_of(s, f[i].value);
  }
  if (b[0] == b[1] && (!t->factors[0] || !t->factors[1]))
    t->factors[0] = t->factors[1] = BY_ELEMENT;
  for (int i = 0; i < 2; i++)
    if (t->factors[i]) s->elements[b[i]] = SN_ELEMENT_FOUR_F32;
}

static bool reads_fours(const tile *t) { return t->factors[0] || t->factors[1]; }

/* ---- the result ------------------------------------------------------------------------------ */

/* fn finish(batch, row, column, total0): post at a point of the result. */
static sn_status add_finish(sn_shader *s) {
  const sn_group *g = s->group;
  const sn_text main = s->main;
  const int depth = s->depth;
  const int rank = g->space_rank;
  s->main = sn_text_in(s->arena);
  s->depth = 1;
  if (rank > 2) sn_shader_split(s, "batch", g->space, rank - 2, 'i');
  sn_format(s->index[rank - 2], SN_SHADER_NAME, "row");
  sn_format(s->index[rank - 1], SN_SHADER_NAME, "column");
  SN_TRY(sn_shader_post(s));
  sn_text_add(&s->spoken.functions,
              "fn finish(batch: i32, row: i32, column: i32, total0: %s) {\n%s}\n\n",
              sn_spoken_type(g->contraction.total_dtype), sn_shader_text(s, &s->main));
  s->main = main;
  s->depth = depth;
  return s->spoken.functions.status;
}

/* total += a b */
static void multiply_add(sn_shader *s, const char *total, const char *a, const char *b) {
  if (s->group->contraction.total_dtype == SN_F32)
    sn_shader_line(s, "%s = fma(%s, %s, %s);", total, a, b, total);
  else
    sn_shader_line(s, "%s += %s * %s;", total, a, b);
}

/* Totals of this name += a b for one k. */
static void multiply(sn_shader *s, int micro, const char *name) {
  for (int r = 0; r < micro; r++)
    for (int c = 0; c < micro; c++) {
      char total[SN_SHADER_NAME], a[SN_SHADER_NAME], b[SN_SHADER_NAME];
      sn_format(total, sizeof total, "%s%d%d", name, r, c);
      sn_format(a, sizeof a, "a%d", r);
      sn_format(b, sizeof b, "b%d", c);
      multiply_add(s, total, a, b);
    }
}

/* Hands on a thread's totals: rows and columns lie `apart` from each other. */
static void finish(sn_shader *s, int micro, const char *total, int apart, int64_t m, int64_t n) {
  for (int r = 0; r < micro; r++)
    for (int c = 0; c < micro; c++) {
      sn_shader_line(s, "if (first_a + %d < %lld && first_b + %d < %lld) {", r * apart,
                     (long long)m, c * apart, (long long)n);
      sn_shader_line(s, "finish(batch, first_a + %d, first_b + %d, %s%d%d);", r * apart, c * apart,
                     total, r, c);
      sn_shader_line(s, "}");
    }
}

static void make_bytes_atomic(sn_shader *s) {
  for (uint32_t k = 0; k < s->group->n_stores; k++)
    if (sn_dtype_bytes(s->group->stores[k].target.dtype) < 4)
      sn_shader_stores_bytes(s, s->group->stores[k].target.value);
}

static void declare_totals(sn_shader *s, int micro, const char *name) {
  const char *type = sn_spoken_type(s->group->contraction.total_dtype);
  for (int r = 0; r < micro; r++)
    for (int c = 0; c < micro; c++) sn_shader_line(s, "var %s%d%d = %s(0);", name, r, c, type);
}

/* The terms of k and so many more. */
static void add_term(sn_shader *s, int micro, const char *name, int more) {
  sn_shader_line(s, "{");
  sn_shader_line(s, "let qa = step_a(k + %d); let qb = step_b(k + %d);", more, more);
  for (int i = 0; i < micro; i++)
    sn_shader_line(s, "let a%d = at_a(pa%d + qa); let b%d = at_b(pb%d + qb);", i, i, i, i);
  multiply(s, micro, name);
  sn_shader_line(s, "}");
}

/* The elements of a factor for the terms of k .. k + 3. */
static void bring_four(sn_shader *s, reading how, char x) {
  if (how == FOURS_ALONG) sn_shader_line(s, "let q%c = step_%c(k);", x, x);
  for (int i = 0; i < 4; i++) {
    if (how == FOURS_ALONG)
      sn_shader_line(s, "let %c%d = four_%c(p%c%d + q%c);", x, i, x, x, i, x);
    else if (how == FOURS_ACROSS)
      sn_shader_line(s, "let %c%d = four_%c(p%c0 + step_%c(k + %d));", x, i, x, x, x, i);
    else
      sn_shader_line(s, "let q%c%d = step_%c(k + %d);", x, i, x, i);
  }
  for (int u = 0; how == BY_ELEMENT && u < 4; u++)
    for (int i = 0; i < 4; i++)
      sn_shader_line(s, "let %c%d%d = at_%c(p%c%d + q%c%d);", x, i, u, x, x, i, x, u);
}

/* The name of the element of term u in row or column i. */
static void name_of_four(char *out, reading how, char x, int i, int u) {
  if (how == FOURS_ALONG)
    sn_format(out, SN_SHADER_NAME, "%c%d.%c", x, i, "xyzw"[u]);
  else if (how == FOURS_ACROSS)
    sn_format(out, SN_SHADER_NAME, "%c%d.%c", x, u, "xyzw"[i]);
  else
    sn_format(out, SN_SHADER_NAME, "%c%d%d", x, i, u);
}

/* The terms of k .. k + 3. */
static void add_four_terms(sn_shader *s, const tile *t, const char *name) {
  bring_four(s, t->factors[0], 'a');
  bring_four(s, t->factors[1], 'b');
  for (int u = 0; u < 4; u++)
    for (int r = 0; r < t->micro; r++)
      for (int c = 0; c < t->micro; c++) {
        char total[SN_SHADER_NAME], a[SN_SHADER_NAME], b[SN_SHADER_NAME];
        sn_format(total, sizeof total, "%s%d%d", name, r, c);
        name_of_four(a, t->factors[0], 'a', r, u);
        name_of_four(b, t->factors[1], 'b', c, u);
        multiply_add(s, total, a, b);
      }
}

/* Terms that are taken at a time: where it costs a lot to say where they lie, a driver in software is slower with several. */
static int unrolled(const sn_group *g, const tile *t) {
  if (reads_fours(t)) return 4;
  const sn_operand *f = g->contraction.factors;
  for (int i = 0; i < 2; i++)
    if (f[i].nests->bounds.guards || f[i].nests->of[SN_AXIS_ALONG].rank > 1) return 1;
  return UNROLLED;
}

/* From k = from on to `end`, an expression, a few at a time. */
static void add_range(sn_shader *s, const tile *t, const char *name, const char *from,
                      const char *end) {
  const int step = unrolled(s->group, t);
  sn_shader_line(s, "var k = %s;", from);
  sn_shader_line(s, "for (; k <= %s - %d; k += %d) {", end, step, step);
  if (reads_fours(t)) add_four_terms(s, t, name);
  for (int u = 0; !reads_fours(t) && u < step; u++) add_term(s, t->micro, name, u);
  sn_shader_line(s, "}");
  if (s->group->contraction.k % step == 0) return;
  sn_shader_line(s, "for (; k < %s; k++) {", end);
  add_term(s, t->micro, name, 0);
  sn_shader_line(s, "}");
}

/* total += part, for all. */
static void join_totals(sn_shader *s, int micro, const char *total, const char *part) {
  for (int r = 0; r < micro; r++)
    for (int c = 0; c < micro; c++) sn_shader_line(s, "%s%d%d += %s%d%d;", total, r, c, part, r, c);
}

/* A thread for each point of the result, or for a few rows and columns. */
static sn_status without_tiles(sn_shader *s, const tile *t, int64_t m, int64_t n) {
  const sn_group *g = s->group;
  const int micro = t->micro;
  const long long k = (long long)g->contraction.k, rows = (m + micro - 1) / micro,
                  columns = (n + micro - 1) / micro;
  sn_shader_thread_per_point(s, sn_group_points(g) / (m * n) * rows * columns, 1);
  sn_shader_line(s, "let first_a = p / %lld %% %lld * %d; let first_b = p %% %lld * %d;", columns,
                 rows, micro, columns, micro);
  sn_shader_line(s, "let batch = p / %lld;", rows * columns);
  declare_totals(s, micro, "sum");
  for (int i = 0; i < micro; i++) { /* what lies behind the last row or column is not handed on */
    sn_shader_line(s, "let pa%d = place_a(batch, min(first_a + %d, %lld));", i, i,
                   (long long)m - 1);
    sn_shader_line(s, "let pb%d = place_b(batch, min(first_b + %d, %lld));", i, i,
                   (long long)n - 1);
  }
  if (k <= BLOCK_TERMS) {
    char end[SN_SHADER_NAME];
    sn_format(end, sizeof end, "%lld", k);
    add_range(s, t, "sum", "0", end);
  } else {
    sn_shader_line(s, "for (var k0 = 0; k0 < %lld; k0 += %d) {", k, BLOCK_TERMS);
    sn_shader_line(s, "let end = min(k0 + %d, %lld);", BLOCK_TERMS, k);
    declare_totals(s, micro, "acc");
    add_range(s, t, "acc", "k0", "end");
    join_totals(s, micro, "sum", "acc");
    sn_shader_line(s, "}");
  }
  finish(s, micro, "sum", 1, m, n);
  return s->status;
}

static sn_status with_tiles(sn_shader *s, tile t, int64_t m, int64_t n) {
  const sn_group *g = s->group;
  const char *type = sn_spoken_type(g->contraction.total_dtype);
  sn_shader_factor_loader(s, g, 'a', m);
  sn_shader_factor_loader(s, g, 'b', n);
  s->threads[0] = s->threads[1] = SN_SHADER_SIDE;
  s->groups[0] = (uint32_t)((n + t.width - 1) / t.width);
  s->groups[1] = (uint32_t)((m + t.width - 1) / t.width);
  s->groups[2] = (uint32_t)(sn_group_points(g) / (m * n));
  sn_text_add(&s->declared,
              "var<workgroup> tile_a: array<%s, %lld>;\nvar<workgroup> tile_b: array<%s, %lld>;\n",
              type, (long long)t.width * SN_SHADER_BLOCK_K, type,
              (long long)t.width * SN_SHADER_BLOCK_K);
  sn_shader_line(s, "let lane = i32(local);");
  sn_shader_line(s, "let x = lane %% %d; let y = lane / %d;", SN_SHADER_SIDE, SN_SHADER_SIDE);
  sn_shader_line(s, "let batch = i32(group.z);");
  sn_shader_line(s, "var first_a = i32(group.y) * %lld; var first_b = i32(group.x) * %lld;",
                 (long long)t.width, (long long)t.width);
  const bool in_blocks = g->contraction.k > BLOCK_TERMS;
  declare_totals(s, t.micro, "acc");
  if (in_blocks) declare_totals(s, t.micro, "sum");
  sn_shader_line(s, "for (var k0 = 0; k0 < %lld; k0 += %d) {", (long long)g->contraction.k,
                 SN_SHADER_BLOCK_K);
  sn_shader_factor_bring(s, &g->contraction.factors[0], 'a', "tile_a", t.width, "first_a", "k0");
  sn_shader_factor_bring(s, &g->contraction.factors[1], 'b', "tile_b", t.width, "first_b", "k0");
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "for (var k = 0; k < %d; k++) {", SN_SHADER_BLOCK_K);
  for (int i = 0; i < t.micro; i++) {
    sn_shader_line(s, "let a%d = tile_a[k * %lld + y + %d];", i, (long long)t.width,
                   i * SN_SHADER_SIDE);
    sn_shader_line(s, "let b%d = tile_b[k * %lld + x + %d];", i, (long long)t.width,
                   i * SN_SHADER_SIDE);
  }
  multiply(s, t.micro, "acc");
  sn_shader_line(s, "}");
  sn_shader_line(s, "workgroupBarrier();");
  if (in_blocks) {
    sn_shader_line(s, "if ((k0 + %d) %% %d == 0) {", SN_SHADER_BLOCK_K, BLOCK_TERMS);
    join_totals(s, t.micro, "sum", "acc");
    for (int r = 0; r < t.micro; r++)
      for (int c = 0; c < t.micro; c++) sn_shader_line(s, "acc%d%d = %s(0);", r, c, type);
    sn_shader_line(s, "}");
  }
  sn_shader_line(s, "}");
  if (in_blocks) join_totals(s, t.micro, "sum", "acc");
  sn_shader_line(s, "first_a += y; first_b += x;");
  finish(s, t.micro, in_blocks ? "sum" : "acc", SN_SHADER_SIDE, m, n);
  return s->status;
}

sn_status sn_shader_product(sn_shader *s, int variant) {
  const sn_group *g = s->group;
  const int64_t m = g->space[g->space_rank - 2], n = g->space[g->space_rank - 1];
  tile t = choose(s, variant);
  SN_FAIL_IF(s->arena->env, sn_group_points(g) / (m * n) > SN_SHADER_MOST_MATRICES,
             SN_ERR_UNSUPPORTED, NULL, "%s: the device takes up to %d matrices at once", g->name,
             SN_SHADER_MOST_MATRICES);
  make_bytes_atomic(s);
  choose_readings(s, &t);
  for (int i = 0; i < 2; i++) {
    SN_TRY(sn_shader_factor(s, g, i, "ab"[i]));
    if (t.factors[i]) SN_TRY(sn_shader_factor_fours(s, &g->contraction.factors[i], "ab"[i]));
  }
  SN_TRY(add_finish(s));
  return t.width ? with_tiles(s, t, m, n) : without_tiles(s, &t, m, n);
}
