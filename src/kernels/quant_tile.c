/* quant_tile.c - tiles for code made at run time (quant_rows.h): words of the rows in turns. */
#include <string.h>

#include "kernels/quant_rows.h"
#include "kernels/vec128.h"

enum { VECTORS = 4, MOST_WORDS = 16 }; /* of a part of a row, in shorts */

/* The words of a part of a row: two shorts each, or four bytes in the order of x, counted from a zero. */
static void words_of(const vec_shorts q[VECTORS], bool shorts, int16_t zero, uint32_t *words) {
  if (shorts) {
    memcpy(words, q, VECTORS * sizeof *q);
    return;
  }
  for (int i = 0; i < VECTORS; i += 2, words += 4) {
    const vec_shorts bytes = ((q[i] + zero) & 255) | (q[i + 1] + zero) << 8;
    memcpy(words, &bytes, sizeof bytes);
  }
}

/* Words are written over the shorts, part by part: they take as much memory, or less. */
void sn_quant_arrange(sn_quant_form form, const sn_quant_rows *w) {
  const bool shorts = form == SN_QUANT_SHORTS;
  const int bits = sn_quant_zero_bits(w->kind, SN_QUANT_BYTES);
  const int16_t zero = (int16_t)(bits ? 1 << bits : 0);
  const int n_words = shorts ? MOST_WORDS : MOST_WORDS / 2;
  uint32_t *to = w->q;
  const int16_t *from = w->q;
  for (int64_t p = 0; p < w->parts; p++) {
    uint32_t words[SN_QUANT_ROWS][MOST_WORDS];
    for (int r = 0; r < SN_QUANT_ROWS; r++, from += SN_PART) {
      vec_shorts q[VECTORS];
      memcpy(q, from, sizeof q);
      words_of(q, shorts, zero, words[r]);
    }
    for (int i = 0; i < n_words; i++)
      for (int r = 0; r < SN_QUANT_ROWS; r++) *to++ = words[r][i];
  }
}
