/* wait_shared.c - words on the wait and notify instructions of WebAssembly threads.
 *
 * The main thread of a page must not wait, as that traps: there sn_wait_sleep only spins, and what
 * the thread waits for must not need the page's event loop. */
#include <limits.h>

#include "threads/wait.h"

/* Wasm has no pause, and a page's clock may be too coarse to time the spin: so many loads take a
 * microsecond in V8 on a core of 4 GHz. */
#define LOADS_PER_US 2300

#define NS_PER_MS 1e6
#define TIMED_OUT 2

/* A thread calls it when it has slept for its whole patience. */
__attribute__((import_module("host"), import_name("overslept"))) void sn_js_overslept(void);

static _Thread_local int64_t patience_ns = -1;

/* The loader calls it once per thread, except for threads that may sleep for ever. 0: the thread must
 * not wait, as it is the main thread of a page. Otherwise, after so long asleep, the host is asked to
 * look whether threads have died. */
__attribute__((export_name("sn_wait_set_patience"))) void sn_wait_set_patience(double ms);
void sn_wait_set_patience(double ms) { patience_ns = (int64_t)(ms * NS_PER_MS); }

uint32_t sn_wait_spin(sn_word *word, uint32_t value, int us) {
  for (int i = us * LOADS_PER_US; i > 0; i--) {
    const uint32_t seen = atomic_load_explicit(word, memory_order_acquire);
    if (seen != value) return seen;
  }
  return value;
}

void sn_wait_sleep(sn_word *word, uint32_t value) {
  if (!patience_ns)
    sn_wait_spin(word, value, 20);
  else if (__builtin_wasm_memory_atomic_wait32((int *)word, (int)value, patience_ns) == TIMED_OUT)
    sn_js_overslept();
}

void sn_wait_wake(sn_word *word) { __builtin_wasm_memory_atomic_notify((int *)word, UINT_MAX); }

/* The browser decides on which CPU a thread runs. */
void sn_wait_sleep_apart(sn_word *word, uint32_t value, sn_word *caller) {
  (void)caller;
  sn_wait_sleep(word, value);
}

void sn_wait_call(sn_word *word, sn_word *caller) {
  (void)caller;
  sn_wait_wake(word);
}
