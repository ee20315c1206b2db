#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void sn_text_add(sn_text *text, const char *format, ...) {
  if (text->status) return;
  for (;;) {
    va_list args;
    va_start(args, format);
    const size_t room = text->capacity - text->used;
    const int need = vsnprintf(text->data ? text->data + text->used : NULL, room, format, args);
    va_end(args);
    if (need >= 0 && (size_t)need < room) {
      text->used += (size_t)need;
      return;
    }
    text->status =
        sn_arena_grow(text->arena, (void **)&text->data, &text->capacity, text->capacity, 1);
    if (text->status || need < 0) return;
  }
}
