/* shader_product.c - contractions: chooses their shaders, and says what becomes of totals. For a narrow matrix threads work
 * alone, each on a few points (shader_product_points.c); else workgroups make tiles of the result (shader_product_tiles.c). If
 * there are few points with many terms each, k is cut into parts with threads of their own, and another shader adds up the
 * parts' totals (split-k).
 *
 * Invariant: each total is the sum of its parts' totals, and a part is added up in order; how many parts there are follows from
 * sizes alone. So variants may be chosen by the clock. */
#include "base/format.h"
#include "wgsl/shader_block.h"

enum {
  LEAST_TERMS = 128,          /* of a part without tiles, */
  LEAST_TILE_TERMS = 256,     /* and of one with tiles: a further shader has its cost */
  WANTED_GROUPS = 256,        /* workgroups of tiles that keep a large device busy, */
  WANTED_THREADS = 32 * 1024, /* and threads without tiles */
  MOST_PARTS = 256,
  MOST_PART_BYTES = 64 * 1024 * 1024 /* of the totals of all parts */
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t units(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }

static int64_t smaller_side(const sn_group *g) {
  return least(g->space[g->space_rank - 2], g->space[g->space_rank - 1]);
}

/* The smaller side of a matrix from which on tiles of width 32, 64 and 128 are used. */
enum { SMALL = 32, MIDDLE = 64, LARGE = 256 };

static bool has_tiles(const sn_shader *s) {
  return sn_shader_shared_bytes(s) > 0 && smaller_side(s->group) >= SMALL;
}

/* Whether tiles of both factors fit in workgroup memory. */
static bool has_room(const sn_shader *s, int width) {
  return (int64_t)2 * sn_shader_block_fours(width) * 16 <= sn_shader_shared_bytes(s);
}

/* Variant 0: the default; 1: without tiles; 2: small tiles; 3: large tiles. */
int sn_shader_product_variants(const sn_shader *s) {
  const int64_t side = smaller_side(s->group);
  if (!has_tiles(s)) return 1;
  return side >= LARGE && has_room(s, 128) ? 4 : side >= MIDDLE ? 3 : 2;
}

/* Small tiles give more workgroups if there are few points. Large tiles read workgroup memory less often per multiply-add.
 * Without tiles, caches take the place of workgroup memory. */
static sn_shader_tile choose_tile(const sn_shader *s, int variant) {
  if (variant == 3) return (sn_shader_tile){.width = 128, .rows = 8, .columns = 8};
  if (variant == 0 && smaller_side(s->group) >= MIDDLE)
    return (sn_shader_tile){.width = 64, .rows = 8, .columns = 4};
  return (sn_shader_tile){.width = 32, .rows = 4, .columns = 4};
}

/* Rows, and columns, of a thread without tiles. */
static int choose_micro(const sn_shader *s) {
  const int64_t side = smaller_side(s->group);
  return side >= 16 ? 4 : side >= 4 ? 2 : 1;
}

/* ---- parts ------------------------------------------------------------------------------------- */

/* How many parts would keep a device busy. */
static int64_t wanted_parts(const sn_shader *s, const sn_shader_sizes *z) {
  const bool tiles = has_tiles(s);
  const int64_t side = tiles ? smaller_side(s->group) >= MIDDLE ? MIDDLE : SMALL : choose_micro(s);
  return (tiles ? WANTED_GROUPS : WANTED_THREADS) /
         (units(z->m, side) * units(z->n, side) * z->batches);
}

static sn_shader_sizes sizes_of(const sn_shader *s) {
  const sn_group *g = s->group;
  const int64_t m = g->space[g->space_rank - 2], n = g->space[g->space_rank - 1];
  const int64_t k = g->contraction.k, points = sn_group_points(g);
  sn_shader_sizes z = {.batches = points / (m * n), .m = m, .n = n, .k = k, .parts = 1, .terms = k};
  if (!sn_shader_can_bind_parts(s)) return z;
  int64_t parts = least(
      least(wanted_parts(s, &z), k / (has_tiles(s) ? LEAST_TILE_TERMS : LEAST_TERMS)), MOST_PARTS);
  parts = least(parts, least(MOST_PART_BYTES / (points * 4), SN_SHADER_MOST_MATRICES / z.batches));
  if (parts < 2) return z;
  z.terms = units(units(k, parts), SN_SHADER_BLOCK_K) * SN_SHADER_BLOCK_K;
  z.parts = units(k, z.terms);
  return z;
}

bool sn_shader_product_has_parts(const sn_shader *s) {
  return s->group->kind == SN_GROUP_CONTRACTION && sizes_of(s).parts > 1;
}

static uint32_t bind_parts(sn_shader *s, const sn_shader_sizes *z) {
  return sn_shader_bind_parts(s, z->parts * z->batches * z->m * z->n,
                              s->group->contraction.total_dtype);
}

/* ---- what becomes of totals ---------------------------------------------------------------------- */

/* Defines finish(batch, row, column, total0): post at a point of the result. */
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
  sn_text_add(&s->scalars.functions,
              "fn finish(batch: i32, row: i32, column: i32, total0: %s) {\n%s}\n\n",
              sn_scalar_text_type(g->contraction.total_dtype), sn_shader_text(s, &s->main));
  s->main = main;
  s->depth = depth;
  return s->scalars.functions.status;
}

/* Defines finish for a part: stores its total in SN_PARTS. */
static sn_status add_keep(sn_shader *s, const sn_shader_sizes *z) {
  const uint32_t b = bind_parts(s, z);
  sn_text_add(&s->scalars.functions,
              "fn finish(z: i32, row: i32, column: i32, total0: %s) {\n"
              "  b%u[(z * %lld + row) * %lld + column] = total0;\n}\n\n",
              sn_scalar_text_type(s->group->contraction.total_dtype), b, (long long)z->m,
              (long long)z->n);
  return s->scalars.functions.status;
}

void sn_shader_multiply_add(sn_shader *s, const char *total, const char *a, const char *b) {
  if (s->group->contraction.total_dtype == SN_F32)
    sn_shader_line(s, "%s = fma(%s, %s, %s);", total, a, b, total);
  else
    sn_shader_line(s, "%s += %s * %s;", total, a, b);
}

/* ---- the shaders ---------------------------------------------------------------------------------- */

sn_status sn_shader_product(sn_shader *s, int variant) {
  const sn_group *g = s->group;
  const sn_shader_sizes z = sizes_of(s);
  SN_FAIL_IF(s->arena->env, z.batches > SN_SHADER_MOST_MATRICES, SN_ERR_UNSUPPORTED, NULL,
             "%s: the device takes up to %d matrices at once", g->name, SN_SHADER_MOST_MATRICES);
  const bool tiles = has_tiles(s) && variant != 1;
  const int micro = choose_micro(s);
  sn_shader_reading readings[2] = {SN_READS_ELEMENTS, SN_READS_ELEMENTS};
  if (z.parts == 1) sn_shader_stores_small(s, g->stores, g->n_stores);
  if (tiles || (micro == 4 && z.k % 4 == 0)) /* before any load is written */
    for (int i = 0; i < 2; i++) readings[i] = sn_shader_factor_reading(s, g, i);
  for (int i = 0; i < 2; i++) {
    SN_TRY(sn_shader_factor(s, g, i, "ab"[i]));
    if (readings[i]) SN_TRY(sn_shader_factor_fours(s, &g->contraction.factors[i], "ab"[i]));
  }
  SN_TRY(z.parts == 1 ? add_finish(s) : add_keep(s, &z));
  return tiles ? sn_shader_product_tiles(s, &z, choose_tile(s, variant), readings)
               : sn_shader_product_points(s, &z, micro, readings);
}

sn_status sn_shader_product_join(sn_shader *s) {
  const sn_shader_sizes z = sizes_of(s);
  const long long points = (long long)sn_group_points(s->group);
  const uint32_t b = bind_parts(s, &z);
  sn_shader_stores_small(s, s->group->stores, s->group->n_stores);
  SN_TRY(add_finish(s));
  sn_shader_thread_per_point(s, points, 1);
  sn_shader_line(s, "var total = b%u[p];", b);
  sn_shader_line(s, "for (var part = 1; part < %lld; part++) {", (long long)z.parts);
  sn_shader_line(s, "total += b%u[part * %lld + p];", b, points);
  sn_shader_line(s, "}");
  sn_shader_line(s, "finish(p / %lld, p / %lld %% %lld, p %% %lld, total);", (long long)(z.m * z.n),
                 (long long)z.n, (long long)z.m, (long long)z.n);
  return s->status;
}
