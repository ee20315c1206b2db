/* shader_product_tiles.c - a product whose workgroups make tiles of the result. Blocks of both factors go through workgroup
 * memory, so that an element is loaded once per tile; a thread adds up a smaller tile in registers.
 *
 *   next = the first block                           registers: fours of both factors
 *   for blocks of k
 *     a[k][row], b[k][column] = next                 memory of the workgroup, in fours across
 *     next = the block behind it                     on its way while this one is used
 *     for k: acc[r] += a[k][r] * b[k]                unrolled, so that positions in the tiles are constants
 *   for r, c: finish(z, row, column, acc[r][c])
 *
 * Rows of a thread are in fours, one four in each of its strips; so are its columns.
 *
 * WGSL compilers add a bounds check to each index that they cannot prove to be in range. They can for quotients and remainders
 * of the thread's number, so these cost nothing. */
#include "base/format.h"
#include "wgsl/shader_block.h"

typedef struct tiles {
  const sn_shader_sizes *z;
  sn_shader_tile tile;
  int across, down; /* threads along a row of the tile, along a column */
  sn_shader_block blocks[2];
  const char *type; /* of four totals */
} tiles;

static sn_status begin(sn_shader *s, const sn_shader_sizes *z, sn_shader_tile tile,
                       const sn_shader_reading readings[2], tiles *t) {
  *t = (tiles){.z = z,
               .tile = tile,
               .type = sn_shader_four_type(s->group),
               .across = tile.width / tile.columns,
               .down = tile.width / tile.rows};
  for (int i = 0; i < 2; i++) {
    t->blocks[i] = (sn_shader_block){.product = s->group,
                                     .reading = readings[i],
                                     .letter = "ab"[i],
                                     .tile = i ? "tile_b" : "tile_a",
                                     .first = i ? "first_b" : "first_a",
                                     .width = tile.width,
                                     .threads = t->across * t->down,
                                     .overruns = z->terms * z->parts > z->k};
    SN_TRY(sn_shader_block_begin(s, &t->blocks[i], i));
  }
  return SN_OK;
}

/* ---- totals -------------------------------------------------------------------------------------- */

static void multiply(sn_shader *s, const tiles *t, int k) {
  const int strips[] = {t->tile.rows / 4, t->tile.columns / 4};
  sn_shader_line(s, "{");
  for (int i = 0; i < strips[0]; i++)
    sn_shader_line(s, "let a%d = tile_a[%d + y];", i,
                   k * sn_shader_block_stride(t->tile.width) + i * t->down);
  for (int i = 0; i < strips[1]; i++)
    sn_shader_line(s, "let b%d = tile_b[%d + x];", i,
                   k * sn_shader_block_stride(t->tile.width) + i * t->across);
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

/* Passes a thread's totals to finish() in a loop, so that the code of finish(), which may be long, is there once. */
static void finish(sn_shader *s, const tiles *t) {
  const int rows = t->tile.rows, columns = t->tile.columns;
  sn_text all = sn_text_in(s->arena);
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns / 4; c++)
      sn_text_add(&all, r + c ? ", acc%d_%d" : "acc%d_%d", r, c);
  sn_shader_line(s, "var totals = array<%s, %d>(%s);", t->type, rows * columns / 4,
                 sn_shader_text(s, &all));
  sn_shader_line(s, "for (var i = 0; i < %d; i++) {", rows * columns);
  sn_shader_line(s, "let r = i / %d; let nth = i %% %d;", columns, columns);
  sn_shader_line(s, "let row = first_a + (y + r / 4 * %d) * 4 + r %% 4;", t->down);
  sn_shader_line(s, "let column = first_b + (x + nth / 4 * %d) * 4 + nth %% 4;", t->across);
  sn_shader_line(s, "if (row < %lld && column < %lld) {", (long long)t->z->m, (long long)t->z->n);
  sn_shader_line(s, "finish(z, row, column, totals[i / 4][i %% 4]);");
  sn_shader_line(s, "}");
  sn_shader_line(s, "}");
}

static void launch(sn_shader *s, const tiles *t) {
  const sn_shader_sizes *z = t->z;
  const int width = t->tile.width;
  s->threads[0] = (uint32_t)(t->across * t->down);
  s->groups[0] = (uint32_t)((z->n + width - 1) / width);
  s->groups[1] = (uint32_t)((z->m + width - 1) / width);
  s->groups[2] = (uint32_t)(z->batches * z->parts);
  for (int i = 0; i < 2; i++)
    sn_text_add(&s->declared, "var<workgroup> tile_%c: array<%s, %d>;\n", "ab"[i], t -> type,
                sn_shader_block_fours(width));
  sn_shader_line(s, "let lane = i32(local);");
  sn_shader_line(s, "let x = lane %% %d; let y = lane / %d;", t->across, t->across);
  sn_shader_line(s, "let z = i32(group.z); let batch = z %% %lld;", (long long)z->batches);
  sn_shader_line(s, "let first_a = i32(group.y) * %d; let first_b = i32(group.x) * %d;", width,
                 width);
}

sn_status sn_shader_product_tiles(sn_shader *s, const sn_shader_sizes *z, sn_shader_tile tile,
                                  const sn_shader_reading readings[2]) {
  const long long block = SN_SHADER_BLOCK_K, last = (z->terms - 1) / block * block;
  tiles t;
  SN_TRY(begin(s, z, tile, readings, &t));
  launch(s, &t);
  for (int i = 0; i < 2; i++) sn_shader_block_places(s, &t.blocks[i]);
  for (int r = 0; r < tile.rows; r++)
    for (int c = 0; c < tile.columns / 4; c++)
      sn_shader_line(s, "var acc%d_%d = %s();", r, c, t.type);
  sn_shader_line(s, "let begin = z / %lld * %lld;", (long long)z->batches, (long long)z->terms);
  for (int i = 0; i < 2; i++) sn_shader_block_bring(s, &t.blocks[i], true, "begin");
  sn_shader_line(s, "for (var k0 = 0; k0 < %lld; k0 += %lld) {", (long long)z->terms, block);
  for (int i = 0; i < 2; i++) sn_shader_block_put(s, &t.blocks[i]);
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "let following = begin + min(k0 + %lld, %lld);", block, last);
  for (int i = 0; i < 2; i++) sn_shader_block_bring(s, &t.blocks[i], false, "following");
  for (int k = 0; k < SN_SHADER_BLOCK_K; k++) multiply(s, &t, k);
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "}");
  finish(s, &t);
  return s->status;
}
