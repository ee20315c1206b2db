#include "base/env.h"

#include <stdarg.h>
#include <string.h>

#include "base/find.h"
#include "base/format.h"

sn_status sn_fail_at(sn_env *env, const char *file, int line, sn_status status, const char *op,
                     const char *format, ...) {
  sn_error *e = &env->error;
  va_list args;
  *e = (sn_error){.status = status, .file = file, .line = line};
  size_t used = 0;
  if (op) {
    sn_format(e->op, sizeof e->op, "%s", op);
    used = sn_format(e->message, sizeof e->message, "%s: ", e->op);
  }
  va_start(args, format);
  sn_format_list(e->message + used, sizeof e->message - used, e, format, args);
  va_end(args);
  const char *mark = sn_text_find(e->message, SN_HINT);
  if (mark) {
    sn_format(e->hint, sizeof e->hint, "%s", mark + strlen(SN_HINT));
    e->message[mark - e->message] = '\0';
  }
  SN_LOG(env, SN_LOG_EVENTS, "error %d: %s (%s:%d)\n", (int)status, e->message, e->file, line);
  return status;
}

sn_status sn_fail_internal(sn_env *env, const char *file, int line) {
  return sn_fail_at(env, file, line, SN_ERR_INTERNAL, "internal", "%s:%d", file, line);
}
