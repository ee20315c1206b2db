/* host.h - what the core needs from its host, besides threads. host_posix.c uses the C library;
 * host_wasm.c uses imports from the JS loader and manages the module's memory. */
#ifndef SN_BASE_HOST_H
#define SN_BASE_HOST_H

#include <stddef.h>

/* Monotonic time in milliseconds, from one origin for all threads of the process or page. */
double sn_host_now_ms(void);

/* Writes one piece of debug text: stderr natively, console.debug in JS. */
void sn_host_log(const char *text);

/* Blocks are aligned to 64 bytes; NULL if memory is short. bytes is at least 1, and the same in both
 * calls. Only one thread at a time may call these. */
void *sn_host_allocate(size_t bytes);
void sn_host_release(void *block, size_t bytes);

#endif
