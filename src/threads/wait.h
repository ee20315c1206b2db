/* wait.h - waiting for a 32-bit word to change: first spinning, then asleep in the kernel or
 * engine. wait_posix.c and wait_shared.c are the only files that know how.
 *
 * Invariant of every use: a thread that changes the word to what a sleeper waits for calls
 * sn_wait_wake afterwards. A sleep compares the word again under the futex lock, so a change just
 * before it is not missed. */
#ifndef SN_THREADS_WAIT_H
#define SN_THREADS_WAIT_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint32_t sn_word;

/* Spins while *word == value, about so many microseconds at most; the last value read (acquire). */
uint32_t sn_wait_spin(sn_word *word, uint32_t value, int us);

/* Sleeps while *word == value; may return early, so callers test and call again. */
void sn_wait_sleep(sn_word *word, uint32_t value);

/* Wakes all sleepers on word. */
void sn_wait_wake(sn_word *word);

/* sn_wait_sleep and sn_wait_wake for a thread that will work beside the one that wakes it. *caller (0
 * at first) holds the CPU of the last call, and the thread sleeps with that CPU excluded. Otherwise
 * Linux may wake it right there: in a virtual machine an idle CPU looks busy, and then both threads
 * share one CPU for milliseconds. */
void sn_wait_sleep_apart(sn_word *word, uint32_t value, sn_word *caller);
void sn_wait_call(sn_word *word, sn_word *caller);

/* Spins for about as long as two context switches take, then sleeps, while *word == value; may
 * return early. */
static inline void sn_wait_change(sn_word *word, uint32_t value) {
  if (sn_wait_spin(word, value, 20) == value) sn_wait_sleep(word, value);
}

#endif
