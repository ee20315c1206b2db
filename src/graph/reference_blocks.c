/* reference_blocks.c - the definition of the ops on quantised blocks: they unpack numbers and multiply parts by the
 * functions of quant_blocks.h. */
#include "graph/quant_blocks.h"
#include "graph/reference.h"

/* Unpacks part number `part` of a row. */
static void part_of(sn_block_kind kind, const uint8_t *row, int64_t part, sn_block_part *out) {
  const sn_block_layout *layout = sn_block_layout_of(kind);
  const int64_t parts = layout->numbers / SN_PART;
  sn_block_unpack(kind, row + part / parts * layout->bytes, part % parts, out);
}

static float product(sn_block_kind kind, const float *x, const uint8_t *row, int64_t k) {
  float totals[SN_PART_SUMS] = {0};
  for (int64_t part = 0; part < k / SN_PART; part++) {
    int16_t q[SN_PART];
    int32_t dot = 0, x_total;
    sn_block_part w;
    const float scale = sn_quantize_part(x + part * SN_PART, q, &x_total);
    part_of(kind, row, part, &w);
    for (int j = 0; j < SN_PART; j++) dot += w.q[j] * q[j];
    totals[part % SN_PART_SUMS] +=
        sn_part_product(sn_block_layout_of(kind)->has_min, dot, w.scale, w.min, scale, x_total);
  }
  return (totals[0] + totals[1]) + (totals[2] + totals[3]);
}

static void ref_matmul(sn_block_kind kind, const sn_blocks_shape *s, const float *x,
                       const uint8_t *bytes, float *out) {
  for (int64_t i = 0; i < s->batch * s->rows; i++)
    for (int64_t j = 0; j < s->n; j++)
      out[i * s->n + j] =
          product(kind, x + i * s->k, bytes + (i / s->rows * s->n + j) * s->bytes, s->k);
}

/* Sums in double, as the reference of all products does. */
static void ref_matmul_dequantized(sn_block_kind kind, const sn_blocks_shape *s, const float *x,
                                   const uint8_t *bytes, float *out) {
  for (int64_t i = 0; i < s->batch * s->rows; i++)
    for (int64_t part = 0; part < s->k / SN_PART; part++) {
      double sum[SN_PART] = {0};
      for (int64_t r = 0; r < s->n; r++) {
        sn_block_part w;
        part_of(kind, bytes + (i / s->rows * s->n + r) * s->bytes, part, &w);
        for (int j = 0; j < SN_PART; j++)
          sum[j] += (double)x[i * s->n + r] * (double)(w.scale * w.q[j] + w.min);
      }
      for (int j = 0; j < SN_PART; j++) out[i * s->k + part * SN_PART + j] = (float)sum[j];
    }
}

static void ref_dequantize(sn_block_kind kind, const uint8_t *bytes, int64_t parts, float *out) {
  for (int64_t part = 0; part < parts; part++) {
    sn_block_part w;
    part_of(kind, bytes, part, &w); /* rows are whole blocks and contiguous: one long row */
    for (int j = 0; j < SN_PART; j++) out[part * SN_PART + j] = w.scale * w.q[j] + w.min;
  }
}

void sn_ref_blocks(const sn_graph *g, sn_id id, const void *const *in, void *out) {
  const sn_node *node = sn_graph_node(g, id);
  const sn_id *x = sn_graph_inputs(g, id);
  const sn_block_kind kind = (sn_block_kind)*sn_graph_attrs(g, id);
  if (node->op == SN_OP_dequantize_blocks) {
    ref_dequantize(kind, in[0], sn_type_size(&node->type) / SN_PART, out);
    return;
  }
  const sn_blocks_shape s = sn_blocks_shape_of(kind, &g->nodes[x[0]].type, &g->nodes[x[1]].type);
  if (node->op == SN_OP_matmul_blocks)
    ref_matmul(kind, &s, in[0], in[1], out);
  else
    ref_matmul_dequantized(kind, &s, in[0], in[1], out);
}
