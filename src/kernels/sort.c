/* sort.c - stable sort of one line (sort), or the places from which its elements come (argsort).
 *
 * Every element becomes an entry (key, place): a 32-bit key that orders as the elements do, above
 * the 32-bit place in the line. A stable sort of the entries by key is the result:
 *
 *   float32   key = bits with the sign inverted (all bits of negative ones), -0 as +0, NaN last
 *   float64   64-bit key: sorted by its lower half first, then by its upper half
 *
 * Descending order inverts the keys, except for NaN. */
#include <string.h>

#include "kernels/call.h"

typedef uint64_t entry;

#define KEY(e) ((uint32_t)((e) >> 32))
#define PLACE(e) ((uint32_t)(e))

#define SHORT_LINE 24 /* sorted by insertion */
#define LONG_LINE 512 /* from here on by digits */
#define DIGIT_BITS 8
#define DIGITS (1 << DIGIT_BITS)

/* ---- keys ------------------------------------------------------------------------------------ */

static uint32_t key_f32(uint32_t bits, bool descending) {
  if ((bits & 0x7fffffff) > 0x7f800000) return UINT32_MAX;
  if (bits == 0x80000000) bits = 0;
  const uint32_t key = bits >> 31 ? ~bits : bits | 0x80000000;
  return descending ? ~key : key;
}

static uint64_t key_f64(uint64_t bits, bool descending) {
  const uint64_t sign = UINT64_C(1) << 63;
  if ((bits & ~sign) > UINT64_C(0x7ff) << 52) return UINT64_MAX;
  if (bits == sign) bits = 0;
  const uint64_t key = bits & sign ? ~bits : bits | sign;
  return descending ? ~key : key;
}

static uint32_t key_i32(uint32_t bits, bool descending) {
  const uint32_t key = bits ^ 0x80000000;
  return descending ? ~key : key;
}

static void make_entries(const sn_call_site *s, entry *to) {
  const sn_lines *x = &s->in[0];
  const bool down = s->call->options[0];
  for (int64_t i = 0; i < x->n; i++) {
    const int64_t at = i * x->along;
    uint32_t key = 0;
    switch (s->dtype) {
    case SN_F32: key = key_f32(((const uint32_t *)x->data)[at], down); break;
    case SN_F64: key = (uint32_t)key_f64(((const uint64_t *)x->data)[at], down); break;
    case SN_I32: key = key_i32(((const uint32_t *)x->data)[at], down); break;
    default: key = (uint32_t)((x->data[at] != 0) != down); break;
    }
    to[i] = (entry)key << 32 | (uint32_t)i;
  }
}

/* Replaces the keys of float64 by their upper halves. */
static void upper_keys(const sn_call_site *s, entry *entries) {
  const sn_lines *x = &s->in[0];
  for (int64_t i = 0; i < x->n; i++) {
    const uint32_t place = PLACE(entries[i]);
    const uint64_t bits = ((const uint64_t *)x->data)[(int64_t)place * x->along];
    entries[i] = key_f64(bits, s->call->options[0]) >> 32 << 32 | place;
  }
}

/* ---- stable sorts by key --------------------------------------------------------------------- */

static void insert(entry *e, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    const entry moved = e[i];
    int64_t at = i;
    for (; at > 0 && KEY(e[at - 1]) > KEY(moved); at--) e[at] = e[at - 1];
    e[at] = moved;
  }
}

/* Sorts short runs by insertion, then merges pairs of runs from one buffer into the other. */
static void merge(entry *e, entry *spare, int64_t n) {
  entry *from = e, *to = spare;
  for (int64_t i = 0; i < n; i += SHORT_LINE)
    insert(e + i, n - i < SHORT_LINE ? n - i : SHORT_LINE);
  for (int64_t run = SHORT_LINE; run < n; run *= 2) {
    for (int64_t first = 0; first < n; first += 2 * run) {
      const int64_t middle = first + run < n ? first + run : n;
      const int64_t end = middle + run < n ? middle + run : n;
      int64_t a = first, b = middle;
      for (int64_t at = first; at < end; at++) {
        const bool left = a < middle && (b >= end || KEY(from[a]) <= KEY(from[b]));
        to[at] = left ? from[a++] : from[b++];
      }
    }
    entry *swap = from;
    from = to;
    to = swap;
  }
  if (from != e) memcpy(e, from, (size_t)n * sizeof *e);
}

/* A radix sort, from the lowest digit on; digits that all keys share are skipped. */
static void by_digits(entry *e, entry *spare, int64_t n) {
  enum { PASSES = 32 / DIGIT_BITS };
  uint32_t counts[PASSES][DIGITS] = {{0}};
  for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 4
    for (int p = 0; p < PASSES; p++) counts[p][KEY(e[i]) >> (p * DIGIT_BITS) & (DIGITS - 1)]++;
  entry *from = e, *to = spare;
  for (int p = 0; p < PASSES; p++) {
    const int shift = 32 + p * DIGIT_BITS;
    if (counts[p][from[0] >> shift & (DIGITS - 1)] == n) continue;
    uint32_t begin = 0;
    for (int d = 0; d < DIGITS; d++) {
      const uint32_t count = counts[p][d];
      counts[p][d] = begin;
      begin += count;
    }
    for (int64_t i = 0; i < n; i++) to[counts[p][from[i] >> shift & (DIGITS - 1)]++] = from[i];
    entry *swap = from;
    from = to;
    to = swap;
  }
  if (from != e) memcpy(e, from, (size_t)n * sizeof *e);
}

static void sort_entries(entry *e, entry *spare, int64_t n) {
  if (n <= SHORT_LINE)
    insert(e, n);
  else if (n < LONG_LINE)
    merge(e, spare, n);
  else
    by_digits(e, spare, n);
}

/* ---- one line -------------------------------------------------------------------------------- */

#define WRITE_VALUES(T)           \
  for (int64_t i = 0; i < n; i++) \
  ((T *)y->data)[i * y->along] = ((const T *)x->data)[(int64_t)PLACE(e[i]) * x->along]

static void write_line(const sn_call_site *s, const entry *e) {
  const sn_lines *x = &s->in[0], *y = &s->out;
  const int64_t n = y->n;
  if (s->call->op == SN_OP_argsort) {
    for (int64_t i = 0; i < n; i++) ((int32_t *)y->data)[i * y->along] = (int32_t)PLACE(e[i]);
    return;
  }
  switch (sn_dtype_bytes(s->dtype)) {
  case 1: WRITE_VALUES(uint8_t); break;
  case 4: WRITE_VALUES(uint32_t); break;
  default: WRITE_VALUES(uint64_t); break;
  }
}

void sn_sort_line(const sn_call_site *s) {
  const int64_t n = s->in[0].n;
  entry *e = s->scratch, *spare = e + n;
  make_entries(s, e);
  sort_entries(e, spare, n);
  if (s->dtype == SN_F64) {
    upper_keys(s, e);
    sort_entries(e, spare, n);
  }
  write_line(s, e);
}
