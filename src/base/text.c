#include "base/text.h"

#include <stdarg.h>

#include "base/format.h"

void sn_text_add(sn_text *text, const char *format, ...) {
  if (text->status) return;
  for (;;) {
    va_list args;
    va_start(args, format);
    const size_t room = text->capacity - text->used;
    const size_t need =
        sn_format_list(text->data ? text->data + text->used : NULL, room, NULL, format, args);
    va_end(args);
    if (need < room) {
      text->used += need;
      return;
    }
    text->status =
        sn_arena_grow(text->arena, (void **)&text->data, &text->capacity, text->capacity, 1);
    if (text->status) return;
  }
}

void sn_text_add_json(sn_text *text, const char *string) {
  sn_text_add(text, "\"");
  while (*string) {
    size_t plain = 0;
    while ((unsigned char)string[plain] >= ' ' && string[plain] != '"' && string[plain] != '\\')
      plain++;
    if (plain) sn_text_add(text, "%.*s", (int)plain, string);
    string += plain;
    if (*string == '\n') {
      sn_text_add(text, "\\n");
      string++;
    } else if (*string) {
      sn_text_add(text, "\\u%04x", (unsigned char)*string++);
    }
  }
  sn_text_add(text, "\"");
}

void sn_text_add_term(sn_text *text, bool *any, int64_t stride, const char *variable) {
  if (!stride) return;
  if (*any)
    sn_text_add(text, stride < 0 ? " - " : " + ");
  else if (stride < 0)
    sn_text_add(text, "-");
  const long long size = stride < 0 ? -stride : stride;
  if (size != 1 || !*variable) sn_text_add(text, "%lld", size);
  if (*variable) sn_text_add(text, size == 1 ? "%s" : " * %s", variable);
  *any = true;
}
