/* wait_shared.c - words on the wait and notify instructions of WebAssembly threads.
 *
 * The main thread of a page may not wait, it would trap: there sn_wait_sleep only spins, and what
 * the thread waits for must not need the page's event loop. */
#include <limits.h>
#include <stdbool.h>

#include "threads/wait.h"

/* Wasm has no pause, and a page's clock may be too coarse to time the spin: so many loads take a
 * microsecond in V8 on a core of 4 GHz. */
#define LOADS_PER_US 2300

static _Thread_local bool may_block = true;

/* The loader calls it once per thread, with 0 on the main thread of a page. */
__attribute__((export_name("sn_wait_set_may_block"))) void sn_wait_set_may_block(int on);
void sn_wait_set_may_block(int on) { may_block = on != 0; }

uint32_t sn_wait_spin(sn_word *word, uint32_t value, int us) {
  for (int i = us * LOADS_PER_US; i > 0; i--) {
    const uint32_t seen = atomic_load_explicit(word, memory_order_acquire);
    if (seen != value) return seen;
  }
  return value;
}

void sn_wait_sleep(sn_word *word, uint32_t value) {
  if (may_block)
    __builtin_wasm_memory_atomic_wait32((int *)word, (int)value, -1);
  else
    sn_wait_spin(word, value, 20);
}

void sn_wait_wake(sn_word *word) { __builtin_wasm_memory_atomic_notify((int *)word, UINT_MAX); }

/* Where threads run is the browser's business. */
void sn_wait_sleep_apart(sn_word *word, uint32_t value, sn_word *caller) {
  (void)caller;
  sn_wait_sleep(word, value);
}

void sn_wait_call(sn_word *word, sn_word *caller) {
  (void)caller;
  sn_wait_wake(word);
}
