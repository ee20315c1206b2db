/* quant_blocks.h - numbers in quantised blocks, as files of llama.cpp have them: some bytes for 32 or 256 numbers of a
 * row, which share scales. A block is read in parts of 32 numbers, of whatever kind it is:
 *
 *   number j of a part = scale * q[j] + min
 *
 * q are whole numbers of at most 14 bits: of Q6_K, which has a scale of 8 bits for each 16 numbers, they are already
 * multiplied by it. The product with scale is exact in float32 but of Q6_K, so that each number is rounded once.
 *
 * A product takes the numbers of x in parts of 32, too: whole numbers of 8 bits and their scale. Its sums over a part
 * are integers, and exact; the parts are added in float32, in their order. So no way to compute it, and no order within
 * a part, gives other bits. */
#ifndef SN_GRAPH_QUANT_BLOCKS_H
#define SN_GRAPH_QUANT_BLOCKS_H

#include "graph/shape.h"

#define SN_PART 32 /* numbers */

typedef struct sn_block_layout {
  const char *name;
  uint16_t numbers, bytes; /* of a block */
  bool has_min;            /* else min is -0, which changes no number */
} sn_block_layout;

/* NULL of a kind that there is not. */
const sn_block_layout *sn_block_layout_of(int64_t kind);

typedef struct sn_block_part {
  int16_t q[SN_PART];
  float scale, min;
} sn_block_part;

/* Part `part` of a block. */
void sn_block_unpack(sn_block_kind kind, const uint8_t *block, int64_t part, sn_block_part *out);

/* 32 numbers of x as scale * q, |q| <= 127, rounded to the nearest, of two the even; sum: scale times all q. A part
 * whose largest number is below 2^-100 is 0; one with a number that is not finite has the scale NaN. */
void sn_quantize_part(const float *x, int16_t q[SN_PART], float *scale, float *sum);

/* A product adds up this of each part of a row and of x; dot: the sum of q times q. */
static inline float sn_part_product(bool has_min, int32_t dot, float scale, float min,
                                    float x_scale, float x_sum) {
  const float product = (float)dot * (scale * x_scale);
  return has_min ? product + min * x_sum : product;
}

/* x (b..., m..., k) times rows (b..., n, bytes): the sizes of all b, of all m, n, k and bytes of a row. */
typedef struct sn_blocks_shape {
  int64_t batch, rows, n, k, bytes;
} sn_blocks_shape;

sn_blocks_shape sn_blocks_shape_of(const sn_type *x, const sn_type *bytes);

#endif
