#include "program/stream.h"

#include "base/size.h"

void sn_stream_expect(sn_stream *s, bool holds, const char *why) {
  if (!holds && sn_stream_is_well(s)) s->wrong = why;
}

/* Moves on by so many bytes and returns where they are; NULL after a fault, or if writing only counts. */
static uint8_t *take(sn_stream *s, size_t bytes) {
  if (s->reads) sn_stream_expect(s, bytes <= s->size - s->at, "they end too early");
  if (!sn_stream_is_well(s)) return NULL;
  uint8_t *here = s->bytes ? s->bytes + s->at : NULL;
  s->at += bytes;
  return here;
}

static void number(sn_stream *s, uint64_t *x, size_t bytes) {
  uint8_t *here = take(s, bytes);
  if (s->reads) *x = 0;
  for (size_t i = 0; here && i < bytes; i++)
    if (s->reads)
      *x |= (uint64_t)here[i] << 8 * i;
    else
      here[i] = (uint8_t)(*x >> 8 * i);
}

void sn_stream_u32(sn_stream *s, uint32_t *x) {
  uint64_t n = *x;
  number(s, &n, sizeof *x);
  *x = (uint32_t)n;
}

void sn_stream_i64(sn_stream *s, int64_t *x) {
  uint64_t n = (uint64_t)*x;
  number(s, &n, sizeof *x);
  *x = (int64_t)n;
}

void sn_stream_bool(sn_stream *s, bool *x) {
  uint64_t n = *x;
  number(s, &n, 1);
  sn_stream_expect(s, n <= 1, "a switch is neither on nor off");
  *x = n == 1;
}

/* A size has 8 bytes on every machine. */
void sn_stream_size(sn_stream *s, size_t *x) {
  uint64_t n = *x;
  number(s, &n, sizeof n);
  sn_stream_expect(s, n <= SIZE_MAX, "a size is too large for this machine");
  *x = (size_t)n;
}

void sn_stream_bytes(sn_stream *s, void *block, size_t bytes) {
  uint8_t *here = take(s, bytes);
  if (!here || !bytes) return;
  if (s->reads)
    memcpy(block, here, bytes);
  else
    memcpy(here, block, bytes);
}

void sn_stream_block(sn_stream *s, const void **block, size_t bytes) {
  uint8_t *here = take(s, bytes);
  if (s->reads)
    *block = here;
  else if (here && bytes)
    memcpy(here, *block, bytes);
}

void sn_stream_array(sn_stream *s, size_t *count, size_t least, void **items, size_t item_bytes) {
  sn_stream_size(s, count);
  if (!s->reads) return;
  sn_stream_expect(s, *count <= (s->size - s->at) / least, "there is more of something than bytes");
  if (!sn_stream_is_well(s)) *count = 0;
  if (!s->status) s->status = sn_arena_alloc(s->arena, *count, item_bytes, items);
}

void sn_stream_text(sn_stream *s, const char **text) {
  size_t length = !s->reads && *text ? strlen(*text) : 0;
  char *copy = NULL;
  sn_stream_size(s, &length);
  if (!s->reads) {
    const void *block = *text;
    sn_stream_block(s, &block, length);
    return;
  }
  *text = NULL;
  sn_stream_expect(s, length <= s->size - s->at, "a text is longer than they are");
  if (!sn_stream_is_well(s) || !length) return;
  s->status = sn_arena_alloc(s->arena, length + 1, 1, (void **)&copy);
  if (s->status) return;
  sn_stream_bytes(s, copy, length);
  *text = copy;
}

uint64_t sn_stream_hash(uint64_t hash, const void *block, size_t bytes) {
  const uint8_t *at = block;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
  return hash;
}
