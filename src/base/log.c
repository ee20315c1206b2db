#include "base/log.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/host.h"

int sn_log_level_from_environment(void) {
  const char *text = getenv("SINTER_DEBUG");
  if (!text || text[0] < '0' || text[0] > '6' || text[1] != '\0') return 0;
  return text[0] - '0';
}

void sn_log_write(const char *text) { sn_host_log(text); }

void sn_log_printf(const char *format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  sn_format_list(line, sizeof line, format, args);
  va_end(args);
  sn_host_log(line);
}
