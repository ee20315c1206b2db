/* cache_tidy.h - keeps the cache of objects within its size, by removing the least recently used ones.
 *
 * The time of an object's last use is its file's modification time, which a hit renews. Another process may have loaded an
 * object that is removed here: it keeps what it has mapped, and compiles the object again the next time. */
#ifndef SN_CC_CACHE_TIDY_H
#define SN_CC_CACHE_TIDY_H

#include "cc/object_cache.h"

/* If the objects have more than `limit` bytes, removes the least recently used ones until at most three quarters of it are
 * left. Files that are not named like objects stay. */
void sn_cc_cache_shrink(const sn_cc_cache *cache, uint64_t limit);

/* Removes work directories that a killed process has left behind: those older than an hour, or than twice `seconds` (the
 * compiler's time limit) if that is longer, so that nobody can still be at work there. */
void sn_cc_cache_sweep(const sn_cc_cache *cache, int seconds);

#endif
