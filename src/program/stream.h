/* stream.h - bytes written and read by the same functions: each takes the address of a field and
 * writes it, or reads it, so that the two directions cannot differ. Numbers are little-endian.
 *
 * A reader trusts nothing: it never goes beyond the end, and a count is checked against what is
 * left before memory is asked for. The first thing found wrong stays; from then on all reads as 0. */
#ifndef SN_PROGRAM_STREAM_H
#define SN_PROGRAM_STREAM_H

#include "base/alloc.h"

typedef struct sn_stream {
  sn_arena *arena; /* of arrays that are read */
  uint8_t *bytes;  /* read, or written to; NULL: only counted */
  size_t at, size;
  bool reads;
  const char *wrong; /* what was found wrong first, or NULL */
  sn_status status;  /* of the arena */
} sn_stream;

static inline bool sn_stream_is_well(const sn_stream *s) { return !s->wrong && !s->status; }

/* A fault of what is read; why: "a rank is above 8". */
void sn_stream_expect(sn_stream *s, bool holds, const char *why);

void sn_stream_bool(sn_stream *s, bool *x);
void sn_stream_u32(sn_stream *s, uint32_t *x);
void sn_stream_i64(sn_stream *s, int64_t *x);
void sn_stream_size(sn_stream *s, size_t *x);

/* So many bytes at block. */
void sn_stream_bytes(sn_stream *s, void *block, size_t bytes);

/* Bytes that stay where they are: *block is in the stream once it is read. */
void sn_stream_block(sn_stream *s, const void **block, size_t bytes);

/* How many elements an array has, each of at least so many bytes in the stream, and room for them
 * when they are read: item_bytes each, zeroed. */
void sn_stream_array(sn_stream *s, size_t *count, size_t least, void **items, size_t item_bytes);

/* A text; NULL is the empty one. */
void sn_stream_text(sn_stream *s, const char **text);

/* FNV-1a. */
uint64_t sn_stream_hash(uint64_t hash, const void *block, size_t bytes);
#define SN_STREAM_HASH UINT64_C(0xcbf29ce484222325)

#endif
