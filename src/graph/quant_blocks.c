#include "graph/quant_blocks.h"

#include <math.h>
#include <string.h>

#include "graph/scalar.h"

static float half_at(const uint8_t *bytes) {
  return sn_half_value(SN_F16, (uint16_t)(bytes[0] | bytes[1] << 8));
}

/* Q4_0, Q4_1, Q5_0, Q5_1: a scale, a min if the kind has one, a 32-bit word of fifth bits if it has those (bit j is
 * number j's), and 16 bytes, of which byte j has number j in its low half and number j + 16 in its high half. */
static void unpack_halves(const uint8_t *block, bool has_min, bool has_fifth, sn_block_part *out) {
  const uint8_t *fifth = block + (has_min ? 4 : 2), *low = fifth + (has_fifth ? 4 : 0);
  const int zero = has_min ? 0 : has_fifth ? 16 : 8;
  out->scale = half_at(block);
  out->min = has_min ? half_at(block + 2) : -0.0f;
  for (int j = 0; j < SN_PART; j++) {
    int q = j < 16 ? low[j] & 15 : low[j - 16] >> 4;
    if (has_fifth) q |= (fifth[j >> 3] >> (j & 7) & 1) << 4;
    out->q[j] = (int16_t)(q - zero);
  }
}

static void unpack_q8(const uint8_t *block, sn_block_part *out) {
  out->scale = half_at(block);
  out->min = -0.0f;
  for (int j = 0; j < SN_PART; j++) out->q[j] = (int8_t)block[2 + j];
}

/* Q4_K, Q5_K: 8 parts, each with a scale and a min of 6 bits, all of them in 12 bytes. Parts 0 .. 3 have theirs in the low
 * six bits of bytes 0 .. 7. Parts 4 .. 7 have the low four bits in bytes 8 .. 11 and the upper two in the top bits of
 * bytes 0 .. 7. Two parts share 32 bytes: the first has the low halves, the second the high ones. Byte j of the fifth
 * bits has bit i for number j of part i. */
static void unpack_k(const uint8_t *block, bool has_fifth, int part, sn_block_part *out) {
  const uint8_t *six = block + 4, *low = block + (has_fifth ? 48 : 16) + (part >> 1) * SN_PART;
  const int i = part & 3, shift = (part & 1) * 4;
  const int scale = part < 4 ? six[i] & 63 : (six[i + 8] & 15) | six[i] >> 6 << 4;
  const int min = part < 4 ? six[i + 4] & 63 : six[i + 8] >> 4 | six[i + 4] >> 6 << 4;
  out->scale = half_at(block) * (float)scale;
  out->min = -(half_at(block + 2) * (float)min);
  for (int j = 0; j < SN_PART; j++) {
    int q = low[j] >> shift & 15;
    if (has_fifth) q |= (block[16 + j] >> part & 1) << 4;
    out->q[j] = (int16_t)q;
  }
}

/* Q6_K: two times 64 bytes with the low four bits of 4 parts, two times 32 bytes with their upper two bits, and an 8-bit
 * scale for each 16 numbers. */
static void unpack_q6(const uint8_t *block, int part, sn_block_part *out) {
  const uint8_t *low = block + (part >> 2) * 64 + (part & 1) * SN_PART;
  const uint8_t *high = block + 128 + (part >> 2) * SN_PART;
  const int shift = (part >> 1 & 1) * 4, upper = (part & 3) * 2;
  out->scale = half_at(block + 208);
  out->min = -0.0f;
  for (int j = 0; j < SN_PART; j++) {
    const int q = (low[j] >> shift & 15) | (high[j] >> upper & 3) << 4;
    out->q[j] = (int16_t)((q - 32) * (int8_t)block[192 + part * 2 + (j >> 4)]);
  }
}

void sn_block_unpack(sn_block_kind kind, const uint8_t *block, int64_t part, sn_block_part *out) {
  switch (kind) {
  case SN_BLOCK_Q4_0: unpack_halves(block, false, false, out); break;
  case SN_BLOCK_Q4_1: unpack_halves(block, true, false, out); break;
  case SN_BLOCK_Q5_0: unpack_halves(block, false, true, out); break;
  case SN_BLOCK_Q5_1: unpack_halves(block, true, true, out); break;
  case SN_BLOCK_Q8_0: unpack_q8(block, out); break;
  case SN_BLOCK_Q4_K: unpack_k(block, false, (int)part, out); break;
  case SN_BLOCK_Q5_K: unpack_k(block, true, (int)part, out); break;
  case SN_BLOCK_Q6_K: unpack_q6(block, (int)part, out); break;
  }
}

float sn_part_scale(uint32_t most, float *steps) {
  float largest;
  memcpy(&largest, &most, sizeof largest);
  const bool finite = most < 0x7f800000, some = finite && largest >= 0x1p-100f;
  *steps = some ? 127 / largest : 0;
  return !finite ? NAN : some ? largest / 127 : 0;
}

float sn_quantize_part(const float *x, int16_t q[SN_PART], int32_t *total) {
  uint32_t most = 0;
  float steps;
  for (int j = 0; j < SN_PART; j++) {
    uint32_t bits;
    memcpy(&bits, &x[j], sizeof bits);
    bits &= 0x7fffffff;
    if (bits > most) most = bits;
  }
  const float scale = sn_part_scale(most, &steps);
  *total = 0;
  for (int j = 0; j < SN_PART; j++) {
    q[j] = steps > 0 ? (int16_t)rintf(x[j] * steps) : 0;
    *total += q[j];
  }
  return scale;
}

sn_blocks_shape sn_blocks_shape_of(sn_block_kind kind, const sn_type *x, const sn_type *bytes) {
  const sn_block_layout *layout = sn_block_layout_of(kind);
  const int64_t row = bytes->dims[bytes->rank - 1];
  sn_blocks_shape s = {1, 1, bytes->dims[bytes->rank - 2], row / layout->bytes * layout->numbers,
                       row};
  for (int i = 0; i < x->rank - 1; i++) *(i < bytes->rank - 2 ? &s.batch : &s.rows) *= x->dims[i];
  return s;
}
