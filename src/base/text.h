/* text.h - a growing text in an arena, for printed IR and listings. Callers need not check each append:
 * the first failure to allocate is kept in status, and later appends do nothing. */
#ifndef SN_BASE_TEXT_H
#define SN_BASE_TEXT_H

#include "base/alloc.h"
#include "base/find.h"

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

/* Adds one term of an index expression: stride * variable, or just stride if the variable is "". *any:
 * whether there was a term before; it is updated. */
void sn_text_add_term(sn_text *text, bool *any, int64_t stride, const char *variable);

#endif
