#include "wgsl/shader_block.h"

const char *sn_shader_four_type(const sn_group *product) {
  return product->contraction.total_dtype == SN_F32 ? "vec4<f32>" : "vec4<i32>";
}

/* Defines bring_a(batch, place, across, k): four elements, which are 0 outside of the matrix. */
static void add_function(sn_shader *s, const sn_shader_block *b) {
  const char x = b->letter;
  const char *four = sn_shader_four_type(b->product), *place = sn_shader_place_type(b->factor);
  const char *element = sn_scalar_text_type(b->product->contraction.total_dtype);
  const long long size = (long long)b->size, k = (long long)b->k;
  const bool ragged = b->overruns || size % b->width || k % SN_SHADER_BLOCK_K;
  sn_text *out = &s->scalars.functions;
  sn_text_add(out, "fn bring_%c(batch: i32, place: %s, across: i32, k: i32) -> %s {\n", x, place,
              four);
  if (b->reading) {
    if (ragged)
      sn_text_add(
          out, "  return select(%s(), four_%c(place + step_%c(k)), (across < %lld) & (k < %lld));",
          four, x, x, size, k);
    else
      sn_text_add(out, "  return four_%c(place + step_%c(k));", x, x);
    sn_text_add(out, "\n}\n\n");
  } else if (b->along) { /* all four are in one row, whose place is given */
    sn_text_add(out, "  let is = across < %lld;\n  return %s(", size, four);
    for (int i = 0; i < 4; i++)
      sn_text_add(out, i ? ", one_%c(place, is, k + %d)" : "one_%c(place, is, k + %d)", x, i);
    sn_text_add(out,
                ");\n}\n\nfn one_%c(place: %s, is: bool, k: i32) -> %s {\n"
                "  return select(%s(0), at_%c(place + step_%c(k)), is & (k < %lld));\n}\n\n",
                x, place, element, element, x, x, k);
  } else {
    sn_text_add(out, "  return %s(", four);
    for (int i = 0; i < 4; i++)
      sn_text_add(out, i ? ", load_%c(batch, across + %d, k)" : "load_%c(batch, across + %d, k)", x,
                  i);
    sn_text_add(out, ");\n}\n\n");
  }
}

sn_status sn_shader_block_begin(sn_shader *s, sn_shader_block *b, int side) {
  const sn_group *product = b->product;
  b->factor = &product->contraction.factors[side];
  b->k = product->contraction.k;
  b->size = product->space[product->space_rank - 2 + side];
  b->count = (b->width * SN_SHADER_BLOCK_K / 4 + b->threads - 1) / b->threads;
  b->along = b->reading ? b->reading == SN_READS_FOURS_ALONG
                        : sn_nest_stride(&b->factor->nests->of[SN_AXIS_ALONG]) == 1;
  if (!b->reading && !b->along) sn_shader_factor_loader(s, product, b->letter, b->size);
  add_function(s, b);
  return s->scalars.functions.status;
}

/* Declares per four of the thread: r, its row or column in the tile; k, its term in the block; p, its place in the factor. */
void sn_shader_block_places(sn_shader *s, const sn_shader_block *b) {
  const char x = b->letter;
  for (int i = 0; i < b->count; i++) {
    const int first = i * b->threads;
    if (b->along)
      sn_shader_line(s,
                     "let r%c%d = (lane + %d) / 2 %% %d; "
                     "let k%c%d = (lane + %d) %% 2 * 4 + (lane + %d) / %d * 8;",
                     x, i, first, b->width, x, i, first, first, 2 * b->width);
    else
      sn_shader_line(s, "let k%c%d = (lane + %d) / %d; let r%c%d = (lane + %d) %% %d * 4;", x, i,
                     first, b->width / 4, x, i, first, b->width / 4);
    sn_shader_line(s, "let p%c%d = place_%c(batch, %s + r%c%d);", x, i, x, b->first, x, i);
  }
}

void sn_shader_block_bring(sn_shader *s, const sn_shader_block *b, bool is_first, const char *k) {
  const char x = b->letter;
  for (int i = 0; i < b->count; i++)
    sn_shader_line(s, "%snext_%c%d = bring_%c(batch, p%c%d, %s + r%c%d, %s + k%c%d);",
                   is_first ? "var " : "", x, i, x, x, i, b->first, x, i, k, x, i);
}

void sn_shader_block_put(sn_shader *s, const sn_shader_block *b) {
  const char x = b->letter;
  const int fours = b->width * SN_SHADER_BLOCK_K / 4, stride = sn_shader_block_stride(b->width);
  for (int i = 0; i < b->count; i++) {
    const bool ends = (i + 1) * b->threads > fours;
    if (ends) sn_shader_line(s, "if (lane + %d < %d) {", i * b->threads, fours);
    for (int j = 0; b->along && j < 4; j++)
      sn_shader_line(s, "%s[(k%c%d + %d) * %d + r%c%d / 4][r%c%d %% 4] = next_%c%d.%c;", b->tile, x,
                     i, j, stride, x, i, x, i, x, i, "xyzw"[j]);
    if (!b->along)
      sn_shader_line(s, "%s[k%c%d * %d + r%c%d / 4] = next_%c%d;", b->tile, x, i, stride, x, i, x,
                     i);
    if (ends) sn_shader_line(s, "}");
  }
}
