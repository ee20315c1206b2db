/* stream.h - writes and reads bytes with the same functions: each takes the address of a field and
 * writes or reads it, so the two directions cannot differ. Numbers are little-endian.
 *
 * A reader trusts nothing: it never goes beyond the end, and checks a count against the bytes that are
 * left before it allocates memory. It keeps the first fault; after that, all numbers are read as 0. */
#ifndef SN_PROGRAM_STREAM_H
#define SN_PROGRAM_STREAM_H

#include "base/alloc.h"

typedef struct sn_stream {
  sn_arena *arena;   /* for arrays that are read */
  uint8_t *bytes;    /* to read, or to write to; NULL: writing only counts */
  size_t at, size;   /* the next byte; when reading, how many there are */
  bool reads;        /* else it writes */
  const char *wrong; /* the first fault of the bytes, or NULL */
  sn_status status;  /* a failure of the arena */
} sn_stream;

static inline bool sn_stream_is_well(const sn_stream *s) { return !s->wrong && !s->status; }

/* Notes a fault unless the condition holds. why: such as "a rank is above 8". */
void sn_stream_expect(sn_stream *s, bool holds, const char *why);

void sn_stream_bool(sn_stream *s, bool *x);
void sn_stream_u32(sn_stream *s, uint32_t *x);
void sn_stream_i64(sn_stream *s, int64_t *x);
void sn_stream_size(sn_stream *s, size_t *x);

/* Copies so many bytes from or to block. */
void sn_stream_bytes(sn_stream *s, void *block, size_t bytes);

/* The same, but reading does not copy: it makes *block point into the stream. */
void sn_stream_block(sn_stream *s, const void **block, size_t bytes);

/* The number of elements of an array. least: the bytes that each takes in the stream at least. Reading
 * also allocates *items, with item_bytes per element, zeroed. The caller streams the elements. */
void sn_stream_array(sn_stream *s, size_t *count, size_t least, void **items, size_t item_bytes);

/* A text. NULL and the empty text are the same; reading gives NULL. */
void sn_stream_text(sn_stream *s, const char **text);

/* FNV-1a, continued from `hash`; SN_STREAM_HASH is where it starts. */
uint64_t sn_stream_hash(uint64_t hash, const void *block, size_t bytes);
#define SN_STREAM_HASH UINT64_C(0xcbf29ce484222325)

#endif
