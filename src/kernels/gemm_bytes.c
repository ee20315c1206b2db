/* gemm_bytes.c - panels of bytes: an element has two terms as int16, or four as bytes.
 *
 *   terms adjacent        a row of the matrix at a time: vectors of its terms become words of one place in each element
 *   positions adjacent    a panel's element at a time: rows of terms are interleaved
 *   else                  each term by itself (pack.h), and then some of them are joined */
#include "kernels/gemm_bytes.h"

#include <string.h>

#include "kernels/pack.h"
#include "kernels/vec128.h"

enum { WORDS = 4, EIGHT = 8 };

typedef struct bytes_side {
  const uint8_t *from; /* term 0 of position 0 */
  ptrdiff_t ws, ks;
  int64_t terms; /* of a position */
  int together, panel;
  bool is_signed;
} bytes_side;

/* Eight bytes as int16. */
static inline vec_shorts widened(const uint8_t *from, bool is_signed) {
  vec_bytes bytes = {0};
  memcpy(&bytes, from, EIGHT);
  const vec_shorts high = (vec_shorts)__builtin_shufflevector(
      (vec_bytes){0}, bytes, 0, 16, 0, 17, 0, 18, 0, 19, 0, 20, 0, 21, 0, 22, 0, 23);
  return is_signed ? high >> 8 : (vec_shorts)((vec_ushorts)high >> 8);
}

/* The next `n` terms, at most as many as are together, as one element. */
static inline uint32_t element(const bytes_side *s, const uint8_t *from, int64_t n) {
  const int bits = 32 / s->together;
  uint32_t word = 0;
  for (int t = 0; t < n; t++) {
    const uint32_t term = s->is_signed ? (uint32_t)(int8_t)from[t * s->ks] : from[t * s->ks];
    word |= (bits == 8 ? term & 0xff : term & 0xffff) << t * bits;
  }
  return word;
}

/* Terms of one position from `from` on, as far as there are any, to k elements `panel` words apart. */
static void pack_row(const bytes_side *s, const uint8_t *from, int64_t terms, int64_t k,
                     uint32_t *to) {
  const int at_once = WORDS * s->together;
  for (; k >= WORDS && terms >= at_once; k -= WORDS, terms -= at_once, from += at_once) {
    uint32_t words[WORDS];
    if (s->together == 2) {
      const vec_shorts shorts = widened(from, s->is_signed);
      memcpy(words, &shorts, sizeof words);
    } else
      memcpy(words, from, sizeof words);
    for (int i = 0; i < WORDS; i++, to += s->panel) *to = words[i];
  }
  for (; k > 0; k--, terms -= s->together, from += s->together, to += s->panel)
    *to = terms > 0 ? element(s, from, terms < s->together ? terms : s->together) : 0;
}

/* Eight positions of an element, from the rows of its terms. */
static inline void interleave(const bytes_side *s, const uint8_t *const rows[WORDS], uint32_t *to) {
  vec_shorts a, b; /* of each position the lower and the upper half of its word */
  if (s->together == 2) {
    a = widened(rows[0], s->is_signed);
    b = widened(rows[1], s->is_signed);
  } else {
    a = (widened(rows[0], false)) | widened(rows[1], false) << 8;
    b = (widened(rows[2], false)) | widened(rows[3], false) << 8;
  }
  const vec_shorts first = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  const vec_shorts second = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  memcpy(to, &first, sizeof first);
  memcpy(to + WORDS, &second, sizeof second);
}

/* k elements of a whole panel whose first position has its terms from `from` on. */
static void pack_columns(const bytes_side *s, const uint8_t *from, int64_t terms, int64_t k,
                         uint32_t *to) {
  static const uint8_t none[EIGHT];
  for (; k > 0; k--, terms -= s->together, from += s->together * s->ks)
    for (int j = 0; j < s->panel; j += EIGHT, to += EIGHT) {
      const uint8_t *rows[WORDS];
      for (int t = 0; t < s->together; t++) rows[t] = t < terms ? from + t * s->ks + j : none;
      interleave(s, rows, to);
    }
}

/* Joins `together` rows of terms to one row of a panel's elements. The last vectors overlap. */
static void put_together(uint32_t *to, const uint32_t *terms, int panel, int together) {
  const int bits = 32 / together;
  for (int next = 0; next < panel; next += WORDS) {
    const int w = next + WORDS <= panel ? next : panel - WORDS;
    vec_words elements = {0};
    for (int t = 0; t < together; t++) {
      vec_words row;
      memcpy(&row, terms + t * panel + w, sizeof row);
      elements |= (row << (32 - bits)) >> (32 - bits) << t * bits;
    }
    memcpy(to + w, &elements, sizeof elements);
  }
}

/* A panel, of any nests: some terms at a time are packed one per element and then joined. */
static void pack_nests(const sn_gemm *g, const sn_gemm_side *s, uint32_t *to, const void *base,
                       int64_t w, int64_t width, int64_t p, int64_t k) {
  enum { MOST = 2048 };
  uint32_t terms[MOST];
  const int64_t panel = s->panel, together = g->ukr->together, some = MOST / (panel * together);
  for (int64_t q = 0; q < k; q += some) {
    const int64_t n = sn_gemm_least(some, k - q), first = (p + q) * together;
    const int64_t count = sn_gemm_least(n * together, g->of_bytes - first);
    sn_pack_nests(s->walk.small, terms, base, &s->walk.across, w, width, &s->walk.along, first,
                  count, &s->walk.bounds, s->panel);
    memset(terms + count * panel, 0, (size_t)((n * together - count) * panel) * sizeof *terms);
    s->walk.widen(terms, terms, terms, terms, count * panel, false);
    for (int64_t e = 0; e < n; e++, to += panel)
      put_together(to, terms + e * together * panel, s->panel, (int)together);
  }
}

void sn_gemm_pack_bytes(const sn_gemm *g, const sn_gemm_side *s, uint32_t *panels, const void *base,
                        int64_t w, int64_t width, int64_t p, int64_t k) {
  const int64_t first = p * g->ukr->together, terms = g->of_bytes - first;
  const bytes_side side = {.from = base,
                           .ws = s->ws,
                           .ks = s->ks,
                           .together = g->ukr->together,
                           .panel = s->panel,
                           .is_signed = s->walk.small == SN_I8};
  for (int64_t i = 0; i < width; i += s->panel, panels += s->panel * k) {
    const int64_t n = sn_gemm_least(s->panel, width - i);
    const uint8_t *from = side.from + (w + i) * s->ws + first * s->ks;
    if (s->even && s->ks == 1) {
      for (int64_t r = 0; r < s->panel; r++)
        pack_row(&side, from + (r < n ? r : 0) * s->ws, r < n ? terms : 0, k, panels + r);
    } else if (s->even && s->ws == 1 && n == s->panel && n % EIGHT == 0) {
      pack_columns(&side, from, terms, k, panels);
    } else
      pack_nests(g, s, panels, base, w + i, n, p, k);
  }
}
