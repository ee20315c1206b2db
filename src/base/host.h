/* host.h - what the core asks of the machine around it, beside memory and threads.
 * host_pthread.c: POSIX. host_wasm.c and host_single.c: imports that the JS loader supplies. */
#ifndef SN_BASE_HOST_H
#define SN_BASE_HOST_H

/* Monotonic time in milliseconds, from one origin for all threads of the process or page. */
double sn_host_now_ms(void);

/* Writes one piece of debug text: stderr natively, console.debug in JS. */
void sn_host_log(const char *text);

#endif
