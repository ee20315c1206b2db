#include "base/env.h"

#include <stdarg.h>

#include "base/format.h"

sn_status sn_fail(sn_env *env, sn_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  env->error.status = status;
  sn_format_list(env->error.message, sizeof env->error.message, format, args);
  va_end(args);
  SN_LOG(env, SN_LOG_EVENTS, "error %d: %s\n", (int)status, env->error.message);
  return status;
}

sn_status sn_fail_internal(sn_env *env, const char *file, int line) {
  return sn_fail(env, SN_ERR_INTERNAL, "internal: %s:%d", file, line);
}
