/* host.h - what the core asks of the machine around it, beside threads. host_posix.c: the C
 * library. host_wasm.c: imports that the JS loader supplies, and the module's memory. */
#ifndef SN_BASE_HOST_H
#define SN_BASE_HOST_H

#include <stddef.h>

/* Monotonic time in milliseconds, from one origin for all threads of the process or page. */
double sn_host_now_ms(void);

/* Writes one piece of debug text: stderr natively, console.debug in JS. */
void sn_host_log(const char *text);

/* Aligned to 64 bytes; NULL when there is no memory. One thread at a time. */
void *sn_host_allocate(size_t bytes);
void sn_host_release(void *block, size_t bytes); /* as many as were allocated, at least 1 */

#endif
