/* cache_tidy.h - keeps the cache of objects within its size: what was used last stays.
 *
 * When an object was used is its file's time, which a hit renews. Another process may load what is removed here: it
 * keeps what it has mapped, and makes the object again the next time. */
#ifndef SN_CC_CACHE_TIDY_H
#define SN_CC_CACHE_TIDY_H

#include "cc/object_cache.h"

/* Removes objects, those that were not used for longest first, until three quarters of `limit` are left, if there is
 * more than `limit`. What is not named as an object stays. */
void sn_cc_cache_shrink(const sn_cc_cache *cache, uint64_t limit);

/* Removes work directories that nobody can be at work in any more, as a process that was killed leaves them: of an hour
 * ago, or of twice `seconds` if that is longer. */
void sn_cc_cache_sweep(const sn_cc_cache *cache, int seconds);

#endif
