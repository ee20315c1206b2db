/* quant_blocks.h - numbers in quantised blocks, as files of llama.cpp have them: some bytes for 32 or 256 numbers of a
 * row, which share scales. A block is read in parts of 32 numbers, of whatever kind it is:
 *
 *   number j of a part = scale * q[j] + min
 *
 * q are whole numbers of at most 14 bits: of Q6_K, which has a scale of 8 bits for each 16 numbers, they are already
 * multiplied by it. The product with scale is exact in float32 but of Q6_K, so that each number is rounded once.
 *
 * A product takes the numbers of x in parts of 32, too: whole numbers of 8 bits and their scale. Its sums over a part
 * are integers, and exact. Part p is added in float32 to sum p % 4, from +0 on, in the order of the parts, and the product
 * is (sum 0 + sum 1) + (sum 2 + sum 3). So no way to compute it, and no order within a part, gives other bits. */
#ifndef SN_GRAPH_QUANT_BLOCKS_H
#define SN_GRAPH_QUANT_BLOCKS_H

#include "graph/shape.h"

#define SN_PART 32     /* numbers */
#define SN_PART_SUMS 4 /* of a product */

typedef struct sn_block_layout {
  const char *name;
  uint16_t numbers, bytes; /* of a block */
  bool has_min;            /* else min is -0, which changes no number */
  /* where in a block the low bits of its numbers begin, and those above them if they lie apart; what numbers of small blocks
   * are counted from */
  uint8_t low, high, zero;
} sn_block_layout;

/* Here, so that what is made for one kind knows them when it is compiled. */
static const sn_block_layout sn_block_layouts[] = {
    [SN_BLOCK_Q4_0] = {"Q4_0", 32, 18, false, 2, 0, 8},
    [SN_BLOCK_Q4_1] = {"Q4_1", 32, 20, true, 4, 0, 0},
    [SN_BLOCK_Q5_0] = {"Q5_0", 32, 22, false, 6, 2, 16},
    [SN_BLOCK_Q5_1] = {"Q5_1", 32, 24, true, 8, 4, 0},
    [SN_BLOCK_Q8_0] = {"Q8_0", 32, 34, false, 2, 0, 0},
    [SN_BLOCK_Q4_K] = {"Q4_K", 256, 144, true, 16, 0, 0},
    [SN_BLOCK_Q5_K] = {"Q5_K", 256, 176, true, 48, 16, 0},
    [SN_BLOCK_Q6_K] = {"Q6_K", 256, 210, false, 0, 128, 0},
};

#define SN_BLOCK_KINDS (sizeof sn_block_layouts / sizeof *sn_block_layouts)

/* NULL of a kind that there is not. */
static inline const sn_block_layout *sn_block_layout_of(int64_t kind) {
  return kind >= 0 && kind < (int64_t)SN_BLOCK_KINDS ? &sn_block_layouts[kind] : NULL;
}

typedef struct sn_block_part {
  int16_t q[SN_PART];
  float scale, min;
} sn_block_part;

/* Part `part` of a block. */
void sn_block_unpack(sn_block_kind kind, const uint8_t *block, int64_t part, sn_block_part *out);

/* Of 32 numbers of x, by the bits of the largest |x|: their scale, and by what they are multiplied to be whole numbers of
 * 8 bits, rounded to the nearest, of two the even. Where the largest is below 2^-100 both are 0; where one is not finite,
 * whose bits are larger, the scale is NaN and the whole numbers are 0. */
float sn_part_scale(uint32_t most, float *steps);

/* The whole numbers, |q| <= 127, and their total; returns the scale. */
float sn_quantize_part(const float *x, int16_t q[SN_PART], int32_t *total);

/* A product adds up this of each part of a row and of x; dot: the sum of q times q; total: of those of x. */
static inline float sn_part_product(bool has_min, int32_t dot, float scale, float min,
                                    float x_scale, int32_t x_total) {
  const float product = (float)dot * (scale * x_scale);
  return has_min ? product + min * (x_scale * (float)x_total) : product;
}

/* x (b..., m..., k) times rows (b..., n, bytes), or (b..., m..., n) times their numbers: the sizes of all b, of all m, n, k
 * and bytes of a row. */
typedef struct sn_blocks_shape {
  int64_t batch, rows, n, k, bytes;
} sn_blocks_shape;

sn_blocks_shape sn_blocks_shape_of(sn_block_kind kind, const sn_type *x, const sn_type *bytes);

#endif
