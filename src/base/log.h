/* log.h - the one scale of SINTER_DEBUG. Output goes to stderr natively and to console.debug in JS.
 *
 *   1  compile events and errors          4  the code of kernels
 *   2  time and GFLOP/s of every kernel   5  the IR after each stage
 *   3  groups with the reason of each     6  every rewrite of a pass
 *      cut, memory plan */
#ifndef SN_BASE_LOG_H
#define SN_BASE_LOG_H

#include <stdbool.h>

enum { SN_LOG_EVENTS = 1, SN_LOG_TIMES, SN_LOG_GROUPS, SN_LOG_CODE, SN_LOG_IR, SN_LOG_REWRITES };

/* Read environment variables, as nothing else does: SINTER_DEBUG as 0..6, 0 if unset; and whether
 * SINTER_POISON is 1 (run/poison.h). In WebAssembly both are 0. */
int sn_log_level_from_environment(void);
bool sn_log_poison_from_environment(void);

void sn_log_write(const char *text);

void sn_log_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
