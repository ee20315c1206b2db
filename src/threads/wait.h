/* wait.h - waiting for a 32-bit word to change: first spinning, then asleep in the kernel or
 * engine. wait_posix.c and wait_shared.c are the only files that know how.
 *
 * Invariant of every use: whoever changes the word to something a sleeper waits for calls
 * sn_wait_wake afterwards. A sleep compares the word again under the futex lock, so a change just
 * before it is not missed.
 */
#ifndef SN_THREADS_WAIT_H
#define SN_THREADS_WAIT_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint32_t sn_word;

/* Spins while *word == value, about 20 us at most; the last value read (acquire). Longer than a
 * dispatch and the gap to the next, shorter than two context switches. */
uint32_t sn_wait_spin(sn_word *word, uint32_t value);

/* Sleeps while *word == value; may return early, so callers test and call again. */
void sn_wait_sleep(sn_word *word, uint32_t value);

/* Wakes all sleepers on word. */
void sn_wait_wake(sn_word *word);

/* Spins, then sleeps, while *word == value; may return early. */
static inline void sn_wait_change(sn_word *word, uint32_t value) {
  if (sn_wait_spin(word, value) == value) sn_wait_sleep(word, value);
}

#endif
