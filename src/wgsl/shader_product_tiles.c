/* shader_product_tiles.c - a product whose workgroups make tiles of the result. Blocks of both factors go through the memory
 * of the workgroup, so that an element is read once per tile; a thread adds up a smaller tile in registers.
 *
 *   next = the first block                           registers: fours of both factors
 *   for blocks of k
 *     a[k][row], b[k][column] = next                 memory of the workgroup, in fours across
 *     next = the block behind it                     on its way while this one is used
 *     for k: acc[r] += a[k][r] * b[k]                written out, so that places in the tiles are constants
 *   for r, c: finish(z, row, column, acc[r][c])
 *
 * Rows of a thread lie in fours, one four in each of its strips; so do columns. A factor that is read by elements is brought
 * four at a time as well, along k where its elements lie so.
 *
 * Compilers of WGSL bound each index that they cannot bound themselves: quotients and remainders of the thread's number they
 * can, and they cost nothing then. */
#include "base/format.h"
#include "wgsl/shader.h"

/* A factor of a tile: how threads bring it. */
typedef struct side {
  const sn_operand *factor;
  sn_shader_reading reading;
  char letter;
  bool along;       /* a four lies along k, else across it */
  int width, count; /* rows or columns of the tile; fours that a thread brings */
  int64_t size;     /* of the matrix */
} side;

typedef struct tiles {
  const sn_shader_sizes *z;
  sn_shader_tile tile;
  int across, down, threads; /* threads of a row of the tile, of a column, of all */
  side sides[2];
  const char *type; /* of four totals */
} tiles;

static const char *four_type(const sn_shader *s) {
  return s->group->contraction.total_dtype == SN_F32 ? "vec4<f32>" : "vec4<i32>";
}

static tiles plan(const sn_shader *s, const sn_shader_sizes *z, sn_shader_tile tile,
                  const sn_shader_reading readings[2]) {
  tiles t = {.z = z, .tile = tile, .type = four_type(s)};
  t.across = tile.width / tile.columns;
  t.down = tile.width / tile.rows;
  t.threads = t.across * t.down;
  for (int i = 0; i < 2; i++) {
    const sn_operand *f = &s->group->contraction.factors[i];
    t.sides[i] = (side){.factor = f,
                        .reading = readings[i],
                        .letter = "ab"[i],
                        .along = readings[i] ? readings[i] == SN_READS_FOURS_ALONG
                                             : sn_nest_stride(&f->nests->of[SN_AXIS_ALONG]) == 1,
                        .width = tile.width,
                        .count = tile.width * SN_SHADER_BLOCK_K / 4 / t.threads,
                        .size = i ? z->n : z->m};
  }
  return t;
}

/* ---- from a factor to its tile ----------------------------------------------------------------- */

/* fn bring_a(batch, place, across, k): four elements, 0 outside of the matrix. */
static sn_status add_bring(sn_shader *s, const tiles *t, const side *f) {
  const char x = f->letter;
  const bool ragged = f->size % f->width || t->z->k % SN_SHADER_BLOCK_K;
  const char *element = sn_spoken_type(s->group->contraction.total_dtype);
  sn_text *out = &s->spoken.functions;
  if (!f->reading && !f->along) sn_shader_factor_loader(s, s->group, x, f->size);
  sn_text_add(out, "fn bring_%c(batch: i32, place: %s, across: i32, k: i32) -> %s {\n", x,
              sn_shader_place_type(f->factor), t->type);
  if (f->reading && ragged)
    sn_text_add(out, "  if (across >= %lld || k >= %lld) { return %s(); }\n", (long long)f->size,
                (long long)t->z->k, t->type);
  if (f->reading)
    sn_text_add(out, "  return four_%c(place + step_%c(k));\n}\n\n", x, x);
  else if (f->along) /* the place of a row is known */
    sn_text_add(out,
                "  if (across >= %lld) { return %s(); }\n"
                "  return %s(one_%c(place, k), one_%c(place, k + 1), one_%c(place, k + 2), "
                "one_%c(place, k + 3));\n}\n\n"
                "fn one_%c(place: %s, k: i32) -> %s {\n"
                "  if (k < %lld) { return at_%c(place + step_%c(k)); }\n  return %s(0);\n}\n\n",
                (long long)f->size, t->type, t->type, x, x, x, x, x,
                sn_shader_place_type(f->factor), element, (long long)t->z->k, x, x, element);
  else
    sn_text_add(out,
                "  return %s(load_%c(batch, across, k), load_%c(batch, across + 1, k), "
                "load_%c(batch, across + 2, k), load_%c(batch, across + 3, k));\n}\n\n",
                t->type, x, x, x, x);
  return out->status;
}

/* Of each four that a thread brings: which row or column of the tile, which k of the block; where it lies. */
static void declare_places(sn_shader *s, const tiles *t, const side *f) {
  const char x = f->letter;
  const int run = f->along ? SN_SHADER_BLOCK_K / 4 : f->width / 4;
  for (int i = 0; i < f->count; i++) {
    const int first = i * t->threads;
    if (f->along)
      sn_shader_line(s, "let r%c%d = (lane + %d) / %d; let k%c%d = (lane + %d) %% %d * 4;", x, i,
                     first, run, x, i, first, run);
    else
      sn_shader_line(s, "let k%c%d = (lane + %d) / %d; let r%c%d = (lane + %d) %% %d * 4;", x, i,
                     first, run, x, i, first, run);
    sn_shader_line(s, "let p%c%d = place_%c(batch, first_%c + r%c%d);", x, i, x, x, x, i);
  }
}

/* next = the block from k on */
static void bring(sn_shader *s, const side *f, const char *how, const char *k) {
  const char x = f->letter;
  for (int i = 0; i < f->count; i++)
    sn_shader_line(s, "%snext_%c%d = bring_%c(batch, p%c%d, first_%c + r%c%d, %s + k%c%d);", how, x,
                   i, x, x, i, x, x, i, k, x, i);
}

/* tile = next */
static void put(sn_shader *s, const side *f) {
  const char x = f->letter;
  for (int i = 0; i < f->count; i++) {
    for (int j = 0; f->along && j < 4; j++)
      sn_shader_line(s, "tile_%c[(k%c%d + %d) * %d + r%c%d / 4][r%c%d %% 4] = next_%c%d.%c;", x, x, i,
                     j, f->width / 4, x, i, x, i, x, i, "xyzw"[j]);
    if (!f->along)
      sn_shader_line(s, "tile_%c[k%c%d * %d + r%c%d / 4] = next_%c%d;", x, x, i, f->width / 4, x, i,
                     x, i);
  }
}

/* ---- totals -------------------------------------------------------------------------------------- */

static void multiply(sn_shader *s, const tiles *t, int k) {
  const int strips[] = {t->tile.rows / 4, t->tile.columns / 4};
  sn_shader_line(s, "{");
  for (int i = 0; i < strips[0]; i++)
    sn_shader_line(s, "let a%d = tile_a[%d + y];", i, k * t->tile.width / 4 + i * t->down);
  for (int i = 0; i < strips[1]; i++)
    sn_shader_line(s, "let b%d = tile_b[%d + x];", i, k * t->tile.width / 4 + i * t->across);
  for (int r = 0; r < t->tile.rows; r++)
    for (int c = 0; c < strips[1]; c++) {
      char total[SN_SHADER_NAME], a[SN_SHADER_NAME], b[SN_SHADER_NAME];
      sn_format(total, sizeof total, "acc%d_%d", r, c);
      sn_format(a, sizeof a, "%s(a%d.%c)", t->type, r / 4, "xyzw"[r % 4]);
      sn_format(b, sizeof b, "b%d", c);
      sn_shader_multiply_add(s, total, a, b);
    }
  sn_shader_line(s, "}");
}

/* Hands on a thread's totals one after the other: what is done with them is long, and is written once. */
static void finish(sn_shader *s, const tiles *t) {
  const int rows = t->tile.rows, columns = t->tile.columns;
  sn_text all = sn_text_in(s->arena);
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns / 4; c++) sn_text_add(&all, r + c ? ", acc%d_%d" : "acc%d_%d", r, c);
  sn_shader_line(s, "var totals = array<%s, %d>(%s);", t->type, rows * columns / 4,
                 sn_shader_text(s, &all));
  sn_shader_line(s, "for (var i = 0; i < %d; i++) {", rows * columns);
  sn_shader_line(s, "let r = i / %d; let c = i %% %d;", columns, columns);
  sn_shader_line(s, "let row = first_a + (y + r / 4 * %d) * 4 + r %% 4;", t->down);
  sn_shader_line(s, "let column = first_b + (x + c / 4 * %d) * 4 + c %% 4;", t->across);
  sn_shader_line(s, "if (row < %lld && column < %lld) {", (long long)t->z->m, (long long)t->z->n);
  sn_shader_line(s, "finish(z, row, column, totals[i / 4][i %% 4]);");
  sn_shader_line(s, "}");
  sn_shader_line(s, "}");
}

static void launch(sn_shader *s, const tiles *t) {
  const sn_shader_sizes *z = t->z;
  const int width = t->tile.width;
  s->threads[0] = (uint32_t)t->threads;
  s->groups[0] = (uint32_t)((z->n + width - 1) / width);
  s->groups[1] = (uint32_t)((z->m + width - 1) / width);
  s->groups[2] = (uint32_t)(z->batches * z->parts);
  for (int i = 0; i < 2; i++)
    sn_text_add(&s->declared, "var<workgroup> tile_%c: array<%s, %d>;\n", "ab"[i], t->type,
                width * SN_SHADER_BLOCK_K / 4);
  sn_shader_line(s, "let lane = i32(local);");
  sn_shader_line(s, "let x = lane %% %d; let y = lane / %d;", t->across, t->across);
  sn_shader_line(s, "let z = i32(group.z); let batch = z %% %lld;", (long long)z->batches);
  sn_shader_line(s, "let first_a = i32(group.y) * %d; let first_b = i32(group.x) * %d;", width,
                 width);
}

sn_status sn_shader_product_tiles(sn_shader *s, const sn_shader_sizes *z, sn_shader_tile tile,
                                  const sn_shader_reading readings[2]) {
  const tiles t = plan(s, z, tile, readings);
  const long long block = SN_SHADER_BLOCK_K, last = (z->terms - 1) / block * block;
  for (int i = 0; i < 2; i++) SN_TRY(add_bring(s, &t, &t.sides[i]));
  launch(s, &t);
  for (int i = 0; i < 2; i++) declare_places(s, &t, &t.sides[i]);
  for (int r = 0; r < tile.rows; r++)
    for (int c = 0; c < tile.columns / 4; c++) sn_shader_line(s, "var acc%d_%d = %s();", r, c, t.type);
  sn_shader_line(s, "let begin = z / %lld * %lld;", (long long)z->batches, (long long)z->terms);
  for (int i = 0; i < 2; i++) bring(s, &t.sides[i], "var ", "begin");
  sn_shader_line(s, "for (var k0 = 0; k0 < %lld; k0 += %lld) {", (long long)z->terms, block);
  for (int i = 0; i < 2; i++) put(s, &t.sides[i]);
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "let following = begin + min(k0 + %lld, %lld);", block, last);
  for (int i = 0; i < 2; i++) bring(s, &t.sides[i], "", "following");
  for (int k = 0; k < SN_SHADER_BLOCK_K; k++) multiply(s, &t, k);
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "}");
  finish(s, &t);
  return s->status;
}
