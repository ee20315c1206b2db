#include "base/log.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/host.h"

/* The value of a variable that is one digit up to `most`; 0 if it is anything else. */
static int digit_from_environment(const char *name, char most) {
  const char *text = getenv(name);
  if (!text || text[0] < '0' || text[0] > most || text[1] != '\0') return 0;
  return text[0] - '0';
}

int sn_log_level_from_environment(void) { return digit_from_environment("SINTER_DEBUG", '6'); }

bool sn_log_poison_from_environment(void) {
  return digit_from_environment("SINTER_POISON", '1') != 0;
}

void sn_log_write(const char *text) { sn_host_log(text); }

void sn_log_printf(const char *format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  sn_format_list(line, sizeof line, NULL, format, args);
  va_end(args);
  sn_host_log(line);
}
