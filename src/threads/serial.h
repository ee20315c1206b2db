/* serial.h - a dispatch that stays on its caller. It calls fn chunk by chunk all the same: WebAssembly
 * engines replace a function by its optimised code between calls, not inside a running loop. */
#ifndef SN_THREADS_SERIAL_H
#define SN_THREADS_SERIAL_H

#include "threads/pool.h"

static inline void sn_serial_run(sn_pool_fn *fn, void *arg, int64_t units, int64_t grain) {
  for (int64_t begin = 0; begin < units;) {
    const int64_t end = units - begin > grain ? begin + grain : units;
    fn(arg, begin, end, 0);
    begin = end;
  }
}

#endif
