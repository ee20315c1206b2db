/* object_cache.h - a cache of compiled objects on disk, in a directory that only this user can read or write.
 *
 *   <hash of the key>.so = [ the shared object | its key | sizes and a checksum ]
 *
 * A loader ignores what follows an object, so one file can hold all of it. A file is used only if it is a plain file of
 * this user that nobody else can write, has exactly the key asked for, and a right checksum. An object is made in a
 * work directory and moved to its place by one rename, so it is there as a whole or not at all. */
#ifndef SN_CC_OBJECT_CACHE_H
#define SN_CC_OBJECT_CACHE_H

#include "cc/compiler.h"

#include <stdint.h>

/* All that an object is made from: the compiler's identity, its flags, the prelude, and the text. */
enum { SN_CC_KEY_PARTS = 4 };
typedef struct sn_cc_key {
  const char *part[SN_CC_KEY_PARTS];
  size_t size[SN_CC_KEY_PARTS];
} sn_cc_key;

typedef struct sn_cc_cache {
  char dir[SN_CC_PATH]; /* "": there is no cache, and reason says why */
  char reason[SN_CC_REASON];
} sn_cc_cache;

/* Finds or makes the directory. name: its absolute path, or NULL for the usual place. */
void sn_cc_cache_open(sn_cc_cache *cache, const char *name);

/* The path of the object with this key, of SN_CC_PATH bytes; "" without a cache. */
void sn_cc_cache_path(const sn_cc_cache *cache, const sn_cc_key *key, char *out);

/* Whether the file at path is a whole object with this key that can be loaded. If so, renews its time of use. */
bool sn_cc_cache_holds(const char *path, const sn_cc_key *key);

/* Adds the key to an object in the work directory and moves it to its path in the cache. */
bool sn_cc_cache_keep(const char *object, const char *path, const sn_cc_key *key);

/* Makes a work directory of this user alone, in the cache (named SN_CC_WORK...) or among temporary files. sn_cc_work_end
 * removes it with its files. */
#define SN_CC_WORK "work-"
bool sn_cc_work_begin(const sn_cc_cache *cache, char *dir, char *reason);
void sn_cc_work_end(const char *dir);

/* Writes a new file, the parts one after the other. Fails if it exists. */
bool sn_cc_write(const char *path, const char *const *parts, const size_t *sizes, int n,
                 char *reason);

#endif
