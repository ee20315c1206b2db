#include "stop.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "group.h"

_Noreturn void stop(int code, const char *format, ...) {
  va_list arguments;
  group_before_last_words();
  va_start(arguments, format);
  fputs("sinter-train: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  group_end_all(code);
  exit(code);
}

_Noreturn void stop_for(int code, const char *what, const sn_context *ctx) {
  const sn_error *error = sn_error_info(ctx);
  stop(code, "%s: %s%s%s", what, error->message, *error->hint ? "; " : "", error->hint);
}

void *allocate(size_t count, size_t size) {
  void *block = calloc(count ? count : 1, size ? size : 1);
  if (!block) stop(EXIT_TRAINING, "out of memory");
  return block;
}
