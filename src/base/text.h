/* text.h - a growing text in an arena, for printed IR and listings. Append never fails: the first
 * shortage of memory is kept in status and ends the text. */
#ifndef SN_BASE_TEXT_H
#define SN_BASE_TEXT_H

#include "base/alloc.h"

typedef struct sn_text {
  sn_arena *arena;
  char *data; /* NUL-terminated once something was appended */
  size_t used, capacity;
  sn_status status;
} sn_text;

static inline sn_text sn_text_in(sn_arena *arena) { return (sn_text){.arena = arena}; }

void sn_text_add(sn_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds string as a JSON string, quotes included. */
void sn_text_add_json(sn_text *text, const char *string);

/* Adds one term of an index: stride * variable, or a number where the variable is "". any: whether there
 * was a term before. */
void sn_text_add_term(sn_text *text, bool *any, int64_t stride, const char *variable);

/* Where part, which is not empty, first stands in text; NULL: nowhere. Not the C library's strstr:
 * that is made for long parts, and a page would have to download it. */
const char *sn_text_find(const char *text, const char *part);

/* Where text goes on behind part, which it begins with; NULL if it does not. */
const char *sn_text_behind(const char *text, const char *part);

#endif
