/* env.h - the environment that every fallible function of the library gets: allocator, error, debug level.
 *
 * One sn_env belongs to one context. It is used by one thread at a time (the thread that calls the
 * public API); kernels and pool workers never see it, so nothing in it needs a lock.
 *
 * Errors are values. A function that can fail returns sn_status; the first failure writes a record
 * into env->error with SN_FAIL / SN_FAIL_IF and callers hand the code upward with SN_TRY. Nothing
 * aborts, nothing jumps. State is changed only after everything that can fail has succeeded. */
#ifndef SN_BASE_ENV_H
#define SN_BASE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kept_blocks.h"
#include "base/log.h"
#include "sinter.h"

typedef struct sn_heap {
  sn_allocator allocator;
  sn_kept_blocks kept;
  size_t live_bytes;  /* handed out and not yet freed */
  size_t peak_bytes;  /* largest live_bytes so far */
  size_t limit_bytes; /* live_bytes never exceeds it; SIZE_MAX: no limit */
  size_t live_blocks;
  /* Frees some memory that is only kept for later; false if there is none. May be NULL. */
  bool (*reclaim)(void *user);
  void *reclaim_user;
  int64_t fail_countdown; /* tests: the allocation that finds 0 here fails; < 0: never */
  bool fail_forever;      /* tests: and every later one fails too */
} sn_heap;

typedef struct sn_env {
  sn_heap heap;
  sn_error error;
  int debug;   /* SINTER_DEBUG, 0..6: see log.h */
  bool poison; /* SINTER_POISON: see run/poison.h */
} sn_env;

/* Logs a text if SINTER_DEBUG is at least this level. */
#define SN_LOG(env, level, ...)                              \
  do {                                                       \
    if ((env)->debug >= (level)) sn_log_printf(__VA_ARGS__); \
  } while (0)

/* Records what failed, and where, as the environment's last error and returns status. op: the name of
 * the function that refuses, which becomes the beginning of the text, or NULL. file: its name without
 * folders, which is unique in the library. Shapes must be written by %*p (base/format.h), which also
 * records them in the error as data. */
sn_status sn_fail_at(sn_env *env, const char *file, int line, sn_status status, const char *op,
                     const char *format, ...) __attribute__((format(printf, 6, 7)));

/* In a format of sn_fail_at: separates the text from the hint, which says what to do about it. */
#define SN_HINT "\n"

/* Like sn_fail_at, for SN_CHECK. */
sn_status sn_fail_internal(sn_env *env, const char *file, int line);

/* SN_FAIL(env, status, op, format, ...). The "" makes sure that the format is a literal. */
#define SN_FAIL(env, status, op, ...) \
  sn_fail_at((env), __FILE_NAME__, __LINE__, (status), (op), "" __VA_ARGS__)

/* Returns status, which is not SN_OK. Knowing this, the compiler sees that callers do not use results
 * that a failed call has not set, and does not warn. */
__attribute__((always_inline)) static inline sn_status sn_failed(sn_status status) {
  if (status == SN_OK) __builtin_unreachable();
  return status;
}

#define SN_TRY(expr)                           \
  do {                                         \
    const sn_status sn_try_status_ = (expr);   \
    if (sn_try_status_) return sn_try_status_; \
  } while (0)

#define SN_FAIL_IF(env, cond, status, op, ...)                               \
  do {                                                                       \
    if (cond) return sn_failed(SN_FAIL((env), (status), (op), __VA_ARGS__)); \
  } while (0)

/* Checks an invariant of the library. If it is broken, that is an error like any other, never an abort. */
#define SN_CHECK(env, cond)                                                          \
  do {                                                                               \
    if (!(cond)) return sn_failed(sn_fail_internal((env), __FILE_NAME__, __LINE__)); \
  } while (0)

#endif
